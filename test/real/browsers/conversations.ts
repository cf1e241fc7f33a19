import assert from "node:assert/strict";
import type { Page } from "../../../local/real/browser/chromium.ts";
import { until } from "../../../local/harness/stage.ts";
import { agentOf, customerOf, isHeardIn, transcriptOf } from "../../fixtures/product/audio-transcripts.ts";
import { findings } from "./accessibility.ts";
import { heardBy, shows, WAIT_MS, type Lane } from "./lane.ts";
import { websiteOf } from "./visitors.ts";
import type { Scene } from "./scene.ts";

const SAYS = "Yes, please.";
const QUESTION = "Do you confirm the order?";
/** What is not heard is said again, and the agent must not have left. */
const PATIENT = { max_call_seconds: 90, idle_seconds: 20, max_age_seconds: 86_400 };
const POLL_MS = 200;
/** A small phone, a larger one, a desktop. */
const SCREENS = [
  [320, 844],
  [390, 844],
  [1280, 800],
] as const;

/** A whole conversation: words both ways, proved by what was recorded at either end. */
const held =
  (engine: "cascade" | "realtime") =>
  async (lane: Lane): Promise<string> => {
    const browser = await lane.browser(SAYS);
    const lead_id = await lane.pushed("RTC", { engine, limits: PATIENT });
    const page = await lane.talk(browser, lead_id);
    const lead = await lane.finished(lead_id);
    assert.deepEqual([lead.outcome, lead.metaData["node_traversal"]], ["confirmed", ["ask", "done"]]);
    await shows(page, "#status", "The conversation is over.");
    const [heard, words] = [await heardBy(page), await page.text("#words")];
    assert.ok(lane.agrees(SAYS, customerOf(lead)), `transcript: ${customerOf(lead)}`);
    for (const { role, content } of transcriptOf(lead))
      assert.ok(words.includes(`${role === "user" ? "You" : "Assistant"}${content}`), `page: ${words}`);
    assert.ok(words.includes(`Assistant${QUESTION}`), `page: ${words}`);
    assert.ok(lane.agrees(agentOf(lead), heard), `played: ${heard}; transcript: ${agentOf(lead)}`);
    const recorded = await lane.stage.recording(lead.call_id ?? "");
    assert.ok(lane.agrees(SAYS, recorded.customer), `recorded of the customer: ${recorded.customer}`);
    assert.ok(lane.agrees(recorded.agent, heard), `recorded of the agent: ${recorded.agent}; played: ${heard}`);
    await until("the report", () => lane.product.sink.reports.get(lead_id), WAIT_MS, POLL_MS);
    assert.equal(await page.evaluate(`document.querySelector("#recording").hidden`), true, "it is the tenant's");
    return `${browser.version}; the page played "${heard.slice(0, 45)}…"`;
  };

/** Joins the page's session with the SDK alone, as a program does that leads. */
const LEADS = `import("/r/assets/session.js").then(async ({ join }) => {
  window.told = [];
  window.session = await join(location.href);
  session.addEventListener("speech", ({ detail }) => told.push(detail));
})`;
const speechOf = (page: Page, id: string): Promise<unknown> =>
  page.evaluate(`told.filter((m) => m.utterance_id === "${id}").map((m) => m.status).join(" ")`);

/** A program leads: texts spoken by HTTP and by the session's own messages. */
async function led(lane: Lane): Promise<string> {
  const browser = await lane.browser("Fine, thanks.");
  const lead_id = await lane.pushed("RTC_STREAM");
  const page = await browser.open(await lane.link(lead_id));
  // a browser plays sound once a person has clicked somewhere
  await page.click("h1");
  await page.evaluate(LEADS);
  const speak = (text: string, utterance_id: string) =>
    lane.product.admin.ask("POST", "/leads/{lead_id}/tts-speak", { path: { lead_id }, body: { text, utterance_id } });
  await until("the session", () => speak("Good morning.", "one").catch(() => undefined), WAIT_MS, POLL_MS);
  await page.evaluate(`session.speak("How are you?", { utterance_id: "two" })`);
  const isOver = (id: string): Promise<true | undefined> =>
    speechOf(page, id).then((said) => String(said).endsWith("finished") || undefined);
  await until("both to be spoken", () => isOver("two"), WAIT_MS, POLL_MS);
  assert.deepEqual(
    [await speechOf(page, "one"), await speechOf(page, "two")],
    Array(2).fill("queued started finished"),
  );
  const all = async (): Promise<string | undefined> => {
    const played = await heardBy(page);
    return lane.agrees("Good morning. How are you?", played) ? played : undefined;
  };
  const heard = await until("both to be played", all, WAIT_MS, POLL_MS);
  await page.until("what the person says", `JSON.stringify(session.lines).includes("thanks.")`, WAIT_MS);
  await page.evaluate("session.leave()");
  const lead = await lane.finished(lead_id);
  assert.deepEqual([lead.metaData["node_traversal"], lead.metaData["call_ended_by"]], [[], "customer"]);
  return `the page played "${heard}"`;
}

/** The page by keyboard alone, on small screens, and as axe judges it, before and while one talks. */
async function usable(lane: Lane): Promise<string> {
  const browser = await lane.browser();
  const lead_id = await lane.pushed("RTC_TEST", { limits: PATIENT });
  const page = await browser.open(await lane.link(lead_id));
  const focused = (): Promise<unknown> => page.evaluate("document.activeElement.id");
  assert.deepEqual(await findings(page), []);
  await page.key("Tab");
  assert.equal(await focused(), "start");
  await page.key("Enter");
  await shows(page, "#words", QUESTION);
  assert.equal(await focused(), "mute");
  await page.key("Enter");
  assert.equal(await page.text("#mute"), "Unmute");
  await shows(page, "#status", "Your microphone is muted. Press Unmute to talk.");
  assert.deepEqual(await findings(page), []);
  for (const [width, height] of SCREENS) {
    lane.keep(`page-${width}.png`, await page.screenshot({ width, height }));
    assert.equal(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), true, `${width} wide`);
  }
  await page.key("Enter");
  await shows(page, "#status", "You can talk now.");
  await page.key("Tab");
  assert.equal(await focused(), "end");
  await page.key("Enter");
  await shows(page, "#status", "You have ended the conversation.");
  const lead = await lane.finished(lead_id);
  assert.equal(lead.metaData["call_ended_by"], "customer");
  return `nothing against WCAG 2.2 AA; screens in ${lane.folder}`;
}

/** A page of another origin, by the widget's one line and by the SDK. */
async function embedded(lane: Lane): Promise<string> {
  const browser = await lane.browser();
  const [one, other] = [await lane.pushed("RTC", { limits: PATIENT }), await lane.pushed("RTC", { limits: PATIENT })];
  const [widget, sdk] = [await websiteOf(lane, "example.html"), await websiteOf(lane, "example.html")];
  const LINK = "https://voice.example.com/r/LINK";
  widget.write({ [LINK]: await lane.link(one) });
  sdk.write({ [LINK]: await lane.link(other) });
  try {
    const first = await browser.open(widget.url);
    await first.until("the widget", `document.querySelector("callagent-talk") !== null`, WAIT_MS);
    await first.click("callagent-talk");
    const inside = (what: string): string =>
      `document.querySelector("callagent-talk").shadowRoot.querySelector("${what}")`;
    await first.until("to talk", `${inside("p")}.textContent === "You can talk now."`, WAIT_MS);
    const lines = `JSON.stringify(document.querySelector("callagent-talk").session.lines)`;
    await first.until("the question", `${lines}.includes("${QUESTION}")`, WAIT_MS);
    await first.evaluate(`${inside("button")}.click()`);
    await first.until("the end", `${inside("p")}.textContent === "You have ended the conversation."`, WAIT_MS);
    assert.equal((await lane.finished(one)).metaData["call_ended_by"], "customer");
    const second = await browser.open(sdk.url);
    await second.click("#talk");
    await shows(second, "#said", QUESTION);
    const words = async (): Promise<string | undefined> => {
      const played = await heardBy(second);
      return isHeardIn(played, QUESTION) ? played : undefined;
    };
    const heard = await until("the question to be heard", words, WAIT_MS, POLL_MS);
    await second.close();
    assert.equal((await lane.finished(other)).outcome, "customer_hangup");
    return `another origin heard "${heard}"`;
  } finally {
    widget.close();
    sdk.close();
  }
}

/** Conversations and the page. */
export const CONVERSATIONS: readonly Scene[] = [
  { name: "conversation over the cascade", isShort: true, run: held("cascade") },
  { name: "conversation with a realtime model", isShort: false, run: held("realtime") },
  { name: "RTC_STREAM by HTTP and by the SDK", isShort: false, run: led },
  { name: "embedded in another page", isShort: false, run: embedded },
  { name: "keyboard, phone, WCAG AA", isShort: false, run: usable },
];
