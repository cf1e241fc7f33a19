import { ApiFailure } from "../tools/api-client.ts";
import { callee } from "../harness/lead-pusher.ts";
import { after, until } from "../harness/stage.ts";
import { cut, disagreements, openFor, ringsTwice, unfinished } from "./judge.ts";
import { WHO_ENDED } from "./outcome-scenarios.ts";
import { CLOCK_SCENARIOS } from "./clock-scenarios.ts";
import { MEDIA_SCENARIO } from "./media-scenario.ts";
import { CONVERSATION_SCENARIOS } from "./conversation-scenarios.ts";
import { PROCESS_SCENARIOS } from "./process-scenarios.ts";
import type { Scenario } from "./scenario.ts";
import type { Scene } from "./scene.ts";

const SECOND_MS = 1000;
/** Everything goes on this soon after the return of what was away: connections are tried again every fraction of a second; the rest is for a machine whose cores others use. */
const RESUMES_MS = 20_000;
/** A refusal comes sooner than the time-out of a call on the bus, 10 s: nobody was asked first. */
const REFUSED_MS = 8000;
const CONVERSATIONS = 4;
/** A call whose end was asked for while nobody could hear it ends this soon after somebody can. */
const ENDS_WITHIN_MS = 25_000;
const PROBE_MS = 50;

/** Time enough for the conversations of the scene to last longer than the fault. */
const slowEnough = (seconds: number): number => Math.max(1, Math.min(10, Math.round(30 / seconds)));

/** What a push was answered that was not taken, null: it was; and after how long. */
async function pushed({ pusher }: Scene): Promise<{ answer: unknown; ms: number }> {
  const began = performance.now();
  const answer = await pusher.push(callee(9000, "06")).then(
    () => null,
    (error: unknown) => error,
  );
  return { answer, ms: Math.round(performance.now() - began) };
}

const wasUnderWay = (answer: unknown): boolean => answer instanceof ApiFailure && answer.status === 504;

/** A push while the service can't take it: refused at once, and told when to come back. One that was under way when the fault came is answered 504, for nobody knows what became of it; the next is not. */
async function refusedPush(scene: Scene): Promise<string[]> {
  const { say } = scene;
  const first = await pushed(scene);
  const { answer, ms } = wasUnderWay(first.answer) ? await pushed(scene) : first;
  if (answer === null) return ["a push was taken while the bus was away"];
  if (!(answer instanceof ApiFailure)) return [`a push failed without an answer: ${String(answer)}`];
  say(`a push was answered ${answer.status} after ${ms} ms`);
  return [
    ...(answer.status === 503 ? [] : [`a push was answered ${answer.status}, not 503`]),
    ...(answer.retry_after_seconds === null ? ["the refusal says not when to come back (Retry-After)"] : []),
    ...(ms > REFUSED_MS ? [`a push was refused only after ${ms} ms`] : []),
  ];
}

/** Milliseconds until a push is taken again. */
async function resumed(scene: Scene): Promise<number> {
  const began = performance.now();
  await until("a push to be taken", () => scene.push("06", 1).then(Boolean, () => undefined), 60_000, PROBE_MS);
  return Math.round(performance.now() - began);
}

const awayScene = (seconds: number): ReturnType<Scenario["scene"]> => ({
  timeScale: slowEnough(seconds),
  leaseSeconds: 5,
  provider: "PROVIDER_ONE",
  replicas: { scheduler: 2 },
});

/** What is away for a while: conversations under way go on, nothing is lost or rung twice, and all resumes by itself. */
async function awayFor(
  scene: Scene,
  seconds: number,
  what: { leave(): Promise<void>; comeBack(): Promise<void>; meanwhile(): Promise<string[]> },
): Promise<string[]> {
  await scene.push("01", CONVERSATIONS * 2);
  const underWay = await scene.talking(CONVERSATIONS);
  const away = after(seconds * SECOND_MS);
  await what.leave();
  const found = await what.meanwhile();
  await away;
  await what.comeBack();
  const resumedMs = await resumed(scene);
  scene.say(`${underWay.size} conversations were under way; a push was taken ${resumedMs} ms after the return`);
  const seen = await scene.witnesses();
  return [
    ...found,
    ...(resumedMs > RESUMES_MS ? [`a push was taken only ${resumedMs} ms after the return`] : []),
    ...ringsTwice(seen),
    ...cut(seen, underWay, "confirmed"),
    ...disagreements(seen),
    ...unfinished(seen),
  ];
}

/** Nobody hears the hang-ups of conversations whose leads are called again: each call is ended soon after somebody can hear, and no person has two calls. */
async function endsUnheard(
  scene: Scene,
  seconds: number,
  // `told`: whoever asks is told at once that nobody hears; a process that was just killed is asked in vain
  what: { leave(): Promise<unknown>; comeBack(): Promise<unknown>; told: boolean },
): Promise<string[]> {
  await scene.callAgainAfter("confirmed");
  await scene.push("01", CONVERSATIONS);
  const { log } = scene.product;
  const count = (said: string): number => log.filter(({ event }) => event === said).length;
  const unheard = (): number => log.filter((l) => l.event === "talk.cleanup_failed" && l["what"] === "hang up").length;
  await until("conversations to begin", () => count("talk.started") >= CONVERSATIONS || undefined, 60_000, PROBE_MS);
  await what.leave();
  const underWay = await scene.talking(1);
  const ends = count("talk.started");
  await until("conversations to end", () => count("talk.ended") >= ends || undefined, 120_000, PROBE_MS);
  await after(seconds * SECOND_MS);
  const missed = unheard();
  await what.comeBack();
  const back = Date.now();
  await resumed(scene);
  await scene.over(underWay, ENDS_WITHIN_MS * 2);
  const seen = await scene.witnesses();
  scene.say(
    `${underWay.size} conversations ended, ${missed} hang-ups reached nobody; ${seen.calls.length} calls in all`,
  );
  return [
    ...(what.told && missed === 0 ? ["no hang-up fell into the fault"] : []),
    ...openFor(seen, underWay, back, ENDS_WITHIN_MS),
    ...ringsTwice(seen),
    ...unfinished(seen),
  ];
}

/** The faults by name, in the order of `npm run faults -- --help`. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  "bus-away": {
    alarm: "CallagentProcessNotReady",
    about: "the NATS server is killed in mid-conversation and comes back",
    seconds: 10,
    scene: awayScene,
    play: (scene, seconds) =>
      awayFor(scene, seconds, {
        leave: () => scene.bus(false),
        comeBack: () => scene.bus(true),
        meanwhile: () => refusedPush(scene),
      }),
  },
  "store-away": {
    alarm: "CallagentStoreFails",
    about: "the database can't be reached in mid-conversation and comes back",
    // store-faults (test/chaos) shows the same in one process for all services
    long: true,
    seconds: 10,
    scene: awayScene,
    play: (scene, seconds) =>
      awayFor(scene, seconds, {
        leave: () => scene.store.refuse(true),
        comeBack: () => scene.store.refuse(false),
        meanwhile: () => Promise.resolve([]),
      }),
  },
  "dialers-away": {
    alarm: "CallagentProcessAway",
    about: "every dialer is killed at the end of conversations whose leads are called again (F1)",
    seconds: 3,
    scene: () => ({ timeScale: 4, leaseSeconds: 5, provider: "PROVIDER_THREE" }),
    play: (scene, seconds) => {
      const dialers = ["dialer", "dialer-2"].flatMap((name) => scene.product.stack.children.get(name) ?? []);
      return endsUnheard(scene, seconds, {
        leave: () => Promise.all(dialers.map((dialer) => dialer.down("SIGKILL"))),
        comeBack: () => Promise.all(dialers.map((dialer) => dialer.up())),
        told: false,
      });
    },
  },
  "bus-away-at-hang-up": {
    alarm: "CallagentProcessNotReady",
    about: "the NATS server is away when conversations end whose leads are called again: their hang-ups reach nobody",
    long: true,
    seconds: 3,
    scene: () => ({ timeScale: 4, leaseSeconds: 5, provider: "PROVIDER_THREE" }),
    play: (scene, seconds) =>
      endsUnheard(scene, seconds, { leave: () => scene.bus(false), comeBack: () => scene.bus(true), told: true }),
  },
  ...PROCESS_SCENARIOS,
  ...CONVERSATION_SCENARIOS,
  ...CLOCK_SCENARIOS,
  "who-ended": WHO_ENDED,
  "media-goes-on": MEDIA_SCENARIO,
};
