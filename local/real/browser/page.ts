import { isRecord } from "../../../shared/json.ts";
import { resampled } from "../../speech/utterances.ts";
import { pcmOf } from "../../speech/wav.ts";

/** Sound of the microphone and of what was played, samples a second. */
export const BROWSER_RATE = 48_000;
const POLL_MS = 50;
/** Keeps all that reaches the loudspeaker of a page, as it sounds together. */
export const TAP = `(() => {
  const connect = AudioNode.prototype.connect;
  const taps = new WeakMap();
  window.played = { rate: 0, blocks: [] };
  const tapOf = (context) => {
    const tap = context.createScriptProcessor(16384, 1, 1);
    window.played.rate = context.sampleRate;
    tap.onaudioprocess = ({ inputBuffer }) => window.played.blocks.push(Int16Array.from(inputBuffer.getChannelData(0), (s) => s * 32767));
    connect.call(tap, context.destination);
    taps.set(context, tap);
    return tap;
  };
  AudioNode.prototype.connect = function (to, ...rest) {
    if (to instanceof AudioDestinationNode) connect.call(this, taps.get(this.context) || tapOf(this.context));
    return connect.call(this, to, ...rest);
  };
})();`;
/** The microphone as it is: tones are noise to the noise suppression that pages ask for, which takes them away. The echo is taken out as they ask; real speech goes through all of it. */
export const PLAIN_MICROPHONE = `(() => {
  const { mediaDevices } = navigator;
  if (!mediaDevices) return;
  const open = mediaDevices.getUserMedia.bind(mediaDevices);
  mediaDevices.getUserMedia = (asked) =>
    open({ ...asked, audio: asked.audio && { ...asked.audio, noiseSuppression: false, autoGainControl: false } });
})();`;
/** The sound that was kept, as base64: a long one does not fit into the arguments of one call. */
const READ_TAP = `(() => {
  const bytes = window.played.blocks.flatMap((block) => [...new Uint8Array(block.buffer)]);
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return { rate: window.played.rate, pcm: btoa(text) };
})()`;

const textIn = (of: Record<string, unknown>, name: string): string => String(of[name] ?? "");

/** How a person's screen is. Sizes in CSS pixels. */
export interface Screen {
  width: number;
  height: number;
  scheme?: "light" | "dark";
}

/** A page under a person's hands, that a driver evaluates expressions in. */
export abstract class EvaluatedPage {
  abstract evaluate(expression: string): Promise<unknown>;
  /** Clicks as a mouse does, so that the browser takes it for a person's. */
  abstract click(selector: string): Promise<void>;
  /** Types into what has the focus. */
  abstract type(text: string): Promise<void>;
  abstract open(url: string): Promise<void>;

  /** The text of an element; "": there is none. */
  async text(selector: string): Promise<string> {
    return String(await this.evaluate(`(document.querySelector(${JSON.stringify(selector)}) || {}).textContent || ""`));
  }

  /** Clicks what may be outside of the screen, or not be there yet. */
  async press(selector: string, limitMs: number): Promise<void> {
    const at = `document.querySelector(${JSON.stringify(selector)})`;
    await this.until(
      `${selector} to be there`,
      `${at} !== null && !${at}.disabled && ${at}.offsetParent !== null`,
      limitMs,
    );
    await this.evaluate(`${at}.scrollIntoView({ block: "center", behavior: "instant" })`);
    await this.click(selector);
  }

  /** The middle of an element on the screen. */
  async middleOf(selector: string): Promise<{ x: number; y: number }> {
    const at = await this.evaluate(
      `(() => { const { x, y, width, height } = document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect(); return { x: x + width / 2, y: y + height / 2 }; })()`,
    );
    if (!isRecord(at)) throw new Error(`there is no ${selector} to click`);
    return { x: Math.round(Number(at["x"])), y: Math.round(Number(at["y"])) };
  }

  /** Waits until the expression is true. */
  async until(what: string, expression: string, limitMs: number): Promise<void> {
    for (const end = performance.now() + limitMs; ;) {
      // a page that is being loaded has nothing to evaluate in
      if ((await this.evaluate(expression).catch(() => false)) === true) return;
      if (performance.now() > end) throw new Error(`waited ${limitMs} ms in vain for: ${what}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  /** What was played so far, at BROWSER_RATE. */
  async played(): Promise<Int16Array> {
    const kept = JSON.parse(String(await this.evaluate(`JSON.stringify(${READ_TAP})`))) as unknown;
    if (!isRecord(kept)) return new Int16Array();
    const pcm = pcmOf(Buffer.from(textIn(kept, "pcm"), "base64"));
    const rate = Number(kept["rate"]);
    return rate === BROWSER_RATE || rate === 0 ? pcm : resampled(pcm, Math.round((pcm.length * BROWSER_RATE) / rate));
  }
}
