import type { Env } from "../../../shared/process/env.ts";
import { parseModelEndpoints } from "../../../shared/process/model-endpoints.ts";

/** Hosted models by the day of their announced shutdown, as the `openai` package documents it (test/conversation/providers/model-deprecations.test.ts compares). */
export const DEPRECATIONS: Readonly<Record<string, readonly string[]>> = {
  "2024-09-13": ["gpt-3.5-turbo-0301", "gpt-3.5-turbo-0613", "gpt-3.5-turbo-16k", "gpt-3.5-turbo-16k-0613"],
  "2024-12-06": ["gpt-4-vision-preview"],
  "2025-06-06": ["gpt-4-32k", "gpt-4-32k-0314", "gpt-4-32k-0613"],
  "2025-07-28": ["o1-preview", "o1-preview-2024-09-12"],
  "2025-10-10": ["gpt-4o-audio-preview-2024-10-01"],
  "2025-10-27": ["o1-mini", "o1-mini-2024-09-12"],
  "2026-02-12": ["codex-mini-latest"],
  "2026-02-17": ["chatgpt-4o-latest"],
  "2026-03-26": ["gpt-4-0125-preview", "gpt-4-0314", "gpt-4-turbo-preview"],
  "2026-05-07": [
    "gpt-4o-audio-preview",
    "gpt-4o-audio-preview-2024-12-17",
    "gpt-4o-audio-preview-2025-06-03",
    "gpt-4o-mini-audio-preview",
    "gpt-4o-mini-audio-preview-2024-12-17",
  ],
  "2026-07-23": [
    "gpt-4o-mini-search-preview",
    "gpt-4o-mini-search-preview-2025-03-11",
    "gpt-4o-search-preview",
    "gpt-4o-search-preview-2025-03-11",
    "gpt-5-chat-latest",
    "gpt-5.1-chat-latest",
    "gpt-5.1-codex",
  ],
  "2026-08-10": ["gpt-5.2-chat-latest", "gpt-5.3-chat-latest"],
  "2026-09-28": ["gpt-3.5-turbo-1106"],
  "2026-10-23": [
    "gpt-3.5-turbo",
    "gpt-3.5-turbo-0125",
    "gpt-4",
    "gpt-4-0613",
    "gpt-4-1106-preview",
    "gpt-4-turbo",
    "gpt-4-turbo-2024-04-09",
    "gpt-4.1-nano",
    "gpt-4.1-nano-2025-04-14",
    "gpt-4o-2024-05-13",
    "o1",
    "o1-2024-12-17",
    "o3-mini",
    "o3-mini-2025-01-31",
    "o4-mini",
    "o4-mini-2025-04-16",
  ],
  "2026-12-11": [
    "gpt-5",
    "gpt-5-2025-08-07",
    "gpt-5-mini",
    "gpt-5-mini-2025-08-07",
    "gpt-5-nano",
    "gpt-5-nano-2025-08-07",
    "o3",
    "o3-2025-04-16",
  ],
  "2027-01-06": ["gpt-4o-mini-tts", "gpt-4o-mini-tts-2025-03-20", "gpt-4o-mini-tts-2025-12-15", "tts-1", "tts-1-hd"],
  "2027-01-14": [
    "gpt-4.1",
    "gpt-4.1-2025-04-14",
    "gpt-4.1-mini",
    "gpt-4.1-mini-2025-04-14",
    "gpt-4o",
    "gpt-4o-2024-08-06",
    "gpt-4o-2024-11-20",
    "gpt-4o-mini",
    "gpt-4o-mini-2024-07-18",
  ],
  "2027-01-20": [
    "gpt-audio-mini",
    "gpt-audio-mini-2025-12-15",
    "gpt-realtime",
    "gpt-realtime-2025-08-28",
    "gpt-realtime-mini",
    "gpt-realtime-mini-2025-12-15",
  ],
  "2027-02-26": [
    "gpt-4o-mini-transcribe",
    "gpt-4o-mini-transcribe-2025-12-15",
    "gpt-4o-transcribe",
    "gpt-4o-transcribe-diarize",
    "whisper-1",
  ],
  "2027-04-01": ["gpt-5.1", "gpt-5.1-2025-11-13", "gpt-5.4-nano", "gpt-5.4-nano-2026-03-17"],
};

/** A configured model whose shutdown is announced. `setting`: where it is named; `on`: the day, YYYY-MM-DD. */
export interface Deprecation {
  readonly setting: string;
  readonly model: string;
  readonly on: string;
}

/** The day on which a hosted model of this name shuts down, YYYY-MM-DD; null: none is known. */
export const shutdownDateOf = (model: string): string | null =>
  Object.keys(DEPRECATIONS).find((on) => DEPRECATIONS[on]?.includes(model)) ?? null;

/** An endpoint over plain http is self-hosted: its model names are its owner's. */
const isHosted = (base_url: string | undefined): boolean => base_url === undefined || !/^(?:http|ws):/i.test(base_url);

/** The models of a deployment whose shutdown is announced. Pure. */
export function deprecationsIn(env: Env): Deprecation[] {
  const named: readonly (readonly [setting: string, base_url: string | undefined, model: string | undefined])[] = [
    ["OPENAI_MODEL", env.OPENAI_BASE_URL, env.OPENAI_MODEL],
    [
      "OPENAI_FALLBACK_MODEL",
      env.OPENAI_FALLBACK_BASE_URL,
      env.OPENAI_FALLBACK_BASE_URL === undefined ? undefined : env.OPENAI_FALLBACK_MODEL,
    ],
    ["STT_MODEL", env.STT_BASE_URL, env.STT_MODEL],
    ["STT_FALLBACK_MODEL", env.STT_FALLBACK_BASE_URL, env.STT_FALLBACK_MODEL],
    ["TTS_MODEL", env.TTS_BASE_URL, env.TTS_MODEL],
    ["TTS_FALLBACK_MODEL", env.TTS_FALLBACK_BASE_URL, env.TTS_FALLBACK_MODEL],
    ["REALTIME_MODEL", env.REALTIME_BASE_URL, env.REALTIME_MODEL],
    ...[...parseModelEndpoints(env.MODEL_ENDPOINTS).endpoints].map(
      ([name, { base_url, model }]) => [`MODEL_ENDPOINTS.${name}`, base_url, model] as const,
    ),
  ];
  return named.flatMap(([setting, base_url, model]) => {
    const on = model !== undefined && isHosted(base_url) ? shutdownDateOf(model) : null;
    return on === null || model === undefined ? [] : [{ setting, model, on }];
  });
}
