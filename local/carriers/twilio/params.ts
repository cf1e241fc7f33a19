import type { Hook } from "../http/callback-sender.ts";
import { ParamError } from "./errors.ts";

/** The status events one can ask for; "completed" stands for every terminal status. */
export const STATUS_EVENTS = ["initiated", "ringing", "answered", "completed"] as const;
/** One of the status events. */
export type StatusEvent = (typeof STATUS_EVENTS)[number];

/** Answering machine detection as asked for; times in simulated ms. */
export interface AmdParams {
  mode: "Enable" | "DetectMessageEnd";
  async: boolean;
  hook: Hook | null;
  timeoutMs: number;
  speechThresholdMs: number;
  silenceTimeoutMs: number;
}

/** The events of a recording that one can ask for. */
export const RECORDING_EVENTS = ["in-progress", "completed", "absent"] as const;
/** A recording as asked for; `source`: by what. */
export interface RecordParams {
  channels: 1 | 2;
  hook: Hook | null;
  events: readonly string[];
  source: string;
}

/** The parameters of a new call, checked. https://www.twilio.com/docs/voice/api/call-resource#create-a-call-resource */
export interface CallParams {
  to: string;
  from: string;
  twiml: string | null;
  answer: Hook | null;
  fallback: Hook | null;
  status: Hook | null;
  statusEvents: StatusEvent[];
  timeoutSeconds: number;
  timeLimitSeconds: number;
  amd: AmdParams | null;
  /** The call is recorded from its answer on. */
  record: RecordParams | null;
}

const E164 = /^\+[1-9]\d{6,14}$/;
const MAX_TWIML_CHARS = 4_000;
/** Twilio rings this much longer than Timeout says. */
export const TIMEOUT_BUFFER_SECONDS = 5;
const BAD_PARAMETER = 20001;

function integer(
  form: URLSearchParams,
  name: string,
  byDefault: number,
  least: number,
  most: number,
  code = BAD_PARAMETER,
): number {
  const text = form.get(name);
  if (text === null || text === "") return byDefault;
  const n = Number(text);
  if (!Number.isSafeInteger(n) || n < least || n > most)
    throw new ParamError(code, `${name} must be a whole number from ${least} to ${most}, not ${text}`);
  return n;
}

function method(form: URLSearchParams, name: string): "GET" | "POST" {
  const value = (form.get(name) ?? "POST").toUpperCase();
  if (value !== "GET" && value !== "POST") throw new ParamError(21403, `${name} must be GET or POST, not ${value}`);
  return value;
}

/** Reads a URL parameter and its method; null when it is absent. Throws ParamError with the given code for a bad URL. */
export function hook(form: URLSearchParams, name: string, methodName: string, code = 21205): Hook | null {
  const url = form.get(name);
  if (url === null || url === "") return null;
  const good = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
  if (!good) throw new ParamError(code, `${name} is not a valid URL: ${url}`);
  return { url, method: method(form, methodName) };
}

/** Reads inline TwiML; null when it is absent. Throws ParamError when it is too long. */
export function inlineTwiml(form: URLSearchParams): string | null {
  const twiml = form.get("Twiml");
  if (twiml === null || twiml === "") return null;
  if (twiml.length > MAX_TWIML_CHARS)
    throw new ParamError(21624, `Twiml must be at most ${MAX_TWIML_CHARS} characters, not ${twiml.length}`);
  return twiml;
}

function statusEvents(form: URLSearchParams): StatusEvent[] {
  const asked = form
    .getAll("StatusCallbackEvent")
    .flatMap((v) => v.split(/[\s,]+/))
    .filter((v) => v !== "");
  const events = STATUS_EVENTS.filter((event) => asked.includes(event));
  const unknown = asked.find((event) => !STATUS_EVENTS.some((known) => known === event));
  if (unknown !== undefined)
    throw new ParamError(21626, `StatusCallbackEvent ${unknown} is not one of ${STATUS_EVENTS.join(", ")}`);
  return asked.length === 0 ? ["completed"] : events;
}

/** Reads how a recording is to be made and reported. Throws ParamError. */
export function recordingParams(form: URLSearchParams, source: string): RecordParams {
  const channels = form.get("RecordingChannels") ?? "mono";
  if (channels !== "mono" && channels !== "dual")
    throw new ParamError(BAD_PARAMETER, `RecordingChannels must be mono or dual, not ${channels}`);
  const trim = form.get("Trim");
  if (trim !== null && trim !== "trim-silence" && trim !== "do-not-trim")
    throw new ParamError(BAD_PARAMETER, `Trim must be trim-silence or do-not-trim, not ${trim}`);
  const asked = form
    .getAll("RecordingStatusCallbackEvent")
    .flatMap((v) => v.split(/[\s,]+/))
    .filter((v) => v !== "");
  const unknown = asked.find((event) => !RECORDING_EVENTS.some((known) => known === event));
  if (unknown !== undefined)
    throw new ParamError(
      BAD_PARAMETER,
      `RecordingStatusCallbackEvent ${unknown} is not one of ${RECORDING_EVENTS.join(", ")}`,
    );
  return {
    channels: channels === "dual" ? 2 : 1,
    hook: hook(form, "RecordingStatusCallback", "RecordingStatusCallbackMethod"),
    events: asked.length === 0 ? ["completed"] : asked,
    source,
  };
}

function amd(form: URLSearchParams): AmdParams | null {
  const mode = form.get("MachineDetection");
  if (mode === null || mode === "" || form.get("SendDigits")) return null; // SendDigits switches detection off
  if (mode !== "Enable" && mode !== "DetectMessageEnd")
    throw new ParamError(BAD_PARAMETER, `MachineDetection must be Enable or DetectMessageEnd, not ${mode}`);
  return {
    mode,
    async: form.get("AsyncAmd") === "true",
    hook: hook(form, "AsyncAmdStatusCallback", "AsyncAmdStatusCallbackMethod"),
    timeoutMs: integer(form, "MachineDetectionTimeout", 30, 3, 59) * 1000,
    speechThresholdMs: integer(form, "MachineDetectionSpeechThreshold", 2_400, 1_000, 6_000),
    silenceTimeoutMs: integer(form, "MachineDetectionSilenceTimeout", 5_000, 2_000, 10_000),
  };
}

/** Checks the parameters of a new call as Twilio does. Throws ParamError. `owned`: numbers the account may call from, null for any. */
export function readCallParams(
  form: URLSearchParams,
  owned: ReadonlySet<string> | null,
  refused: (to: string) => boolean,
): CallParams {
  const to = form.get("To") ?? "";
  const from = form.get("From") ?? "";
  if (to === "") throw new ParamError(21201, "No 'To' number is specified");
  if (from === "") throw new ParamError(21213, "No 'From' number is specified");
  if (!E164.test(to) || refused(to))
    throw new ParamError(21211, `The phone number you are attempting to call, ${to}, is not valid.`);
  if (!E164.test(from))
    throw new ParamError(21212, `The phone number provided as From, ${from}, is not a valid phone number.`);
  if (owned && !owned.has(from))
    throw new ParamError(21210, `The source phone number provided, ${from}, is not yet verified for your account.`);
  const twiml = inlineTwiml(form);
  const answer = hook(form, "Url", "Method");
  if (twiml === null && answer === null) {
    throw new ParamError(
      21205,
      form.get("ApplicationSid")
        ? "ApplicationSid names no application: this account has none"
        : "Url parameter is required: give one of Url, Twiml and ApplicationSid",
    );
  }
  return {
    to,
    from,
    twiml,
    answer: twiml === null ? answer : null,
    fallback: hook(form, "FallbackUrl", "FallbackMethod"),
    status: hook(form, "StatusCallback", "StatusCallbackMethod", 21609),
    statusEvents: statusEvents(form),
    timeoutSeconds: integer(form, "Timeout", 60, 5, 600),
    timeLimitSeconds: integer(form, "TimeLimit", 14_400, 1, 86_400),
    amd: amd(form),
    record: form.get("Record") === "true" ? recordingParams(form, "OutboundAPI") : null,
  };
}
