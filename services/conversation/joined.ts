import type { Clock } from "../../shared/clock.ts";
import type { VoiceEngine } from "./engines/port.ts";
import type { MediaLeg, TextLeg } from "./media/port.ts";
import type { Joined } from "./talks.ts";

/** The carrier gets this long to close a leg that no talk is held on. */
const DISMISS_MS = 3000;

const ignore = (): void => undefined;

/** A leg that carries text, for its engine. */
export const joinedText = (leg: TextLeg, engine: VoiceEngine<TextLeg>, clock: Clock): Joined => ({
  open: (host) => engine.open(leg, host),
  async dismiss() {
    const gone = new AbortController();
    leg.listen({ ready: ignore, prompt: ignore, digit: ignore, interrupt: ignore, speaking: ignore, customer: ignore, silence: ignore, fault: ignore, closed: () => gone.abort() });
    leg.end();
    await clock.wait(DISMISS_MS, gone.signal);
    leg.close();
  },
});

/** A leg that carries sound. `open` begins the talk by the engine the talk was made ready for. */
export const joinedSound = (leg: MediaLeg, open: Joined["open"], clock: Clock): Joined => ({
  open,
  async dismiss() {
    const gone = new AbortController();
    leg.listen({ ready: ignore, audio: ignore, digit: ignore, mark: ignore, fault: ignore, closed: () => gone.abort() });
    leg.close();
    await clock.wait(DISMISS_MS, gone.signal);
    leg.close();
  },
});
