import type { ResultOf } from "../../../shared/bus.ts";
import { plusMs } from "../../../shared/clock.ts";
import { callRef, sha256 } from "../../../shared/ids.ts";
import { inSlices } from "../../../shared/in-slices.ts";
import { countryOf } from "../../../shared/phone.ts";
import { admit } from "../admission/admission.ts";
import { partyOf } from "../admission-inputs.ts";
import { dropLead, type Admitted } from "./admit-leads.ts";
import { putAside } from "./admit-queues.ts";
import { LINELESS_MS, type Works } from "../deps.ts";

/** A lead with a line, before its claim. */
export interface Lined {
  admitted: Admitted;
  holder: string;
  line: NonNullable<ResultOf<"numbers.reserveMany">["lines"][number]>;
}

/** How long a line waits for the dialler, who prolongs it for the call: as long as claim and hand-over can take, so that one taken in vain is free again soon. */
const RESERVED_SECONDS = 30;
const NODE_MARK_CHARS = 8;
/** Leads ended side by side. */
const DROPS_AT_ONCE = 20;
/** Parties that ask for their lines side by side. */
const PARTIES_AT_ONCE = 10;

/** One question to the numbers service: leads of one party. */
interface Ask {
  party: ReturnType<typeof partyOf>;
  same_country: boolean;
  of: Admitted[];
}

function asks({ ground }: Works, admitted: readonly Admitted[]): Ask[] {
  const made = new Map<string, Ask>();
  for (const a of admitted) {
    const party = partyOf(a.open.queue, a.plan);
    // a callee without a country of its own has no number in it; its line's country is looked at afterwards
    const same_country = !a.configuration.enable_international_call && countryOf(a.lead.phone_number) !== null;
    const key = JSON.stringify([party, same_country]);
    const known = made.get(key);
    if (known) known.of.push(a);
    else made.set(key, { party, same_country, of: [a] });
  }
  // where parties share numbers, those who want little ask first; among equals chance decides, so that none is always the last
  return [...made.values()]
    .map((ask) => ({ ask, lot: ground.random() }))
    .sort((a, b) => a.ask.of.length - b.ask.of.length || a.lot - b.lot)
    .map((d) => d.ask);
}

/** What becomes of leads without a line: they wait, or end because there can be none in their country. A queue none of whose leads got one rests until a line frees. */
async function withoutLine(w: Works, without: readonly Admitted[], served: ReadonlySet<string>): Promise<void> {
  const until = plusMs(w.ground.clock.now(), LINELESS_MS).getTime();
  for (const a of without)
    if (!served.has(a.open.queue.queue))
      w.agenda.awaitLine(a.open.queue.queue, a.configuration.calling_provider, until);
  await inSlices(
    without.filter((a) => !a.configuration.enable_international_call),
    DROPS_AT_ONCE,
    async (a) => {
      const verdict = admit({ ...a.facts, lines: await w.facts.lines(a.open.facts, a.facts.country) });
      if (verdict.verdict === "drop") await dropLead(w, a, verdict);
    },
  );
}

const isHome = (w: Works, a: Admitted, phone_number: string): boolean =>
  a.configuration.enable_international_call ||
  (countryOf(phone_number) ?? w.ground.env.DEFAULT_COUNTRY ?? null) === a.facts.country;

/** Takes a line for each lead, in few questions. Leads without one are off; a party that got none is not asked again for a moment. */
export async function reserveLines(w: Works, admitted: readonly Admitted[]): Promise<Lined[]> {
  // the node's own mark: a replica that loses the claim must not free the winner's line; releasing the call_ref frees all of them
  const mark = sha256(w.ground.nodeId).slice(0, NODE_MARK_CHARS);
  const holderOf = (a: Admitted): string => `${callRef(a.lead.lead_id, a.lead.claim_no + 1)}~${mark}`;
  const lined = await inSlices(
    asks(w, admitted),
    PARTIES_AT_ONCE,
    async ({ party, same_country, of }): Promise<Lined[]> => {
      try {
        const wants = of.map((a) => ({ to: a.lead.phone_number, holder: holderOf(a) }));
        const { lines } = await w.ground.bus.call("numbers.reserveMany", {
          ...party,
          lease_seconds: RESERVED_SECONDS,
          same_country,
          wants,
        });
        const got: Lined[] = [];
        const abroad: string[] = [];
        const without: Admitted[] = [];
        of.forEach((a, i) => {
          const line = lines[i];
          const holder = holderOf(a);
          if (line && isHome(w, a, line.phone_number)) {
            got.push({ admitted: a, holder, line });
            return;
          }
          if (line) abroad.push(holder);
          without.push(a);
        });
        if (abroad.length > 0) await w.ground.bus.call("numbers.releaseMany", { holders: abroad });
        if (without.length > 0 && !same_country) w.lineless.set(JSON.stringify(party), true);
        await withoutLine(w, without, new Set(got.map((l) => l.admitted.open.queue.queue)));
        return got;
      } catch (error) {
        for (const name of new Set(of.map((a) => a.open.queue.queue))) putAside(w, name, error);
        return [];
      }
    },
  );
  return lined.flat();
}
