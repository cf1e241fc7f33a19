import { WebSocket } from "ws";
import type { Call } from "../exchange/call.ts";
import type { Faults } from "../exchange/faults.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { AgentSide } from "../exchange/call-leg.ts";
import type { SimTime } from "../exchange/simulated-time.ts";
import type { Speech } from "../exchange/agent-voice.ts";
import { readFrame, type FrameIn, type FrameOut, type SetupFrame } from "./relay-messages.ts";
import type { Interruptible, RelaySettings } from "./relay-settings.ts";

/** How a relay session ended, as the `action` URL receives it. */
export interface RelayEnd {
  sessionId: string;
  /** completed: the call ended; ended: the application sent `end` or closed; failed: the socket failed. */
  status: "completed" | "ended" | "failed";
  seconds: number;
  handoffData?: string;
  error?: { code: string; message: string };
}

/** What a session stands on. */
export interface RelayDeps {
  time: SimTime;
  ledger: Ledger;
  faults: Faults;
  /** `end` cuts what is being said; otherwise it is said first. */
  endCutsSpeech: boolean;
}

/** A call whose conversation is relayed, with what is the carrier's own about it. */
export interface RelayCall {
  call: Call;
  settings: RelaySettings;
  /** Sent with the upgrade of the WebSocket. */
  headers: Record<string, string>;
  setup: SetupFrame;
}

const CONNECT_TIMEOUT_MS = 10_000;
/** The other side gets this long to answer the closing of the socket. */
const CLOSE_GRACE_MS = 1_000;
const MAX_FRAME_BYTES = 1_000_000;
/** A played sound lasts this long, simulated ms; its real length is not known here. */
export const SOUND_MS = 3_000;
const KEY_TONE_MS = 300;
const MAX_SOUND_LOOPS = 100;

const allows = (setting: Interruptible, kind: "speech" | "dtmf"): boolean => setting === "any" || setting === kind;

/** The agent's end of the line while the relay has it. */
function relaySide(
  settings: RelaySettings,
  greeting: { speech: Speech | null },
  language: { now: string },
  send: (frame: FrameOut) => void,
): AgentSide {
  const speaking = { agent: false, person: false };
  const subscribed = (event: string): boolean => settings.events.includes(event);
  return {
    hears: (kind) => kind === "speech" || settings.dtmfDetection,
    interruptibleBy(kind, speech) {
      if (speech === greeting.speech) return allows(settings.welcomeGreetingInterruptible, kind);
      if (speech.interruptible === false) return false;
      return allows(settings.interruptible, kind);
    },
    reportsDuringSpeech: (kind) => allows(settings.reportInputDuringAgentSpeech, kind),
    onPartial(text) {
      if (settings.partialPrompts && text !== "")
        send({ type: "prompt", voicePrompt: text, lang: language.now, last: false });
    },
    onSaid: (text) => send({ type: "prompt", voicePrompt: text, lang: language.now, last: true }),
    onDigit: (digit) => send({ type: "dtmf", digit }),
    onInterrupt: (heard) =>
      send({ type: "interrupt", utteranceUntilInterrupt: heard.text, durationUntilInterruptMs: heard.durationMs }),
    onSpeaking(who, now) {
      if (speaking[who] !== now && subscribed("speaker-events"))
        send({ type: "info", name: who === "agent" ? "agentSpeaking" : "clientSpeaking", value: now ? "on" : "off" });
      speaking[who] = now;
    },
    onPlayed(heard) {
      if (subscribed("tokens-played") && heard.text !== "")
        send({ type: "info", name: "tokensPlayed", value: heard.text });
    },
  };
}

/** Does what one message of the application asks for; `end` is left to the session. */
function applyFrame(
  frame: Exclude<FrameIn, { type: "end" }>,
  { call, settings }: RelayCall,
  language: { now: string },
): void {
  const { voice } = call.leg;
  switch (frame.type) {
    case "text":
      voice.say(frame.token, {
        last: frame.last,
        interruptible: frame.interruptible,
        preemptible: frame.preemptible ?? settings.preemptible,
      });
      return;
    case "play":
      voice.play(frame.source, SOUND_MS * Math.min(Math.max(frame.loop, 1), MAX_SOUND_LOOPS), frame);
      return;
    case "sendDigits":
      voice.play(`keys:${frame.digits}`, frame.digits.length * KEY_TONE_MS, { interruptible: false });
      return;
    case "language":
      language.now = frame.transcriptionLanguage ?? language.now;
  }
}

/** Runs one ConversationRelay session from connecting to its end. `leave` aborts when the call is over or goes elsewhere. */
export function runRelay(parts: RelayDeps, relayed: RelayCall, leave: AbortSignal): Promise<RelayEnd> {
  return new Promise((resolve) => {
    const session = new RelaySession(parts, relayed, resolve);
    session.open(leave);
  });
}

class RelaySession {
  readonly #parts: RelayDeps;
  readonly #relayed: RelayCall;
  readonly #resolve: (end: RelayEnd) => void;
  readonly #startedAt: number;
  readonly #language: { now: string };
  readonly #socket: WebSocket;
  #opened = false;
  #over = false;
  /** `end` has come: what was said is played out, nothing more is passed on. */
  #ending = false;
  #release = (): void => undefined;

  constructor(parts: RelayDeps, relayed: RelayCall, resolve: (end: RelayEnd) => void) {
    const { settings, headers } = relayed;
    this.#parts = parts;
    this.#startedAt = parts.time.clock.monotonicMs();
    this.#relayed = relayed;
    this.#resolve = resolve;
    this.#language = { now: settings.transcriptionLanguage };
    this.#socket = new WebSocket(settings.url, {
      headers,
      handshakeTimeout: CONNECT_TIMEOUT_MS,
      maxPayload: MAX_FRAME_BYTES,
      perMessageDeflate: false,
    });
  }

  open(leave: AbortSignal): void {
    const socket = this.#socket;
    socket.on("open", () => this.#onOpen());
    socket.on("message", (data, isBinary) => this.#onMessage(isBinary ? null : String(data)));
    socket.on("close", (code) => this.#onClose(code));
    socket.on("error", (error) => {
      if (!this.#opened)
        this.#finish("failed", {
          error: { code: "64102", message: `Unable to connect to WebSocket URL: ${error.message}` },
        });
    });
    const onLeave = (): void => this.#finish("completed");
    leave.addEventListener("abort", onLeave, { once: true });
    this.#release = () => leave.removeEventListener("abort", onLeave);
    if (leave.aborted) onLeave();
  }

  #send(frame: FrameOut): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(frame));
  }

  #write(kind: "relay" | "warning", facts: Record<string, unknown>): void {
    const { sid, to, from } = this.#relayed.call.order;
    this.#parts.ledger.write({ kind, call_sid: sid, to, from, session_id: this.#relayed.setup.sessionId, ...facts });
  }

  #onOpen(): void {
    const { call, settings, setup } = this.#relayed;
    const { welcomeGreeting, preemptible } = settings;
    this.#opened = true;
    if (this.#over) return;
    this.#write("relay", { event: "connected" });
    this.#send(setup);
    const greeting: { speech: Speech | null } = { speech: null };
    call.leg.setAgentSide(relaySide(settings, greeting, this.#language, (frame) => this.#send(frame)));
    if (welcomeGreeting !== "") {
      call.leg.voice.say(welcomeGreeting, { last: true, preemptible });
      greeting.speech = call.leg.voice.current();
    }
    const drop = this.#parts.faults.take("drop_socket", call.order.to);
    if (!drop) return;
    const cancelDrop = this.#parts.time.after(
      0,
      () => {
        this.#write("relay", { event: "dropped by a fault" });
        this.#socket.terminate();
      },
      drop.seconds * 1000,
    );
    const release = this.#release;
    this.#release = () => {
      release();
      cancelDrop();
    };
  }

  #onMessage(data: string | null): void {
    if (this.#over || this.#ending) return;
    const frame = data === null ? "Invalid message received: it is binary" : readFrame(data);
    if (typeof frame === "string") {
      this.#write("warning", { message: `64107: ${frame}` });
      this.#send({ type: "error", description: frame });
    } else if (frame.type === "end") void this.#end(frame.handoffData);
    else applyFrame(frame, this.#relayed, this.#language);
  }

  async #end(handoffData: string | undefined): Promise<void> {
    const { leg } = this.#relayed.call;
    this.#ending = true;
    leg.setAgentSide(null);
    if (this.#parts.endCutsSpeech) leg.voice.interrupt();
    leg.voice.say("", { last: true });
    await leg.voice.drained();
    this.#finish("ended", handoffData === undefined ? {} : { handoffData });
  }

  #onClose(code: number): void {
    if (this.#ending || this.#over) return;
    this.#relayed.call.leg.voice.interrupt();
    if (code === 1000 || code === 1005) this.#finish("ended");
    else this.#finish("failed", { error: { code: "64105", message: `WebSocket ended with code ${code}` } });
  }

  #finish(status: RelayEnd["status"], more: Pick<RelayEnd, "handoffData" | "error"> = {}): void {
    if (this.#over) return;
    this.#over = true;
    this.#release();
    const { call } = this.#relayed;
    call.leg.setAgentSide(null);
    if (call.endedBy === "carrier" || this.#socket.readyState !== WebSocket.OPEN) this.#socket.terminate(); // the line went dead
    else {
      this.#socket.close(1000);
      const grace = setTimeout(() => this.#socket.terminate(), CLOSE_GRACE_MS);
      this.#socket.once("close", () => clearTimeout(grace));
    }
    this.#write("relay", { event: "closed", status, ...more });
    this.#resolve({
      sessionId: this.#relayed.setup.sessionId,
      status,
      seconds: Math.round((this.#parts.time.clock.monotonicMs() - this.#startedAt) / 1000),
      ...more,
    });
  }
}
