import { gather } from "../harness/evidence.ts";
import { crowded } from "../harness/sliding-windows.ts";
import { after, until } from "../harness/stage.ts";
import { abortedRang, disagreements, ringsTwice, unfinished, unreported } from "./judge.ts";
import type { Scenario } from "./scenario.ts";
import type { Scene } from "./scene.ts";

const SECOND_MS = 1000;
const POLL_MS = 100;
const LONG_MS = 120_000;
const LEASE_SECONDS = 5;

/** The processes of a service. */
export const childrenOf = ({ product }: Scene, service: string) =>
  [...product.stack.children].filter(([name]) => name === service || name.startsWith(`${service}-`)).map(([, c]) => c);

/** What scenarios ask at their end. */
export async function verdict(scene: Scene): Promise<string[]> {
  const seen = await scene.witnesses();
  scene.say(`${seen.leads.length} leads, ${seen.calls.length} calls`);
  return [...ringsTwice(seen), ...unfinished(seen), ...unreported(seen), ...disagreements(seen)];
}

/** Waits for so many calls in the ledger. */
const calls = (scene: Scene, count: number): Promise<boolean> =>
  until(
    `${count} calls`,
    async () => (await scene.product.ledgerCalls()).length >= count || undefined,
    LONG_MS,
    POLL_MS,
  );

const CONVERSATIONS = 6;

/** Stands still what leads conversations, in the middle of them, and lets it go on. */
async function conversationsStopped(scene: Scene, seconds: number): Promise<string[]> {
  await scene.push("01", CONVERSATIONS);
  await scene.push("06", 2);
  await scene.talking(CONVERSATIONS / 2);
  for (const child of childrenOf(scene, "conversation")) child.kill("SIGSTOP");
  await after(seconds * SECOND_MS);
  for (const child of childrenOf(scene, "conversation")) child.kill("SIGCONT");
  return verdict(scene);
}

const LINES = 2;
/** A number's lines are free this soon after the power is back, though their calls ended in the dark; what a busy machine needs besides. */
const FREE_WITHIN_MS = 60_000;

/** Kills every process but carrier and models at once, in the middle of calls, and starts all again. */
async function powerCut(scene: Scene, seconds: number): Promise<string[]> {
  const { admin, stack } = scene.product;
  const { numbers } = await admin.ask("GET", "/numbers", { query: {} });
  for (const { id } of numbers)
    await admin.ask("PUT", "/numbers/{number_id}", { path: { number_id: id }, body: { max_concurrent_calls: LINES } });
  await scene.push("01", CONVERSATIONS);
  const underWay = await scene.talking(LINES);
  const ours = [...stack.children].filter(([name]) => !["carrier", "models"].includes(name));
  await Promise.all(ours.map(([, child]) => child.down("SIGKILL")));
  await scene.over(underWay, seconds * SECOND_MS);
  const first = (name: string): boolean => name === "store" || name === "nats";
  for (const those of [ours.filter(([n]) => first(n)), ours.filter(([n]) => !first(n))])
    await Promise.all(those.map(([, child]) => child.up()));
  const back = Date.now();
  const before = (await scene.product.ledgerCalls()).length;
  await scene.push("06", 1);
  await calls(scene, before + 1);
  const freeMs = Date.now() - back;
  scene.say(`the next call was placed ${freeMs} ms after the power was back`);
  return [
    ...(freeMs > FREE_WITHIN_MS ? [`a line was free only ${freeMs} ms after the power was back`] : []),
    ...(await verdict(scene)),
  ];
}

const PER_SECOND = 5;
const CALLS_PER_LIFE = 12;
const DEATHS = 3;

/** Kills a dialer again and again while callbacks come late. */
async function dialersKilled(scene: Scene): Promise<string[]> {
  const { product } = scene;
  await product.injectFault({ kind: "delay_callbacks", seconds: 2 });
  const pushed = scene.push("06", CALLS_PER_LIFE * (DEATHS + 2));
  for (let i = 1; i <= DEATHS; i++) {
    await calls(scene, i * CALLS_PER_LIFE);
    product.stack.children.get(i % 2 === 0 ? "dialer-2" : "dialer")?.kill("SIGKILL");
    await after(SECOND_MS / 2);
  }
  await pushed;
  await product.injectFault(null);
  const found = await verdict(scene);
  return [...crowded("the carrier account", (await gather(product)).calls, PER_SECOND, SECOND_MS), ...found];
}

const REPORTS = 20;
/** Tries that failed come again after seconds; what a busy machine needs besides. */
const FLOWS_WITHIN_MS = 30_000;

/** The receiver of webhooks answers 503 for a while. */
async function receiverIll(scene: Scene, seconds: number): Promise<string[]> {
  const { sink } = scene.product;
  sink.ill = true;
  await scene.push("06", REPORTS);
  await until("reports to be tried", () => sink.refused.length > 0 || undefined, LONG_MS, POLL_MS);
  await after(seconds * SECOND_MS);
  sink.ill = false;
  const well = Date.now();
  const found = await verdict(scene);
  const last = Math.max(...sink.delivered.map(({ at }) => at)) - well;
  scene.say(`the last of ${sink.reports.size} reports came ${last} ms after the receiver was well`);
  return [...(last > FLOWS_WITHIN_MS ? [`a report came only ${last} ms after its receiver was well`] : []), ...found];
}

const BATCH = 30;

/** Aborts leads in batches while they are claimed and dialled. */
async function abortsAgainstClaims(scene: Scene): Promise<string[]> {
  const aborted: { lead: string; at: number }[] = [];
  for (let round = 0; round < 3; round++) {
    const ids = await scene.push("01", BATCH);
    await after(round * POLL_MS);
    const { leads } = await scene.pusher.client.ask("POST", "/lead/abort", {
      body: { leads: ids.map((lead_id) => ({ lead_id, cancellation_reason: "the order was withdrawn" })) },
    });
    const at = Date.now();
    for (const { id, status } of leads) if (status === "success") aborted.push({ lead: id, at });
  }
  scene.say(`${aborted.length} of ${BATCH * 3} leads were aborted before they were claimed`);
  const found = await verdict(scene);
  return [...abortedRang(await scene.witnesses(), aborted), ...found];
}

/** Faults of processes, of the receiver of webhooks and of timing, by name. */
export const PROCESS_SCENARIOS: Readonly<Record<string, Scenario>> = {
  "conversations-stopped": {
    alarm: "CallagentProcessAway",
    about: "every conversation process stands still (SIGSTOP) in mid-conversation and goes on (F2)",
    long: true,
    seconds: 10,
    scene: () => ({ timeScale: 4, leaseSeconds: LEASE_SECONDS, provider: "PROVIDER_ONE" }),
    play: conversationsStopped,
  },
  "power-cut": {
    alarm: "CallagentProcessAway",
    about:
      "everything of ours is killed at once in mid-conversation and started again (F5); --seconds: at most so long in the dark",
    long: true,
    seconds: 10,
    scene: () => ({ timeScale: 10, leaseSeconds: LEASE_SECONDS, provider: "PROVIDER_ONE" }),
    play: powerCut,
  },
  "dialers-killed": {
    alarm: "CallagentProcessAway",
    about: "a dialer is killed again and again while callbacks come late; five calls a second are allowed (F4)",
    long: true,
    seconds: 1,
    scene: () => ({
      timeScale: 40,
      leaseSeconds: LEASE_SECONDS,
      provider: "PROVIDER_ONE",
      env: { PROVIDER_ONE_CALLS_PER_SECOND: String(PER_SECOND) },
    }),
    play: dialersKilled,
  },
  "receiver-ill": {
    alarm: "CallagentWebhooksFail",
    about: "the receiver of webhooks answers 503 for a while (F7)",
    long: true,
    seconds: 15,
    scene: () => ({ timeScale: 40, leaseSeconds: LEASE_SECONDS, provider: "PROVIDER_ONE" }),
    play: receiverIll,
  },
  "aborts-against-claims": {
    alarm: null,
    about: "leads are aborted in batches at the moment of their claim (F8)",
    long: true,
    seconds: 1,
    scene: () => ({ timeScale: 20, leaseSeconds: LEASE_SECONDS, provider: "PROVIDER_ONE" }),
    play: abortsAgainstClaims,
  },
};
