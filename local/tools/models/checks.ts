import { phrasesFor } from "../../../shared/phrases.ts";
import type { Clock } from "../../../shared/time/clock.ts";
import { startDeadline } from "../../../shared/time/deadline.ts";
import {
  chatModel,
  createResponse,
  ModelError,
  openAiChat,
  openAiSpeech,
  openAiTranscriber,
  realtimeConnection,
  realtimeTranscription,
  segmentedTranscription,
  sessionUpdate,
  type ChatModel,
  type ChatRequest,
  type Dialect,
  type ModelAddress,
} from "../../../services/conversation/surface.ts";
import { oddLength, wordsHeard, type Finding } from "./findings.ts";

/** Longest wait for one answer of an endpoint, ms: a person waits for the command. */
const LONGEST_MS = 30_000;
/** Share of the words that a transcription must have. */
const ENOUGH_WORDS = 0.5;
const PHONE_RATE = 8000;

/** What checks are made with. */
export interface CheckTools {
  clock: Clock;
  /** BCP 47. */
  language: string;
}

/** Sound of a known text. */
export interface Spoken {
  pcm: Int16Array;
  rate: number;
  text: string;
}

/** Asks for one thing; whatever goes wrong is a finding. */
async function finding(
  asked: string,
  clock: Clock,
  ask: (signal: AbortSignal, first: () => void) => Promise<{ ok: boolean; said: string }>,
): Promise<Finding> {
  const began = clock.monotonicMs();
  const deadline = startDeadline(clock, LONGEST_MS);
  let first_ms: number | null = null;
  try {
    const found = await ask(deadline.signal, () => (first_ms ??= Math.round(clock.monotonicMs() - began)));
    return { asked, first_ms, ...found };
  } catch (error) {
    const said = deadline.expired
      ? `nothing within ${LONGEST_MS / 1000} s`
      : error instanceof ModelError
        ? `${error.code}: ${error.message}`
        : "the answer can't be read";
    return { asked, ok: false, first_ms, said };
  } finally {
    deadline.clear();
  }
}

const GREETING: ChatRequest = {
  messages: [
    { role: "system", content: "You are on the phone. Answer with one short sentence." },
    { role: "user", content: "Hello?" },
  ],
  tools: [],
};
const BOOKING: ChatRequest = {
  messages: [
    { role: "system", content: "Call the function book_day at once with the day that the customer names." },
    { role: "user", content: "Friday, please." },
  ],
  tools: [
    {
      type: "function",
      function: {
        name: "book_day",
        description: "Books the day that the customer names.",
        parameters: { type: "object", properties: { day: { type: "string" } }, required: ["day"] },
      },
    },
  ],
};

const askOnce = (model: ChatModel, request: ChatRequest, signal: AbortSignal, first: () => void) =>
  model.answer(request, { signal, onText: first });

/** Whether it answers in words that stream, and calls a function: without functions no conversation moves on. */
export async function checkChat(address: ModelAddress, { clock }: CheckTools): Promise<Finding[]> {
  const model = chatModel(openAiChat(address), clock);
  return [
    await finding("words", clock, async (signal, first) => {
      const { text, total_ms, completion_tokens } = await askOnce(model, GREETING, signal, first);
      const ok = text.trim() !== "";
      return {
        ok,
        said: ok
          ? `whole after ${Math.round(total_ms)} ms, ${completion_tokens || "untold"} tokens`
          : "it says nothing",
      };
    }),
    await finding("function call", clock, async (signal, first) => {
      const { calls } = await askOnce(model, BOOKING, signal, first);
      if (calls.length > 0) first();
      const call = calls.find(({ name }) => name === "book_day");
      if (!call)
        return {
          ok: false,
          said: "it does not call the function that it is told to call; no conversation would move on",
        };
      const whole = /"day"/.test(call.arguments);
      return { ok: whole, said: whole ? "with its argument" : `its arguments are ${JSON.stringify(call.arguments)}` };
    }),
  ];
}

/** Whether it speaks, at the rate that is set. `spoken`: what it said, for the transcription. */
export async function checkSpeech(
  address: ModelAddress,
  { clock, language }: CheckTools,
  voice: string,
): Promise<{ findings: Finding[]; spoken: Spoken | null }> {
  const text = phrasesFor(language).say_again;
  const rate = address.sample_rate ?? 24_000;
  let spoken: Spoken | null = null;
  const found = await finding("sound", clock, async (signal, first) => {
    const pieces: Int16Array[] = [];
    for await (const piece of openAiSpeech({ address, voice, rate, clock }).speak(text, signal)) {
      first();
      pieces.push(piece);
    }
    const pcm = new Int16Array(pieces.reduce((n, piece) => n + piece.length, 0));
    let at = 0;
    for (const piece of pieces) {
      pcm.set(piece, at);
      at += piece.length;
    }
    const seconds = pcm.length / rate;
    const odd = oddLength(text, seconds);
    if (odd === null) spoken = { pcm, rate, text };
    return {
      ok: odd === null,
      said: odd ?? `${seconds.toFixed(1)} s of sound at ${rate} samples a second, voice ${voice}`,
    };
  });
  return { findings: [found], spoken };
}

/** Whether it writes down what was said; without a known text, whether it answers at all. */
export async function checkTranscription(
  address: ModelAddress,
  { clock, language }: CheckTools,
  spoken: Spoken | null,
  streaming: Dialect | null,
): Promise<Finding[]> {
  const { pcm, rate, text } = spoken ?? { pcm: new Int16Array(PHONE_RATE), rate: PHONE_RATE, text: "" };
  const judged = (heard: string): { ok: boolean; said: string } => {
    if (text === "") return { ok: true, said: "it answers; there is no speech model here to say something to it" };
    const share = wordsHeard(text, heard);
    const percent = `${Math.round(share * 100)} % of the words`;
    return {
      ok: share >= ENOUGH_WORDS,
      said: share >= ENOUGH_WORDS ? percent : `${percent}: it heard ${JSON.stringify(heard)}`,
    };
  };
  const found = [
    await finding("transcription", clock, async (signal, first) => {
      const heard = await openAiTranscriber(address, null, clock)({ pcm, rate, language }, signal);
      first();
      return judged(heard);
    }),
  ];
  if (streaming === null) return found;
  const streamed = await finding("streaming", clock, async (signal, first) => {
    let failed: ModelError | null = null;
    const segmented = segmentedTranscription(() => Promise.reject(new ModelError("MODEL_ERROR", "", false)));
    const onFailover = (error: ModelError): void => void (failed = error);
    const model = realtimeTranscription({ address, dialect: streaming, clock, segmented, onFailover });
    const stretch = model.open({ rate, language });
    try {
      stretch.push(pcm);
      const heard = await stretch.text(signal);
      first();
      return judged(heard);
    } catch (error) {
      throw failed ?? error;
    } finally {
      stretch.close();
    }
  });
  return [...found, streamed];
}

/** Whether a realtime session opens and speaks. */
export async function checkRealtime(
  address: ModelAddress & { base_url: string },
  { clock, language }: CheckTools,
  { voice, dialect, transcription_model }: { voice: string; dialect: Dialect; transcription_model: string },
): Promise<Finding[]> {
  return [
    await finding("session", clock, async (signal, first) => {
      const ended = Promise.withResolvers<{ ok: boolean; said: string }>();
      const wrong = (said: string): void => ended.resolve({ ok: false, said });
      const session = realtimeConnection(
        { ...address, voice, dialect },
        {
          event(event) {
            if (event.type === "ready")
              session.send(createResponse(dialect, "check", phrasesFor(language).still_there));
            else if (event.type === "audio") first();
            else if (event.type === "error") wrong(`the server says ${event.code}; check ${address.check}`);
            else if (event.type === "response_ended")
              ended.resolve({ ok: event.status === "completed", said: `its answer is ${event.status}` });
          },
          lost: () => wrong(`no connection; check ${address.check}`),
        },
      );
      const expired = (): void => wrong("the session fell silent");
      signal.addEventListener("abort", expired, { once: true });
      try {
        const settings = { voice, language, transcription_model, audio_format: "pcm" as const, tools: [] };
        session.send(sessionUpdate(dialect, { ...settings, instructions: "You are on the phone." }));
        return await ended.promise;
      } finally {
        signal.removeEventListener("abort", expired);
        session.close();
      }
    }),
  ];
}
