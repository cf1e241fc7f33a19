import assert from "node:assert/strict";
import type { Chromium, Page } from "../../../local/real/browser/chromium.ts";
import {
  hasSoundCard,
  startSoundCard,
  type SoundCard,
  type SoundCardPart,
} from "../../../local/real/browser/sound-card.ts";
import { findings } from "./accessibility.ts";
import { shows } from "./lane.ts";
import type { Scene } from "./scene.ts";

const QUESTION = "Do you confirm the order?";
const PATIENT = { max_call_seconds: 90, idle_seconds: 20, max_age_seconds: 86_400 };
/** A phone's screen. */
const [WIDTH, HEIGHT] = [390, 844];

/** What is wrong with the microphone. */
interface Trouble {
  /** What the page says, by its beginning. */
  told: string;
  parts?: readonly SoundCardPart[];
  begin(at: { browser: Chromium; page: Page; card: SoundCard }): Promise<unknown>;
  /** What the person does about it. */
  mend(at: { browser: Chromium; page: Page; card: SoundCard }): Promise<unknown>;
}

const originOf = (page: Page): Promise<string> => page.evaluate("location.origin").then(String);
const permit = async (browser: Chromium, page: Page, setting: "granted" | "denied"): Promise<void> =>
  browser.permit(await originOf(page), setting);

const REFUSED: Trouble = {
  told: "The microphone is not allowed. Allow it",
  begin: ({ browser, page }) => permit(browser, page, "denied"),
  mend: ({ browser, page }) => permit(browser, page, "granted"),
};

const MISSING: Trouble = {
  told: "No microphone was found. Connect one",
  parts: ["loudspeaker"],
  begin: ({ browser, page }) => permit(browser, page, "granted"),
  mend: ({ card }) => card.plug("microphone"),
};

/** Said by the page's own getUserMedia in the browser's place: PulseAudio lends a microphone to as many as want it. */
const BUSY: Trouble = {
  told: "The microphone is in use by another program. Close it",
  async begin({ browser, page }) {
    await permit(browser, page, "granted");
    await page.evaluate(
      `navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException("Could not start audio source", "NotReadableError")); 0`,
    );
  },
  mend: ({ page }) => page.evaluate("delete navigator.mediaDevices.getUserMedia"),
};

/** The person is told what to do, in words that are read out, does it, presses the button again, and talks. */
const troubled =
  ({ told, parts, begin, mend }: Trouble): Scene["run"] =>
  async (lane) => {
    if (!hasSoundCard()) return "left out: apt-get install pulseaudio pulseaudio-utils";
    const card = await startSoundCard(parts);
    try {
      const browser = await lane.browser(undefined, { microphone: card.env, asks: true });
      const lead_id = await lane.pushed("RTC", { limits: PATIENT });
      const page = await browser.open(await lane.link(lead_id));
      const at = { browser, page, card };
      await begin(at);
      await page.click("#start");
      await shows(page, "#status", told);
      assert.deepEqual(await findings(page), []);
      lane.keep(`microphone-${told.split(" ")[4] ?? ""}.png`, await page.screenshot({ width: WIDTH, height: HEIGHT }));
      const { status } = await lane.leadOf(lead_id);
      assert.equal(status, "BACKLOG", "nobody has joined");
      await mend(at);
      await page.click("#start");
      await shows(page, "#words", QUESTION);
      await page.click("#end");
      await shows(page, "#status", "You have ended the conversation.");
      assert.equal((await lane.finished(lead_id)).metaData["call_ended_by"], "customer");
      await browser.close();
      return `told "${told}…", and then it works`;
    } finally {
      await card.stop();
    }
  };

/** What goes wrong with a microphone, and the way on. */
export const MICROPHONES: readonly Scene[] = [
  { name: "microphone refused, then allowed", isShort: false, run: troubled(REFUSED) },
  { name: "no microphone, then connected", isShort: false, run: troubled(MISSING) },
  { name: "microphone busy, then free", isShort: false, run: troubled(BUSY) },
];
