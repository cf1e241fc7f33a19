import type { FlowNode } from "../../../shared/contracts/flow/flow-node.ts";
import { frameTicker } from "./frame-clock.ts";
import { words } from "./sounds.ts";
import { startStubModels } from "./stub-models.ts";
import {
  callsOf,
  endlessTemplate,
  spread,
  startSimulatedModels,
  stopModels,
  type Call,
  type Delays,
} from "./answered-calls.ts";
import { startConversationProcess } from "./conversation-process.ts";

/** Each turn asks for another of these: an answer that was spoken before comes from the cache, and would be measured without its synthesis. */
const GOODS = ["apple", "melon", "cherry", "banana", "orange", "lemon", "peach", "grape"];
/** The silence before the next turn. */
const BETWEEN_MS = 600;
const FRAME_MS = 20;

/** The node of the conversations that turns are measured in: each call has prices of its own. */
export const shopNode: FlowNode = {
  name: "shop",
  role_prompt: "You are Mia, the voice assistant of Northwind.",
  prompt: GOODS.map((name) => `The ${name} costs {{${name}}} euros.`).join(" "),
  functions: [],
};
const priceOf = (call: number, good: number): string => String(1000 + call * GOODS.length + good);
/** The prices of a call. */
export const pricesOf = (call: number): Record<string, string> =>
  Object.fromEntries(GOODS.map((name, good) => [name, priceOf(call, good)]));
/** A turn each that is not counted: the process has compiled and connected by then. */
export const rehearsedTurn = (call: Call, n: number, calls: number): Promise<unknown> =>
  turnsOf(call, calls + n, 1, GOODS.length - 2);

/** How turns are measured: so many calls at a time, and turns of each. `delays` null: by models that have every answer and sound ready, for the simulator's take some ms to make theirs. */
export interface TurnsOptions {
  delays: Delays | null;
  preemptive: boolean;
  calls: number;
  turns: number;
}

/** The models of a measurement, and how they are ended. */
async function modelsFor(delays: Delays | null): Promise<{ url: string; end(): Promise<void> }> {
  if (delays === null) {
    const { url, close } = await startStubModels();
    return { url, end: close };
  }
  const models = await startSimulatedModels(delays);
  return { url: models.url, end: () => stopModels(models) };
}

/** The end of what a caller said, and the first sound of the answer, on performance.now's clock. */
export interface Turn {
  end: number;
  answered: number;
}

/** Turns of a call, one after the other. */
export async function turnsOf({ caller }: Call, call: number, turns: number, first = 0): Promise<Turn[]> {
  const measured: Turn[] = [];
  for (let turn = 0; turn < turns; turn++) {
    await caller.silentFor(BETWEEN_MS);
    const { end } = await caller.say(
      words(`How much is the ${GOODS[first + turn]}?`, spread(call * turns + turn) * FRAME_MS),
    );
    measured.push({ end, answered: await caller.firstFrame(end) });
  }
  return measured;
}

/** From the end of the caller's speech to the agent's first frame at the carrier, ms, turn by turn. */
export async function measureTurns({ delays, preemptive, calls, turns }: TurnsOptions): Promise<number[]> {
  const models = await modelsFor(delays);
  const talker = await startConversationProcess({
    models: models.url,
    env: { PREEMPTIVE_GENERATION: String(preemptive) },
  });
  const ticker = frameTicker();
  const template = endlessTemplate([shopNode]);
  try {
    await talker.template(template);
    // who decodes what is heard is late to notice that it came
    const all = await callsOf(talker, template, ticker, calls, { listens: false, payload: pricesOf });
    await Promise.all(all.map((call, n) => rehearsedTurn(call, n, calls)));
    const measured = await Promise.all(all.map((call, n) => turnsOf(call, n, turns)));
    await Promise.all(all.map(({ caller }) => caller.hangUp()));
    return measured.flat().map(({ end, answered }) => answered - end);
  } finally {
    await talker.stop();
    await models.end();
  }
}
