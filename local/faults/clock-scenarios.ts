import { after, until } from "../harness/stage.ts";
import { ringsTwice, unfinished } from "./judge.ts";
import type { Scenario } from "./scenario.ts";
import type { Scene } from "./scene.ts";

const SECOND_MS = 1000;
const HOUR_MS = 3_600_000;
/** Leads that are pushed before, between and after the steps: of people who confirm, and of people who answer only a second call. */
const OF_EACH = 8;
/** A webhook event may take so long once its lead is finished: its first retry comes after 5 s; what a busy machine needs besides. */
const REPORTED_WITHIN_MS = 60_000;
const PROBE_MS = 200;

async function pushBoth(scene: Scene): Promise<void> {
  await scene.push("01", OF_EACH);
  await scene.push("08", OF_EACH);
}

/** Every lead's event was taken, and none was refused for its signature. */
async function unreported({ product, ids }: Scene): Promise<string[]> {
  const { sink } = product;
  const missing = (): string[] => ids.filter((id) => !sink.reports.has(id));
  await until("webhook events", () => (missing().length === 0 ? true : undefined), REPORTED_WITHIN_MS, PROBE_MS).catch(
    () => undefined,
  );
  return [
    ...(missing().length === 0 ? [] : [`${missing().length} of ${ids.length} leads were not reported`]),
    ...(sink.refused.length === 0 ? [] : [`${sink.refused.length} webhook events were refused: ${sink.refused[0]}`]),
  ];
}

/** The wall clock of one service, of the store or of all is an hour ahead for a while, then an hour behind, then right. */
const clockOf = (who: string): Scenario => ({
  alarm: null,
  // "all" has every process and the store among them
  long: who !== "store",
  about: `the wall clock of ${who} is set an hour ahead, an hour back and right again (F6)`,
  seconds: 6,
  scene: () => ({ timeScale: 10, leaseSeconds: 5, provider: "PROVIDER_ONE", clocks: true }),
  async play(scene, seconds) {
    await pushBoth(scene);
    await scene.talking(1);
    for (const ms of [HOUR_MS, -HOUR_MS, 0]) {
      scene.setClocks({ [who]: ms });
      await pushBoth(scene);
      await after(seconds * SECOND_MS);
    }
    const began = performance.now();
    const seen = await scene.witnesses();
    const found = [...ringsTwice(seen), ...unfinished(seen), ...(await unreported(scene))];
    const stuck = seen.leads.filter(({ status }) => status !== "FINISHED").length;
    const retries = seen.calls.length - seen.leads.length;
    scene.say(
      `${seen.leads.length} leads, ${retries} second calls, ${stuck} stuck ${Math.round((performance.now() - began) / SECOND_MS)} s after the clocks were right; ` +
        `${scene.product.sink.refused.length} webhook events refused`,
    );
    return found;
  },
});

/** Clocks that are set, by name. */
export const CLOCK_SCENARIOS: Readonly<Record<string, Scenario>> = Object.fromEntries(
  ["dialer", "scheduler", "leads", "webhook", "store", "all"].map((who) => [`clock-${who}`, clockOf(who)]),
);
