import type { CascadeModels } from "../../providers/port.ts";
import type { Endpointing } from "../../audio/port.ts";
import { energyVad } from "../../audio/vad.ts";
import type { Mind, MindGround } from "../voice-processor.ts";
import { listeningEar } from "./stt-input.ts";
import { mouth } from "./tts-output.ts";
import { oneThought } from "./llm-runner.ts";

/** What the mind of a cascade is made of. */
export interface CascadeParts {
  models: CascadeModels;
  judge: Endpointing;
  /** The model is asked before it is certain that the caller has ended. */
  preemptive: boolean;
}

/** Three models in a row, overlapped: one listens, one thinks, one speaks (voice.md 0, 2b). */
export function cascadeMind(
  { models, judge, preemptive }: CascadeParts,
  { host, playout, format, events, now }: MindGround,
): Mind {
  const { rate } = format;
  const speaker = mouth({
    speech: models.speech,
    playout,
    rate,
    failed: () => events.mute("SPEECH_FAILED"),
    asked: events.speechAsked,
    sounded: events.speechCame,
  });
  const thinker = oneThought({
    model: models.chat,
    host,
    now,
    tell: (event) => host.tell(event),
    outlet: ({ interruptible }) => speaker.open({ interruptible }),
  });
  const ear = listeningEar({
    model: models.transcription,
    vad: energyVad({ rate }),
    judge,
    rate,
    language: host.manner.language,
    early: preemptive,
    now,
    expectsShort: () => host.collection() !== null,
    events: {
      words: events.words,
      guess: (text) => {
        if (preemptive) thinker.guess({ type: "heard", text });
      },
      goesOn: () => thinker.unguess(),
      turn: events.turn,
      noise: () => {
        thinker.unguess();
        events.nothing();
      },
      deaf: events.deaf,
    },
  });

  return {
    hear: (pcm) => ear.push(pcm),
    get attentive() {
      return ear.attentive;
    },
    get thinking() {
      return thinker.busy;
    },
    get speaking() {
      return speaker.busy;
    },
    say: (text, how) => speaker.say(text, how),
    think: (effect) => thinker.think(effect),
    sound: (pcm) => speaker.sound(pcm),
    said: () => thinker.said(),
    get first_token_ms() {
      return thinker.first_token_ms;
    },
    interrupt(tell) {
      const { spoken } = playout.flush();
      speaker.drop();
      thinker.interrupt(() => tell(spoken));
    },
    forget() {
      thinker.unguess();
      ear.forget();
    },
    dropThought() {
      thinker.unguess();
      thinker.drop();
    },
    tick: () => undefined,
    close() {
      thinker.unguess();
      thinker.drop();
      ear.forget();
      speaker.drop();
    },
  };
}
