import assert from "node:assert/strict";
import { hasProgram } from "../../../local/harness/program.ts";
import { until } from "../../../local/harness/stage.ts";
import { startFirefox } from "../../../local/real/browser/firefox.ts";
import { BROWSER_RATE, PLAIN_MICROPHONE } from "../../../local/real/browser/page.ts";
import { hasSoundCard, startSoundCard } from "../../../local/real/browser/sound-card.ts";
import { decodeSpeech, encodeSpeech } from "../../../local/speech/modem.ts";
import { agentOf, customerOf, hasSaid, isHeardIn, transcriptOf } from "../../fixtures/product/audio-transcripts.ts";
import { sayUntil, shows, WAIT_MS, type Lane } from "./lane.ts";
import type { Scene } from "./scene.ts";

const FIREFOX = "firefox-esr";
const SAYS = "Yes, please.";
const QUESTION = "Do you confirm the order?";
const PATIENT = { max_call_seconds: 90, idle_seconds: 20, max_age_seconds: 86_400 };
const POLL_MS = 200;
const LAST_WORDS_MS = 3000;
/** The sentence is said again where nothing came of it for so long, ms. */
const AGAIN_MS = 12_000;

/** A scene for machines that have Firefox, and what its sound needs. */
const needing = (run: Scene["run"]): Scene["run"] =>
  hasProgram(FIREFOX) && hasSoundCard()
    ? run
    : () => Promise.resolve("left out: apt-get install firefox-esr pulseaudio pulseaudio-utils");

/** A whole conversation. Its words are those that the machine's loudspeaker sounded, and that were spoken into its microphone. */
async function held(lane: Lane): Promise<string> {
  const lead_id = await lane.pushed("RTC", { limits: PATIENT });
  const card = await startSoundCard();
  const how = { card: card.env, scripts: [PLAIN_MICROPHONE] };
  const firefox = await startFirefox(FIREFOX, await lane.link(lead_id), how);
  try {
    const { page, version } = firefox;
    await page.click("#start");
    await shows(page, "#status", "You can talk now.");
    await page.until(lane.transport, `document.body.dataset.transport === "${lane.transport}"`, WAIT_MS);
    await shows(page, "#words", QUESTION);
    const ended = lane.finished(lead_id);
    await sayUntil(card, encodeSpeech(SAYS, BROWSER_RATE), ended, AGAIN_MS);
    const lead = await ended;
    assert.deepEqual([lead.outcome, lead.metaData["node_traversal"]], ["confirmed", ["ask", "done"]]);
    await shows(page, "#status", "The conversation is over.");
    const sounded = (): string => decodeSpeech(card.heard(), BROWSER_RATE);
    // the last words are on their way still
    const whole = async (): Promise<true | undefined> => lane.agrees(agentOf(lead), sounded()) || undefined;
    await until("the last words", whole, LAST_WORDS_MS, POLL_MS).catch(() => undefined);
    const [heard, words] = [sounded(), await page.text("#words")];
    assert.ok(hasSaid(customerOf(lead), SAYS), `transcript: ${customerOf(lead)}`);
    for (const { role, content } of transcriptOf(lead))
      assert.ok(words.includes(`${role === "user" ? "You" : "Assistant"}${content}`), `page: ${words}`);
    assert.ok(lane.agrees(agentOf(lead), heard), `the loudspeaker: ${heard}; transcript: ${agentOf(lead)}`);
    const recorded = await lane.stage.recording(lead.call_id ?? "");
    assert.ok(hasSaid(recorded.customer, SAYS), `recorded of the customer: ${recorded.customer}`);
    assert.ok(
      lane.agrees(recorded.agent, heard),
      `recorded of the agent: ${recorded.agent}; the loudspeaker: ${heard}`,
    );
    return `${version}; the loudspeaker sounded "${heard.slice(0, 45)}…"`;
  } finally {
    await firefox.close();
    await card.stop();
  }
}

/** A machine without a loudspeaker: the person is told, connects one, and the button works. */
async function withoutLoudspeaker(lane: Lane): Promise<string> {
  const lead_id = await lane.pushed("RTC", { limits: PATIENT });
  const card = await startSoundCard(["microphone"]);
  const firefox = await startFirefox(FIREFOX, await lane.link(lead_id), { card: card.env });
  try {
    const { page } = firefox;
    await page.click("#start");
    await shows(page, "#status", "No loudspeaker");
    const told = await page.text("#status");
    await card.plug("loudspeaker");
    await page.click("#start");
    await shows(page, "#words", QUESTION);
    const words = async (): Promise<true | undefined> =>
      isHeardIn(decodeSpeech(card.heard(), BROWSER_RATE), QUESTION) || undefined;
    await until("the question to be heard", words, WAIT_MS, POLL_MS);
    await page.click("#end");
    await shows(page, "#status", "You have ended the conversation.");
    assert.equal((await lane.finished(lead_id)).metaData["call_ended_by"], "customer");
    return `told "${told}", and it did`;
  } finally {
    await firefox.close();
    await card.stop();
  }
}

/** The page in another browser, on a sound card that is heard and spoken to from outside. */
export const FIREFOX_SCENES: readonly Scene[] = [
  { name: "Firefox: a whole conversation", isShort: false, alone: true, run: needing(held) },
  { name: "Firefox without a loudspeaker", isShort: false, alone: true, run: needing(withoutLoudspeaker) },
];
