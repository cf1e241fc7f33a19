import { isRecord } from "../json.ts";

/** A model endpoint that templates may name. */
export interface ModelEndpoint {
  readonly base_url: string;
  /** Absent: the endpoint needs none. */
  readonly key?: string;
  /** Used where the template names none. */
  readonly model: string;
  /** Samples a second of its raw speech; absent: TTS_SAMPLE_RATE. */
  readonly sample_rate?: number;
  /** Voice of templates that name none; absent: TTS_VOICE, or REALTIME_VOICE. */
  readonly voice?: string;
}
/** The variables that name models, where they are set. */
export type ModelVariables = Readonly<
  Partial<
    Record<
      | "MODEL_ENDPOINTS"
      | "ENGINE_DEFAULT"
      | `${"STT" | "TTS" | "REALTIME"}_BASE_URL`
      | `${"STT" | "TTS" | "REALTIME"}_MODEL`
      | `${"STT" | "TTS"}_FALLBACK_BASE_URL`,
      string | undefined
    >
  >
> & { readonly TTS_SAMPLE_RATE: number };
/** The endpoints of a deployment by name. */
export type ModelEndpoints = ReadonlyMap<string, ModelEndpoint>;

/** Supported sample rates of speech. */
const SPEECH_RATES: readonly unknown[] = [8000, 16_000, 24_000, 48_000];
const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
const SCHEMES = new Set(["http:", "https:", "ws:", "wss:"]);
const FIELDS = new Set(["base_url", "key", "model", "sample_rate", "voice"]);
const MAX_ENDPOINTS = 100;
const MAX_TEXT_CHARS = 2000;

const isText = (value: unknown): value is string =>
  typeof value === "string" && value.trim() !== "" && value.length <= MAX_TEXT_CHARS;
const isBase = (value: unknown): value is string =>
  isText(value) && URL.canParse(value) && SCHEMES.has(new URL(value).protocol);

/** Reads one endpoint, or returns an issue. Issues name the field but never its value: any of them may hold a key. */
function read(name: string, value: unknown): ModelEndpoint | string {
  const of = `MODEL_ENDPOINTS.${name}`;
  if (!isRecord(value)) return `${of} must be an object with base_url and model`;
  const { base_url, key, model, sample_rate, voice } = value;
  if (Object.keys(value).some((field) => !FIELDS.has(field)))
    return `${of} has a field that is none of ${[...FIELDS].join(", ")}`;
  if (!isBase(base_url))
    return `${of}.base_url must be a URL of http, https, ws or wss, like https://models.example.com/v1`;
  if (!isText(model)) return `${of}.model is missing: hosted names are shut down, so none is taken for granted`;
  if (key !== undefined && !isText(key)) return `${of}.key must be a text, or absent where the endpoint asks for none`;
  if (voice !== undefined && !isText(voice)) return `${of}.voice must be a text`;
  if (sample_rate !== undefined && (typeof sample_rate !== "number" || !SPEECH_RATES.includes(sample_rate)))
    return `${of}.sample_rate must be one of ${SPEECH_RATES.join(", ")}`;
  return {
    base_url: base_url.replace(/\/+$/, ""),
    model,
    ...(key === undefined ? {} : { key }),
    ...(voice === undefined ? {} : { voice }),
    ...(sample_rate === undefined ? {} : { sample_rate }),
  };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the parser's message would quote the text, keys included
  }
}

/** Reads MODEL_ENDPOINTS; each issue is a sentence without values. */
export function parseModelEndpoints(text: string | undefined): { endpoints: ModelEndpoints; issues: string[] } {
  const endpoints = new Map<string, ModelEndpoint>();
  if (text === undefined) return { endpoints, issues: [] };
  const table = jsonOf(text);
  if (!isRecord(table))
    return {
      endpoints,
      issues: [
        'MODEL_ENDPOINTS must be a JSON object, like {"name": {"base_url": "https://models.example.com/v1", "key": "…", "model": "…"}}',
      ],
    };
  const names = Object.keys(table);
  if (names.length > MAX_ENDPOINTS)
    return { endpoints, issues: [`MODEL_ENDPOINTS holds ${names.length} endpoints; at most ${MAX_ENDPOINTS}`] };
  const issues: string[] = [];
  names.forEach((name, index) => {
    if (!NAME.test(name)) {
      issues.push(
        `MODEL_ENDPOINTS: the name of endpoint ${index + 1} must begin with a letter and hold at most 64 letters, digits, _ and -`,
      );
      return;
    }
    const endpoint = read(name, table[name]);
    if (typeof endpoint === "string") issues.push(endpoint);
    else endpoints.set(name, endpoint);
  });
  return { endpoints, issues };
}

/** Issues of model variables that contradict each other. */
export function modelIssues(env: ModelVariables): string[] {
  const issues = parseModelEndpoints(env.MODEL_ENDPOINTS).issues;
  const needs = (set: keyof ModelVariables, needed: keyof ModelVariables, why: string): void => {
    if (env[set] !== undefined && env[needed] === undefined) issues.push(`${set} needs ${needed}, ${why}`);
  };
  needs("STT_BASE_URL", "STT_MODEL", "the model that transcribes there");
  needs("TTS_BASE_URL", "TTS_MODEL", "the model that speaks there");
  needs("REALTIME_BASE_URL", "REALTIME_MODEL", "the model that talks there");
  needs("STT_FALLBACK_BASE_URL", "STT_BASE_URL", "the endpoint that is asked first");
  needs("TTS_FALLBACK_BASE_URL", "TTS_BASE_URL", "the endpoint that is asked first");
  if (!SPEECH_RATES.includes(env.TTS_SAMPLE_RATE))
    issues.push(`TTS_SAMPLE_RATE must be one of ${SPEECH_RATES.join(", ")}, not ${env.TTS_SAMPLE_RATE}`);
  if (env.ENGINE_DEFAULT === "cascade" && (env.STT_BASE_URL === undefined || env.TTS_BASE_URL === undefined))
    issues.push("ENGINE_DEFAULT cascade needs STT_BASE_URL and TTS_BASE_URL: it listens and speaks through them");
  if (env.ENGINE_DEFAULT === "realtime" && env.REALTIME_BASE_URL === undefined)
    issues.push("ENGINE_DEFAULT realtime needs REALTIME_BASE_URL: it listens, thinks and speaks through it");
  return issues;
}
