import { randomUUID } from "node:crypto";
import type { TemplateRecord } from "../../../shared/contracts/records/template.ts";
import { startConversationProcess, type ConversationProcess } from "../voice/conversation-process.ts";
import type { Settled } from "../voice/ipc-messages.ts";
import { startRecogniser, type Recogniser } from "./recogniser.ts";
import { lineClock, speechLine, type LineClock, type LineFeatures, type SpeechLine } from "./speech-line.ts";
import { startSpeechModels, type SpeechModels } from "./speech-models.ts";
import { spokenByPrograms, type Spoken } from "./spoken.ts";
import { allSentences } from "./texts.ts";
import { toldEar } from "./told-ear.ts";

/** The conversation service in a process of its own, with models that hear and speak, and lines that lead to it. */
export interface BenchLines {
  readonly clock: LineClock;
  readonly spoken: Spoken;
  readonly models: SpeechModels;
  /** The noises are made from seeds that are so much higher. */
  readonly seed: number;
  /** Has a call answered and held; gives what came of it with how its conversation ended. */
  call<T>(
    template: TemplateRecord,
    how: CallSetup,
    talk: (line: SpeechLine, turns: readonly TimedTurn[]) => Promise<T>,
  ): Promise<{ result: T; settled: Settled }>;
  stop(): Promise<void>;
}

/** A call: its line, its seed, and the lead's payload. */
export interface CallSetup {
  features: LineFeatures;
  seed: number;
  payload?: Record<string, string>;
}

/** A turn that the service answered: when its first sound left, and whether it ended by silence or by a bound on its length. */
export interface TimedTurn {
  at: number;
  end: string;
  /** To the service, the end of the caller's speech was so long before, and the turn was over after so much quiet; null: an older version. */
  answer_ms: number | null;
  quiet_ms: number | null;
}

/** How lines are run. `slow`: a second of theirs takes so many. `chat`: another language model than the bench's own. */
export interface BenchLinesOptions {
  slow: number;
  seed: number;
  phantom?: string;
  /** The recogniser makes no errors: it is told what was said. */
  told?: boolean | undefined;
  chat?: string;
  env?: Record<string, string>;
  /** Another version's folder, whose service runs. */
  tree?: string | undefined;
}

/** Four callers may be done at once. */
const RECOGNISERS = 2;
/** Samples of silence for the recogniser before the first call. */
const WARM_UP = 8000;

interface Started {
  recogniser: Recogniser;
  models: SpeechModels;
  talker: ConversationProcess;
}

/** Reads the turns of each lead from the service's log. */
function timedTurns(clock: LineClock) {
  const turns = new Map<string, TimedTurn[]>();
  const turnsOf = (lead_id: string): TimedTurn[] => {
    const known = turns.get(lead_id) ?? [];
    turns.set(lead_id, known);
    return known;
  };
  const onLog = (line: Record<string, unknown>): void => {
    if (line["event"] !== "talk.turn_timed" || typeof line["lead_id"] !== "string") return;
    const [answer_ms, quiet_ms] = [line["voice_to_voice_ms"], line["eou_ms"]];
    turnsOf(line["lead_id"]).push({
      at: clock.now(),
      end: typeof line["end"] === "string" ? line["end"] : "silence",
      answer_ms: typeof answer_ms === "number" ? answer_ms : null,
      quiet_ms: typeof quiet_ms === "number" ? quiet_ms : null,
    });
  };
  return { turnsOf, onLog };
}

/** Starts it all. */
export async function benchLines(o: BenchLinesOptions): Promise<BenchLines> {
  const { slow, seed, phantom = "", told = false, chat, env = {}, tree } = o;
  const lines: SpeechLine[] = [];
  const clock = lineClock(slow);
  const spoken = spokenByPrograms();
  const { turnsOf, onLog } = timedTurns(clock);
  const start = async (): Promise<Started> => {
    const recogniser = told ? toldEar(() => lines) : startRecogniser(allSentences(), RECOGNISERS);
    // they read their model before their first answer
    await Promise.all(Array.from({ length: RECOGNISERS }, () => recogniser.words(new Int16Array(WARM_UP))));
    const models = await startSpeechModels({ recogniser, spoken, clock, phantom });
    const urls = chat === undefined ? {} : { OPENAI_BASE_URL: chat };
    const talker = await startConversationProcess({
      models: models.url,
      slow,
      onLog,
      env: { ...urls, ...env },
      ...(tree === undefined ? {} : { tree }),
    });
    return { recogniser, models, talker };
  };
  const { recogniser, models, talker } = await start();
  let asking = Promise.resolve();
  /** The process is asked one thing at a time. */
  const prepared = (template: TemplateRecord, lead_id: string, payload: Record<string, string>): Promise<string> => {
    const url = asking.then(async () => {
      await talker.template(template);
      return (await talker.prepare([{ lead_id, template_id: template.id, payload }]))[0] ?? "";
    });
    asking = url.then(
      () => undefined,
      () => undefined,
    );
    return url;
  };
  return {
    clock,
    spoken,
    models,
    seed,
    async call(template, { features, seed, payload = {} }, talk) {
      const lead_id = randomUUID();
      const url = await prepared(template, lead_id, payload);
      const line = await speechLine(url, clock, features, seed);
      lines.push(line);
      try {
        const result = await talk(line, turnsOf(lead_id));
        await line.hangUp();
        return { result, settled: await talker.settled(lead_id) };
      } finally {
        await line.hangUp();
        lines.splice(lines.indexOf(line), 1);
      }
    },
    async stop() {
      await talker.stop();
      await models.close();
      recogniser.stop();
    },
  };
}

/** Runs tasks, so many at once; the results are in their order. */
export async function severalAtOnce<T, R>(
  tasks: readonly T[],
  atOnce: number,
  run: (task: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let n = next++; n < tasks.length; n = next++) {
      const task = tasks[n];
      if (task !== undefined) results[n] = await run(task);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, tasks.length) }, worker));
  return results;
}
