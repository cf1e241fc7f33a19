/** The messages an application may send. https://www.twilio.com/docs/voice/conversationrelay/websocket-messages */
export type FrameIn =
  | { type: "text"; token: string; last: boolean; lang?: string; interruptible?: boolean; preemptible?: boolean }
  | { type: "play"; source: string; loop: number; interruptible?: boolean; preemptible?: boolean }
  | { type: "sendDigits"; digits: string }
  | { type: "language"; ttsLanguage?: string; transcriptionLanguage?: string }
  | { type: "end"; handoffData?: string };

/** The first message; what is in it beyond these is each carrier's own. */
export type SetupFrame = {
  type: "setup";
  sessionId: string;
  callSid: string;
  from: string;
  to: string;
  customParameters: Record<string, unknown>;
} & Record<string, unknown>;

/** The messages sent to the application. */
export type FrameOut =
  | SetupFrame
  | { type: "prompt"; voicePrompt: string; lang: string; last: boolean }
  | { type: "dtmf"; digit: string }
  | { type: "interrupt"; utteranceUntilInterrupt: string; durationUntilInterruptMs: number }
  | { type: "info"; name: string; value: string }
  | { type: "error"; description: string };

type Check = (value: unknown) => boolean;
const isText: Check = (v) => typeof v === "string";
const isFlag: Check = (v) => typeof v === "boolean";
const isCount: Check = (v) => Number.isSafeInteger(v) && Number(v) >= 0;
const isDigits: Check = (v) => typeof v === "string" && /^[0-9w#*]+$/.test(v);

const FIELDS: Record<FrameIn["type"], { required: Record<string, Check>; optional: Record<string, Check> }> = {
  text: {
    required: { token: isText },
    optional: { last: isFlag, lang: isText, interruptible: isFlag, preemptible: isFlag },
  },
  play: { required: { source: isText }, optional: { loop: isCount, interruptible: isFlag, preemptible: isFlag } },
  sendDigits: { required: { digits: isDigits }, optional: {} },
  language: { required: {}, optional: { ttsLanguage: isText, transcriptionLanguage: isText } },
  end: { required: {}, optional: { handoffData: isText } },
};
const isType = (value: unknown): value is FrameIn["type"] => typeof value === "string" && value in FIELDS;

/** Reads one message; a string is what the carrier would complain about (the message is dropped). */
export function readFrame(data: string): FrameIn | string {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    return "Invalid message received: it is not JSON";
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return "Invalid message received: it is not a JSON object";
  const frame = value as Record<string, unknown>;
  const { type } = frame;
  if (!isType(type)) return `Invalid message received: unknown type ${JSON.stringify(type)}`;
  const { required, optional } = FIELDS[type];
  for (const [name, check] of Object.entries(required))
    if (!check(frame[name])) return `Invalid message received: ${type}.${name} is missing or not of its type`;
  for (const name of Object.keys(frame)) {
    if (name === "type" || name in required) continue;
    const check = optional[name];
    if (!check) return `Invalid message received: ${type}.${name} is not known`;
    if (!check(frame[name])) return `Invalid message received: ${type}.${name} is not of its type`;
  }
  return { last: false, loop: 1, ...frame, type } as FrameIn; // every field was checked above
}
