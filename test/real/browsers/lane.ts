import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startChromium, type Chromium, type ChromiumOptions, type Page } from "../../../local/real/browser/chromium.ts";
import { CHROMIUM_VARIABLE } from "../../../local/real/browser/browser.ts";
import { BROWSER_RATE, PLAIN_MICROPHONE, type EvaluatedPage } from "../../../local/real/browser/page.ts";
import type { SoundCard } from "../../../local/real/browser/sound-card.ts";
import { systemClock } from "../../../shared/time/clock.ts";
import { within } from "../../../shared/time/deadline.ts";
import { startProduct, type Product } from "../../../local/harness/product.ts";
import { until } from "../../../local/harness/stage.ts";
import { decodeSpeech, encodeSpeech } from "../../../local/speech/modem.ts";
import { voiceStage, type VoiceStage } from "../../fixtures/product/audio-product.ts";
import { TALKS } from "../../fixtures/product/audio-templates.ts";
import { alike, mostlyAlike, type Lead } from "../../fixtures/product/audio-transcripts.ts";

/** Longest time of what is waited for, ms. */
export const WAIT_MS = 60_000;
const POLL_MS = 200;
/** The question has been asked by then, ms after the microphone was opened. */
const SPEAKS_AFTER_MS = 8000;
/** The sentence is said once in this time, ms. */
export const SPEAKS_EVERY_MS = 14_000;
const MS_PER_SECOND = 1000;

/** How sessions are led. */
export type SessionMode = "RTC" | "RTC_TEST" | "RTC_STREAM";

/** What scenes are played on: the product, and browsers that join its sessions. */
export interface Lane {
  product: Product;
  stage: VoiceStage;
  /** Makes a template of a session. `limits`: its own. */
  template(more?: { engine?: "cascade" | "realtime"; limits?: Record<string, number> }): Promise<string>;
  /** Pushes a session lead of a template of its own. `limits`: of the template. */
  pushed(
    mode: SessionMode,
    more?: { engine?: "cascade" | "realtime"; limits?: Record<string, number> },
  ): Promise<string>;
  link(lead_id: string): Promise<string>;
  leadOf(lead_id: string): Promise<Lead>;
  finished(lead_id: string, limitMs?: number): Promise<Lead>;
  /** A browser of a scene's own. `says`: what its microphone hears, once the question has been asked; absent: silence. */
  browser(says?: string, more?: Partial<Omit<ChromiumOptions, "program">>): Promise<Chromium>;
  /** Opens the page behind a lead's link in a browser, and begins to talk. */
  talk(browser: Chromium, lead_id: string): Promise<Page>;
  /** Keeps a file for a person to look at. */
  keep(name: string, bytes: Uint8Array): void;
  folder: string;
  /** How media travel. */
  transport: "livekit" | "websocket";
  /** Whether what was heard is this text: but for a letter here and there, or most of it in a room, whose jitter buffer stretches sound. */
  agrees(text: string, heard: string): boolean;
  /** The ports that pages connect to by TCP: the gateway's first, that of media, in rooms that of the server's signals. */
  ports: readonly [number, ...number[]];
  /** The port of the room server to which media go by UDP; null: there is no room server. */
  roomMedia: number | null;
  stop(): Promise<void>;
}

const portOf = (url: string): number => Number(new URL(url).port);
/** The room server takes media by UDP on this port after that of signals (local/real/livekit/livekit.ts). */
const ROOM_MEDIA = 2;

/** What a microphone hears: silence, with the sentence once in a while. */
function microphoneOf(says: string | undefined): Int16Array {
  const samples = (ms: number): number => (BROWSER_RATE * ms) / MS_PER_SECOND;
  const sound = new Int16Array(samples(SPEAKS_EVERY_MS));
  if (says !== undefined) sound.set(encodeSpeech(says, BROWSER_RATE), samples(SPEAKS_AFTER_MS));
  return sound;
}

/** The words that a page has played so far. */
export const heardBy = async (page: Page): Promise<string> => decodeSpeech(await page.played(), BROWSER_RATE);

/** Waits until a page shows a text. */
export const shows = (page: EvaluatedPage, selector: string, text: string, limitMs = WAIT_MS): Promise<void> =>
  page.until(
    `${selector} to show "${text}"`,
    `document.querySelector(${JSON.stringify(selector)}).textContent.includes(${JSON.stringify(text)})`,
    limitMs,
  );

/** The agent is silent for so long once it is the person's turn, ms. */
const TURN_MS = 1000;

/** Says a sentence when it is the person's turn, again and again until something has come about: a browser's echo canceller takes out of the microphone what is said while the loudspeaker sounds. */
export async function sayUntil(
  card: SoundCard,
  pcm: Int16Array,
  ended: Promise<unknown>,
  againMs: number,
): Promise<void> {
  const isOurTurn = async (): Promise<true | undefined> => (card.silentMs() ?? 0) >= TURN_MS || undefined;
  do {
    const turn = until("the agent to be silent", isOurTurn, WAIT_MS, POLL_MS);
    if (await within(systemClock, WAIT_MS, Promise.race([turn, ended]))) await card.say(pcm);
  } while (!(await within(systemClock, againMs, ended)));
}

/** The variables of a LiveKit server. */
const LIVEKIT = ["LIVEKIT_URL", "LIVEKIT_API_KEY", "LIVEKIT_API_SECRET"];

/** Starts the product for the scenes. `split`: one process per service. `more`: variables of its own. `folder`: where they keep what a person looks at. In rooms of the LiveKit server that the environment names, if it does. */
export async function startLane(folder: string, split = false, more: Record<string, string> = {}): Promise<Lane> {
  const livekit = LIVEKIT.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
  const own = { RECORDING_SOURCE: "own", LEASE_SECONDS: "5", SWEEP_INTERVAL_MS: "500" };
  const env = { ...own, ...more, ...(Object.fromEntries(livekit) as Record<string, string>) };
  const rooms = process.env["LIVEKIT_URL"] === undefined ? [] : [portOf(process.env["LIVEKIT_URL"])];
  const product = await startProduct({ engine: "cascade", env, split });
  const stage = await voiceStage(product);
  const browsers = new Set<Chromium>();
  const { reseller_id, merchant_id } = product.sample;
  const ask = product.admin.ask;
  const leadOf = async (lead_id: string): Promise<Lead> => {
    const lead = await ask("GET", "/leads/{lead_id}", { path: { lead_id } });
    return { ...lead, metaData: { ...lead.metaData } };
  };
  const lane: Lane = {
    product,
    stage,
    folder,
    transport: livekit.length > 0 ? "livekit" : "websocket",
    agrees: livekit.length > 0 ? mostlyAlike : alike,
    ports: [portOf(product.stack.httpUrl), portOf(product.stack.mediaUrl), ...rooms],
    roomMedia: rooms[0] === undefined ? null : rooms[0] + ROOM_MEDIA,
    leadOf,
    keep: (name, bytes) => writeFileSync(join(folder, name), bytes),
    template: ({ engine = "cascade", limits } = {}) =>
      stage.campaign(`session ${randomUUID()}`, "PROVIDER_ONE", TALKS.short, {
        template: { engine, ...(limits === undefined ? {} : { limits }) },
      }),
    async pushed(execution_mode, more) {
      const template_id = await lane.template(more);
      const body = { request_id: randomUUID(), template_id, reseller_id, merchant_id, execution_mode, payload: {} };
      const reporting_webhook_url = product.sink.url;
      return (await ask("POST", "/leads", { body: { ...body, reporting_webhook_url } })).lead_call_tracker_id;
    },
    link: async (lead_id) => (await ask("POST", "/leads/{lead_id}/join-link", { path: { lead_id } })).url,
    finished: (lead_id, limitMs = WAIT_MS) =>
      until(
        `the lead ${lead_id} to finish`,
        async () => {
          const lead = await leadOf(lead_id);
          return lead.status === "FINISHED" ? lead : undefined;
        },
        limitMs,
        POLL_MS,
      ),
    async browser(says, { scripts = [], ...more } = {}) {
      const program = process.env[CHROMIUM_VARIABLE] ?? "chromium";
      const own = says === undefined ? scripts : [PLAIN_MICROPHONE, ...scripts];
      const started = await startChromium({ program, microphone: microphoneOf(says), ...more, scripts: own });
      browsers.add(started);
      return started;
    },
    async talk(browser, lead_id) {
      const page = await browser.open(await lane.link(lead_id));
      await page.click("#start");
      await shows(page, "#status", "You can talk now.");
      await page.until(lane.transport, `document.body.dataset.transport === "${lane.transport}"`, WAIT_MS);
      return page;
    },
    async stop() {
      await Promise.all([...browsers].map((one) => one.close()));
      await product.stop();
    },
  };
  return lane;
}
