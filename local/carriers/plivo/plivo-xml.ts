import { streamIn, type StreamSettings } from "./stream.ts";
import { elementsOf, parseXml, textOf, XmlError, type XmlElement } from "../http/xml.ts";

/** What is played to the person. */
export type Sound = { verb: "Speak"; text: string; loop: number } | { verb: "Play"; source: string; loop: number };

/** `<GetInput>` as asked for. Seconds; `speechEndSeconds` null: as the carrier judges. https://www.plivo.com/docs/voice/xml/getinput */
export interface InputSettings {
  action: string;
  method: string;
  speech: boolean;
  keys: boolean;
  executionSeconds: number;
  digitEndSeconds: number;
  speechEndSeconds: number | null;
  numDigits: number;
  /** The key that ends an entry; "" for none. */
  finishOnKey: string;
  redirect: boolean;
  sounds: Sound[];
}

/** One instruction of a call document. */
export type Verb =
  | Sound
  | { verb: "Stream"; stream: StreamSettings }
  | { verb: "GetInput"; input: InputSettings }
  | { verb: "Wait"; seconds: number; minSilenceMs: number | null; beep: boolean }
  | { verb: "Redirect"; url: string; method: string }
  | { verb: "Hangup"; reason: string | null; schedule: number | null }
  | { verb: "Dial"; number: string; action: string | null; method: string }
  | { verb: "DTMF"; digits: string };

/** A parsed document, and what Plivo's debugger would complain about. */
export interface Document {
  verbs: Verb[];
  warnings: string[];
}

/** A document that cannot be followed: the call is dropped. */
export class DocumentError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "DocumentError";
  }
}

/** Plivo reads documents of up to 100 KB. */
const MAX_DOCUMENT_BYTES = 100 * 1024;
const MAX_LOOP = 100;
const MAX_SPEAK_CHARS = 3_000;

/** Attributes each element knows. */
const ATTRIBUTES: Record<string, readonly string[]> = {
  Response: [],
  Speak: ["voice", "language", "loop"],
  Play: ["loop"],
  GetInput: [
    "action",
    "method",
    "inputType",
    "executionTimeout",
    "digitEndTimeout",
    "speechEndTimeout",
    "finishOnKey",
    "numDigits",
    "speechModel",
    "hints",
    "language",
    "interimSpeechResultsCallback",
    "interimSpeechResultsCallbackMethod",
    "log",
    "redirect",
    "profanityFilter",
  ],
  Stream: [
    "bidirectional",
    "audioTrack",
    "streamTimeout",
    "statusCallbackUrl",
    "statusCallbackMethod",
    "contentType",
    "extraHeaders",
    "keepCallAlive",
    "noiseCancellation",
    "noiseCancellationLevel",
  ],
  Wait: ["length", "silence", "min_silence", "minSilence", "beep"],
  Redirect: ["method"],
  Hangup: ["schedule", "reason"],
  Dial: [
    "action",
    "method",
    "timeout",
    "hangupOnStar",
    "timeLimit",
    "callerId",
    "callerName",
    "confirmSound",
    "dialMusic",
    "confirmKey",
    "redirect",
    "callbackUrl",
    "callbackMethod",
    "digitsMatch",
    "digitsMatchBLeg",
    "sipHeaders",
    "confirmTimeout",
  ],
  Number: ["sendDigits", "sendOnPreanswer", "sendDigitsMode", "callerId", "callerName"],
  DTMF: ["digits", "async"],
};

function whole(element: XmlElement, name: string, byDefault: number, least: number, most: number): number {
  const text = element.attributes[name];
  if (text === undefined) return byDefault;
  const n = Number(text);
  if (!Number.isSafeInteger(n) || n < least || n > most)
    throw new DocumentError(`${name}="${text}" of <${element.name}> must be a whole number from ${least} to ${most}`);
  return n;
}

/** 2 to 10 seconds, or "auto", which is null. */
const pause = (element: XmlElement, name: string): number | null =>
  element.attributes[name] === undefined || element.attributes[name] === "auto" ? null : whole(element, name, 2, 2, 10);

function oneOf<T extends string>(element: XmlElement, name: string, allowed: readonly T[], byDefault: T): T {
  const text = element.attributes[name];
  const found = text === undefined ? byDefault : allowed.find((word) => word === text);
  if (found === undefined)
    throw new DocumentError(`${name}="${text}" of <${element.name}> must be one of ${allowed.join(", ")}`);
  return found;
}

function url(element: XmlElement, text: string | undefined): string {
  if (text === undefined || !URL.canParse(text))
    throw new DocumentError(`<${element.name}> needs a fully qualified URL, not "${text ?? ""}"`);
  return text;
}

function soundOf(element: XmlElement): Sound {
  if (element.name === "Play")
    return { verb: "Play", source: textOf(element), loop: whole(element, "loop", 1, 0, MAX_LOOP) };
  const text = textOf(element);
  const { voice = "WOMAN" } = element.attributes;
  if (text === "") throw new DocumentError("<Speak> has nothing to say");
  if (text.length > MAX_SPEAK_CHARS)
    throw new DocumentError(`<Speak> takes ${MAX_SPEAK_CHARS} characters, not ${text.length}`);
  if (voice !== "MAN" && voice !== "WOMAN" && !/^Polly\.[A-Za-z]+$/.test(voice))
    throw new DocumentError(`voice="${voice}" of <Speak> is not known`);
  return { verb: "Speak", text, loop: whole(element, "loop", 1, 0, MAX_LOOP) };
}

function inputOf(element: XmlElement): InputSettings {
  const type = oneOf(element, "inputType", ["dtmf", "speech", "dtmf speech"], "dtmf");
  const { finishOnKey = "#", method = "POST", action } = element.attributes;
  if (!/^[0-9*#]?$|^none$/.test(finishOnKey))
    throw new DocumentError(`finishOnKey="${finishOnKey}" of <GetInput> must be one key`);
  const sounds = elementsOf(element).map((child) => {
    if (child.name !== "Speak" && child.name !== "Play" && child.name !== "Wait")
      throw new DocumentError(`<${child.name}> is not allowed in <GetInput>`);
    return child;
  });
  return {
    action: url(element, action),
    method,
    speech: type !== "dtmf",
    keys: type !== "speech",
    executionSeconds: whole(element, "executionTimeout", 15, 5, 60),
    digitEndSeconds: pause(element, "digitEndTimeout") ?? 2,
    speechEndSeconds: pause(element, "speechEndTimeout"),
    numDigits: whole(element, "numDigits", 32, 1, 32),
    finishOnKey: finishOnKey === "none" ? "" : finishOnKey,
    redirect: oneOf(element, "redirect", ["true", "false"], "true") === "true",
    sounds: sounds.filter(({ name }) => name !== "Wait").map(soundOf),
  };
}

function verbOf(element: XmlElement): Verb {
  const { method = "POST", reason, action } = element.attributes;
  switch (element.name) {
    case "Speak":
    case "Play":
      return soundOf(element);
    case "Stream": {
      const stream = streamIn(element.attributes, textOf(element));
      if (typeof stream === "string") throw new DocumentError(stream);
      return { verb: "Stream", stream };
    }
    case "GetInput":
      return { verb: "GetInput", input: inputOf(element) };
    case "Wait": {
      const silence = oneOf(element, "silence", ["true", "false"], "false") === "true";
      return {
        verb: "Wait",
        seconds: whole(element, "length", 1, 1, 3_600),
        minSilenceMs: silence ? whole(element, "minSilence", 2_000, 1, 3_600_000) : null,
        beep: !silence && oneOf(element, "beep", ["true", "false"], "false") === "true",
      };
    }
    case "Redirect":
      return { verb: "Redirect", url: url(element, textOf(element)), method };
    case "Hangup":
      return {
        verb: "Hangup",
        reason: reason ?? null,
        schedule: element.attributes["schedule"] === undefined ? null : whole(element, "schedule", 1, 1, 86_400),
      };
    case "DTMF":
      return { verb: "DTMF", digits: textOf(element) };
    case "Dial": {
      const [noun, ...more] = elementsOf(element);
      if (noun?.name !== "Number" || more.length > 0)
        throw new DocumentError("<Dial> must hold one <Number>: this simulator bridges to nothing else");
      return { verb: "Dial", number: textOf(noun), action: action ?? null, method };
    }
    default:
      throw new DocumentError(`<${element.name}> is no element this simulator knows`);
  }
}

function* withDescendants(element: XmlElement): Generator<XmlElement> {
  yield element;
  for (const child of elementsOf(element)) yield* withDescendants(child);
}

/** Reads a call document. Throws DocumentError when it cannot be followed at all. */
export function parseDocument(text: string): Document {
  if (Buffer.byteLength(text) > MAX_DOCUMENT_BYTES)
    throw new DocumentError(`the document is larger than ${MAX_DOCUMENT_BYTES} bytes`);
  let root: XmlElement;
  try {
    root = parseXml(text);
  } catch (error) {
    if (error instanceof XmlError) throw new DocumentError(`not well-formed: ${error.message}`);
    throw error;
  }
  if (root.name !== "Response") throw new DocumentError(`the root element must be <Response>, not <${root.name}>`);
  const verbs = elementsOf(root).map(verbOf);
  const warnings = [...withDescendants(root)].flatMap(({ name, attributes }) =>
    Object.keys(attributes)
      .filter((attribute) => !(ATTRIBUTES[name] ?? []).includes(attribute))
      .map((attribute) => `attribute ${attribute} is not allowed in <${name}>; it is ignored`),
  );
  return { verbs, warnings };
}
