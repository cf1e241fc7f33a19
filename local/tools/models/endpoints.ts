import type { Env } from "../../../shared/process/env.ts";
import { parseModelEndpoints } from "../../../shared/process/model-endpoints.ts";
import {
  modelAddresses,
  realtimeListener,
  type ModelAddress,
  type ModelKind,
} from "../../../services/conversation/surface.ts";
import { checkChat, checkRealtime, checkSpeech, checkTranscription, type CheckTools, type Spoken } from "./checks.ts";
import type { Checked, Finding } from "./findings.ts";

const USES = {
  chat: "language model",
  speech: "speech",
  transcription: "transcription",
  realtime: "realtime",
} as const;
type Use = keyof typeof USES;

/** Which kinds the environment names. */
const isNamed = (env: Env): Readonly<Record<Use, boolean>> => ({
  chat: env.OPENAI_API_KEY !== undefined || env.OPENAI_BASE_URL !== undefined,
  speech: env.TTS_BASE_URL !== undefined,
  transcription: env.STT_BASE_URL !== undefined,
  realtime: env.REALTIME_BASE_URL !== undefined,
});

/** An endpoint to check. */
export interface Endpoint {
  kind: Use;
  use: string;
  address: ModelAddress;
}

/** The endpoints of an environment, speech before transcription, which is given what speech has said. An endpoint of MODEL_ENDPOINTS with a voice or a rate speaks; any other is a language model. NOT_AVAILABLE where a variable is missing. */
export function endpointsOf(env: Env): Endpoint[] {
  const { addressFor } = modelAddresses(env);
  const named = isNamed(env);
  const own = (["chat", "speech", "transcription", "realtime"] as const).flatMap((kind): Endpoint[] => {
    if (!named[kind]) return [];
    const { first, fallback } = addressFor(undefined, kind satisfies ModelKind);
    return [
      { kind, use: USES[kind], address: first },
      ...(fallback ? [{ kind, use: `${USES[kind]}, fallback`, address: fallback }] : []),
    ];
  });
  const chosen = [...parseModelEndpoints(env.MODEL_ENDPOINTS).endpoints].map(
    ([endpoint, { voice, sample_rate }]): Endpoint => {
      const kind = voice === undefined && sample_rate === undefined ? "chat" : "speech";
      return { kind, use: `endpoint "${endpoint}", ${USES[kind]}`, address: addressFor({ endpoint }, kind).first };
    },
  );
  return [...own, ...chosen];
}

const hostOf = ({ base_url }: ModelAddress): string => new URL(base_url ?? "https://api.openai.com").host;

/** Checks every endpoint, one after the other. `told`: gets each as soon as it is done. */
export async function checkEndpoints(
  env: Env,
  endpoints: readonly Endpoint[],
  tools: CheckTools,
  told: (done: Checked) => void,
): Promise<Checked[]> {
  let spoken: Spoken | null = null;
  const all: Checked[] = [];
  for (const { kind, use, address } of endpoints) {
    let findings: Finding[];
    if (kind === "chat") findings = await checkChat(address, tools);
    else if (kind === "speech") {
      const done = await checkSpeech(address, tools, address.own_voice ?? address.voice ?? env.TTS_VOICE);
      spoken ??= done.spoken;
      findings = done.findings;
    } else if (kind === "transcription") {
      const streaming = env.STT_STREAMING && !use.includes("fallback") ? env.REALTIME_DIALECT : null;
      findings = await checkTranscription(address, tools, spoken, streaming);
    } else {
      findings = await checkRealtime({ ...address, base_url: address.base_url ?? "" }, tools, {
        voice: address.voice ?? env.REALTIME_VOICE,
        dialect: env.REALTIME_DIALECT,
        transcription_model: realtimeListener(env),
      });
    }
    const done: Checked = { use, model: address.model, at: hostOf(address), findings };
    told(done);
    all.push(done);
  }
  return all;
}
