import type { Env } from "./env.ts";

/** A model endpoint that templates may name. */
export interface ModelEndpoint {
  readonly base_url: string;
  /** Absent: the endpoint asks for none. */
  readonly key?: string;
  /** Used where the template names none. */
  readonly model: string;
  /** Samples a second of its raw speech; absent: TTS_SAMPLE_RATE. */
  readonly sample_rate?: number;
  /** Voice of templates that name none; absent: TTS_VOICE, or REALTIME_VOICE. */
  readonly voice?: string;
}
/** The endpoints of a deployment by name. */
export type ModelEndpoints = ReadonlyMap<string, ModelEndpoint>;

/** Rates of speech that calls can be made of, samples a second. */
const SPEECH_RATES: readonly unknown[] = [8000, 16_000, 24_000, 48_000];
const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
const SCHEMES = new Set(["http:", "https:", "ws:", "wss:"]);
const FIELDS = new Set(["base_url", "key", "model", "sample_rate", "voice"]);
const MAX_ENDPOINTS = 100;
const MAX_TEXT_CHARS = 2000;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value: unknown): value is string =>
  typeof value === "string" && value.trim() !== "" && value.length <= MAX_TEXT_CHARS;
const isBase = (value: unknown): value is string =>
  isText(value) && URL.canParse(value) && SCHEMES.has(new URL(value).protocol);

/** Reads one endpoint. Faults name the field and never what stands in it: a key may have slipped into any of them. */
function read(name: string, value: unknown): ModelEndpoint | string {
  const of = `MODEL_ENDPOINTS.${name}`;
  if (!isObject(value)) return `${of} must be an object with base_url and model`;
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
    return undefined; // the parser's own words quote the text, and keys with it
  }
}

/** Reads MODEL_ENDPOINTS, with every fault of it in a sentence that shows no value. */
export function parseModelEndpoints(text: string | undefined): { endpoints: ModelEndpoints; faults: string[] } {
  const endpoints = new Map<string, ModelEndpoint>();
  if (text === undefined) return { endpoints, faults: [] };
  const table = jsonOf(text);
  if (!isObject(table))
    return {
      endpoints,
      faults: [
        'MODEL_ENDPOINTS must be a JSON object, like {"name": {"base_url": "https://models.example.com/v1", "key": "…", "model": "…"}}',
      ],
    };
  const names = Object.keys(table);
  if (names.length > MAX_ENDPOINTS)
    return { endpoints, faults: [`MODEL_ENDPOINTS holds ${names.length} endpoints; at most ${MAX_ENDPOINTS}`] };
  const faults: string[] = [];
  names.forEach((name, index) => {
    if (!NAME.test(name)) {
      faults.push(
        `MODEL_ENDPOINTS: the name of endpoint ${index + 1} must begin with a letter and hold at most 64 letters, digits, _ and -`,
      );
      return;
    }
    const endpoint = read(name, table[name]);
    if (typeof endpoint === "string") faults.push(endpoint);
    else endpoints.set(name, endpoint);
  });
  return { endpoints, faults };
}

/** What of the models' variables does not go together. */
export function modelFaults(env: Env): string[] {
  const faults = parseModelEndpoints(env.MODEL_ENDPOINTS).faults;
  const needs = (set: keyof Env, needed: keyof Env, why: string): void => {
    if (env[set] !== undefined && env[needed] === undefined) faults.push(`${set} needs ${needed}, ${why}`);
  };
  needs("STT_BASE_URL", "STT_MODEL", "the model that transcribes there");
  needs("TTS_BASE_URL", "TTS_MODEL", "the model that speaks there");
  needs("REALTIME_BASE_URL", "REALTIME_MODEL", "the model that talks there");
  needs("STT_FALLBACK_BASE_URL", "STT_BASE_URL", "the endpoint that is asked first");
  needs("TTS_FALLBACK_BASE_URL", "TTS_BASE_URL", "the endpoint that is asked first");
  if (!SPEECH_RATES.includes(env.TTS_SAMPLE_RATE))
    faults.push(`TTS_SAMPLE_RATE must be one of ${SPEECH_RATES.join(", ")}, not ${env.TTS_SAMPLE_RATE}`);
  if (env.ENGINE_DEFAULT === "cascade" && (env.STT_BASE_URL === undefined || env.TTS_BASE_URL === undefined))
    faults.push("ENGINE_DEFAULT cascade needs STT_BASE_URL and TTS_BASE_URL: it listens and speaks through them");
  if (env.ENGINE_DEFAULT === "realtime" && env.REALTIME_BASE_URL === undefined)
    faults.push("ENGINE_DEFAULT realtime needs REALTIME_BASE_URL: it listens, thinks and speaks through it");
  return faults;
}
