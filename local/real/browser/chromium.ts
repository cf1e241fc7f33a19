import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { isRecord } from "../../../shared/json.ts";
import { resampled } from "../../speech/utterances.ts";
import { pcmOf, writeWav } from "../../speech/wav.ts";
import { connectDevTools, type DevTools } from "./devtools.ts";

/** Sound of the microphone and of what was played, samples a second. */
export const BROWSER_RATE = 48_000;
const START_MS = 60_000;
const POLL_MS = 50;
/** Runs without a window and without asking anything; everything else is as a person has it. */
const FLAGS = [
  "--headless=new",
  "--no-sandbox",
  "--no-first-run",
  "--disable-gpu",
  "--disable-dev-shm-usage",
  "--use-fake-ui-for-media-stream",
  "--use-fake-device-for-media-stream",
  "--autoplay-policy=user-gesture-required",
  "--remote-debugging-port=0",
];
/** Keeps all that reaches the loudspeaker of a page, and the JSON that comes over its last WebSocket. */
const TAP = `(() => {
  window.received = [];
  window.WebSocket = class extends WebSocket {
    constructor(...how) {
      super(...how);
      window.socket = this;
      this.addEventListener("message", ({ data }) => typeof data === "string" && window.received.push(JSON.parse(data)));
    }
  };
  const connect = AudioNode.prototype.connect;
  window.played = { rate: 0, blocks: [] };
  AudioNode.prototype.connect = function (to, ...rest) {
    if (to instanceof AudioDestinationNode) {
      const tap = this.context.createScriptProcessor(16384, 1, 1);
      window.played.rate = this.context.sampleRate;
      tap.onaudioprocess = ({ inputBuffer }) => window.played.blocks.push(Int16Array.from(inputBuffer.getChannelData(0), (s) => s * 32767));
      connect.call(this, tap);
      connect.call(tap, to);
    }
    return connect.call(this, to, ...rest);
  };
})();`;
/** The sound that was kept, as base64: a long one does not fit into the arguments of one call. */
const READ_TAP = `(() => {
  const bytes = window.played.blocks.flatMap((block) => [...new Uint8Array(block.buffer)]);
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return { rate: window.played.rate, pcm: btoa(text) };
})()`;

/** A page under a person's hands. */
export interface Page {
  evaluate(expression: string): Promise<unknown>;
  /** Clicks as a mouse does, so that the browser takes it for a person's. */
  click(selector: string): Promise<void>;
  press(key: string): Promise<void>;
  /** The text of an element; "": there is none. */
  text(selector: string): Promise<string>;
  /** Waits until the expression is true. */
  until(what: string, expression: string, limitMs: number): Promise<void>;
  reload(): Promise<void>;
  close(): Promise<void>;
  /** What was played so far, at BROWSER_RATE. */
  played(): Promise<Int16Array>;
  /** A PNG of a screen of this size. */
  screenshot(width: number, height: number): Promise<Buffer>;
}

/** A running Chromium. */
export interface Chromium {
  version: string;
  open(url: string): Promise<Page>;
  /** Stops all its processes, as a machine that sleeps does, or lets them go on. */
  signal(name: "SIGSTOP" | "SIGCONT"): void;
  close(): Promise<void>;
}

/** How it is started. `microphone`: what its microphone hears again and again, at BROWSER_RATE. `leads`: other ports that the addresses of pages lead to, "1.2.3.4:5" by "localhost:6". */
export interface ChromiumOptions {
  program: string;
  microphone: Int16Array;
  leads?: Readonly<Record<string, string>>;
  flags?: readonly string[];
}

const textIn = (of: Record<string, unknown>, name: string): string => String(of[name] ?? "");

class DrivenPage implements Page {
  readonly #tools: DevTools;
  readonly #target: string;
  readonly #session: string;

  constructor(tools: DevTools, target: string, session: string) {
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
    const at = await this.evaluate(
      `(() => { const { x, y, width, height } = document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect(); return { x: x + width / 2, y: y + height / 2 }; })()`,
    );
    if (!isRecord(at)) throw new Error(`there is no ${selector} to click`);
    const mouse = { x: at["x"], y: at["y"], button: "left", clickCount: 1 };
    for (const type of ["mousePressed", "mouseReleased"])
      await this.ask("Input.dispatchMouseEvent", { type, ...mouse });
  }

  async press(key: string): Promise<void> {
    const enter = key === "Enter" ? { text: "\r", windowsVirtualKeyCode: 13 } : {};
    const tab = key === "Tab" ? { windowsVirtualKeyCode: 9 } : {};
    for (const type of ["keyDown", "keyUp"])
      await this.ask("Input.dispatchKeyEvent", { type, key, code: key, ...enter, ...tab });
  }

  async text(selector: string): Promise<string> {
    return String(await this.evaluate(`(document.querySelector(${JSON.stringify(selector)}) || {}).textContent || ""`));
  }

  async until(what: string, expression: string, limitMs: number): Promise<void> {
    for (const end = performance.now() + limitMs; ;) {
      // a page that is being loaded has nothing to evaluate in
      if ((await this.evaluate(expression).catch(() => false)) === true) return;
      if (performance.now() > end) throw new Error(`waited ${limitMs} ms in vain for: ${what}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  async reload(): Promise<void> {
    await this.ask("Page.reload");
    await this.until("the page to be loaded", `document.readyState === "complete"`, START_MS);
  }

  async close(): Promise<void> {
    await this.#tools.ask("Target.closeTarget", { targetId: this.#target });
  }

  async played(): Promise<Int16Array> {
    const kept = await this.evaluate(READ_TAP);
    if (!isRecord(kept)) return new Int16Array();
    const pcm = pcmOf(Buffer.from(textIn(kept, "pcm"), "base64"));
    const rate = Number(kept["rate"]);
    return rate === BROWSER_RATE || rate === 0 ? pcm : resampled(pcm, Math.round((pcm.length * BROWSER_RATE) / rate));
  }

  async screenshot(width: number, height: number): Promise<Buffer> {
    const screen = { width, height, deviceScaleFactor: 2, mobile: true };
    await this.ask("Emulation.setDeviceMetricsOverride", screen);
    return Buffer.from(textIn(await this.ask("Page.captureScreenshot"), "data"), "base64");
  }
}

/** The address of its DevTools, which it prints when it has started. */
const addressOf = (child: ChildProcess, program: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`${program} did not start in time`)), START_MS);
    const said: string[] = [];
    child.once("error", reject);
    child.once("exit", (status) => reject(new Error(`${program} ended with status ${status}: ${said.join(" ")}`)));
    if (child.stderr)
      createInterface({ input: child.stderr }).on("line", (line) => {
        const [, url] = /^DevTools listening on (ws:\S+)/.exec(line) ?? [];
        if (url === undefined) return void said.push(line);
        clearTimeout(late);
        resolve(url);
      });
  });

async function openPage(tools: DevTools, url: string): Promise<Page> {
  const { targetId } = await tools.ask("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await tools.ask("Target.attachToTarget", { targetId, flatten: true });
  const page = new DrivenPage(tools, String(targetId), String(sessionId));
  await page.ask("Page.enable");
  await page.ask("Page.addScriptToEvaluateOnNewDocument", { source: TAP });
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
  leads = {},
  flags = [],
}: ChromiumOptions): Promise<Chromium> {
  const folder = mkdtempSync(join(tmpdir(), "callagent-chromium-"));
  const wav = join(folder, "microphone.wav");
  writeFileSync(wav, writeWav({ rate: BROWSER_RATE, channels: [microphone] }));
  const rules = Object.entries(leads).map(([from, to]) => `MAP ${from} ${to}`);
  const own = [`--user-data-dir=${folder}`, `--use-file-for-fake-audio-capture=${wav}`];
  const mapped = rules.length === 0 ? [] : [`--host-resolver-rules=${rules.join(",")}`];
  const child = spawn(program, [...FLAGS, ...own, ...mapped, ...flags, "about:blank"], {
    stdio: ["ignore", "ignore", "pipe"],
    // a process group of its own: stopped, and ended, as a whole
    detached: true,
  });
  const signal = (name: NodeJS.Signals): void => {
    if (child.pid !== undefined) process.kill(-child.pid, name);
  };
  const tools = await connectDevTools(await addressOf(child, program));
  const { product } = await tools.ask("Browser.getVersion");
  return {
    version: String(product),
    open: (url) => openPage(tools, url),
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
