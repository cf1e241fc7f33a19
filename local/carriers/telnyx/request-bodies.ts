import type { Interruptible, RelaySettings } from "../relay/relay-settings.ts";
import { RequestError } from "./errors.ts";
import { streamIn } from "./stream.ts";
import { AMD_MODES, type AmdMode, type RecordSettings, type TelnyxSettings } from "./telnyx-call.ts";

/** A JSON body, read with Telnyx's complaints. */
export type Fields = Record<string, unknown>;

const isRecord = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const invalid = (name: string, detail: string): never => {
  throw new RequestError("10015", "Bad Request", `${name} ${detail}`);
};

/** The body's fields; a body that is no JSON object is refused. */
export function fieldsOf(body: string): Fields {
  let value: unknown;
  try {
    value = body.trim() === "" ? {} : JSON.parse(body);
  } catch {
    value = null;
  }
  if (!isRecord(value)) throw new RequestError("10023", "Invalid JSON", "The supplied JSON is not an object.", 400);
  return value;
}

/** A text that may be absent. */
export function textIn(fields: Fields, name: string): string | null {
  const value = fields[name];
  if (value === undefined || value === null) return null;
  return typeof value === "string" ? value : invalid(name, "must be a string.");
}

/** A text that must be there. */
export const needed = (fields: Fields, name: string): string => {
  const value = textIn(fields, name);
  if (value === null || value === "")
    throw new RequestError("10004", "Missing required parameter", `The '${name}' parameter is required.`);
  return value;
};

function integerIn(fields: Fields, name: string, byDefault: number, least: number, most: number): number {
  const value = fields[name] ?? byDefault;
  return typeof value === "number" && Number.isSafeInteger(value) && value >= least && value <= most
    ? value
    : invalid(name, `must be a whole number from ${least} to ${most}.`);
}

function flagIn(fields: Fields, name: string): boolean {
  const value = fields[name] ?? false;
  return typeof value === "boolean" ? value : invalid(name, "must be true or false.");
}

function oneOf<T extends string>(fields: Fields, name: string, words: readonly T[], byDefault: T): T {
  const value = textIn(fields, name) ?? byDefault;
  return words.find((word) => word === value) ?? invalid(name, `must be one of ${words.join(", ")}.`);
}

const INTERRUPTIBLE: readonly Interruptible[] = ["none", "any", "speech", "dtmf"];
const RELAY_URL = /^wss?:\/\//;
const E164 = /^\+[1-9]\d{6,14}$/;

/** A phone number with + and country code. */
export function numberIn(fields: Fields, name: string): string {
  const value = needed(fields, name);
  if (!E164.test(value))
    throw new RequestError(
      "10016",
      "Phone number must be in +E.164 format",
      `The '${name}' parameter must be in +E.164 format.`,
    );
  return value;
}

/** ConversationRelay's settings. https://developers.telnyx.com/api-reference/call-commands/start-conversation-relay */
export function relayIn(fields: Fields): RelaySettings {
  const url = needed(fields, "url");
  if (!RELAY_URL.test(url) || !URL.canParse(url)) invalid("url", "must start with ws:// or wss://.");
  const parameters = fields["custom_parameters"] ?? {};
  return {
    url,
    welcomeGreeting: textIn(fields, "greeting") ?? "",
    welcomeGreetingInterruptible: oneOf(fields, "interruptible_greeting", INTERRUPTIBLE, "any"),
    interruptible: oneOf(fields, "interruptible", INTERRUPTIBLE, "any"),
    reportInputDuringAgentSpeech: "none",
    preemptible: false,
    partialPrompts: true,
    dtmfDetection: flagIn(fields, "dtmf_detection"),
    transcriptionLanguage: textIn(fields, "language") ?? "en",
    events: [],
    parameters: isRecord(parameters)
      ? Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, String(value)]))
      : invalid("custom_parameters", "must be an object."),
  };
}

function clientStateIn(fields: Fields): string | null {
  const value = textIn(fields, "client_state");
  if (value !== null && !/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(value))
    invalid("client_state", "must be a valid Base-64 encoded string.");
  return value;
}

function webhookIn(fields: Fields): string | null {
  const value = textIn(fields, "webhook_url");
  if (value !== null && !(URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)))
    throw new RequestError("10003", "Invalid URL", `The 'webhook_url' parameter is no valid URL: ${value}`);
  oneOf(fields, "webhook_url_method", ["POST"], "POST"); // GET is not simulated
  return value;
}

function recordIn(fields: Fields): RecordSettings | null {
  const asked = textIn(fields, "record");
  if (asked === null) return null;
  if (asked !== "record-from-answer") invalid("record", "must be record-from-answer.");
  return {
    channels: oneOf(fields, "record_channels", ["single", "dual"], "dual"),
    format: oneOf(fields, "record_format", ["wav", "mp3"], "mp3"),
  };
}

/** What a call is given by the request that dials or answers it; what is not in it stays as it was. */
export function settingsIn(fields: Fields, before: TelnyxSettings): TelnyxSettings {
  const relay = fields["conversation_relay_config"];
  if (relay !== undefined && !isRecord(relay)) invalid("conversation_relay_config", "must be an object.");
  return {
    clientState: clientStateIn(fields) ?? before.clientState,
    webhookUrl: webhookIn(fields) ?? before.webhookUrl,
    relay: isRecord(relay) ? relayIn(relay) : before.relay,
    stream: streamIn(fields) ?? before.stream,
    record: recordIn(fields) ?? before.record,
    amd: oneOf<AmdMode>(fields, "answering_machine_detection", AMD_MODES, before.amd),
  };
}

/** Nothing given yet. */
export const NO_SETTINGS: TelnyxSettings = {
  clientState: null,
  webhookUrl: null,
  relay: null,
  stream: null,
  record: null,
  amd: "disabled",
};

/** A dial request. Seconds are whole. */
export interface DialBody {
  to: string;
  from: string;
  timeoutSeconds: number;
  timeLimitSeconds: number;
  commandId: string | null;
  settings: TelnyxSettings;
}

/** Checks a dial request as Telnyx does. Throws RequestError. https://developers.telnyx.com/api-reference/call-commands/dial */
export function dialIn(fields: Fields, connectionId: string): DialBody {
  if (needed(fields, "connection_id") !== connectionId) {
    throw new RequestError(
      "10015",
      "Invalid value for connection_id (Call Control App ID)",
      "The requested connection_id (Call Control App ID) is either invalid or does not exist.",
    );
  }
  return {
    to: numberIn(fields, "to"),
    from: numberIn(fields, "from"),
    timeoutSeconds: integerIn(fields, "timeout_secs", 30, 5, 600),
    timeLimitSeconds: integerIn(fields, "time_limit_secs", 14_400, 30, 14_400),
    commandId: textIn(fields, "command_id"),
    settings: settingsIn(fields, NO_SETTINGS),
  };
}
