import { lineOf, median, quantile, type Figures } from "../figures.ts";
import { lateness, parkedWorld, type LatencyOptions } from "./latency.ts";

/** What is measured, and the folder of the other version. */
export interface TreesOptions extends LatencyOptions {
  tree: string;
}

const SHARE = 0.99;

/** Row "due -> carrier request of two versions": each has a world of its own, which is measured in turn with the other's. */
export async function benchTrees(o: TreesOptions): Promise<void> {
  const worlds = await Promise.all([parkedWorld(o.few), parkedWorld(o.few, {}, o.tree)]);
  const figuresOf = (name: string) => ({
    p50: { name: `${name}, p50`, rounds: [] } as Figures,
    p99: { name: `${name}, p99`, rounds: [] } as Figures,
  });
  const sides = worlds.map((world, i) => ({ world, ...figuresOf(i === 0 ? "this tree" : "the other") }));
  for (const { world } of sides) await lateness(world, o);
  for (let i = 0; i < o.rounds; i++)
    for (const { world, p50, p99 } of i % 2 === 0 ? sides : sides.toReversed()) {
      const late = await lateness(world, o);
      p50.rounds.push(quantile(late, 0.5));
      p99.rounds.push(quantile(late, SHARE));
    }
  const [ours, theirs] = sides;
  if (ours === undefined || theirs === undefined) return;
  console.log(`due -> carrier request, ${o.perSecond} leads/s for ${o.seconds} s, ${o.rounds} rounds of each`);
  console.log(
    [lineOf(ours.p50, theirs.p50, "ms"), lineOf(theirs.p50, undefined, "ms")]
      .concat([lineOf(ours.p99, theirs.p99, "ms"), lineOf(theirs.p99, undefined, "ms")])
      .join("\n"),
  );
  const ratios = ours.p99.rounds.map((p99, i) => p99 / (theirs.p99.rounds[i] ?? p99));
  console.log(`p99, of each pair: ${ratios.map((r) => r.toFixed(2)).join(" ")}; median ${median(ratios).toFixed(2)}`);
  await Promise.all(worlds.map(({ world }) => world.stop()));
}
