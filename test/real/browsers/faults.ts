import assert from "node:assert/strict";
import { upgradeStatus } from "../../../local/harness/sessions/session-client.ts";
import { after, until } from "../../../local/harness/stage.ts";
import { startTcpProxy } from "../../../local/harness/tcp-proxy.ts";
import { startUdpProxy } from "../../../local/harness/udp-proxy.ts";
import { mediaDetour } from "../../../local/real/browser/media-detour.ts";
import type { Page } from "../../../local/real/browser/chromium.ts";
import { customerOf, hasSaid, isHeardIn } from "../../fixtures/product/audio-transcripts.ts";
import { heardBy, shows, type Lane } from "./lane.ts";
import type { Scene } from "./scene.ts";

const SAYS = "Yes, please.";
const GREETING = "Hello, this is Mia.";
const QUESTION = "Do you confirm the order?";
const POLL_MS = 200;
/** Nobody is asked whether they are still there while a fault goes on. */
const PATIENT = { max_call_seconds: 180, idle_seconds: 60, max_age_seconds: 86_400 };
const MS = 1000;
/** The server ends what sends no sound after 15 s, and a session that nobody comes back to after 5 s; what a busy machine needs besides. */
const [NO_SOUND_MS, RESUME_MS, ROOM_MS] = [15_000, 5000, 12_000];
const LONG_MS = 60_000;
const IS_TOLD = `/over|ended/.test(document.querySelector("#status").textContent)`;

const asked = (page: Page): Promise<void> => shows(page, "#words", QUESTION);
const endOf = async (lane: Lane, lead_id: string, limitMs: number): Promise<string> => {
  const began = performance.now();
  const lead = await lane.finished(lead_id, limitMs);
  const seconds = ((performance.now() - began) / MS).toFixed(1);
  return `${lead.outcome} by ${String(lead.metaData["call_ended_by"])} after ${seconds} s`;
};

async function reloaded(lane: Lane): Promise<string> {
  const browser = await lane.browser(SAYS);
  const lead_id = await lane.pushed("RTC", { limits: PATIENT });
  const page = await lane.talk(browser, lead_id);
  await asked(page);
  await page.reload();
  assert.equal(await page.text("#start"), "Go on");
  await page.click("#start");
  await asked(page);
  const second = await browser.open(await page.evaluate("location.href").then(String));
  await second.click("#start");
  await shows(second, "#status", "Somebody has joined this conversation already");
  const lead = await lane.finished(lead_id);
  assert.deepEqual([lead.outcome, lead.attempt_count], ["confirmed", 1]);
  assert.ok(hasSaid(customerOf(lead), SAYS), customerOf(lead));
  return "it went on; a second person was told";
}

async function closed(lane: Lane): Promise<string> {
  const lead_id = await lane.pushed("RTC", { limits: PATIENT });
  const page = await lane.talk(await lane.browser(), lead_id);
  await asked(page);
  await page.close();
  const end = await endOf(lane, lead_id, RESUME_MS + ROOM_MS);
  assert.match(end, /^customer_hangup by customer/);
  return end;
}

async function stopped(lane: Lane): Promise<string> {
  const browser = await lane.browser();
  const lead_id = await lane.pushed("RTC", { limits: PATIENT });
  const page = await lane.talk(browser, lead_id);
  await asked(page);
  browser.signal("SIGSTOP");
  const began = performance.now();
  const end = await endOf(lane, lead_id, NO_SOUND_MS + RESUME_MS + ROOM_MS);
  await after(40 * MS - (performance.now() - began));
  browser.signal("SIGCONT");
  await page.until("the person to be told", IS_TOLD, LONG_MS);
  return `${end}; the page told so once it went on`;
}

/** The network of one browser, which nothing passes for a while: neither end is told. */
const networkGone =
  (seconds: number) =>
  async (lane: Lane): Promise<string> => {
    const proxies = await Promise.all(lane.ports.map((port) => startTcpProxy(`http://127.0.0.1:${port}`)));
    const leads = Object.fromEntries(
      lane.ports.map((port, i) => [`127.0.0.1:${port}`, `127.0.0.1:${proxies[i]?.port}`]),
    );
    const lead_id = await lane.pushed("RTC", { limits: PATIENT });
    const media = lane.roomMedia === null ? null : await startUdpProxy(lane.roomMedia);
    const detour = lane.roomMedia === null || !media ? {} : { scripts: [mediaDetour(lane.roomMedia, media.port)] };
    const browser = await lane.browser(SAYS, { leads, ...detour });
    try {
      const page = await lane.talk(browser, lead_id);
      await asked(page);
      for (const proxy of proxies) proxy.set("both", { mode: "pause" });
      media?.drop(true);
      const began = performance.now();
      // the network is gone until then, however long a busy machine takes
      await shows(page, "#status", "The network is gone.");
      const told = ((performance.now() - began) / MS).toFixed(1);
      await after(seconds * MS - (performance.now() - began));
      for (const proxy of proxies) await proxy.heal();
      media?.drop(false);
      if (seconds * MS > NO_SOUND_MS) {
        await shows(page, "#status", "the conversation has ended");
        return `told after ${told} s; ${await endOf(lane, lead_id, ROOM_MS)}`;
      }
      await shows(page, "#status", "You can talk now.");
      const back = ((performance.now() - began) / MS).toFixed(1);
      const lead = await lane.finished(lead_id);
      assert.equal(lead.outcome, "confirmed");
      return `told after ${told} s, back after ${back} s, and the conversation went on`;
    } finally {
      await browser.close();
      media?.close();
      await Promise.all(proxies.map((proxy) => proxy.close()));
    }
  };

async function tokens(lane: Lane): Promise<string> {
  const join = async (lead_id: string) =>
    lane.product.admin.ask("POST", "/leads/{lead_id}/join", { path: { lead_id } });
  const [one, other] = [await lane.pushed("RTC"), await lane.pushed("RTC", { limits: PATIENT })];
  const late = await join(one);
  const page = await lane.talk(await lane.browser(), other);
  const back = await join(other);
  const [head = "", claims = "", signature = ""] = back.token.split(".");
  const elsewhere = JSON.stringify(JSON.parse(Buffer.from(claims, "base64url").toString())).replace(
    back.room_name,
    late.room_name,
  );
  const moved = `${head}.${Buffer.from(elsewhere).toString("base64url")}.${signature}`;
  assert.equal(await upgradeStatus({ ...back, token: moved }), 401, "a token that was changed to another room");
  assert.equal(await upgradeStatus(back), 101, "a token");
  assert.equal(await upgradeStatus(back), 401, "a token that was used");
  const unused = await join(other);
  await page.close();
  await lane.finished(other);
  assert.equal(await upgradeStatus(unused), 401, "a token of a session that has ended");
  await after(Date.parse(late.expires_at) - Date.now() + MS);
  assert.equal(await upgradeStatus(late), 401, "a token after its time");
  const { status } = await lane.leadOf(one);
  assert.ok(status !== "FINISHED", "a token that nobody used costs nothing");
  return "changed, used, late and of an ended session: all refused";
}

async function killed(lane: Lane): Promise<string> {
  const lead_id = await lane.pushed("RTC", { limits: PATIENT });
  const page = await lane.talk(await lane.browser(), lead_id);
  await asked(page);
  // a word is shown when it goes to the loudspeaker, and is kept before it is heard
  const isHeard = async (): Promise<true | undefined> => isHeardIn(await heardBy(page), GREETING) || undefined;
  await until("the greeting to be heard", isHeard, LONG_MS, POLL_MS);
  const name = lane.product.stack.children.has("conversation") ? "conversation" : "services";
  lane.product.stack.children.get(name)?.kill("SIGKILL");
  await page.until("the person to be told", IS_TOLD, LONG_MS);
  const end = await endOf(lane, lead_id, LONG_MS);
  const lead = await lane.finished(lead_id);
  const words = JSON.stringify(lead.metaData["transcription"]);
  assert.ok(words.includes(QUESTION), `the words that were heard so far: ${words}`);
  return `${name} killed: ${end}, with the words heard so far`;
}

/** What goes wrong in a session; none hangs. */
export const FAULTS: readonly Scene[] = [
  { name: "tokens: changed, used twice, late, after the end", isShort: false, only: "websocket", run: tokens },
  { name: "network gone 60 s", isShort: false, run: networkGone(60) },
  { name: "browser stopped 40 s", isShort: false, run: stopped },
  { name: "network gone 10 s", isShort: false, run: networkGone(10) },
  { name: "tab reloaded", isShort: false, run: reloaded },
  { name: "tab closed", isShort: false, run: closed },
  { name: "process killed in mid-session", isShort: false, alone: true, run: killed },
];
