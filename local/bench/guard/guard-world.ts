import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import type { Engine } from "../../../shared/contracts/records/models.ts";
import { callee, startPushing } from "../../harness/lead-pusher.ts";
import { startProduct, type Product } from "../../harness/product.ts";
import { until } from "../../harness/stage.ts";
import { startStatementMeter, type StatementMeter } from "./statement-meter.ts";

/** What each item of a round took. */
export interface Round {
  /** Processor time of the services' process, ms. */
  ms: number;
  /** Commands to the database. */
  commands: number;
}

/** The product with all services of one tree in one process, over the simulated carrier and models. */
export interface GuardWorld {
  /** Pushes leads that are due in a day. */
  pushes(count: number): Promise<Round>;
  /** Pushes leads that are called at once, all together; until the webhook event of each is delivered. `who`: PEOPLE, or the last digits of local/people/behaviours.ts. */
  calls(count: number, who: string): Promise<Round>;
  /** Nothing is done; what a minute of it takes. */
  idle(): Promise<Round>;
  stop(): Promise<void>;
}

/** The last digits of people who speak so many times until they have confirmed. */
export const PEOPLE = { "4 turns": "40", "10 turns": "41" } as const;

const NS_PER_MS = 1e6;
const MINUTE_MS = 60_000;
const IDLE_MS = 20_000;
const ENDED_MS = 240_000;
const POLL_MS = 50;
/** What follows the last answer. */
const REST_MS = 300;
const A_DAY_SECONDS = 86_400;

/** Processor time of all threads of a process, ms: there /proc counts it in ns, elsewhere in ticks of 10 ms. */
function processorMs(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const ns = threads.map((t) => Number(readFileSync(`/proc/${pid}/task/${t}/schedstat`, "utf8").split(" ")[0]));
  return ns.reduce((a, b) => a + b, 0) / NS_PER_MS;
}

/** Says how often people speak, and that calls are not tried again; the second template's leads wait for a day. Its id. */
async function prepare({ admin, sample, scriptPerson }: Product): Promise<string> {
  const [called, parked] = sample.templates;
  if (!called || !parked) throw new Error("the sample has no two templates");
  const change = (config_id: string, body: { max_retry?: number; initial_offset?: number }) =>
    admin.ask("PUT", "/configurations/{config_id}", { path: { config_id }, body });
  await change(called.configuration_id, { max_retry: 0 });
  await change(parked.configuration_id, { initial_offset: A_DAY_SECONDS });
  for (const [turns, who] of Object.entries(PEOPLE)) {
    const talk = { wait_for: "silence", after_ms: 1000, say: "Oh hello, lovely weather we are having today." };
    const decide = { wait_for: "silence", after_ms: 1000, say: "Yes, please confirm it." };
    await scriptPerson(who, [...Array.from({ length: Number.parseInt(turns, 10) - 1 }, () => talk), decide]);
  }
  return parked.id;
}

/** Periodic work is rare, so that a round does not take more because it takes longer; leads and calls are told of by events. */
const RARE_WORK = { SCHEDULER_INTERVAL_MS: "60000", SWEEP_INTERVAL_MS: "60000" };

/** How a world is started. `cascade`: in real time, as sound can't run faster. */
export interface GuardWorldOptions {
  engine: Engine;
  /** Periodic work comes as often as by default. */
  idles?: boolean;
}

/** Starts a world whose services are those of `tree`. */
export async function startGuardWorld(tree: string, { engine, idles = false }: GuardWorldOptions): Promise<GuardWorld> {
  let meter: StatementMeter | null = null;
  const product = await startProduct({
    treeOf: () => tree,
    engine,
    ...(engine === "cascade" ? { timeScale: 1 } : {}),
    env: {
      LOG_LEVEL: "error",
      PROVIDER_ONE_CALLS_PER_SECOND: "0",
      API_RATE_LIMIT_PER_MINUTE: "0",
      ...(idles ? {} : RARE_WORK),
    },
    between: {
      store: async (url) => {
        meter = await startStatementMeter(url);
        return meter.url;
      },
    },
  });
  const parked = await prepare(product);
  const pusher = await startPushing(product);
  const pid = product.stack.children.get("services")?.pid() ?? 0;
  let next = 0;
  const numbers = (count: number, who: string): string[] => Array.from({ length: count }, () => callee(next++, who));
  const now = () => ({ ms: processorMs(pid), commands: meter?.spent() ?? 0 });
  const measure = async (count: number, work: () => Promise<unknown>): Promise<Round> => {
    const before = now();
    await work();
    await wait(REST_MS);
    const after = now();
    return {
      ms: (after.ms - before.ms) / count,
      commands: (after.commands - before.commands) / count,
    };
  };
  return {
    pushes: (count) =>
      measure(count, () => pusher.insistAll(numbers(count, "01"), { template_id: parked, report: false })),
    calls: (count, who) =>
      measure(count, async () => {
        const ids = new Set(await pusher.insistAll(numbers(count, who)));
        const ended = (): number => product.sink.delivered.filter(({ lead_id }) => ids.has(lead_id)).length;
        await until("the webhook events", () => ended() >= count || undefined, ENDED_MS, POLL_MS);
      }),
    idle: () => measure(IDLE_MS / MINUTE_MS, () => wait(IDLE_MS - REST_MS)),
    async stop() {
      await product.stop();
      meter?.close();
    },
  };
}
