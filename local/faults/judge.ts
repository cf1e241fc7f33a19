import type { Client } from "../tools/api-client.ts";
import { outcomeDisagreements } from "../harness/outcome-agreement.ts";
import type { LedgerCall } from "../harness/product.ts";
import { isRecord, textOf } from "../../shared/json.ts";

/** What the judge believes: the carrier's ledger and what the API says of a lead; nothing of the service's own database. */
export interface Witnesses {
  calls: readonly LedgerCall[];
  leads: readonly JudgedLead[];
  /** Leads whose report came, its signature right. */
  reported: ReadonlySet<string>;
}

/** A lead as GET /leads/{lead_id} shows it. */
export interface JudgedLead {
  lead_id: string;
  status: string;
  outcome: string | null;
  errors: readonly string[];
  /** metaData.hangup_source.by; null: nobody was dialled. */
  hangup_by: string | null;
}

const time = (iso: string | null, else_: number): number => (iso === null ? else_ : Date.parse(iso));
/** The lead that a call was placed for. */
export const leadOf = ({ reference }: LedgerCall): string => reference?.split(".")[0] ?? "";

/** Reads a lead over the API. */
export async function leadByApi(client: Client, lead_id: string): Promise<JudgedLead> {
  const lead = await client.ask("GET", "/leads/{lead_id}", { path: { lead_id } });
  const errors: unknown = Reflect.get(lead.metaData, "errors");
  const codes = (Array.isArray(errors) ? errors : []).map((error: unknown) =>
    typeof error === "object" && error !== null ? String(Reflect.get(error, "code")) : "",
  );
  const source: unknown = Reflect.get(lead.metaData, "hangup_source");
  const hangup_by = isRecord(source) ? textOf(source["by"]) : null;
  return { lead_id, status: lead.status, outcome: lead.outcome ?? null, errors: codes, hangup_by };
}

/** No person's phone is in two calls at once. */
export function ringsTwice({ calls }: Witnesses): string[] {
  return [...Map.groupBy(calls, ({ to }) => to)].flatMap(([to, of]) => {
    const sorted = of.toSorted((a, b) => Date.parse(a.placed_at) - Date.parse(b.placed_at));
    return sorted
      .slice(1)
      .filter((call, i) => Date.parse(call.placed_at) < time(sorted[i]?.ended_at ?? null, Infinity))
      .map((call) => `a second call (${call.reference}) was placed to ${to.slice(0, 5)}… while the former was live`);
  });
}

/** No conversation that was under way at an instant was cut by us: its lead ends as the callee of the scene wants it. */
export function cut({ calls, leads }: Witnesses, under_way: ReadonlySet<string>, outcome: string): string[] {
  return calls
    .filter(({ sid }) => under_way.has(sid))
    .flatMap((call) => {
      const lead = leads.find(({ lead_id }) => lead_id === leadOf(call));
      return lead?.outcome === outcome
        ? []
        : [
            `the conversation of ${call.reference} ended ${lead?.outcome ?? "nowhere"} (${lead?.errors.join(", ")}), by ${call.ended_by}; the callee says ${outcome}`,
          ];
    });
}

/** Every finished lead's outcome is what the ledger says became of its last call. */
export const disagreements = ({ calls, leads }: Witnesses): string[] =>
  outcomeDisagreements(
    leads.filter(({ status }) => status === "FINISHED"),
    calls,
  );

/** Every lead is finished, and no call is left open at the carrier. */
export const unfinished = ({ calls, leads }: Witnesses): string[] => [
  ...leads.filter(({ status }) => status !== "FINISHED").map(({ lead_id, status }) => `lead ${lead_id} is ${status}`),
  ...calls.filter(({ ended_at }) => ended_at === null).map(({ reference }) => `the call ${reference} is still open`),
];

/** Calls that lived on for longer than this after their attempt's end was due count as forgotten. */
export const openFor = ({ calls }: Witnesses, sids: ReadonlySet<string>, from: number, limitMs: number): string[] =>
  calls
    .filter(({ sid }) => sids.has(sid))
    .filter(({ ended_at }) => time(ended_at, Infinity) - from > limitMs)
    .map(({ reference, ended_at }) => `the call ${reference} ended only at ${ended_at ?? "no time"}`);

/** Every finished lead's report has come. */
export const unreported = ({ leads, reported }: Witnesses): string[] =>
  leads
    .filter(({ lead_id, status }) => status === "FINISHED" && !reported.has(lead_id))
    .map(({ lead_id }) => `the report of lead ${lead_id} never came`);

/** A lead whose abort was answered with success is not called from then on. `at`: ms since the epoch. */
export const abortedRang = ({ calls }: Witnesses, aborted: readonly { lead: string; at: number }[]): string[] =>
  aborted
    .filter(({ lead, at }) => calls.some((call) => leadOf(call) === lead && Date.parse(call.placed_at) > at))
    .map(({ lead }) => `lead ${lead} was called after its abort had been answered with success`);
