import { loadavg } from "node:os";
import type { AskedBench } from "../../commands.ts";
import { NATS_SERVER, provide } from "../../real/needed-programs.ts";
import { loadMeter } from "../voice/sessions/load-meter.ts";
import { lineOf, median, quantile, type Figures } from "../figures.ts";
import { startEventWorld, type EventWorld } from "./event-world.ts";

const PER_SECOND = 10;
const SECONDS = 15;
const ROUNDS = 4;
const P99 = 0.99;
/** Most that the p99 of the way to each reader may be, ms. */
const TARGETS = { stream: 50, endpoint: 100 } as const;
const READERS = { stream: "JetStream consumer", endpoint: "webhook endpoint" } as const;
type Kind = keyof typeof READERS;
const KINDS: readonly Kind[] = ["stream", "endpoint"];

/** One version, and the figures of its rounds. */
interface Side {
  world: EventWorld;
  figures: Record<Kind, { p50: Figures; p99: Figures }>;
}

const figuresOf = (kind: Kind, side: string) => ({
  p50: { name: `${READERS[kind]}${side}, p50`, rounds: [] },
  p99: { name: `${READERS[kind]}${side}, p99`, rounds: [] },
});

async function sideOf(tree: string | undefined, name: string): Promise<Side> {
  const figures = { stream: figuresOf("stream", name), endpoint: figuresOf("endpoint", name) };
  return { world: await startEventWorld(tree), figures };
}

async function measure({ world, figures }: Side, perSecond: number): Promise<number> {
  const found = await world.round(perSecond, SECONDS);
  for (const kind of KINDS) {
    const late = [...found[kind].values()];
    figures[kind].p50.rounds.push(quantile(late, 1 / 2));
    figures[kind].p99.rounds.push(quantile(late, P99));
  }
  return found.stream.size;
}

/**
 * `npm run bench -- events [--rate=10] [--tree=<folder>]`: how long after its write an event is with a JetStream consumer and with a webhook endpoint. One process per service beside a real
 * NATS server; the bench plays scheduler, dialer and conversation over the bus. With a tree that version and this one, alternating.
 */
export async function benchEvents({ values: { rate = PER_SECOND, tree } }: AskedBench): Promise<void> {
  if (!(await provide(NATS_SERVER))) return;
  console.log(
    `events: ${rate} leads/s, ${ROUNDS} rounds of ${SECONDS} s; node ${process.versions.node}; one process per service, embedded store, nats-server and readers share this machine`,
  );
  const sides = [await sideOf(undefined, ""), ...(tree === undefined ? [] : [await sideOf(tree, " of the other")])];
  const warm: number[] = [];
  for (const { world } of sides) warm.push((await world.round(rate, SECONDS)).stream.size);
  console.log(`${warm.join(" and ")} events a round; load ${loadavg()[0]?.toFixed(1) ?? ""}`);
  const own = loadMeter();
  for (let i = 0; i < ROUNDS; i++)
    for (const side of i % 2 === 0 ? sides : sides.toReversed()) await measure(side, rate);
  const [ours, theirs] = sides;
  for (const kind of KINDS) {
    if (ours === undefined) break;
    const { p50, p99 } = ours.figures[kind];
    const other = theirs?.figures[kind];
    console.log(lineOf(p50, other?.p50, "ms"));
    if (other) console.log(lineOf(other.p50, undefined, "ms"));
    const verdict = median(p99.rounds) <= TARGETS[kind] ? "met" : "MISSED";
    console.log(`${lineOf(p99, other?.p99, "ms")}  (≤ ${TARGETS[kind]} ms: ${verdict})`);
    if (other) console.log(lineOf(other.p99, undefined, "ms"));
  }
  // readers, pushes and the dialer that it plays share its one thread
  console.log(`the bench's own loop lag, which is in all of it: p99 ${own().lag_p99_ms.toFixed(1)} ms`);
  console.log(`load ${loadavg()[0]?.toFixed(1) ?? ""}`);
  for (const { world } of sides) await world.stop();
}
