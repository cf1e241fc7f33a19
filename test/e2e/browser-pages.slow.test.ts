import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hasProgram } from "../../local/harness/program.ts";
import { CHROMIUM_VARIABLE, PAGE_BROWSERS } from "../../local/real/browser/browser.ts";
import { startChromium, type Page } from "../../local/real/browser/chromium.ts";
import { startFirefox } from "../../local/real/browser/firefox.ts";
import { BROWSER_RATE, type EvaluatedPage } from "../../local/real/browser/page.ts";
import { startSoundCard } from "../../local/real/browser/sound-card.ts";
import { newcomerEnv, startAsNewcomer, type Running } from "./fixtures/npm-scripts.ts";

/** A person with a browser presses every control of the pages of `npm start`, and gets what it says. With PAGES_FOLDER screens are kept there for a person to look at. */

const LIMIT_MS = 240_000;
/** Longest time of what a page does, ms. */
const WAIT_MS = 90_000;
const SCREENS = [
  { width: 1280, height: 900 },
  { width: 390, height: 844 },
].flatMap((size) => (["light", "dark"] as const).map((scheme) => ({ ...size, scheme })));
/** Absent: no screens are kept. */
const FOLDER = process.env["PAGES_FOLDER"];

let product: Running;
const missing = PAGE_BROWSERS.programs.filter((name) => !hasProgram(name));
beforeAll(async () => {
  if (missing.length > 0)
    throw new Error(
      `${missing.join(", ")} can't be run here. npm run test:all installs Debian's packages where it may; else install them, and try again.`,
    );
  if (FOLDER !== undefined) mkdirSync(FOLDER, { recursive: true });
  product = await startAsNewcomer(await newcomerEnv());
}, LIMIT_MS);
afterAll(async () => {
  product.child.kill("SIGINT");
  await product.ended;
});
const said = (name: string): string => new RegExp(`${name} +(\\S+)`).exec(product.output())?.[1] ?? "";

/** Looks at a page on a desk and on a phone, where the browser can be one, and keeps what it looks like. */
type Keep = (name: string) => Promise<void>;

/** What a person sees and can press now, each by what it says. */
const CONTROLS = `[...document.querySelectorAll("button, a[href], input, summary, audio")]
  .filter((e) => e.checkVisibility() && !e.disabled).map((e) => e.id || e.getAttribute("aria-label") || e.textContent.trim())`;

/** A page with what was pressed on it. */
function pressing(page: EvaluatedPage) {
  const [seen, pressed] = [new Set<string>(), new Set<string>()];
  const look = async (): Promise<void> => {
    for (const name of (await page.evaluate(CONTROLS)) as string[]) seen.add(name);
  };
  return {
    look,
    /** Presses what is named so: by its id, or by its words. */
    async press(name: string, selector = `#${name}`): Promise<void> {
      await page.until(
        `${name} to be there`,
        `document.querySelector(${JSON.stringify(selector)})?.checkVisibility() === true`,
        WAIT_MS,
      );
      await look();
      await page.press(selector, WAIT_MS);
      pressed.add(name);
      await look();
    },
    /** What was there and was not pressed. */
    left: (): string[] => [...seen].filter((name) => !pressed.has(name)),
  };
}
/** Waits until a page shows a text; what it shows instead is told. */
async function shows(page: EvaluatedPage, selector: string, text: string): Promise<void> {
  const has = `(document.querySelector(${JSON.stringify(selector)})?.textContent ?? "").includes(${JSON.stringify(text)})`;
  await page.until(`${selector} to show "${text}"`, has, WAIT_MS).catch(async (error: unknown) => {
    throw new Error(`${String(error)}; the page: ${String(await page.evaluate("document.body.innerText"))}`);
  });
}
const titled = (page: EvaluatedPage, title: string): Promise<void> =>
  page.until(
    `the page "${title}"`,
    `document.readyState === "complete" && document.title === ${JSON.stringify(title)}`,
    WAIT_MS,
  );
const fits = (page: EvaluatedPage): Promise<unknown> =>
  page.evaluate("document.documentElement.scrollWidth <= innerWidth");

/** The page at the root: each of its links leads where it says. */
async function homeLeadsOn(page: EvaluatedPage, keep: Keep): Promise<void> {
  const home = said("in a browser");
  await page.open(home);
  await keep("home");
  const links = (await page.evaluate(`[...document.querySelectorAll("a")].map((a) => a.href)`)) as string[];
  expect(links.length).toBeGreaterThan(4);
  for (const [i, href] of links.entries()) {
    await page.open(home);
    await page.evaluate(`[...document.querySelectorAll("a")][${i}].id = "here"`);
    await page.press("#here", WAIT_MS);
    await page.until(
      `to be at ${href}`,
      `document.readyState === "complete" && location.href === ${JSON.stringify(href)}`,
      WAIT_MS,
    );
  }
}

/** From the talk page's button to the page of a fresh conversation. */
async function beginTalk(page: EvaluatedPage, name: string, keep: Keep): Promise<void> {
  await page.open(said("talk to the agent"));
  await titled(page, "Talk to an agent");
  await keep("talk");
  await page.evaluate(
    `[...document.querySelectorAll("button")].find((b) => b.textContent.includes(${JSON.stringify(name)})).id = "here"`,
  );
  await page.press("#here", WAIT_MS);
  await page.until(
    "the conversation's page",
    `location.pathname.startsWith("/r/") && document.readyState === "complete"`,
    WAIT_MS,
  );
  await shows(page, "h1", "Talk to ");
}

/** A whole conversation by keypad and typed words, with every control of its page. */
async function wholeTalk(page: EvaluatedPage, keep: Keep): Promise<void> {
  await beginTalk(page, "order-confirmation", keep);
  await keep("session");
  const { press, look, left } = pressing(page);
  await press("start");
  await shows(page, "#words", "Do you confirm order NW-10320 for 82.25 dollars with delivery on Monday, June 9?");
  await press("mute");
  await shows(page, "#status", "Your microphone is muted.");
  await press("mute");
  await shows(page, "#status", "You can talk now.");
  await press("keypad");
  await look();
  for (const key of "34567890*#") await press(key, `#keys button:nth-child(${"123456789*0#".indexOf(key) + 1})`);
  await shows(page, "#pressed", "Pressed 34567890*#");
  await press("text");
  await page.type("What is the amount?");
  await keep("session-during");
  await press("Say", "#typed button");
  await shows(page, "#words", "YouWhat is the amount?");
  await press("2", "#keys button:nth-child(2)");
  await shows(page, "#words", "Which day would suit you?");
  await press("text");
  await page.type("Friday, please.");
  await press("Say", "#typed button");
  await shows(page, "#status", "The conversation is over.");
  await shows(page, "#words", "YouFriday, please.");
  expect(await fits(page)).toBe(true);
  await press("hear");
  await page.until("the recording to be played", `document.querySelector("#player").currentTime > 0`, WAIT_MS);
  await keep("session-over");
  await look();
  // ends a conversation each: the other conversation's, and the player is the browser's own
  expect(left().sort()).toEqual(["1", "end", "player"]);
}

/** Conversations that one press ends. */
async function shortTalks(page: EvaluatedPage, keep: Keep): Promise<void> {
  await beginTalk(page, "appointment-reminder", keep);
  await page.press("#start", WAIT_MS);
  await shows(page, "#words", "the appointment with Doctor Wong on Thursday, June 12 at 9:30 am");
  await page.press("#keypad", WAIT_MS);
  await page.press("#keys button:first-child", WAIT_MS);
  await shows(page, "#status", "The conversation is over.");
  await beginTalk(page, "appointment-reminder", keep);
  await page.press("#start", WAIT_MS);
  await shows(page, "#status", "You can talk now.");
  await page.press("#end", WAIT_MS);
  await shows(page, "#status", "You have ended the conversation.");
}

/** A link that leads nowhere says so before anything is pressed. */
async function deadLink(page: EvaluatedPage, keep: Keep): Promise<void> {
  await page.open(new URL("/r/no-such-link", said("in a browser")).href);
  await shows(page, "#status", "This link does not work, or not any more.");
  expect(await page.evaluate(CONTROLS)).toEqual([]);
  await keep("session-dead");
}

/** The documentation: search, a found endpoint, its examples, and each kind of link. */
async function readDocs(page: EvaluatedPage, keep: Keep): Promise<void> {
  await page.open(said("docs"));
  await keep("docs");
  const { press } = pressing(page);
  const listed = `[...document.querySelectorAll("aside li")].filter((li) => !li.hidden)`;
  const search = async (words: string): Promise<unknown> => {
    await press("search");
    await page.evaluate(`document.querySelector("#search").value = ""`);
    await page.type(words);
    return page.evaluate(`${listed}.map((li) => li.querySelector("a").getAttribute("href"))`);
  };
  expect(await search("transfer_numbers")).toContain("#post-configurations");
  expect(await search("abort")).toContain("#post-lead-abort");
  expect(await search("zebra crossing")).toEqual([]);
  await shows(page, "#none", "Nothing found for “zebra crossing”.");
  await search("push a lead");
  await page.evaluate(`${listed}[0].querySelector("a").id = "found"`);
  await press("found");
  await page.until("the endpoint to open", `document.getElementById(location.hash.slice(1))?.open === true`, WAIT_MS);
  expect(await page.evaluate("location.hash")).toBe("#post-leads");
  await press("a language", "#post-leads details:nth-of-type(2) summary");
  await page.until("the other language", `document.querySelector("#post-leads details:nth-of-type(2)").open`, WAIT_MS);
  await press("copy", "#post-leads details:nth-of-type(2) .copy");
  await page.until(
    "what the button says",
    `/^(Copied|Not allowed)$/.test(document.querySelector("#post-leads details:nth-of-type(2) .copy").textContent)`,
    WAIT_MS,
  );
  await keep("docs-endpoint");
  for (const link of ["#start", "#webhook", "#errors", "#schemas"]) {
    await press(link, `aside p a[href="${link}"]`);
    await page.until(`to be at ${link}`, `location.hash === ${JSON.stringify(link)}`, WAIT_MS);
  }
  await press("a group", "aside nav details:not([hidden]) summary");
  await press("an error", `#post-leads a[href="#TEMPLATE_UNKNOWN"]`);
  await page.until("its meaning", `location.hash === "#TEMPLATE_UNKNOWN"`, WAIT_MS);
  await press("an endpoint", "main > details:nth-of-type(2) > summary");
  await press("the brand", ".brand");
  await titled(page, "callagent");
}

/** All of it, one page after the other. */
async function everything(page: EvaluatedPage, keep: Keep): Promise<void> {
  await homeLeadsOn(page, keep);
  await wholeTalk(page, keep);
  await shortTalks(page, keep);
  await deadLink(page, keep);
  await readDocs(page, keep);
}

const keeper =
  (page: Page): Keep =>
  async (name) => {
    for (const screen of SCREENS) {
      await page.show(screen);
      const file = `${name}-${screen.width}-${screen.scheme}.png`;
      if (FOLDER !== undefined) writeFileSync(join(FOLDER, file), await page.screenshot(screen));
      expect([name, screen, await fits(page)]).toEqual([name, screen, true]);
    }
  };

async function inChromium(): Promise<void> {
  const program = process.env[CHROMIUM_VARIABLE] ?? "chromium";
  const browser = await startChromium({ program, microphone: new Int16Array(BROWSER_RATE) });
  try {
    const page = await browser.open("about:blank#");
    await everything(page, keeper(page));
  } finally {
    await browser.close();
  }
}

async function inFirefox(): Promise<void> {
  const card = await startSoundCard();
  const firefox = await startFirefox("firefox-esr", "about:blank", { card: card.env });
  try {
    const { page } = firefox;
    await everything(page, async (name) => {
      if (FOLDER !== undefined) writeFileSync(join(FOLDER, `${name}-firefox.png`), await page.screenshot());
    });
  } finally {
    await firefox.close();
    await card.stop();
  }
}

describe("every control of the home, talk, session and docs page does what it says", () => {
  // both at once: a conversation takes its time
  let runs: Record<"Chromium" | "Firefox", Promise<unknown>>;
  beforeAll(() => {
    const ended = (run: Promise<void>): Promise<unknown> => run.catch((error: unknown) => error);
    runs = { Chromium: ended(inChromium()), Firefox: ended(inFirefox()) };
  });
  test.each(["Chromium", "Firefox"] as const)(
    "in %s",
    async (browser) => {
      const failure = await runs[browser];
      if (failure !== undefined) throw failure;
    },
    LIMIT_MS,
  );
});
