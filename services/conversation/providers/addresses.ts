import type { ModelUse } from "../../../shared/contracts/records/models.ts";
import type { Env } from "../../../shared/process/env.ts";
import { fail } from "../../../shared/errors.ts";
import { parseModelEndpoints } from "../../../shared/process/model-endpoints.ts";

/** What a model is used for. */
export type ModelKind = "chat" | "transcription" | "speech" | "realtime" | "evaluation";

/** Where a model is reached. */
export interface ModelAddress {
  /** Absent: OpenAI's own address. */
  readonly base_url: string | undefined;
  /** Absent: the endpoint needs none. */
  readonly key: string | undefined;
  readonly model: string;
  /** Voice where a template names none. */
  readonly voice?: string;
  /** The voice of this endpoint whatever the template names: another vendor names its voices differently. */
  readonly own_voice?: string;
  /** Samples a second of its raw speech. */
  readonly sample_rate?: number;
  /** Settings to check when it fails, for error messages. */
  readonly check: string;
}

/** The endpoint that is asked first, and the one that takes over when it fails. */
export interface ModelRoute {
  readonly first: ModelAddress;
  readonly fallback: ModelAddress | null;
}

/** The deployment's own two endpoints of a kind. `model` of the second undefined: that of the first. */
interface OwnEndpoints {
  readonly first: ModelAddress;
  readonly fallback: (Omit<ModelAddress, "model"> & { readonly model: string | undefined }) | null;
}

const needed = (value: string | undefined, name: string, what: string): string =>
  value ?? fail("NOT_AVAILABLE", `${name} is not set; name the ${what}.`);
const checkOf = (prefix: string): string => `${prefix}_BASE_URL, ${prefix}_API_KEY and ${prefix}_MODEL`;

/** The endpoint that takes over; null: its address is not set. */
function ownFallback(env: Env, prefix: "OPENAI" | "STT" | "TTS"): OwnEndpoints["fallback"] {
  const base_url = env[`${prefix}_FALLBACK_BASE_URL`];
  if (base_url === undefined) return null;
  const check = checkOf(`${prefix}_FALLBACK`);
  return { base_url, key: env[`${prefix}_FALLBACK_API_KEY`], model: env[`${prefix}_FALLBACK_MODEL`], check };
}

const ownChat = (env: Env): OwnEndpoints => ({
  first: {
    base_url: env.OPENAI_BASE_URL,
    key: env.OPENAI_API_KEY,
    model: needed(env.OPENAI_MODEL, "OPENAI_MODEL", "language model the conversation service is to use"),
    check: checkOf("OPENAI"),
  },
  fallback: ownFallback(env, "OPENAI"),
});

const ownTranscription = (env: Env): OwnEndpoints => ({
  first: {
    base_url: needed(env.STT_BASE_URL, "STT_BASE_URL", "endpoint that transcribes what the customer says"),
    key: env.STT_API_KEY,
    model: needed(env.STT_MODEL, "STT_MODEL", "model that transcribes what the customer says"),
    check: checkOf("STT"),
  },
  fallback: ownFallback(env, "STT"),
});

function ownSpeech(env: Env): OwnEndpoints {
  const sound = { voice: env.TTS_VOICE, sample_rate: env.TTS_SAMPLE_RATE };
  const fallback = ownFallback(env, "TTS");
  const own_voice = env.TTS_FALLBACK_VOICE;
  return {
    first: {
      base_url: needed(env.TTS_BASE_URL, "TTS_BASE_URL", "endpoint that speaks"),
      key: env.TTS_API_KEY,
      model: needed(env.TTS_MODEL, "TTS_MODEL", "model that speaks"),
      ...sound,
      check: checkOf("TTS"),
    },
    fallback: fallback && { ...fallback, ...sound, ...(own_voice === undefined ? {} : { own_voice }) },
  };
}

const ownRealtime = (env: Env): OwnEndpoints => ({
  first: {
    base_url: needed(env.REALTIME_BASE_URL, "REALTIME_BASE_URL", "endpoint that speaks the Realtime protocol"),
    key: env.REALTIME_API_KEY,
    model: needed(env.REALTIME_MODEL, "REALTIME_MODEL", "model of the Realtime endpoint"),
    voice: env.REALTIME_VOICE,
    check: checkOf("REALTIME"),
  },
  fallback: null,
});

/** The model that a realtime model's server listens with: the deployment's, or OpenAI's. */
export const realtimeListener = ({ STT_MODEL }: Pick<Env, "STT_MODEL">): string => STT_MODEL ?? "gpt-transcribe";

const OWN: Readonly<Record<ModelKind, (env: Env) => OwnEndpoints>> = {
  chat: ownChat,
  evaluation: ownChat,
  transcription: ownTranscription,
  speech: ownSpeech,
  realtime: ownRealtime,
};

/**
 * The endpoints of this deployment. Templates choose among names, never an address: no key goes where a template points.
 * An endpoint that a template names has no fallback: its author chose where the customer's words go.
 */
export function modelAddresses(env: Env) {
  const { endpoints } = parseModelEndpoints(env.MODEL_ENDPOINTS);
  const named = (name: string, model: string | undefined, kind: ModelKind): ModelAddress => {
    const known =
      endpoints.get(name) ??
      fail(
        "NOT_AVAILABLE",
        `The template asks for the model endpoint "${name}", which this deployment does not have; add it to MODEL_ENDPOINTS or choose another.`,
      );
    const speech = { voice: known.voice ?? env.TTS_VOICE, sample_rate: known.sample_rate ?? env.TTS_SAMPLE_RATE };
    return {
      base_url: known.base_url,
      key: known.key,
      model: model ?? known.model,
      check: `endpoint "${name}" of MODEL_ENDPOINTS`,
      ...(kind === "speech" ? speech : kind === "realtime" ? { voice: known.voice ?? env.REALTIME_VOICE } : {}),
    };
  };
  return {
    /** The template's choice, or else the deployment's. Throws NOT_AVAILABLE where the deployment has no such endpoint. */
    addressFor(use: ModelUse | undefined, kind: ModelKind): ModelRoute {
      if (use?.endpoint !== undefined) return { first: named(use.endpoint, use.model, kind), fallback: null };
      const own = OWN[kind](env);
      const first = use?.model === undefined ? own.first : { ...own.first, model: use.model };
      return { first, fallback: own.fallback && { ...own.fallback, model: own.fallback.model ?? first.model } };
    },
  };
}

const WEB_SCHEMES: Readonly<Record<string, string>> = { "ws:": "http:", "wss:": "https:" };
const SOCKET_SCHEMES: Readonly<Record<string, string>> = { "http:": "ws:", "https:": "wss:" };
const withScheme = (base_url: string, schemes: Readonly<Record<string, string>>): string =>
  base_url.replace(/^[a-z]+:/i, (scheme) => schemes[scheme.toLowerCase()] ?? scheme);

/** The base URL for requests, whatever its scheme. */
export const webBase = (base_url: string): string => withScheme(base_url, WEB_SCHEMES);
/** Headers of a realtime connection: the key, and the one that requests the beta protocol. */
export const sessionHeaders = (key: string | undefined, dialect: "ga" | "beta"): Record<string, string> => ({
  ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
  ...(dialect === "beta" ? { "openai-beta": "realtime=v1" } : {}),
});
/** The base URL for WebSockets, whatever its scheme. */
export const socketBase = (base_url: string): string => withScheme(base_url, SOCKET_SCHEMES);
