import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { isRecord } from "../../../shared/json.ts";
import { writeWav } from "../../speech/wav.ts";
import { connectDevTools, type DevTools } from "./devtools.ts";
import { BROWSER_RATE, EvaluatedPage, TAP, type Screen } from "./page.ts";

const START_MS = 60_000;
/** Runs without a window and without asking anything; everything else is as a person has it. */
const FLAGS = [
  "--headless=new",
  "--no-sandbox",
  "--no-first-run",
  "--disable-gpu",
  "--disable-dev-shm-usage",
  "--autoplay-policy=user-gesture-required",
  "--remote-debugging-port=0",
];
/** Nobody is asked for leave. */
const ALLOWING = "--use-fake-ui-for-media-stream";
/** A page under a person's hands. */
export interface Page extends EvaluatedPage {
  /** Presses a key of the keyboard, by its name. */
  key(name: string): Promise<void>;
  reload(): Promise<void>;
  close(): Promise<void>;
  /** Puts the page on such a screen. */
  show(screen: Screen): Promise<void>;
  /** A PNG of such a screen. */
  screenshot(screen: Screen): Promise<Buffer>;
}

/** A running Chromium. */
export interface Chromium {
  version: string;
  open(url: string): Promise<Page>;
  /** What a person says whom the browser asks for the microphone: for an origin, from now on. */
  permit(origin: string, setting: "granted" | "denied"): Promise<void>;
  /** Stops all its processes, as a machine that sleeps does, or lets them go on. */
  signal(name: "SIGSTOP" | "SIGCONT"): void;
  close(): Promise<void>;
}

/**
 * How it is started. `microphone`: what its microphone hears again and again, at BROWSER_RATE, or the environment of its sound card. `asks`: it asks for leave to use it; absent: it does not. `leads`: other ports that the addresses of pages lead to, "1.2.3.4:5" by "localhost:6". `scripts`: run first in each page.
 */
export interface ChromiumOptions {
  program: string;
  microphone: Int16Array | Readonly<Record<string, string>>;
  asks?: boolean;
  leads?: Readonly<Record<string, string>>;
  flags?: readonly string[];
  scripts?: readonly string[];
}

const textIn = (of: Record<string, unknown>, name: string): string => String(of[name] ?? "");

class DrivenPage extends EvaluatedPage implements Page {
  readonly #tools: DevTools;
  readonly #target: string;
  readonly #session: string;

  constructor(tools: DevTools, target: string, session: string) {
    super();
    this.#tools = tools;
    this.#target = target;
    this.#session = session;
  }

  ask(method: string, params: object = {}): Promise<Record<string, unknown>> {
    return this.#tools.ask(method, params, this.#session);
  }

  async evaluate(expression: string): Promise<unknown> {
    const how = { expression, awaitPromise: true, returnByValue: true, userGesture: false };
    const { result, exceptionDetails } = await this.ask("Runtime.evaluate", how);
    if (exceptionDetails !== undefined) throw new Error(`the page fails: ${JSON.stringify(exceptionDetails)}`);
    return isRecord(result) ? result["value"] : undefined;
  }

  async click(selector: string): Promise<void> {
    const mouse = { ...(await this.middleOf(selector)), button: "left", clickCount: 1 };
    for (const type of ["mousePressed", "mouseReleased"])
      await this.ask("Input.dispatchMouseEvent", { type, ...mouse });
  }

  async type(text: string): Promise<void> {
    await this.ask("Input.insertText", { text });
  }

  async open(url: string): Promise<void> {
    await this.evaluate("window.isOld = true");
    await this.ask("Page.navigate", { url });
    await this.until("the page to be loaded", `document.readyState === "complete" && !window.isOld`, START_MS);
  }

  async key(key: string): Promise<void> {
    const written = key === "Enter" ? { text: "\r", windowsVirtualKeyCode: 13 } : key.length === 1 ? { text: key } : {};
    const tab = key === "Tab" ? { windowsVirtualKeyCode: 9 } : {};
    for (const type of ["keyDown", "keyUp"])
      await this.ask("Input.dispatchKeyEvent", { type, key, code: key, ...written, ...tab });
  }

  async reload(): Promise<void> {
    await this.evaluate("window.isOld = true");
    await this.ask("Page.reload");
    await this.until("the page to be loaded", `document.readyState === "complete" && !window.isOld`, START_MS);
  }

  async close(): Promise<void> {
    await this.#tools.ask("Target.closeTarget", { targetId: this.#target });
  }

  async show({ width, height, scheme = "light" }: Screen): Promise<void> {
    const features = [{ name: "prefers-color-scheme", value: scheme }];
    await this.ask("Emulation.setEmulatedMedia", { features });
    await this.ask("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 2, mobile: true });
  }

  async screenshot(screen: Screen): Promise<Buffer> {
    await this.show(screen);
    return Buffer.from(textIn(await this.ask("Page.captureScreenshot"), "data"), "base64");
  }
}

/** The address that a browser prints, behind this word, when it has started. */
export const addressOf = (child: ChildProcess, program: string, word: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`${program} did not start in time`)), START_MS);
    const said: string[] = [];
    child.once("error", reject);
    child.once("exit", (status) => reject(new Error(`${program} ended with status ${status}: ${said.join(" ")}`)));
    if (child.stderr)
      createInterface({ input: child.stderr }).on("line", (line) => {
        const [, url] = new RegExp(`^${word} listening on (ws:\\S+)`).exec(line) ?? [];
        if (url === undefined) return void said.push(line);
        clearTimeout(late);
        resolve(url);
      });
  });

async function openPage(tools: DevTools, url: string, scripts: readonly string[]): Promise<Page> {
  const { targetId } = await tools.ask("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await tools.ask("Target.attachToTarget", { targetId, flatten: true });
  const page = new DrivenPage(tools, String(targetId), String(sessionId));
  await page.ask("Page.enable");
  for (const source of scripts) await page.ask("Page.addScriptToEvaluateOnNewDocument", { source });
  await page.ask("Page.navigate", { url });
  await page.until(
    "the page to be loaded",
    `document.readyState === "complete" && location.href !== "about:blank"`,
    START_MS,
  );
  return page;
}

/** Starts Chromium with a folder of its own. */
export async function startChromium({
  program,
  microphone,
  asks = false,
  leads = {},
  flags = [],
  scripts = [],
}: ChromiumOptions): Promise<Chromium> {
  const folder = mkdtempSync(join(tmpdir(), "callagent-chromium-"));
  const fake: string[] = asks ? [] : [ALLOWING];
  if (microphone instanceof Int16Array) {
    const wav = join(folder, "microphone.wav");
    writeFileSync(wav, writeWav({ rate: BROWSER_RATE, channels: [microphone] }));
    fake.push("--use-fake-device-for-media-stream", `--use-file-for-fake-audio-capture=${wav}`);
  }
  const rules = Object.entries(leads).map(([from, to]) => `MAP ${from} ${to}`);
  const own = [`--user-data-dir=${folder}`, ...fake];
  const mapped = rules.length === 0 ? [] : [`--host-resolver-rules=${rules.join(",")}`];
  const child = spawn(program, [...FLAGS, ...own, ...mapped, ...flags, "about:blank"], {
    stdio: ["ignore", "ignore", "pipe"],
    env: microphone instanceof Int16Array ? process.env : { ...process.env, ...microphone },
    // a process group of its own: stopped, and ended, as a whole
    detached: true,
  });
  const signal = (name: NodeJS.Signals): void => {
    if (child.pid !== undefined) process.kill(-child.pid, name);
  };
  const tools = await connectDevTools(await addressOf(child, program, "DevTools"));
  const { product } = await tools.ask("Browser.getVersion");
  return {
    version: String(product),
    open: (url) => openPage(tools, url, [TAP, ...scripts]),
    async permit(origin, setting) {
      await tools.ask("Browser.setPermission", { permission: { name: "microphone" }, setting, origin });
    },
    signal,
    async close() {
      tools.close();
      const isGone = child.exitCode !== null || child.signalCode !== null;
      const gone = isGone ? null : new Promise((resolve) => child.once("exit", resolve));
      if (!isGone) signal("SIGKILL");
      await gone;
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
}
