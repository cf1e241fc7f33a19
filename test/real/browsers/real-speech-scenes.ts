import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import { wordsIn } from "../../../local/bench/speech/language-model.ts";
import { startRecogniser, type Recogniser } from "../../../local/bench/speech/recogniser.ts";
import { startSpeechModels, type SpeechModels } from "../../../local/bench/speech/speech-models.ts";
import { spokenByPrograms } from "../../../local/bench/speech/spoken.ts";
import { hasProgram } from "../../../local/harness/program.ts";
import { startFirefox } from "../../../local/real/browser/firefox.ts";
import { BROWSER_RATE, type EvaluatedPage } from "../../../local/real/browser/page.ts";
import { hasSoundCard, startSoundCard } from "../../../local/real/browser/sound-card.ts";
import { writeWav } from "../../../local/speech/wav.ts";
import { resampled, trimmed } from "../../../local/speech/utterances.ts";
import { agentOf, commonLength, customerOf } from "../../fixtures/product/audio-transcripts.ts";
import { shareFound } from "./alike-sounds.ts";
import { sayUntil, shows, startLane, type Lane } from "./lane.ts";
import type { Scene } from "./scene.ts";

const FIREFOX = "firefox-esr";
const VOICES = ["slt", "rms"] as const;
const SAYS = "Yes, please confirm it.";
const QUESTION = "Do you confirm the order?";
/** All that is said in a conversation, and in one that goes astray. */
const SENTENCES = [
  SAYS,
  QUESTION,
  "Hello, this is Mia.",
  "Thank you. Goodbye!",
  "I am sorry, I did not understand that.",
  "I am sorry, could you say that again, please?",
  "Of course, take your time.",
  "It is nice to talk to you.",
  "Are you still there?",
  "One moment.",
];
const PATIENT = { max_call_seconds: 90, idle_seconds: 20, max_age_seconds: 86_400 };
const RECOGNISER_RATE = 8000;
const AGAIN_MS = 12_000;
const LAST_WORDS_MS = 3000;
/** Of a text's words so many are recognised of what carried it. */
const MOST = 0.75;

/** The part of a text's words that stand in another, in their order. */
function shareOf(text: string, heard: string): number {
  const words = wordsIn(text);
  return commonLength(words, wordsIn(heard)) / Math.max(1, words.length);
}

/** Sound at the recogniser's rate. */
const telephoneOf = (pcm: Int16Array, rate: number): Int16Array =>
  resampled(pcm, Math.round((pcm.length * RECOGNISER_RATE) / rate));

/** How much of a sound that was recognised stands in a recording: whoever hears that recording hears the same words. */
function shareRecorded(sound: Int16Array, recorded: Int16Array, rate: number): number {
  // a sample of the telephone's rate is several of the recording's: it may begin at each of them
  const begins = Array.from({ length: Math.round(rate / RECOGNISER_RATE) }, (_, at) => recorded.subarray(at));
  return Math.max(...begins.map((pcm) => shareFound(sound, telephoneOf(pcm, rate), RECOGNISER_RATE)));
}

/** What hears, and what heard in the product. */
interface Heard {
  recogniser: Recogniser;
  models: Pick<SpeechModels, "heard">;
}

/** Who opens the page on a machine with this sound card. */
type Opens = (
  lane: Lane,
  url: string,
  card: Readonly<Record<string, string>>,
) => Promise<{
  version: string;
  page: EvaluatedPage & { click(selector: string): Promise<void> };
  close(): Promise<void>;
}>;

const inFirefox: Opens = (_lane, url, card) => startFirefox(FIREFOX, url, { card });
const inChromium: Opens = async (lane, url, card) => {
  const browser = await lane.browser(undefined, { microphone: card });
  return { version: browser.version, page: await browser.open(url), close: () => browser.close() };
};

/** A conversation in real speech: a voice at the microphone, a recogniser at every place where words arrive. */
async function spoken(lane: Lane, { recogniser, models }: Heard, opens: Opens): Promise<string> {
  const voices = spokenByPrograms();
  const words = (pcm: Int16Array, rate: number): Promise<string> => recogniser.words(telephoneOf(trimmed(pcm), rate));
  const sentence = await voices.model(VOICES[1], SAYS);
  const says = resampled(sentence, sentence.length * 2);
  const lead_id = await lane.pushed("RTC", { limits: PATIENT });
  const card = await startSoundCard();
  const { version, page, close } = await opens(lane, await lane.link(lead_id), card.env);
  const wavs = (sounds: Readonly<Record<string, [Int16Array, number]>>): void => {
    for (const [stage, [pcm, rate]] of Object.entries(sounds))
      lane.keep(`${version.split(/[ /]/)[0]}-${stage}.wav`, writeWav({ rate, channels: [pcm] }));
  };
  try {
    await page.click("#start");
    await shows(page, "#words", QUESTION);
    const ended = lane.finished(lead_id);
    await sayUntil(card, says, ended, AGAIN_MS);
    const lead = await ended;
    await shows(page, "#status", "The conversation is over.");
    const [agent, customer] = [agentOf(lead), customerOf(lead)];
    // the last words are on their way still
    await wait(LAST_WORDS_MS);
    const recorded = await lane.stage.recordedSound(lead.call_id ?? "");
    const { rate } = recorded;
    wavs({ mouth: [says, BROWSER_RATE], loudspeaker: [card.heard(), BROWSER_RATE] });
    wavs({ customer: [recorded.customer, rate], agent: [recorded.agent, rate] });
    const heard = await words(card.heard(), BROWSER_RATE);
    const right = await words(recorded.agent, rate);
    assert.equal(lead.outcome, "confirmed");
    for (const [what, text, said] of [
      ["loudspeaker", agent, heard],
      ["transcript", SAYS, customer],
      ["recording of the agent", agent, right],
    ] as const)
      assert.ok(shareOf(text, said) >= MOST, `${what}: "${said}", not "${text}"`);
    // the customer's side is held against the sound that was recognised: heard once more as a whole, with its silence, the recogniser may take other words of it
    const understood = models.heard.findLast(({ text }) => shareOf(SAYS, text) >= MOST)?.pcm ?? new Int16Array();
    wavs({ recognised: [understood, RECOGNISER_RATE] });
    const share = shareRecorded(understood, recorded.customer, rate);
    assert.ok(share >= MOST, `of the sound that was recognised ${share} stands in the recording of the customer`);
    return `${version}; the loudspeaker: "${heard}"; the transcript: "${customer}"`;
  } finally {
    await close();
    await card.stop();
  }
}

/** With models that hear and speak real speech, in a product of its own. */
const withSpeech =
  (program: string, opens: Opens): Scene["run"] =>
  async ({ folder }) => {
    const needed = [program, "flite", "pocketsphinx_batch"];
    if (!needed.every(hasProgram) || !hasSoundCard())
      return `left out: apt-get install ${needed.slice(0, 2).join(" ")} pocketsphinx pocketsphinx-en-us pulseaudio pulseaudio-utils`;
    const recogniser = startRecogniser(SENTENCES, 1);
    const clock = { now: () => performance.now(), wait: (ms: number) => wait(ms) };
    const models = await startSpeechModels({ recogniser, spoken: spokenByPrograms(), clock, phantom: "" });
    const of = (kind: string) => ({
      [`${kind}_BASE_URL`]: models.url,
      [`${kind}_API_KEY`]: "key",
      [`${kind}_MODEL`]: "speech",
    });
    const lane = await startLane(folder, false, { ...of("STT"), ...of("TTS"), VOICE_DETECTION: "silero" });
    try {
      return await spoken(lane, { recogniser, models }, opens);
    } catch (error) {
      const heard = models.heard.map(({ pcm, text }) => `${pcm.length} samples: "${text}"`).join(", ");
      const why = error instanceof Error ? error.message : String(error);
      throw new Error(
        `${why}; the recogniser heard ${heard}; said was ${models.said.map(({ text }) => text).join(" ")}`,
        { cause: error },
      );
    } finally {
      await lane.stop();
      await models.close();
      recogniser.stop();
    }
  };

/** Real speech both ways: nothing is told by tones. Voices and recogniser want the machine for themselves. */
export const REAL_SPEECH: readonly Scene[] = [
  { name: "real speech in Chromium", isShort: false, alone: true, run: withSpeech("chromium", inChromium) },
  { name: "real speech in Firefox", isShort: false, alone: true, run: withSpeech(FIREFOX, inFirefox) },
];
