import type { Interruptible, RelaySettings } from "../relay/relay-settings.ts";
import { ParamError } from "./errors.ts";
import { recordingParams, type RecordParams } from "./params.ts";
import { urlComplaint, type StreamSettings } from "./stream.ts";
import { elementsOf, parseXml, textOf, XmlError, type XmlElement } from "../http/xml.ts";

/** One instruction of a call document. */
export type Verb =
  | { verb: "Relay"; relay: RelaySettings; action: string | null; method: string }
  | { verb: "Stream"; stream: StreamSettings; action: string | null; method: string }
  | { verb: "Record"; record: RecordParams }
  | { verb: "Say"; text: string; loop: number }
  | { verb: "Play"; source: string; loop: number }
  | { verb: "PlayDigits"; digits: string }
  | { verb: "Pause"; seconds: number }
  | { verb: "Hangup" }
  | { verb: "Reject"; reason: string }
  | { verb: "Dial"; number: string; action: string | null; method: string; timeoutSeconds: number }
  | { verb: "Redirect"; url: string; method: string };

/** A parsed document: its instructions and what Twilio's debugger would complain about (attributes it does not know). */
export interface Document {
  verbs: Verb[];
  warnings: string[];
}

/** A document that cannot be followed. Code 12100: not XML; 12200: not this schema; 12201: unknown verb; 12101: wrong root. */
export class TwimlError extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.name = "TwimlError";
    this.code = code;
  }
}

const RELAY_ATTRIBUTES = new Set([
  "url",
  "welcomeGreeting",
  "welcomeGreetingInterruptible",
  "welcomeGreetingLanguage",
  "language",
  "ttsLanguage",
  "ttsProvider",
  "voice",
  "transcriptionLanguage",
  "transcriptionProvider",
  "speechModel",
  "interruptible",
  "interruptSensitivity",
  "dtmfDetection",
  "reportInputDuringAgentSpeech",
  "preemptible",
  "partialPrompts",
  "profanityFilter",
  "hints",
  "events",
  "debug",
  "speechTimeout",
  "speechtimeout",
  "ignoreBackchannel",
  "ignorebackchannel",
  "intelligenceService",
  "elevenlabsTextNormalization",
  "deepgramSmartFormat",
  "deepgramsmartformat",
  "backgroundnoisereduction",
  "backgroundNoiseReduction",
]);
const OTHER_ATTRIBUTES: Record<string, ReadonlySet<string>> = {
  Connect: new Set(["action", "method"]),
  Stream: new Set(["url", "name", "track", "statusCallback", "statusCallbackMethod", "connectorName"]),
  Start: new Set([]),
  Recording: new Set([
    "channels",
    "trim",
    "track",
    "recordingStatusCallback",
    "recordingStatusCallbackMethod",
    "recordingStatusCallbackEvent",
    "recordingConfigurationId",
  ]),
  Language: new Set(["code", "ttsProvider", "voice", "transcriptionProvider", "speechModel"]),
  Parameter: new Set(["name", "value"]),
  Say: new Set(["voice", "language", "loop"]),
  Play: new Set(["loop", "digits"]),
  Pause: new Set(["length"]),
  Hangup: new Set([]),
  Reject: new Set(["reason"]),
  Redirect: new Set(["method"]),
  Dial: new Set([
    "action",
    "method",
    "timeout",
    "callerId",
    "timeLimit",
    "answerOnBridge",
    "hangupOnStar",
    "ringTone",
    "record",
  ]),
};
const MAX_LOOP = 100;

const isInterruptible = (value: string): value is Interruptible => ["none", "dtmf", "speech", "any"].includes(value);

function interruptible(element: XmlElement, name: string, byDefault: Interruptible): Interruptible {
  const value = element.attributes[name];
  if (value === undefined) return byDefault;
  if (value === "true") return "any";
  if (value === "false") return "none";
  if (!isInterruptible(value))
    throw new TwimlError(12200, `${name}="${value}" of <ConversationRelay> must be none, dtmf, speech or any`);
  return value;
}

function count(element: XmlElement, name: string, byDefault: number, most: number): number {
  const text = element.attributes[name];
  if (text === undefined) return byDefault;
  const n = Number(text);
  if (!Number.isFinite(n) || n < 0)
    throw new TwimlError(12200, `${name}="${text}" of <${element.name}> must be a number from 0`);
  return Math.min(n, most);
}

/** The `<Parameter>`s of a noun; nothing else may stand in it but `allowed`. */
function parametersOf(
  element: XmlElement,
  warn: (element: XmlElement) => void,
  allowed: string | null,
): Record<string, string> {
  const parameters: Record<string, string> = {};
  for (const child of elementsOf(element)) {
    warn(child);
    if (child.name === "Parameter") parameters[child.attributes["name"] ?? ""] = child.attributes["value"] ?? "";
    else if (child.name !== allowed) throw new TwimlError(12200, `<${child.name}> is not allowed in <${element.name}>`);
  }
  return parameters;
}

function streamOf(element: XmlElement, warn: (element: XmlElement) => void): StreamSettings {
  const { url = "", name, track = "inbound_track", statusCallback, statusCallbackMethod } = element.attributes;
  const complaint = urlComplaint(url);
  if (complaint !== null && !complaint.startsWith("31920"))
    throw new TwimlError(11_100, complaint.replace("11100: ", ""));
  if (track !== "inbound_track")
    throw new TwimlError(31_941, `track="${track}" of <Stream> must be inbound_track in <Connect>`);
  return {
    url,
    name: name ?? null,
    parameters: parametersOf(element, warn, null),
    statusCallback: statusCallback ?? null,
    statusMethod: statusCallbackMethod ?? "POST",
  };
}

function relayOf(element: XmlElement, warn: (element: XmlElement) => void): RelaySettings {
  const a = element.attributes;
  if (!/^wss?:\/\//.test(a["url"] ?? ""))
    throw new TwimlError(12200, "url of <ConversationRelay> must be a wss:// address");
  const parameters = parametersOf(element, warn, "Language");
  return {
    url: a["url"] ?? "",
    welcomeGreeting: a["welcomeGreeting"] ?? "",
    welcomeGreetingInterruptible: interruptible(element, "welcomeGreetingInterruptible", "any"),
    interruptible: interruptible(element, "interruptible", "any"),
    reportInputDuringAgentSpeech: interruptible(element, "reportInputDuringAgentSpeech", "none"),
    preemptible: a["preemptible"] === "true",
    partialPrompts: a["partialPrompts"] === "true",
    dtmfDetection: a["dtmfDetection"] === "true",
    transcriptionLanguage: a["transcriptionLanguage"] ?? a["language"] ?? "en-US",
    events: `${a["events"] ?? ""} ${a["debug"] ?? ""}`.split(/[\s,]+/).filter((e) => e !== ""),
    parameters,
  };
}

/** `<Start><Recording>`: what the REST API takes as parameters stands in attributes. https://www.twilio.com/docs/voice/twiml/recording */
function startedRecording({ attributes: a }: XmlElement): RecordParams {
  const names = {
    RecordingChannels: a["channels"],
    Trim: a["trim"],
    RecordingStatusCallback: a["recordingStatusCallback"],
    RecordingStatusCallbackMethod: a["recordingStatusCallbackMethod"],
    RecordingStatusCallbackEvent: a["recordingStatusCallbackEvent"],
  };
  try {
    return recordingParams(
      new URLSearchParams(
        Object.entries(names).flatMap(([name, value]): [string, string][] =>
          value === undefined ? [] : [[name, value]],
        ),
      ),
      "StartCallRecordingAPI",
    );
  } catch (error) {
    if (error instanceof ParamError) throw new TwimlError(12200, error.message);
    throw error;
  }
}

function verbOf(element: XmlElement, warn: (element: XmlElement) => void): Verb {
  const a = element.attributes;
  const method = a["method"] ?? "POST";
  switch (element.name) {
    case "Connect": {
      const [noun, ...more] = elementsOf(element);
      if (!noun || more.length > 0 || (noun.name !== "ConversationRelay" && noun.name !== "Stream")) {
        throw new TwimlError(
          12200,
          "<Connect> must hold exactly one <ConversationRelay> or <Stream>: this simulator knows no other noun yet",
        );
      }
      warn(noun);
      const action = a["action"] ?? null;
      return noun.name === "Stream"
        ? { verb: "Stream", stream: streamOf(noun, warn), action, method }
        : { verb: "Relay", relay: relayOf(noun, warn), action, method };
    }
    case "Start": {
      const [recording, ...more] = elementsOf(element);
      if (recording?.name !== "Recording" || more.length > 0)
        throw new TwimlError(
          12200,
          "<Start> must hold exactly one <Recording>: this simulator knows no other noun yet",
        );
      warn(recording);
      return { verb: "Record", record: startedRecording(recording) };
    }
    case "Say":
      return { verb: "Say", text: textOf(element), loop: count(element, "loop", 1, MAX_LOOP) };
    case "Play":
      return a["digits"] === undefined
        ? { verb: "Play", source: textOf(element), loop: count(element, "loop", 1, MAX_LOOP) }
        : { verb: "PlayDigits", digits: a["digits"] };
    case "Pause":
      return { verb: "Pause", seconds: count(element, "length", 1, 3_600) };
    case "Hangup":
      return { verb: "Hangup" };
    case "Reject":
      return { verb: "Reject", reason: a["reason"] ?? "rejected" };
    case "Redirect":
      return { verb: "Redirect", url: textOf(element), method };
    case "Dial": {
      const noun = elementsOf(element)[0];
      if (noun && noun.name !== "Number")
        throw new TwimlError(12200, `<${noun.name}> in <Dial> is not known to this simulator: it bridges numbers only`);
      return {
        verb: "Dial",
        number: textOf(element),
        action: a["action"] ?? null,
        method,
        timeoutSeconds: count(element, "timeout", 30, 600),
      };
    }
    default:
      throw new TwimlError(12201, `<${element.name}> is no verb this simulator knows`);
  }
}

/** Reads a call document. Throws TwimlError when it cannot be followed at all. */
export function parseTwiml(text: string): Document {
  let root: XmlElement;
  try {
    root = parseXml(text);
  } catch (error) {
    if (error instanceof XmlError) throw new TwimlError(12100, `document parse failure: ${error.message}`);
    throw error;
  }
  if (root.name !== "Response") throw new TwimlError(12101, `the root element must be <Response>, not <${root.name}>`);
  const warnings: string[] = [];
  const warn = (element: XmlElement): void => {
    const known = element.name === "ConversationRelay" ? RELAY_ATTRIBUTES : OTHER_ATTRIBUTES[element.name];
    for (const name of Object.keys(element.attributes)) {
      if (known && !known.has(name) && !(element.name === "ConversationRelay" && name.startsWith("elevenlabs")))
        warnings.push(`12200: attribute ${name} is not allowed in <${element.name}>; it is ignored`);
    }
  };
  const verbs = elementsOf(root).map((element) => {
    warn(element);
    return verbOf(element, warn);
  });
  return { verbs, warnings };
}
