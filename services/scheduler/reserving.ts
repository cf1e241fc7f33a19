import type { ResultOf } from "../../shared/bus.ts";
import { plusMs } from "../../shared/clock.ts";
import { callRef, sha256 } from "../../shared/ids.ts";
import { inSlices } from "../../shared/in-slices.ts";
import { countryOf } from "../../shared/phone.ts";
import { admit } from "./admission.ts";
import { partyOf } from "./facts.ts";
import { dropLead, type Admitted } from "./gating.ts";
import { putAside } from "./judging.ts";
import { LINELESS_MS, type Works } from "./works.ts";

/** A lead with a line, before its claim. */
export interface Lined { admitted: Admitted; holder: string; line: NonNullable<ResultOf<"numbers.reserveMany">["lines"][number]> }

/** A line is kept this much longer than ring and call may last. */
const LINE_MARGIN_SECONDS = 300;
const NODE_MARK_CHARS = 8;
/** Parties that ask for their lines side by side. */
const PARTIES_AT_ONCE = 10;

/** One question to the numbers service: leads of one party, with one length of lease. */
interface Ask { party: ReturnType<typeof partyOf>; lease_seconds: number; same_country: boolean; of: Admitted[] }

function asks({ ground }: Works, admitted: readonly Admitted[]): Ask[] {
  const made = new Map<string, Ask>();
  for (const a of admitted) {
    const party = partyOf(a.open.queue, a.plan);
    const lease_seconds = a.plan.max_call_seconds + ground.env.RING_TIMEOUT_SECONDS + LINE_MARGIN_SECONDS;
    // a callee without a country of its own has no number in it; its line's country is looked at afterwards
    const same_country = !a.configuration.enable_international_call && countryOf(a.lead.phone_number) !== null;
    const key = JSON.stringify([party, lease_seconds, same_country]);
    const known = made.get(key);
    if (known) known.of.push(a); else made.set(key, { party, lease_seconds, same_country, of: [a] });
  }
  // where parties share numbers, those who want little ask first; among equals chance decides, so that none is always the last
  return [...made.values()].map((ask) => ({ ask, lot: ground.random() })).sort((a, b) => a.ask.of.length - b.ask.of.length || a.lot - b.lot).map((d) => d.ask);
}

/** What becomes of a lead without a line: it waits, or ends because there can be none in its country. */
async function withoutLine(w: Works, a: Admitted): Promise<void> {
  const now = plusMs(w.ground.clock.now(), LINELESS_MS).getTime();
  w.agenda.learn(a.open.queue.queue, now, a.configuration.calling_provider);
  if (a.configuration.enable_international_call) return;
  const verdict = admit({ ...a.facts, lines: await w.facts.lines(a.open.facts, a.facts.country) });
  if (verdict.verdict === "drop") await dropLead(w, a, verdict);
}

const isHome = (w: Works, a: Admitted, phone_number: string): boolean =>
  a.configuration.enable_international_call || (countryOf(phone_number) ?? w.ground.env.DEFAULT_COUNTRY ?? null) === a.facts.country;

/** Takes a line for each lead, in few questions. Leads without one are off; a party that got none is not asked again for a moment. */
export async function reserveLines(w: Works, admitted: readonly Admitted[]): Promise<Lined[]> {
  // the node's own mark: a replica that loses the claim must not free the winner's line; releasing the call_ref frees all of them
  const mark = sha256(w.ground.nodeId).slice(0, NODE_MARK_CHARS);
  const holderOf = (a: Admitted): string => `${callRef(a.lead.lead_id, a.lead.claim_no + 1)}~${mark}`;
  const lined = await inSlices(asks(w, admitted), PARTIES_AT_ONCE, async ({ party, lease_seconds, same_country, of }): Promise<Lined[]> => {
    try {
      const wants = of.map((a) => ({ to: a.lead.phone_number, holder: holderOf(a) }));
      const { lines } = await w.ground.bus.call("numbers.reserveMany", { ...party, lease_seconds, same_country, wants });
      const got: Lined[] = [];
      const abroad: string[] = [];
      const without: Admitted[] = [];
      of.forEach((a, i) => {
        const line = lines[i];
        const holder = holderOf(a);
        if (line && isHome(w, a, line.phone_number)) { got.push({ admitted: a, holder, line }); return; }
        if (line) abroad.push(holder);
        without.push(a);
      });
      if (abroad.length > 0) await w.ground.bus.call("numbers.releaseMany", { holders: abroad });
      if (without.length > 0 && !same_country) w.lineless.set(JSON.stringify(party), true);
      for (const a of without) await withoutLine(w, a);
      return got;
    } catch (error) {
      for (const name of new Set(of.map((a) => a.open.queue.queue))) putAside(w, name, error);
      return [];
    }
  });
  return lined.flat();
}
