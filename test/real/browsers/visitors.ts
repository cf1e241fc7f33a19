import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { freePort } from "../../../local/tools/stack/ports.ts";
import { ROOT } from "../../../local/tools/stack/project-root.ts";
import { until } from "../../../local/harness/stage.ts";
import type { Page } from "../../../local/real/browser/chromium.ts";
import { agentOf, customerOf, hasSaid } from "../../fixtures/product/audio-transcripts.ts";
import { findings } from "./accessibility.ts";
import { heardBy, shows, WAIT_MS, type Lane } from "./lane.ts";
import type { Scene } from "./scene.ts";

const SAYS = "Yes, please.";
const QUESTION = "Do you confirm the order?";
const POLL_MS = 200;
const PATIENT = { max_call_seconds: 90, idle_seconds: 20, max_age_seconds: 86_400 };
/** A desktop screen, and a phone's. */
const SCREENS = [
  [1280, 800],
  [390, 844],
] as const;
const inside = (what: string): string => `document.querySelector("callagent-talk").shadowRoot.querySelector("${what}")`;
const says = (text: string): string => `${inside("p")}.textContent.includes(${JSON.stringify(text)})`;

/** A website with one of the example pages of deploy/embed, on an origin of its own. */
export interface Website {
  origin: string;
  url: string;
  /** From now on its page has these texts in place of others. */
  write(texts: Readonly<Record<string, string>>): void;
  close(): void;
}

/** Serves an example page; the gateway's address stands in it already. */
export async function websiteOf(lane: Lane, name: string): Promise<Website> {
  const example = readFileSync(join(ROOT, "deploy", "embed", name), "utf8");
  let written = example;
  const server = createServer((_request, response) => {
    const page = written.replaceAll("https://voice.example.com", lane.product.stack.httpUrl);
    response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" }).end(page);
  });
  const port = await freePort();
  await new Promise<void>((resolve) => {
    server.listen(port, "127.0.0.1", resolve);
  });
  const origin = `http://localhost:${port}`;
  return {
    origin,
    url: `${origin}/`,
    write(texts) {
      written = Object.entries(texts).reduce((page, [from, to]) => page.replaceAll(from, to), example);
    },
    close: () => void server.close(),
  };
}

/** By keyboard: the widget's button has the focus, and Enter presses it. */
async function pressButton(page: Page): Promise<void> {
  await page.until("the widget", `document.querySelector("callagent-talk") !== null`, WAIT_MS);
  await page.key("Tab");
  assert.equal(await page.evaluate("document.activeElement.localName"), "callagent-talk");
  await page.key("Enter");
}

async function looksRight(lane: Lane, page: Page, when: string): Promise<void> {
  assert.deepEqual(await findings(page), []);
  for (const [width, height] of SCREENS) {
    lane.keep(`call-us-${when}-${width}.png`, await page.screenshot({ width, height }));
    assert.equal(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), true, `${width} wide`);
  }
}

/** A visitor calls through a door by the widget, and talks; by the SDK, and leaves; from a website that is not the door's, and can't. */
async function called(lane: Lane): Promise<string> {
  const { admin } = lane.product;
  const [shop, stranger] = [await websiteOf(lane, "call-us.html"), await websiteOf(lane, "call-us.html")];
  try {
    const template_id = await lane.template({ limits: PATIENT });
    const door = await admin.ask("POST", "/doors", { body: { template_id, origins: [shop.origin] } });
    for (const site of [shop, stranger]) site.write({ KEY: door.key });
    const leads = async () =>
      (await admin.ask("GET", "/leads/request/{request_id}", { path: { request_id: `door:${door.id}` } })).leads;
    const browser = await lane.browser(SAYS);
    const page = await browser.open(shop.url);
    await looksRight(lane, page, "before");
    await pressButton(page);
    await page.until("to talk", says("You can talk now."), WAIT_MS);
    await looksRight(lane, page, "talking");
    const [first] = await leads();
    const lead = await lane.finished(first?.id ?? "");
    const record = await admin.ask("GET", "/leads/{lead_id}", { path: { lead_id: first?.id ?? "" } });
    assert.deepEqual(
      [record.outcome, record.call_direction, record.payload],
      ["confirmed", "INBOUND", { customer_name: "Ada" }],
    );
    assert.ok(hasSaid(customerOf(lead), SAYS), customerOf(lead));
    await page.until("the end", says("The conversation is over."), WAIT_MS);
    const heard = await heardBy(page);
    assert.ok(lane.agrees(agentOf(lead), heard), `played: ${heard}; transcript: ${agentOf(lead)}`);
    const recorded = await lane.stage.recording(lead.call_id ?? "");
    assert.ok(hasSaid(recorded.customer, SAYS), `recorded of the visitor: ${recorded.customer}`);
    await page.click("#call");
    // what the agent says takes the place of what the state is
    await shows(page, "#said", QUESTION);
    await page.close();
    const second = await until(
      "the second lead",
      async () => (await leads()).find(({ id }) => id !== first?.id),
      WAIT_MS,
      POLL_MS,
    );
    assert.equal((await lane.finished(second.id)).outcome, "customer_hangup");
    const other = await browser.open(stranger.url);
    await pressButton(other);
    await other.until("to be told", says("The call can't be made"), WAIT_MS);
    assert.equal((await leads()).length, 2);
    return `the visitor heard "${heard.slice(0, 45)}…"; another website can't call; nothing against WCAG 2.2 AA`;
  } finally {
    shop.close();
    stranger.close();
  }
}

/** Visitors of websites. */
export const VISITORS: readonly Scene[] = [
  { name: "call us: a visitor's call through a door", isShort: true, run: called },
];
