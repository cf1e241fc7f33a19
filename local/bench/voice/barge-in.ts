import type { FlowNode } from "../../../shared/contracts/flow/flow-node.ts";
import { frameTicker } from "./frame-clock.ts";
import { cough, words } from "./sounds.ts";
import { callsOf, endlessTemplate, spread, startSimulatedModels, stopModels, type Call } from "./answered-calls.ts";
import { startConversationProcess, type ConversationProcess } from "./conversation-process.ts";

const FRAME_MS = 20;
/** Said at once and without the model, long enough to be talked over. Every word of it is another one. */
const LONG =
  "Your parcel with seven books left Rotterdam on Monday evening, passed customs yesterday around noon, and should reach the depot near the old harbour before Friday.";
const INTERRUPTION = "Sorry, what was that?";
const COUGH_MS = 350;
/** How long the agent has spoken at the barge-in; the calls differ. */
const HEARD_MS = 1500;
const HEARD_SPREAD_MS = 2000;
const TO_RESUME_MS = 4000;
const QUIET_MS = 1500;

const nodes: FlowNode[] = [{ name: "tell", say: LONG, functions: [] }];

/** How far the transcript of the agent's words is from what the carrier played. Pure. */
export function wordsApart(kept: string, heard: string): number {
  const count = (text: string): number => text.split(/\s+/u).filter((word) => word !== "").length;
  return count(kept) - count(heard);
}

/** Words of a text that were not heard in their order; one that was cut in the middle of a letter by a pause is such a word. Pure. */
export function missing(text: string, heard: string): number {
  const said = text.split(/\s+/u);
  let [at, found] = [0, 0];
  for (const word of heard.split(/\s+/u)) {
    const next = said.indexOf(word, at);
    if (next < 0) continue;
    found++;
    at = next + 1;
  }
  return said.length - found;
}

/** Barge-ins: onset of speech to clear, ms, and how far the transcript is from what was played, words. */
export interface BargeIns {
  clear_ms: number[];
  apart: number[];
}

/** Coughs: from its end until the agent is heard again, ms; how often the agent said all it had to say, and did not fall silent at all. */
export interface Coughs {
  resumed_ms: number[];
  complete: number;
  unmoved: number;
  of: number;
}

async function bargeIn(
  conversation: ConversationProcess,
  { caller, lead_id }: Call,
  n: number,
  into: BargeIns,
): Promise<void> {
  await caller.hearsFor(HEARD_MS + spread(n) * HEARD_SPREAD_MS);
  const cleared = caller.cleared();
  const { onset } = await caller.say(words(INTERRUPTION, spread(n) * FRAME_MS));
  into.clear_ms.push((await cleared) - onset);
  const heard = caller.heard();
  await caller.hangUp();
  const { transcript } = await conversation.settled(lead_id);
  const kept = transcript.find(({ role }) => role === "assistant")?.content ?? "";
  into.apart.push(wordsApart(kept, heard));
}

async function coughed({ caller }: Call, n: number, into: Coughs): Promise<void> {
  await caller.hearsFor(HEARD_MS + spread(n) * HEARD_SPREAD_MS);
  const clear = caller.cleared();
  const { end } = await caller.say(cough(COUGH_MS, spread(n) * FRAME_MS));
  const cleared = await Promise.race([
    clear,
    new Promise<null>((resolve) => {
      setTimeout(() => resolve(null), COUGH_MS);
    }),
  ]);
  if (cleared !== null) {
    const back = await Promise.race([
      caller.firstFrame(end),
      new Promise<null>((resolve) => {
        setTimeout(() => resolve(null), TO_RESUME_MS);
      }),
    ]);
    if (back !== null) into.resumed_ms.push(back - end);
  } else into.unmoved++;
  await caller.silentFor(QUIET_MS);
  if (missing(LONG, caller.heard()) <= 1) into.complete++;
  await caller.hangUp();
}

/** Callers who barge in, and callers who cough, so many each. */
export async function measureInterruptions(count: number): Promise<{ bargeIns: BargeIns; coughs: Coughs }> {
  const models = await startSimulatedModels({ stt_ms: 100, first_token_ms: 250, first_audio_ms: 120 });
  const talker = await startConversationProcess({ models: models.url });
  const ticker = frameTicker();
  const template = endlessTemplate(nodes);
  const bargeIns: BargeIns = { clear_ms: [], apart: [] };
  const coughs: Coughs = { resumed_ms: [], complete: 0, unmoved: 0, of: count };
  try {
    await talker.template(template);
    const over = await callsOf(talker, template, ticker, count, { listens: true });
    await Promise.all(over.map((call, n) => bargeIn(talker, call, n, bargeIns)));
    const coughing = await callsOf(talker, template, ticker, count, { listens: true });
    await Promise.all(coughing.map((call, n) => coughed(call, n, coughs)));
    return { bargeIns, coughs };
  } finally {
    await talker.stop();
    await stopModels(models);
  }
}
