import type { Clock } from "../../../shared/clock.ts";
import type { ModelUse } from "../../../shared/contracts/models.ts";
import type { TemplateRecord } from "../../../shared/contracts/template.ts";
import type { Env } from "../../../shared/env.ts";
import type { Log } from "../../../shared/log.ts";
import { modelAddresses, type ModelAddress, type ModelKind } from "./addresses.ts";
import { chatModel, EVALUATION_TOKEN_TIMEOUT_MS, TOKEN_TIMEOUT_MS } from "./llm/chat-model.ts";
import { openAiChat } from "./llm/openai-chat.ts";
import { openAiSpeech } from "./tts/openai-speech.ts";
import { openAiTranscriber } from "./stt/openai-transcription.ts";
import type { ChatModel, SpeechModel, CascadeModels, TranscriptionModel } from "./port.ts";
import type { FailoverListener } from "./failover.ts";
import { realtimeTranscription } from "./stt/realtime-transcription.ts";
import { segmentedTranscription } from "./stt/segmented-transcription.ts";
import { speechCache } from "./tts/speech-cache.ts";
import { speechWithFailover } from "./tts/speech-failover.ts";

/** What of a template chooses its models. */
export type ModelChoice = Pick<TemplateRecord, "models" | "voice" | "language">;

/** The models of a deployment, as templates ask for them. Each refuses with NOT_AVAILABLE what the deployment does not have. */
export interface DeploymentModels {
  /** All three that a talk over sound is held with. */
  cascade(wishes: ModelChoice): CascadeModels;
  /** The one that thinks, alone: the carrier does the speech. */
  chat(wishes: Pick<ModelChoice, "models">): ChatModel;
  /** The one that judges a talk after it; where the template names none, the one of the talk. */
  evaluation(wishes: Pick<ModelChoice, "models">): ChatModel;
  /** Where the one that does all by itself is reached; `voice` is the template's, or else the endpoint's. */
  realtime(wishes: ModelChoice): ModelAddress & { readonly voice: string };
}

/** Models are kept, for their endpoints rest and their connections stay open; there are as many as templates have wishes. */
const MAX_KEPT = 500;
const DEFAULT_RATE = 24_000;

/** Makes each thing once. */
function kept<T>(): (key: unknown, make: () => T) => T {
  const things = new Map<string, T>();
  return (key, make) => {
    const name = JSON.stringify(key);
    const known = things.get(name) ?? make();
    if (things.size >= MAX_KEPT && !things.has(name)) things.clear();
    things.set(name, known);
    return known;
  };
}

/** The models of this deployment. Sound that was spoken is kept for all talks of the process. */
export function deploymentModels({ env, clock, log }: { env: Env; clock: Clock; log: Log }): DeploymentModels {
  const addresses = modelAddresses(env);
  const cache = speechCache();
  const chats = kept<ChatModel>();
  const voices = kept<SpeechModel>();
  const ears = kept<TranscriptionModel>();
  const resting =
    (kind: ModelKind): FailoverListener =>
    (fault) =>
      log.warn(
        { event: "model.resting", kind, code: fault.code, reason: fault.message },
        "A model's endpoint fails; the second one stands in for it.",
      );

  const chatOf = (use: ModelUse | undefined, kind: "chat" | "evaluation"): ChatModel =>
    chats([use ?? {}, kind], () => {
      const { first, fallback } = addresses.addressFor(use, kind);
      return chatModel(
        openAiChat(first),
        clock,
        fallback && openAiChat(fallback),
        resting(kind),
        kind === "evaluation" ? EVALUATION_TOKEN_TIMEOUT_MS : TOKEN_TIMEOUT_MS,
      );
    });
  const voiceAt = (address: ModelAddress, voice: string | null): SpeechModel =>
    cache.of(
      openAiSpeech({
        address,
        clock,
        rate: address.sample_rate ?? DEFAULT_RATE,
        voice: address.own_voice ?? voice ?? address.voice ?? env.TTS_VOICE,
      }),
    );
  const voiceOf = (use: ModelUse | undefined, voice: string | null): SpeechModel =>
    voices([use ?? {}, voice], () => {
      const { first, fallback } = addresses.addressFor(use, "speech");
      return speechWithFailover(voiceAt(first, voice), fallback && voiceAt(fallback, voice), clock, resting("speech"));
    });
  const earsOf = (use: ModelUse | undefined): TranscriptionModel =>
    ears(use ?? {}, () => {
      const { first, fallback } = addresses.addressFor(use, "transcription");
      const pieces = segmentedTranscription(
        openAiTranscriber(first, fallback, clock, { resting: resting("transcription") }),
      );
      // of the endpoints that templates name it is not known whether they stream
      if (!env.STT_STREAMING || use?.endpoint !== undefined) return pieces;
      return realtimeTranscription({
        address: first,
        dialect: env.REALTIME_DIALECT,
        clock,
        pieces,
        resting: resting("transcription"),
      });
    });

  return {
    cascade: ({ models, voice }) => ({
      chat: chatOf(models.chat, "chat"),
      transcription: earsOf(models.transcription),
      speech: voiceOf(models.speech, voice),
    }),
    chat: ({ models }) => chatOf(models.chat, "chat"),
    evaluation: ({ models }) => chatOf(models.evaluation ?? models.chat, "evaluation"),
    realtime: ({ models, voice }) => {
      const { first } = addresses.addressFor(models.realtime, "realtime");
      return { ...first, voice: voice ?? first.voice ?? env.REALTIME_VOICE };
    },
  };
}

/** The three models of a talk over sound. */
export const talkModels = (parts: { env: Env; clock: Clock; log: Log }): ((wishes: ModelChoice) => CascadeModels) =>
  deploymentModels(parts).cascade;
