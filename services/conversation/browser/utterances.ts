import type { Clock } from "../../../shared/time/clock.ts";
import type { DialogueEvent } from "../dialogue/dialogue-state.ts";
import type { VoicePipeline } from "../pipelines/port.ts";
import { MAX_UTTERANCE_CHARS, MAX_VOICE_CHARS } from "../../../shared/contracts/records/session.ts";
import { fail } from "../../../shared/errors.ts";
import { textOf } from "../../../shared/json.ts";
import type { Frame } from "../transport/leg-socket.ts";

/** What a client wants to be spoken. */
export interface SpeakRequest {
  text: string;
  utterance_id: string;
  /** What is being spoken, and what waits, gives way. */
  interrupt: boolean;
  /** Null: the template's. */
  voice: string | null;
}

const UTTERANCE_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** What a client's message asks to be spoken. VALIDATION_FAILED. */
export function speakRequestIn({ text, utterance_id, interrupt, voice }: Frame): SpeakRequest {
  const request = {
    text: textOf(text).trim(),
    utterance_id: textOf(utterance_id),
    interrupt: interrupt === true,
    voice: textOf(voice) || null,
  };
  const isSpeakable = request.text !== "" && request.text.length <= MAX_UTTERANCE_CHARS;
  if (!isSpeakable || !UTTERANCE_ID.test(request.utterance_id) || (request.voice ?? "").length > MAX_VOICE_CHARS)
    fail("VALIDATION_FAILED", `text has 1 to ${MAX_UTTERANCE_CHARS} characters, utterance_id 1 to 64.`);
  return request;
}

/** What becomes of an utterance. `heard`: the words of it that were heard, of one that was interrupted. */
export interface UtteranceEvent {
  utterance_id: string;
  status: "queued" | "started" | "finished" | "interrupted";
  at: string;
  heard?: string;
}

/** What utterances are spoken with. `sound`: what our side of the media does. */
export interface UtterancesDeps {
  clock: Clock;
  say(text: string, voice: string | null): void;
  interrupt(): void;
  sound(): "silent" | "waiting" | "audible";
  tell(event: UtteranceEvent): void;
}

/** Utterances that wait; a further one is refused. */
export const MAX_WAITING = 20;
/** How often it is looked whether an utterance is heard, ms. */
const LOOK_EVERY_MS = 20;

/** What a client has spoken in a session: one after the other, each told of. */
export class Utterances {
  readonly #deps: UtterancesDeps;
  readonly #ended = new AbortController();
  #waiting: SpeakRequest[] = [];
  #current: { id: string; started: boolean } | null = null;

  constructor(deps: UtterancesDeps) {
    this.#deps = deps;
  }

  /** Queues an utterance. RATE_LIMITED where too many wait; VALIDATION_FAILED where one of this id waits or is spoken. */
  speak(request: SpeakRequest): UtteranceEvent {
    const { utterance_id, interrupt } = request;
    if (interrupt) this.#deps.interrupt();
    if (interrupt) this.interrupted("");
    if (this.#current?.id === utterance_id || this.#waiting.some((other) => other.utterance_id === utterance_id))
      fail("VALIDATION_FAILED", "An utterance of this utterance_id waits or is being spoken.");
    if (this.#waiting.length >= MAX_WAITING)
      fail("RATE_LIMITED", `${MAX_WAITING} utterances wait already; wait until one is spoken.`, {
        retry_after_seconds: 1,
      });
    this.#waiting.push(request);
    const queued = this.#tell(utterance_id, "queued");
    if (this.#current === null) this.#next();
    return queued;
  }

  /** Our speech was cut off: what was being spoken ends with the words that were heard, and what waits is not spoken. */
  interrupted(spoken: string): void {
    const cut = [...(this.#current ? [this.#current.id] : []), ...this.#waiting.map((w) => w.utterance_id)];
    this.#current = null;
    this.#waiting = [];
    cut.forEach((id, i) => this.#tell(id, "interrupted", i === 0 ? spoken : ""));
  }

  /** The session is over. */
  end(): void {
    this.interrupted("");
    this.#ended.abort(null);
  }

  #tell(utterance_id: string, status: UtteranceEvent["status"], heard?: string): UtteranceEvent {
    const at = this.#deps.clock.now().toISOString();
    const event = { utterance_id, status, at, ...(heard === undefined ? {} : { heard }) };
    this.#deps.tell(event);
    return event;
  }

  #next(): void {
    const next = this.#waiting.shift();
    if (!next || this.#ended.signal.aborted) return;
    const current = { id: next.utterance_id, started: false };
    this.#current = current;
    this.#deps.say(next.text, next.voice);
    void this.#follow(current);
  }

  /** Tells when an utterance is heard, and when it was heard to its end. */
  async #follow(current: { id: string; started: boolean }): Promise<void> {
    const { clock, sound } = this.#deps;
    for (;;) {
      await clock.wait(LOOK_EVERY_MS, this.#ended.signal);
      if (this.#current !== current || this.#ended.signal.aborted) return;
      const now = sound();
      if (now === "audible" && !current.started) {
        current.started = true;
        this.#tell(current.id, "started");
      }
      if (now === "silent") break;
    }
    this.#current = null;
    this.#tell(current.id, "finished");
    this.#next();
  }
}

/** What the client of a session has spoken, on the conversation's pipeline. */
export const utterancesOn = (
  { clock, spoke = () => undefined }: { clock: Clock; spoke?: UtterancesDeps["tell"] | undefined },
  pipeline: VoicePipeline,
  loop: { dispatch(event: DialogueEvent): void },
): Utterances =>
  new Utterances({
    clock,
    say: (text, voice) => loop.dispatch({ type: "speak", text, voice }),
    interrupt: () => pipeline.interrupt?.(),
    sound: () => pipeline.sound?.() ?? "silent",
    tell: spoke,
  });
