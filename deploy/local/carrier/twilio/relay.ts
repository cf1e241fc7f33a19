import { randomBytes } from "node:crypto";
import { WebSocket } from "ws";
import type { Faults } from "../faults.ts";
import type { Ledger } from "../ledger.ts";
import type { AgentSide } from "../line.ts";
import type { SimTime } from "../time.ts";
import { readFrame, type FrameIn, type FrameOut } from "./relay-frames.ts";
import { sign } from "./signature.ts";
import type { Interruptible, RelaySettings } from "./twiml.ts";
import type { TwilioCall } from "./twilio-call.ts";

/** How a relay session ended, as the `action` URL is told. */
export interface RelayEnd {
  sessionId: string;
  /** completed: the call ended; ended: the application sent `end` or closed; failed: the socket failed. */
  status: "completed" | "ended" | "failed";
  seconds: number;
  handoffData?: string;
  error?: { code: string; message: string };
}

/** What a session stands on. */
export interface RelayParts {
  time: SimTime;
  ledger: Ledger;
  faults: Faults;
  /** `end` cuts what is being said; otherwise it is said first. */
  endCutsSpeech: boolean;
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
function relaySide(twilioCall: TwilioCall, settings: RelaySettings, language: { now: string }, send: (frame: FrameOut) => void): AgentSide {
  const { voice } = twilioCall.call.line;
  let speaking = false;
  const greeting = voice.current();
  const subscribed = (event: string): boolean => settings.events.includes(event);
  return {
    hears: (kind) => kind === "speech" || settings.dtmfDetection,
    interruptibleBy(kind, speech) {
      if (speech === greeting) return allows(settings.welcomeGreetingInterruptible, kind);
      if (speech.interruptible === false) return false;
      return allows(settings.interruptible, kind);
    },
    reportsDuringSpeech: (kind) => allows(settings.reportInputDuringAgentSpeech, kind),
    onPartial(text) { if (settings.partialPrompts && text !== "") send({ type: "prompt", voicePrompt: text, lang: language.now, last: false }); },
    onSaid: (text) => send({ type: "prompt", voicePrompt: text, lang: language.now, last: true }),
    onDigit: (digit) => send({ type: "dtmf", digit }),
    onInterrupt: (heard) => send({ type: "interrupt", utteranceUntilInterrupt: heard.text, durationUntilInterruptMs: heard.durationMs }),
    onSpeaking(now) {
      if (speaking !== now && subscribed("speaker-events")) send({ type: "info", name: "agentSpeaking", value: now ? "on" : "off" });
      speaking = now;
    },
    onPlayed(heard) { if (subscribed("tokens-played") && heard.text !== "") send({ type: "info", name: "tokensPlayed", value: heard.text }); },
  };
}

/** Does what one message of the application asks for; `end` is left to the session. */
function obey(frame: Exclude<FrameIn, { type: "end" }>, twilioCall: TwilioCall, settings: RelaySettings, language: { now: string }): void {
  const { voice } = twilioCall.call.line;
  switch (frame.type) {
    case "text": voice.say(frame.token, { last: frame.last, interruptible: frame.interruptible, preemptible: frame.preemptible ?? settings.preemptible }); return;
    case "play": voice.play(frame.source, SOUND_MS * Math.min(Math.max(frame.loop, 1), MAX_SOUND_LOOPS), frame); return;
    case "sendDigits": voice.play(`keys:${frame.digits}`, frame.digits.length * KEY_TONE_MS, { interruptible: false }); return;
    case "language": language.now = frame.transcriptionLanguage ?? language.now;
  }
}

/** Runs one ConversationRelay session from connecting to its end. `leave` aborts when the call is over or goes elsewhere. */
export function runRelay(parts: RelayParts, twilioCall: TwilioCall, settings: RelaySettings, leave: AbortSignal): Promise<RelayEnd> {
  const { time, ledger, faults, endCutsSpeech } = parts;
  const { call, account } = twilioCall;
  const { sid, to, from } = call.order;
  const sessionId = `VX${randomBytes(16).toString("hex")}`;
  const startedAt = performance.now();
  const language = { now: settings.transcriptionLanguage };
  const note = (event: string, more: Record<string, unknown> = {}): void => { ledger.write({ kind: "relay", call_sid: sid, to, from, event, session_id: sessionId, ...more }); };

  return new Promise((resolve) => {
    const socket = new WebSocket(settings.url, {
      headers: { "x-twilio-signature": sign(account.authToken, settings.url), "user-agent": "TwilioProxy/1.1" },
      handshakeTimeout: CONNECT_TIMEOUT_MS, maxPayload: MAX_FRAME_BYTES, perMessageDeflate: false,
    });
    let over = false;
    let ending = false;
    let cancelDrop = (): void => undefined;
    const send = (frame: FrameOut): void => { if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame)); };

    const finish = (status: RelayEnd["status"], more: Pick<RelayEnd, "handoffData" | "error"> = {}): void => {
      if (over) return;
      over = true;
      cancelDrop();
      leave.removeEventListener("abort", onLeave);
      call.line.setAgentSide(null);
      if (call.endedBy === "carrier" || socket.readyState !== WebSocket.OPEN) socket.terminate();
      else {
        socket.close(1000);
        const grace = setTimeout(() => socket.terminate(), CLOSE_GRACE_MS);
        socket.once("close", () => clearTimeout(grace));
      }
      note("closed", { status, ...more });
      resolve({ sessionId, status, seconds: Math.round((performance.now() - startedAt) / 1000), ...more });
    };
    const onLeave = (): void => finish("completed");

    const end = async (handoffData: string | undefined): Promise<void> => {
      ending = true;
      call.line.setAgentSide(null); // nothing of the person's is passed on any more
      if (endCutsSpeech) call.line.voice.interrupt();
      call.line.voice.say("", { last: true });
      await call.line.voice.drained();
      finish("ended", handoffData === undefined ? {} : { handoffData });
    };

    socket.on("open", () => {
      note("connected");
      send({
        type: "setup", sessionId, accountSid: account.sid, callSid: sid, parentCallSid: "", from, to, forwardedFrom: "", callerName: "",
        callType: "PSTN", direction: "outbound-api", callStatus: "IN_PROGRESS", customParameters: settings.parameters,
      });
      if (settings.welcomeGreeting !== "") call.line.voice.say(settings.welcomeGreeting, { last: true, preemptible: settings.preemptible });
      call.line.setAgentSide(relaySide(twilioCall, settings, language, send));
      const drop = faults.take("drop_socket", to);
      if (drop) cancelDrop = time.after(0, () => { note("dropped by a fault"); socket.terminate(); }, drop.seconds * 1000);
    });
    socket.on("message", (data, isBinary) => {
      if (over || ending) return;
      const frame = isBinary ? "Invalid message received: it is binary" : readFrame(String(data));
      if (typeof frame === "string") {
        ledger.write({ kind: "warning", call_sid: sid, to, from, message: `64107: ${frame}` });
        send({ type: "error", description: frame });
      } else if (frame.type === "end") void end(frame.handoffData);
      else obey(frame, twilioCall, settings, language);
    });
    socket.on("close", (code) => {
      if (ending) return;
      call.line.voice.interrupt();
      if (code === 1000 || code === 1005) finish("ended");
      else finish("failed", { error: { code: "64105", message: `WebSocket ended with code ${code}` } });
    });
    socket.on("error", (error) => {
      if (!over && socket.readyState !== WebSocket.OPEN) finish("failed", { error: { code: "64102", message: `Unable to connect to WebSocket URL: ${error.message}` } });
    });
    leave.addEventListener("abort", onLeave, { once: true });
    if (leave.aborted) onLeave();
  });
}
