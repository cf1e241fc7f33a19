import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isRecord } from "../../../shared/json.ts";
import { addressOf } from "./chromium.ts";
import { connectDevTools, type DevTools } from "./devtools.ts";
import { EvaluatedPage, TAP } from "./page.ts";

/** Nobody is asked for leave, and rooms on this machine are within reach. */
const PREFERENCES = {
  "media.navigator.permission.disabled": true,
  "media.peerconnection.ice.loopback": true,
  "media.autoplay.default": 0,
  "media.autoplay.blocking_policy": 0,
  "media.getusermedia.audio.processing.platform.enabled": false,
  "browser.shell.checkDefaultBrowser": false,
  "datareporting.policy.dataSubmissionEnabled": false,
  "app.update.enabled": false,
};

class FirefoxPage extends EvaluatedPage {
  readonly #tools: DevTools;
  readonly #context: string;

  constructor(tools: DevTools, context: string) {
    super();
    this.#tools = tools;
    this.#context = context;
  }

  async evaluate(expression: string): Promise<unknown> {
    // values of the protocol have forms of their own: as JSON they are what they are
    const how = { target: { context: this.#context }, awaitPromise: true };
    const asked = `Promise.resolve(${expression}).then((value) => JSON.stringify(value ?? null))`;
    const { result, exceptionDetails } = await this.#tools.ask("script.evaluate", { expression: asked, ...how });
    if (exceptionDetails !== undefined) throw new Error(`the page fails: ${JSON.stringify(exceptionDetails)}`);
    return isRecord(result) ? (JSON.parse(String(result["value"])) as unknown) : undefined;
  }

  /** Clicks as a mouse does. */
  async click(selector: string): Promise<void> {
    const at = await this.middleOf(selector);
    const button = { button: 0 };
    const actions = [
      { type: "pointerMove", ...at },
      { type: "pointerDown", ...button },
      { type: "pointerUp", ...button },
    ];
    const mouse = { type: "pointer", id: "mouse", actions };
    await this.#tools.ask("input.performActions", { context: this.#context, actions: [mouse] });
  }

  async type(text: string): Promise<void> {
    const strokes = [...text].flatMap((value) => [
      { type: "keyDown", value },
      { type: "keyUp", value },
    ]);
    const keyboard = { type: "key", id: "keyboard", actions: strokes };
    await this.#tools.ask("input.performActions", { context: this.#context, actions: [keyboard] });
  }

  async open(url: string): Promise<void> {
    await this.#tools.ask("browsingContext.navigate", { context: this.#context, url, wait: "complete" });
  }

  /** A PNG of the screen. */
  async screenshot(): Promise<Buffer> {
    const { data } = await this.#tools.ask("browsingContext.captureScreenshot", { context: this.#context });
    return Buffer.from(String(data), "base64");
  }
}

/** A running Firefox with one page. */
export interface Firefox {
  version: string;
  page: FirefoxPage;
  close(): Promise<void>;
}

/** How it is started. `card`: the environment of its sound card; absent: it has no sound but a microphone with a tone of its own. `scripts`: run first in each page. */
export interface FirefoxOptions {
  card?: Readonly<Record<string, string>>;
  preferences?: Readonly<Record<string, boolean | number>>;
  scripts?: readonly string[];
}

/** Starts Firefox with a profile of its own, driven over WebDriver BiDi, at this address. */
export async function startFirefox(
  program: string,
  url: string,
  { card, preferences = {}, scripts = [] }: FirefoxOptions = {},
): Promise<Firefox> {
  const folder = mkdtempSync(join(tmpdir(), "callagent-firefox-"));
  const set = { ...PREFERENCES, "media.navigator.streams.fake": card === undefined, ...preferences };
  const lines = Object.entries(set).map(([name, value]) => `user_pref("${name}", ${String(value)});`);
  writeFileSync(join(folder, "user.js"), lines.join("\n"));
  const args = ["--headless", "--no-remote", "--profile", folder, "--remote-debugging-port", "0"];
  const env = { ...process.env, ...card };
  const child = spawn(program, args, { stdio: ["ignore", "ignore", "pipe"], detached: true, env });
  const tools = await connectDevTools(`${await addressOf(child, program, "WebDriver BiDi")}/session`);
  const { capabilities } = await tools.ask("session.new", { capabilities: {} });
  const { contexts } = await tools.ask("browsingContext.getTree", {});
  const [first] = Array.isArray(contexts) ? (contexts as unknown[]) : [];
  const context = isRecord(first) ? String(first["context"]) : "";
  for (const script of [TAP, ...scripts])
    await tools.ask("script.addPreloadScript", { functionDeclaration: `() => { ${script} }` });
  await tools.ask("browsingContext.navigate", { context, url, wait: "complete" });
  return {
    version: `Firefox ${isRecord(capabilities) ? String(capabilities["browserVersion"]) : ""}`,
    page: new FirefoxPage(tools, context),
    async close() {
      tools.close();
      const gone = new Promise((resolve) => child.once("exit", resolve));
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      await gone;
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
}
