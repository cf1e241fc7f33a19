import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import type { ModelUse } from "../../../shared/contracts/records/models.ts";
import type { TemplateRecord } from "../../../shared/contracts/records/template.ts";
import { recencyCache, type Cache } from "../../../shared/cache.ts";
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

/** Models are kept for their cool-downs and open connections; there are as many as templates have different choices. */
const MAX_KEPT_MODELS = 500;
const DEFAULT_RATE = 24_000;

/** The cached model of a choice, made at its first use. */
function cachedModel<T extends {}>(cache: Cache<T>, choice: unknown, make: () => T): T {
  const key = JSON.stringify(choice);
  const known = cache.get(key);
  if (known !== undefined) return known;
  const made = make();
  cache.set(key, made);
  return made;
}

/** The models of a deployment. Each throws NOT_AVAILABLE for what the deployment does not have. All conversations of the process share one speech cache. */
export class DeploymentModels {
  readonly #env: ServiceDeps["env"];
  readonly #clock: ServiceDeps["clock"];
  readonly #log: ServiceDeps["log"];
  readonly #addresses: ReturnType<typeof modelAddresses>;
  readonly #speechCache = speechCache();
  readonly #chats = recencyCache<ChatModel>({ max: MAX_KEPT_MODELS });
  readonly #speech = recencyCache<SpeechModel>({ max: MAX_KEPT_MODELS });
  readonly #transcription = recencyCache<TranscriptionModel>({ max: MAX_KEPT_MODELS });

  constructor({ env, clock, log }: Pick<ServiceDeps, "env" | "clock" | "log">) {
    this.#env = env;
    this.#clock = clock;
    this.#log = log;
    this.#addresses = modelAddresses(env);
  }

  /** The three models of a cascaded pipeline. */
  cascade({ models, voice }: ModelChoice): CascadeModels {
    return {
      chat: this.#chatFor(models.chat, "chat"),
      transcription: this.#transcriptionFor(models.transcription),
      speech: this.#speechFor(models.speech, voice),
      speechIn: (other) => this.#speechFor(models.speech, other),
    };
  }

  /** The language model alone, for conversations whose speech the carrier does. */
  chat({ models }: Pick<ModelChoice, "models">): ChatModel {
    return this.#chatFor(models.chat, "chat");
  }

  /** The model that evaluates an ended conversation; the conversation's own where the template names none. */
  evaluation({ models }: Pick<ModelChoice, "models">): ChatModel {
    return this.#chatFor(models.evaluation ?? models.chat, "evaluation");
  }

  /** The address of the realtime model; `voice` is the template's, or else the endpoint's. */
  realtime({ models, voice }: ModelChoice): ModelAddress & { readonly voice: string } {
    const { first } = this.#addresses.addressFor(models.realtime, "realtime");
    return { ...first, voice: voice ?? first.voice ?? this.#env.REALTIME_VOICE };
  }

  #onFailover(kind: ModelKind): FailoverListener {
    return (error) =>
      this.#log.warn(
        { event: "model.resting", kind, code: error.code, reason: error.message },
        "A model's endpoint fails; the second endpoint takes over for a while.",
      );
  }

  #chatFor(use: ModelUse | undefined, kind: "chat" | "evaluation"): ChatModel {
    return cachedModel(this.#chats, [use ?? {}, kind], () => {
      const { first, fallback } = this.#addresses.addressFor(use, kind);
      return chatModel(
        openAiChat(first),
        this.#clock,
        fallback && openAiChat(fallback),
        this.#onFailover(kind),
        kind === "evaluation" ? EVALUATION_TOKEN_TIMEOUT_MS : TOKEN_TIMEOUT_MS,
      );
    });
  }

  #speechFor(use: ModelUse | undefined, voice: string | null): SpeechModel {
    const speechAt = (address: ModelAddress): SpeechModel =>
      this.#speechCache.of(
        openAiSpeech({
          address,
          clock: this.#clock,
          rate: address.sample_rate ?? DEFAULT_RATE,
          voice: address.own_voice ?? voice ?? address.voice ?? this.#env.TTS_VOICE,
        }),
      );
    return cachedModel(this.#speech, [use ?? {}, voice], () => {
      const { first, fallback } = this.#addresses.addressFor(use, "speech");
      return speechWithFailover(
        speechAt(first),
        fallback && speechAt(fallback),
        this.#clock,
        this.#onFailover("speech"),
      );
    });
  }

  #transcriptionFor(use: ModelUse | undefined): TranscriptionModel {
    return cachedModel(this.#transcription, use ?? {}, () => {
      const { first, fallback } = this.#addresses.addressFor(use, "transcription");
      const onFailover = this.#onFailover("transcription");
      const segmented = segmentedTranscription(openAiTranscriber(first, fallback, this.#clock, { onFailover }));
      // whether an endpoint that a template names streams is unknown
      if (!this.#env.STT_STREAMING || use?.endpoint !== undefined) return segmented;
      const { REALTIME_DIALECT: dialect } = this.#env;
      return realtimeTranscription({ address: first, dialect, clock: this.#clock, segmented, onFailover });
    });
  }
}
