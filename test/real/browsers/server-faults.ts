import assert from "node:assert/strict";
import { after, until } from "../../../local/harness/stage.ts";
import type { Page } from "../../../local/real/browser/chromium.ts";
import type { Child } from "../../../local/tools/stack/supervisor.ts";
import { isHeardIn } from "../../fixtures/product/audio-transcripts.ts";
import { heardBy, shows, WAIT_MS, type Lane } from "./lane.ts";
import type { Scene } from "./scene.ts";

const SAYS = "Yes, please.";
const QUESTION = "Do you confirm the order?";
/** Nobody is asked whether they are still there while a fault goes on. */
const PATIENT = { max_call_seconds: 180, idle_seconds: 60, max_age_seconds: 86_400 };
const MS = 1000;
const POLL_MS = 200;
/** Once the server is there again a session that is lost ends by the sweep, after a lease of 5 s (test/real/browsers/lane.ts), or after 15 s without sound and 5 s in which nobody comes back. What takes longer than the rest of this is the end of its longest time, three minutes. */
const ENDED_MS = 120_000;

/** The process that holds the sessions: the conversation service, or all services where they run together. */
const serverOf = ({ product }: Lane): Child => {
  const { children } = product.stack;
  const child = children.get("conversation") ?? children.get("services");
  assert.ok(child, "no process holds sessions");
  return child;
};

/** Waits until the person is told that the server answers no more; after how many ms. The fault lasts until then, however long a busy machine takes. */
async function told(page: Page): Promise<number> {
  const began = performance.now();
  await shows(page, "#status", "The network is gone.");
  return performance.now() - began;
}

/** A conversation whose question has been asked when something happens to its server; what becomes of its lead, and of the next one. `happens` gives how long the person was not told, ms. */
async function during(lane: Lane, happens: (server: Child, page: Page) => Promise<number>): Promise<string> {
  const [lead_id, next_id] = [
    await lane.pushed("RTC", { limits: PATIENT }),
    await lane.pushed("RTC", { limits: PATIENT }),
  ];
  const page = await lane.talk(await lane.browser(SAYS), lead_id);
  // it answers once the fault is over
  await page.click("#mute");
  const isHeard = async (): Promise<true | undefined> => isHeardIn(await heardBy(page), QUESTION) || undefined;
  await until("the question to be heard", isHeard, WAIT_MS, POLL_MS);
  const untoldMs = await happens(serverOf(lane), page);
  await page.click("#mute");
  const began = performance.now();
  const lead = await lane.finished(lead_id, ENDED_MS);
  const seconds = ((performance.now() - began) / MS).toFixed(1);
  await page.until(
    "the person to be told",
    `/ over|has ended/.test(document.querySelector("#status").textContent)`,
    WAIT_MS,
  );
  const words = JSON.stringify(lead.metaData["transcription"]);
  assert.ok(words.includes(QUESTION), `the words that were heard so far: ${words}`);
  const status = await page.text("#status");
  const next = await lane.talk(await lane.browser(SAYS), next_id);
  assert.equal((await lane.finished(next_id)).outcome, "confirmed", await next.text("#status"));
  return `${lead.outcome} by ${String(lead.metaData["call_ended_by"])} ${seconds} s after it was back; told after ${(untoldMs / MS).toFixed(1)} s, the page: "${status}"; the next was held`;
}

/** The process is started; its gateway answers once it is up. */
async function up(lane: Lane, server: Child): Promise<void> {
  await server.up();
  const doors = () => fetch(`${lane.product.stack.httpUrl}/health/ready`).then(({ ok }) => ok || undefined);
  await until("the gateway to answer", () => doors().catch(() => undefined), WAIT_MS, POLL_MS);
}

/** The server is killed, and is there again after a while. */
const away = (seconds: number) => (lane: Lane) =>
  during(lane, async (server, page) => {
    await server.down("SIGKILL");
    const ms = await told(page);
    await after(seconds * MS - ms);
    await up(lane, server);
    return ms;
  });

/** The server answers nobody for a while, and closes nothing. */
const stopped = (seconds: number) => (lane: Lane) =>
  during(lane, async (server, page) => {
    server.kill("SIGSTOP");
    try {
      const ms = await told(page);
      await after(seconds * MS - ms);
      return ms;
    } finally {
      server.kill("SIGCONT");
    }
  });

/** What goes wrong with the server that holds a session; no session hangs, and the next one is held. */
export const SERVER_FAULTS: readonly Scene[] = [
  { name: "server away 5 s", isShort: false, alone: true, only: "websocket", run: away(5) },
  { name: "server away 60 s", isShort: false, alone: true, only: "websocket", run: away(60) },
  { name: "server stopped 5 s", isShort: false, alone: true, only: "websocket", run: stopped(5) },
  { name: "server stopped 60 s", isShort: false, alone: true, only: "websocket", run: stopped(60) },
];
