import assert from "node:assert/strict";
import type { Page } from "../../../local/real/browser/chromium.ts";
import { until } from "../../../local/harness/stage.ts";
import { isHeardIn } from "../../fixtures/product/audio-transcripts.ts";
import { findings } from "./accessibility.ts";
import { heardBy, shows, WAIT_MS, type Lane } from "./lane.ts";
import type { Scene } from "./scene.ts";

const QUESTION = "Do you confirm the order?";
const POLL_MS = 200;
const PHONE = { width: 320, height: 844 };
/** The difference between a file's length and what a player makes of it, seconds. */
const PLAYER_SECONDS = 0.2;

const focused = (page: Page): Promise<unknown> => page.evaluate("document.activeElement.id");
const offered = (page: Page): Promise<void> =>
  page.until("the recording to be offered", `!document.querySelector("#hear").hidden`, WAIT_MS);
/** Whether the player plays. */
const PLAYS = `(({ currentTime, paused, error }) => error === null && !paused && currentTime > 0.2)(document.querySelector("#player"))`;

/** A test session, and then its recording, by keyboard alone; the page is loaded again; another tab hears nothing. */
async function heardAfter(lane: Lane): Promise<string> {
  const browser = await lane.browser();
  const lead_id = await lane.pushed("RTC_TEST");
  const link = await lane.link(lead_id);
  const page = await browser.open(link);
  await page.click("#start");
  await shows(page, "#words", QUESTION);
  const isHeard = async (): Promise<true | undefined> => isHeardIn(await heardBy(page), QUESTION) || undefined;
  await until("the question to be heard", isHeard, WAIT_MS, POLL_MS);
  await page.key("Tab");
  assert.equal(await focused(page), "end");
  await page.key("Enter");
  await shows(page, "#status", "You have ended the conversation.");
  await offered(page);
  assert.equal(await focused(page), "hear");
  assert.deepEqual(await findings(page), []);
  await page.key("Enter");
  await page.until("the recording to be played", PLAYS, WAIT_MS);
  assert.equal(await focused(page), "player");
  assert.deepEqual(await findings(page), []);
  lane.keep("page-recording.png", await page.screenshot(PHONE));
  assert.equal(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), true, "on a phone");
  const lead = await lane.finished(lead_id);
  const { rate, agent } = await lane.stage.recordedSound(lead.call_id ?? "");
  const seconds = Number(await page.evaluate(`document.querySelector("#player").duration`));
  assert.ok(Math.abs(seconds - agent.length / rate) < PLAYER_SECONDS, `${seconds} s of ${agent.length / rate} s`);
  await page.reload();
  await shows(page, "#status", "This conversation is over.");
  await offered(page);
  await page.click("#hear");
  await page.until("it to be played once more", PLAYS, WAIT_MS);
  const other = await browser.open(link);
  await shows(other, "#status", "This conversation is over.");
  assert.equal(await other.evaluate(`document.querySelector("#recording").hidden`), true, "another tab");
  return `the page played ${seconds.toFixed(1)} s of recording`;
}

/** The recording after the end. */
export const RECORDINGS: readonly Scene[] = [
  { name: "the recording is heard after the end", isShort: true, run: heardAfter },
];
