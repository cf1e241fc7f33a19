import type { TemplateRecord } from "../../../shared/contracts/records/template.ts";
import { orderConfirmation } from "../../tools/sample/order-confirmation.ts";
import { endlessTemplate } from "../voice/answered-calls.ts";
import type { BenchLines } from "./bench-lines.ts";
import { noiseOf } from "./noise-corpus.ts";
import { agentOnLine } from "./spoken.ts";
import { GREETING, HELLO } from "./texts.ts";
import { heardShare } from "./verdicts.ts";

/** The first words of a call, and words that come behind an answer. */

const BACKGROUND_S = 60;
const LINE_NOISE_DB = -60;
const LIMIT_MS = 40_000;
/** The agent has said all after so much silence: longer than it waits for words over its speech. */
const OVER_MS = 5000;

/** When a "Hello?" comes after the call is answered, ms. */
export const HELLOS = [50, 300, 700, 1500] as const;
/** The pause behind "Yes.", ms, and whose voice. */
export const PAUSES: readonly { voice: string; pause_ms: number }[] = ["slt", "rms"].flatMap((voice) =>
  [260, 340, 450, 580, 880].map((pause_ms) => ({ voice, pause_ms })),
);

/** Whether the greeting was heard to its end, though its callee said "Hello?". */
export interface HelloResult {
  after_ms: number;
  heard_percent: number;
}

/** Runs one "Hello?". */
export async function helloAfter(bench: BenchLines, after_ms: number): Promise<HelloResult> {
  const { spoken, clock } = bench;
  const background = await noiseOf("white", LINE_NOISE_DB, BACKGROUND_S, { spoken, seed: bench.seed + 8 });
  const hello = await spoken.telephone("rms", HELLO);
  const reference = await agentOnLine(spoken, GREETING);
  const template = endlessTemplate([{ name: "ask", say: "Is Monday a good day for you?", functions: [] }], {
    greeting: GREETING,
  });
  const { result } = await bench.call(template, { features: { background }, seed: 9 }, async (line) => {
    await clock.wait(after_ms);
    await line.say(hello, [{ text: HELLO, from: 0, to: hello.length }]);
    await line.answeredAfter(0, LIMIT_MS);
    await line.agentSilent(OVER_MS, LIMIT_MS);
    return [...line.heard];
  });
  return { after_ms, heard_percent: Math.round(100 * heardShare(reference, result)) };
}

/** What was decided after "Yes.", a pause and "Friday would be better." */
export interface AfterthoughtResult {
  voice: string;
  pause_ms: number;
  decided: string | null;
}

const PAYLOAD = {
  customer_name: "Ann",
  order_id: "A 1",
  amount: "80",
  delivery_date: "Monday, June 9",
};

function sampleTemplate(): TemplateRecord {
  type Told = Pick<TemplateRecord, "nodes" | "global_functions" | "initial_node" | "variables" | "greeting">;
  const { nodes, global_functions, initial_node, variables, greeting } = orderConfirmation;
  const told = JSON.parse(JSON.stringify({ nodes, global_functions, initial_node, variables, greeting })) as Told;
  return { ...endlessTemplate([]), ...told };
}

/** Runs one afterthought; the bench's language model is the project's simulator. */
export async function afterthought(
  bench: BenchLines,
  { voice, pause_ms }: (typeof PAUSES)[number],
): Promise<AfterthoughtResult> {
  const { spoken, clock } = bench;
  const background = await noiseOf("white", LINE_NOISE_DB, BACKGROUND_S, { spoken, seed: bench.seed + 8 });
  const [yes, friday] = await Promise.all([
    spoken.telephone(voice, "Yes."),
    spoken.telephone(voice, "Friday would be better."),
  ]);
  const gap = new Int16Array(pause_ms * 8);
  const said = Int16Array.from([...yes, ...gap, ...friday]);
  const { settled } = await bench.call(
    sampleTemplate(),
    { features: { background }, seed: 9, payload: PAYLOAD },
    async (line) => {
      await line.answeredAfter(0, LIMIT_MS);
      await line.agentSilent(OVER_MS, LIMIT_MS);
      const { end } = await line.say(said, [
        { text: "Yes.", from: 0, to: yes.length },
        { text: "Friday would be better.", from: yes.length + gap.length, to: said.length },
      ]);
      await line.answeredAfter(end, LIMIT_MS);
      for (const until = clock.now() + LIMIT_MS; line.closedAt === null && clock.now() < until;) await clock.wait(100);
    },
  );
  return { voice, pause_ms, decided: settled.decided };
}
