import type { Progress } from "../tools/demo/lead-run.ts";
import { endedLead, gather, holdsFor, unrest, type Evidence } from "./evidence.ts";
import { outcomeDisagreements } from "./outcome-agreement.ts";
import type { LedgerCall, Product } from "./product.ts";
import { crowded } from "./sliding-windows.ts";
import { until } from "./stage.ts";

const QUIET_MS = 90_000;
const POLL_MS = 250;
/** Listed this long before a dial, a number is known to the gate that comes right before the intent. */
const LISTING_SEEN_MS = 1000;
const SECOND_MS = 1000;

const time = (iso: string): number => Date.parse(iso);
const leadOf = (call: LedgerCall): string => call.reference?.split(".")[0] ?? "";
const byTime = (a: LedgerCall, b: LedgerCall): number => time(a.placed_at) - time(b.placed_at);

/** I1: an attempt's name is in the carrier's ledger at most once, every call has one, and rings once. */
function oneRingPerAttempt({ calls, attempts }: Evidence): string[] {
  const known = new Set(attempts.map((a) => a._id));
  const seen = new Set<string>();
  return calls.flatMap((c) => {
    const name = c.reference ?? "";
    const again = seen.has(name);
    seen.add(name);
    return [
      ...(again ? [`I1 the attempt ${name} was dialled twice`] : []),
      ...(known.has(name) ? [] : [`I1 the call ${c.sid} belongs to no attempt: "${name}"`]),
      ...(c.rings > 1 ? [`I1 the call ${c.sid} rang ${c.rings} times`] : []),
    ];
  });
}

/** I2: never two live conversations of one lead. */
function oneConversationAtATime({ calls }: Evidence): string[] {
  return [
    ...Map.groupBy(
      calls.filter((c) => c.answered_at !== null),
      leadOf,
    ),
  ].flatMap(([lead, of]) => {
    const talks = of.toSorted((a, b) => time(a.answered_at ?? "") - time(b.answered_at ?? ""));
    return talks
      .slice(1)
      .filter((talk, i) => time(talk.answered_at ?? "") < time(talks[i]?.ended_at ?? ""))
      .map(() => `I2 lead ${lead} was talked to twice at once`);
  });
}

/** I3: every lead that was taken is FINISHED with an outcome, or rests for a reason that the test knows. */
const allEnded = ({ leads }: Evidence, waiting: ReadonlySet<string>): string[] =>
  leads.flatMap((l) => {
    if (l.status === "FINISHED") return l.outcome ? [] : [`I3 lead ${l._id} is FINISHED without an outcome`];
    return waiting.has(l._id) || (l.status === "BACKLOG" && l.phone_number === null)
      ? []
      : [`I3 lead ${l._id} is ${l.status}`];
  });

/** I4: every finished lead with an address was reported or given up openly; one webhook-id, the same bytes each time. */
function reported({ leads, delivered, deliveries, refused }: Evidence): string[] {
  const came = Map.groupBy(delivered, (d) => d.lead_id);
  const over = new Map(deliveries.map((d) => [d.lead_id, d.state]));
  return [
    ...refused.map((why) => `I4 a report was refused by its receiver: ${why}`),
    ...leads
      .filter((l) => l.status === "FINISHED" && typeof l.payload["reporting_webhook_url"] === "string")
      .flatMap((l) => {
        const of = came.get(l._id) ?? [];
        if (of.length === 0 && !["delivered", "exhausted", "refused"].includes(over.get(l._id) ?? ""))
          return [`I4 lead ${l._id} was never reported`];
        if (new Set(of.map((d) => d.webhook_id)).size > 1)
          return [`I4 lead ${l._id} was reported under two webhook-ids`];
        return new Set(of.map((d) => d.body)).size > 1 ? [`I4 the reports of lead ${l._id} differ`] : [];
      }),
  ];
}

const timeOfDay = (at: Date, timeZone: string): string =>
  new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).format(at);

/** Inside [start, end), over midnight where start is later; equal: all day. */
const inside = (at: string, start: string, end: string): boolean =>
  start === end || (start < end ? at >= start && at < end : at >= start || at < end);

/** I5: no dial outside the window of the configuration, where that was not edited since. */
function inWindow({ calls, leads, configurations }: Evidence): string[] {
  const templateOf = new Map(leads.map((l) => [l._id, l.template_id]));
  const configurationOf = new Map(configurations.map((c) => [c.template_id, c]));
  return calls.flatMap((call) => {
    const configuration = configurationOf.get(templateOf.get(leadOf(call)) ?? "");
    const at = new Date(call.placed_at);
    if (!configuration || configuration.updated_at > at) return [];
    const { call_start_time: start, call_end_time: end, timezone } = configuration.settings;
    return inside(timeOfDay(at, timezone ?? "UTC"), start, end)
      ? []
      : [`I5 ${call.reference} was dialled at ${call.placed_at}, outside ${start}-${end}`];
  });
}

/** I6: no sliding window holds more dials than it may: of a configuration, and of the carrier account (0: no limit). */
function atMostN({ calls, leads, configurations }: Evidence, callsPerSecond: number): string[] {
  const templateOf = new Map(leads.map((l) => [l._id, l.template_id]));
  const own = Map.groupBy(calls, (c) => templateOf.get(leadOf(c)) ?? "");
  return [
    ...(callsPerSecond === 0 ? [] : crowded("the carrier account", calls, callsPerSecond, SECOND_MS)),
    ...configurations.flatMap(({ template_id, settings, updated_at }) => {
      if (settings.rate_limit_enabled !== true || settings.rate_limit_max_calls === undefined) return [];
      const counted = (own.get(template_id) ?? []).filter(
        (c) => !settings.rate_limit_whitelist?.includes(c.to) && new Date(c.placed_at) > updated_at,
      );
      return crowded(
        `the template ${template_id}`,
        counted,
        settings.rate_limit_max_calls,
        (settings.rate_limit_window_seconds ?? 3600) * SECOND_MS,
      );
    }),
  ];
}

/** I7: never more live calls from one number than it has lines. That all are free at the end is waited for. */
function slotsHold({ calls, numbers }: Evidence): string[] {
  const most = new Map(numbers.map((n) => [n.phone_number, n.max_concurrent_calls]));
  return [...Map.groupBy(calls, (c) => c.from)].flatMap(([from, of]) => {
    const cap = most.get(from) ?? Infinity;
    const over = of.find(
      (call) =>
        of.filter(
          (o) =>
            time(o.placed_at) <= time(call.placed_at) &&
            time(o.ended_at ?? "9999-12-31T00:00:00Z") > time(call.placed_at),
        ).length > cap,
    );
    return over ? [`I7 more than ${cap} calls from ${from} at ${over.placed_at}`] : [];
  });
}

/** I8: after an abort that succeeded nothing is dialled for that lead. */
const abortedStayQuiet = ({ calls, leads }: Evidence): string[] =>
  leads
    .filter((l) => l.outcome === "ABORTED")
    .flatMap((l) => {
      const at = new Date((l.meta["cancellation"] as { at: Date }).at);
      return calls
        .filter((c) => leadOf(c) === l._id && new Date(c.placed_at) > at)
        .map((c) => `I8 lead ${l._id} was aborted at ${at.toISOString()} and dialled at ${c.placed_at}`);
    });

/** I9: attempt_count is the intents less the provably unsent ones, at least the calls seen, at most max_retry + 1. */
function attemptsAdd({ calls, leads, attempts, configurations }: Evidence): string[] {
  const placed = Map.groupBy(calls, leadOf);
  const intents = Map.groupBy(
    attempts.filter((a) => a.state !== "VOID" && a.ended !== "not_dialled"),
    (a) => a.lead_id,
  );
  const retries = new Map(configurations.map((c) => [c.template_id, c.settings.max_retry]));
  return leads.flatMap((l) => {
    const [rang, meant, most] = [
      placed.get(l._id)?.length ?? 0,
      intents.get(l._id)?.length ?? 0,
      (retries.get(l.template_id) ?? 0) + 1,
    ];
    const fine = l.attempt_count === meant && rang <= meant && meant <= most && l.attempt_count >= 0;
    return fine
      ? []
      : [
          `I9 lead ${l._id} (${l.status} ${l.outcome}): attempt_count ${l.attempt_count}, ${meant} intents, ${rang} calls, at most ${most}`,
        ];
  });
}

/** I10: no dial to a number that was on the blacklist. */
function listedStayQuiet({ calls, listed, leads }: Evidence): string[] {
  const leadsById = new Map(leads.map((l) => [l._id, l]));
  return calls
    .filter((c) =>
      listed.some(
        (e) =>
          e.phone_number === c.to &&
          holdsFor(e, leadsById.get(leadOf(c))) &&
          e.created_at.getTime() + LISTING_SEEN_MS < time(c.placed_at),
      ),
    )
    .map((c) => `I10 ${c.reference} was dialled although its number was listed`);
}

/** I16: outcomes agree with the carrier's ledger. */
const outcomesAgree = ({ calls, leads }: Evidence): string[] =>
  outcomeDisagreements(leads.filter(({ status }) => status === "FINISHED").map(endedLead), calls).map(
    (why) => `I16 ${why}`,
  );

/** What a test knows of its run. */
export interface Known {
  /** Leads that may wait at the end. */
  waiting?: ReadonlySet<string>;
  /** The carrier account's limit in this run. */
  callsPerSecond?: number;
  /** How long it may take until all is quiet. */
  quietMs?: number;
}

const CALLS_PER_SECOND = 50;

/** Every broken invariant (docs/reliability.md, I1 to I10 and I16), as a sentence. Pure. */
export function brokenInvariants(evidence: Evidence, known: Known = {}): string[] {
  return [
    ...oneRingPerAttempt(evidence),
    ...oneConversationAtATime(evidence),
    ...allEnded(evidence, known.waiting ?? new Set()),
    ...reported(evidence),
    ...inWindow(evidence),
    ...atMostN(evidence, known.callsPerSecond ?? CALLS_PER_SECOND),
    ...slotsHold(evidence),
    ...abortedStayQuiet(evidence),
    ...attemptsAdd(evidence),
    ...listedStayQuiet(evidence),
    ...outcomesAgree(evidence),
  ];
}

/** Waits until nothing moves any more, and nothing will. */
export async function quiet(
  product: Product,
  { waiting = new Set(), quietMs = QUIET_MS }: Known = {},
): Promise<Evidence> {
  let moving: string[] = [];
  return until(
    "all to be quiet",
    async () => {
      const evidence = await gather(product);
      evidence.calls.sort(byTime);
      moving = unrest(evidence, waiting, new Date());
      return moving.length === 0 ? evidence : undefined;
    },
    quietMs,
    POLL_MS,
  ).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${moving.slice(0, 20).join("; ")}`);
  });
}

/** Where a lead and its calls stand, in one line. */
function stateOf(id: string, { leads, attempts, calls }: Evidence): string {
  const lead = leads.find(({ _id }) => _id === id);
  const of = attempts
    .filter(({ lead_id }) => lead_id === id)
    .map((a) => `${a._id.slice(-2)} ${a.state} ${a.ended ?? ""}`);
  const seen = calls.filter((c) => leadOf(c) === id).map((c) => `${c.status} ${c.ended_at ?? "open"}`);
  return `${id} ${lead?.status} ${lead?.held?.why ?? ""} due ${lead?.due_at?.toISOString()} lease ${lead?.lease_until?.toISOString()}; calls ${of.join(", ")}; carrier ${seen.join(", ")}`;
}

/** Waits until these leads are FINISHED and their reports have come, whatever else is under way. */
export async function ended(product: Product, ids: readonly string[], deadlineMs = QUIET_MS): Promise<Evidence> {
  let missing: string[] = [];
  return until(
    "leads to end",
    async () => {
      const evidence = await gather(product);
      const over = new Set(evidence.leads.filter((l) => l.status === "FINISHED").map((l) => l._id));
      const told = new Set(evidence.delivered.map((d) => d.lead_id));
      missing = ids.filter((id) => !over.has(id) || !told.has(id)).map((id) => stateOf(id, evidence));
      return missing.length === 0 ? evidence : undefined;
    },
    deadlineMs,
    POLL_MS,
  ).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${missing.slice(0, 20).join(", ")}`);
  });
}

/** Everything that must hold once all is quiet, judged from the carrier's ledger, the receiver of reports and the database. */
export async function invariants(
  product: Product,
  all: readonly Progress[] = [],
  known: Known = {},
): Promise<Evidence> {
  const evidence = await quiet(product, known);
  expect(brokenInvariants(evidence, known)).toEqual([]);
  const finished = all.filter((p) => p.state === "FINISHED");
  expect(finished.filter((p) => !product.sink.reports.has(p.lead_id ?? ""))).toEqual([]);
  return evidence;
}
