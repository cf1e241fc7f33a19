import { after } from "../harness/stage.ts";
import { childrenOf, verdict } from "./process-scenarios.ts";
import type { Scenario } from "./scenario.ts";
import type { Scene } from "./scene.ts";

const SECOND_MS = 1000;
const LONG_MS = 120_000;
const CONVERSATIONS = 6;

/** Whoever answers hears something, or is released, this soon. */
const SILENT_MS = 2000;
const PUSH_EVERY_MS = 500;
const STILL_SCALE = 4;

/** How long callees who answered within a span waited for the first word, or for the end of their call, ms. */
async function silences({ product }: Scene, from: number, to: number): Promise<number[]> {
  const [calls, entries] = [await product.ledgerCalls(), await product.ledger()];
  return calls.flatMap(({ sid, answered_at, ended_at }) => {
    const answered = answered_at === null ? Infinity : Date.parse(answered_at);
    if (answered < from || answered > to) return [];
    const heard = entries.find((entry) => entry.kind === "heard" && entry.call_sid === sid);
    if (heard === undefined) return [ended_at === null ? Infinity : Date.parse(ended_at) - answered];
    return [Date.parse(heard.at) - Number(heard["duration_ms"]) / STILL_SCALE - answered];
  });
}

/** One of two processes of conversations stands still while calls are answered. */
async function conversationStill(scene: Scene, seconds: number): Promise<string[]> {
  const still = scene.product.stack.children.get("conversation-2");
  await scene.push("01", CONVERSATIONS);
  await scene.talking(1);
  still?.kill("SIGSTOP");
  const from = Date.now();
  while (Date.now() - from < seconds * SECOND_MS) {
    await scene.push("01", 1);
    await after(PUSH_EVERY_MS);
  }
  const to = Date.now();
  still?.kill("SIGCONT");
  const found = await verdict(scene);
  const waited = (await silences(scene, from, to)).map(Math.round).toSorted((a, b) => a - b);
  scene.say(
    `${waited.length} people answered meanwhile; the longest waited ${waited.at(-1)} ms for the first word or the end`,
  );
  return [
    ...(waited.length === 0 ? ["nobody answered meanwhile"] : []),
    ...waited.filter((ms) => ms > SILENT_MS).map((ms) => `somebody who answered heard nothing for ${ms} ms`),
    ...found,
  ];
}

/** The sentence for a fault of ours, and what every end of the sample's conversation says. */
const TROUBLE = /something went wrong on our side/;
const GOODBYE = /goodbye/i;

/** The database is away while calls are led by documents: whose next document can't be had hears so. */
async function documentsWithoutStore(scene: Scene, seconds: number): Promise<string[]> {
  await scene.push("01", CONVERSATIONS);
  const underWay = await scene.talking(CONVERSATIONS - 1);
  await scene.store.refuse(true);
  await after(seconds * SECOND_MS);
  await scene.store.refuse(false);
  await scene.over(underWay, LONG_MS);
  const entries = await scene.product.ledger();
  const lastHeard = (sid: string): string =>
    String(entries.filter((entry) => entry.kind === "heard" && entry.call_sid === sid).at(-1)?.["text"]);
  // who hangs up in the silence before has not been cut off
  const left = (await scene.product.ledgerCalls()).filter((c) => underWay.has(c.sid) && c.ended_by !== "callee");
  const last = left.map(({ sid }) => lastHeard(sid));
  const troubled = last.filter((text) => TROUBLE.test(text)).length;
  const cutOff = last.filter((text) => !GOODBYE.test(text)).length;
  scene.say(
    `of ${last.length} calls that their callees did not end ${troubled} ended with the goodbye for a fault, ${cutOff} without any`,
  );
  return [
    ...(troubled === 0 ? ["no call got the goodbye for a fault"] : []),
    ...(cutOff > 0 ? [`${cutOff} calls ended without a goodbye`] : []),
    ...(await verdict(scene)),
  ];
}

/** Whoever is on the phone is released this soon after the process of the conversation died: two seconds, and what a busy machine needs besides. */
const RELEASED_WITHIN_MS = 5000;

/** Kills what leads conversations over the carrier's text relay, in the middle of them; their leases last longer than anybody is patient. */
async function conversationKilled(scene: Scene): Promise<string[]> {
  await scene.push("01", CONVERSATIONS);
  const underWay = await scene.talking(CONVERSATIONS / 2);
  const [conversation] = childrenOf(scene, "conversation");
  const killed = Date.now();
  await conversation?.down("SIGKILL");
  await scene.over(underWay, RELEASED_WITHIN_MS * 2);
  const seen = (await scene.product.ledgerCalls()).filter(({ sid }) => underWay.has(sid));
  const waits = seen.map(({ ended_at }) => (ended_at === null ? Infinity : Date.parse(ended_at) - killed));
  scene.say(`${underWay.size} callees were released after ${waits.map((ms) => Math.max(0, ms)).join(", ")} ms`);
  await conversation?.up();
  return [
    ...waits.filter((ms) => ms > RELEASED_WITHIN_MS).map((ms) => `a callee was left on a dead line for ${ms} ms`),
    ...(await verdict(scene)),
  ];
}

/** What becomes of whoever is on the phone while the process of their conversation, or the database, fails; by name. */
export const CONVERSATION_SCENARIOS: Readonly<Record<string, Scenario>> = {
  "documents-without-store": {
    alarm: "CallagentStoreFails",
    about: "the database is away while Plivo's calls ask for their next documents: each hears a goodbye",
    long: true,
    seconds: 12,
    scene: () => ({ timeScale: 4, leaseSeconds: 20, provider: "PROVIDER_TWO" }),
    play: documentsWithoutStore,
  },
  "conversation-still": {
    alarm: "CallagentProcessAway",
    about:
      "one of two conversation processes behind a balancer stands still (SIGSTOP): who answers meanwhile is heard by the other",
    long: true,
    seconds: 15,
    scene: () => ({
      timeScale: STILL_SCALE,
      leaseSeconds: 5,
      provider: "PROVIDER_ONE",
      balanced: true,
      env: { ANSWER_LIMIT_MS: String(SILENT_MS) },
    }),
    play: conversationStill,
  },
  "conversation-killed": {
    alarm: "CallagentProcessAway",
    about: "the conversation process is killed in mid-conversation: whoever is on the phone is released",
    long: true,
    seconds: 1,
    scene: () => ({ timeScale: 4, leaseSeconds: 20, provider: "PROVIDER_THREE" }),
    play: conversationKilled,
  },
};
