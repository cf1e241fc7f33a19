import assert from "node:assert/strict";
import type { Page } from "../../../local/real/browser/chromium.ts";
import { findings } from "./accessibility.ts";
import type { Lane } from "./lane.ts";
import type { Scene } from "./scene.ts";

const PHONE = { width: 390, height: 844 };
const DESK = { width: 1280, height: 900 };
/** Operations of which axe sees everything: it takes seconds for each. */
const OPENED = 12;
/** For a click's change of the address to be seen by the page, which the browser tells it afterwards. */
const FOLLOW_MS = 5_000;

/** Nothing is wider than the screen. */
const fits = (page: Page): Promise<unknown> => page.evaluate("document.documentElement.scrollWidth <= innerWidth");
const listed = (page: Page): Promise<unknown> =>
  page.evaluate(
    `[...document.querySelectorAll("aside li")].filter((li) => !li.hidden && li.closest("#within") === null).map((li) => li.textContent)`,
  );

/** The pages that are read, for what axe sees of them, on a desk and on a phone. */
async function readable(lane: Lane): Promise<string> {
  const browser = await lane.browser();
  const at = (path: string): string => new URL(path, `http://127.0.0.1:${lane.ports[0]}`).href;
  for (const path of ["/", "/docs"]) {
    const page = await browser.open(at(path));
    await page.evaluate(
      `for (const d of document.querySelectorAll("aside details:not([hidden])")) d.open = true;
       [...document.querySelectorAll("main > details")].slice(0, ${OPENED}).forEach((d) => { d.open = true; }); true`,
    );
    assert.deepEqual(await findings(page), [], path);
    await page.evaluate(`document.querySelector("main > details")?.scrollIntoView(); true`);
    for (const [name, screen] of Object.entries({ phone: PHONE, desk: DESK })) {
      lane.keep(`${path === "/" ? "home" : "docs"}-${name}.png`, await page.screenshot(screen));
      assert.equal(await fits(page), true, `${path} on a ${name}`);
    }
    await page.close();
  }
  return `nothing against WCAG 2.2 AA, nothing wider than a phone; screens in ${lane.folder}`;
}

/** An endpoint is found by words of what it does, and opened, by keyboard alone. */
async function searched(lane: Lane): Promise<string> {
  const page = await (await lane.browser()).open(`http://127.0.0.1:${lane.ports[0]}/docs`);
  const all = await listed(page);
  assert.ok(Array.isArray(all) && all.length > 80, "every endpoint is listed");
  // the first stop is the way home
  await page.key("Tab");
  await page.key("Tab");
  assert.equal(await page.evaluate("document.activeElement.id"), "search");
  for (const key of "explain") await page.key(key);
  const found = await listed(page);
  assert.ok(Array.isArray(found) && found.length > 0 && found.length < 5, String(found));
  await page.evaluate(`document.querySelector("aside li:not([hidden]) a").focus(); true`);
  await page.key("Enter");
  await page.until("the endpoint to open", "document.getElementById(location.hash.slice(1))?.open", FOLLOW_MS);
  return `${found.length} of ${all.length} endpoints for the word explain`;
}

/** The documentation as a person reads it. */
export const READING: readonly Scene[] = [
  { name: "the pages that are read, on a desk and a phone", isShort: true, only: "websocket", run: readable },
  { name: "an endpoint is searched and opened by keyboard", isShort: true, only: "websocket", run: searched },
];
