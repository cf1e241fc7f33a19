import { isRecord, textOf } from "../../shared/json.ts";
import type { LedgerEntry } from "../harness/product.ts";
import { after, until } from "../harness/stage.ts";
import { cut, disagreements, leadOf, ringsTwice, unfinished, unreported, type Witnesses } from "./judge.ts";
import type { Scenario } from "./scenario.ts";
import type { Scene } from "./scene.ts";

const SECOND_MS = 1000;
const PROBE_MS = 200;
/** Who is on the phone while store and bus are away: people who keep the agent busy for longer than that, and people who confirm meanwhile. */
const STAY = 3;
const LEAVE = 2;
/** Ends of numbers that no simulated person has of their own. */
const STAYS = "41";
const LEAVES = "01";
/** One round of question and answer over audio takes ten seconds or so; a conversation of the sample lasts two minutes at most. */
const ROUND_SECONDS = 7;
/** In every stretch of this length somebody speaks on each call. */
const SPEAKS_EVERY_MS = 25_000;
/** An attempt is settled and reported so soon after its call's end, or after the return of what was away. */
const SETTLED_WITHIN_MS = 30_000;
/** So much of what the carrier's ledger heard people say is in the transcripts; sound on a busy machine has holes. */
const SHARE_KEPT = 0.8;

/** Asks to hear it again for as long as the fault lasts and longer, then confirms. */
const script = (seconds: number): Record<string, unknown>[] => [
  ...Array.from({ length: Math.ceil(seconds / ROUND_SECONDS) }, () => ({
    wait_for: "question",
    say: "Sorry, could you repeat that?",
  })),
  { wait_for: "question", say: "Yes, I confirm." },
];

const wordsOf = (text: string): number => text.match(/[a-z]+/gi)?.length ?? 0;
const timeOf = ({ at }: LedgerEntry): number => Date.parse(at);

/** Stretches of the fault in which nothing was spoken on a call that lasted longer. */
function silences(entries: readonly LedgerEntry[], sids: ReadonlySet<string>, from: number, to: number): string[] {
  return [...sids].flatMap((sid) => {
    const of = entries.filter(({ call_sid }) => call_sid === sid);
    const spoken = of.filter(({ kind }) => kind === "heard" || kind === "said").map(timeOf);
    const over = of.find(({ kind }) => kind === "hangup");
    const until = Math.min(to, over === undefined ? to : timeOf(over));
    const marks = [from, ...spoken.filter((at) => at > from && at < until), until];
    const longest = Math.max(...marks.slice(1).map((at, i) => at - (marks[i] ?? at)));
    return longest > SPEAKS_EVERY_MS
      ? [`on the call ${sid} nobody spoke for ${Math.round(longest / SECOND_MS)} s`]
      : [];
  });
}

/** Words of one side in a transcript as the API shows it. */
function saidIn(transcription: unknown, role: string): string {
  const lines: unknown[] = Array.isArray(transcription) ? transcription : [];
  return lines
    .map((line) => (isRecord(line) && line["role"] === role ? (textOf(line["content"]) ?? "") : ""))
    .join(" ");
}

/** Transcripts that lack what the ledger heard, and attempts that were settled late. `back`: when what was away returned. */
async function records(
  { pusher, product }: Scene,
  { calls }: Witnesses,
  sids: ReadonlySet<string>,
  back: number,
): Promise<string[]> {
  const entries = await product.ledger();
  const found: string[] = [];
  for (const call of calls.filter(({ sid }) => sids.has(sid))) {
    const lead = await pusher.client.ask("GET", "/leads/{lead_id}", { path: { lead_id: leadOf(call) } });
    const said = entries.filter(({ kind, call_sid }) => kind === "said" && call_sid === call.sid);
    const heard = said.reduce((sum, { text }) => sum + wordsOf(String(text)), 0);
    const kept = wordsOf(saidIn(lead.metaData["transcription"], "user"));
    if (kept < heard * SHARE_KEPT)
      found.push(`the transcript of ${call.reference} has ${kept} words of the callee, the ledger heard ${heard}`);
    const due = Math.max(back, Date.parse(call.ended_at ?? ""));
    const reported = product.sink.delivered.find(({ lead_id }) => lead_id === lead.id);
    if (reported !== undefined && reported.at - due > SETTLED_WITHIN_MS)
      found.push(`${call.reference} was settled and reported only ${reported.at - due} ms after it could be`);
  }
  return found;
}

/** Waits until the API reads leads again. */
async function answers({ pusher }: Scene): Promise<void> {
  const read = () => pusher.client.ask("GET", "/leads", { query: { limit: 1 } });
  await until("the API to answer", () => read().then(Boolean, () => undefined), SETTLED_WITHIN_MS, PROBE_MS);
}

/** Conversations over audio while neither database nor bus can be reached: they go on, end as the callees want it, and are written down afterwards. */
export const MEDIA_SCENARIO: Scenario = {
  alarm: "CallagentProcessNotReady",
  about: "database and bus are away in the middle of conversations over audio, some of which end meanwhile (F3)",
  seconds: 45,
  long: true,
  scene: () => ({ timeScale: 10, leaseSeconds: 5, provider: "PROVIDER_ONE", engine: "cascade" }),
  async play(scene, seconds) {
    const { product, store } = scene;
    await product.scriptPerson(STAYS, script(seconds));
    await scene.push(STAYS, STAY);
    await scene.talking(STAY);
    await scene.push(LEAVES, LEAVE);
    const underWay = await scene.talking(STAY + LEAVE);
    const from = Date.now();
    await Promise.all([scene.bus(false), store.refuse(true)]);
    await after(seconds * SECOND_MS);
    const gone = await product.ledgerCalls();
    const to = Date.now();
    await Promise.all([scene.bus(true), store.refuse(false)]);
    await answers(scene);
    const seen = await scene.witnesses();
    const ended = gone.filter(({ sid, ended_at }) => underWay.has(sid) && ended_at !== null).length;
    const wrong = cut(seen, underWay, "confirmed");
    scene.say(
      `${underWay.size} conversations over audio while database and bus were away for ${seconds} s: ${ended} ended meanwhile, ${wrong.length} were cut`,
    );
    return [
      ...(ended === underWay.size ? ["no conversation lasted longer than the fault"] : []),
      ...wrong,
      ...silences(await product.ledger(), underWay, from, to),
      ...(await records(scene, seen, underWay, to)),
      ...ringsTwice(seen),
      ...unfinished(seen),
      ...unreported(seen),
      ...disagreements(seen),
    ];
  },
};
