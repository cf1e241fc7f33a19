import { after, until } from "../harness/stage.ts";
import type { Child } from "../tools/stack/supervisor.ts";
import { disagreements, ringsTwice, unfinished } from "./judge.ts";
import type { Scenario } from "./scenario.ts";
import type { Scene } from "./scene.ts";

const SECOND_MS = 1000;
/** Longer than a carrier tries to connect its media, so that those of answered calls can't join. */
const STILL_MS = 12_000;
const STORE_AWAY_MS = 5000;
const CALM_MS = 3000;
const PUSH_EVERY_MS = 400;
/** Pushed at a time, and who answers, in turn: people who confirm, hang up, are cut off, are busy, decline, voicemail. */
const AT_ONCE = 2;
const CROWD = ["01", "03", "17", "13", "04", "01", "03", "06", "09", "02"];
/** Leads end this soon after the last fault. */
const ENDED_MS = 180_000;
const POLL_MS = 1000;

function childOf({ product }: Scene, name: string): Child {
  const child = product.stack.children.get(name);
  if (!child) throw new Error(`the stack has no process ${name}`);
  return child;
}

/** One fault after the other until the time is over. */
async function disturb(scene: Scene, over: () => boolean): Promise<void> {
  const conversation = childOf(scene, "conversation");
  const faults: (() => Promise<void>)[] = [
    async () => {
      conversation.kill("SIGSTOP");
      await after(STILL_MS);
      conversation.kill("SIGCONT");
    },
    async () => {
      await scene.store.refuse(true);
      await after(STORE_AWAY_MS);
      await scene.store.refuse(false);
    },
    async () => {
      await conversation.down("SIGKILL");
      await conversation.up();
    },
  ];
  for (let n = 0; !over(); n++) {
    await after(CALM_MS);
    await faults[n % faults.length]?.();
  }
}

/** Pushes until the time is over; how many leads. */
async function push(scene: Scene, over: () => boolean): Promise<number> {
  let pushed = 0;
  for (; !over(); await after(PUSH_EVERY_MS))
    for (let n = 0; n < AT_ONCE; n++) pushed += (await scene.push(CROWD[pushed % CROWD.length] ?? "01", 1)).length;
  return pushed;
}

/** True once no lead waits and no call is live; asked by lists, for there may be thousands. */
async function isQuiet({ product, pusher }: Scene): Promise<boolean> {
  for (const status of ["BACKLOG", "RETRY", "PROCESSING"] as const)
    if ((await pusher.client.ask("GET", "/leads", { query: { status, limit: 1 } })).count > 0) return false;
  return (await product.ledgerCalls()).every(({ ended_at }) => ended_at !== null);
}

/** Conversations whose process stands still or dies and calls that are answered while their media can't join, under load: every outcome is what the ledger says. */
export const WHO_ENDED: Scenario = {
  alarm: "CallagentLeasesLapse",
  about:
    "the conversation process stands still or dies, the database is away, under 5 leads a second: every outcome agrees with the ledger (F2)",
  seconds: 30,
  long: true,
  scene: () => ({ timeScale: 10, leaseSeconds: 5, provider: "PROVIDER_ONE" }),
  async play(scene, seconds) {
    const untilMs = performance.now() + seconds * SECOND_MS;
    const over = (): boolean => performance.now() >= untilMs;
    const [pushed] = await Promise.all([push(scene, over), disturb(scene, over)]);
    await until("quiet", async () => (await isQuiet(scene)) || undefined, ENDED_MS, POLL_MS).catch(() => undefined);
    const seen = await scene.witnesses();
    const wrong = disagreements(seen);
    const outcomes = Object.entries(Object.groupBy(seen.leads, ({ outcome }) => outcome ?? "none"));
    scene.say(`${pushed} leads, ${seen.calls.length} calls; ${wrong.length} disagree with the ledger`);
    scene.say(outcomes.map(([outcome, of = []]) => `${of.length} ${outcome}`).join(", "));
    return [...wrong, ...ringsTwice(seen), ...unfinished(seen)];
  },
};
