import type { Plan } from "../../../shared/contracts/config.ts";
import type { ConfigurationRecord } from "../../../shared/contracts/records/configuration.ts";
import { CALLEE_BUSY, FORMER_CALL_OPEN, type GateName } from "../../../shared/contracts/records/explanation.ts";
import { DIALLED_MODES, RESTORED, type WaitingLead } from "../../../shared/contracts/records/lead.ts";
import type { ResultOf } from "../../../shared/bus/bus.ts";
import { zonesOf } from "../../../shared/numbering/callee-zones.ts";
import { destinationIssue, type Allowed } from "../../../shared/numbering/destination.ts";
import { isShortNumber } from "../../../shared/numbering/short-number.ts";
import { MS_PER_SECOND, plusMs, plusSeconds } from "../../../shared/time/clock.ts";
import { drop, hold, notJudged, pass, type Ruling } from "./gate-verdict.ts";
import { calleeCapRuling, otherCallRuling, type CalleeCapInputs } from "./other-calls.ts";
import { spendRuling, type SpendInputs } from "./spend-gate.ts";
import { windowRuling } from "./window-gate.ts";
import { permitsAt, type RateLimit, type WindowLog } from "../limits/rules/sliding-window.ts";
import { hasPhone } from "../../../shared/numbering/spellings.ts";

/** What the gates judge of a lead. `masked`: its number as it may be shown. */
export type GateLead = Pick<WaitingLead, "status" | "due_at" | "created_at" | "execution_mode" | "phone_number"> &
  Partial<Pick<WaitingLead, "outcome" | "held" | "aged_from" | "faults" | "join_by">> & { masked: string | null };

/** Usable numbers of a party and their free slots; `home`: only those of the callee's country, where international calls are off. */
export interface SlotAvailability {
  numbers: number;
  free_lines: number;
  home: { numbers: number; free_lines: number } | null;
}

/** A limit and the log of its permits; null: no limit, or no permit yet. `ahead_ms`: permits that become free within this long count as free; absent: PERMIT_AHEAD_MS. */
export interface LimitState {
  limit: RateLimit | null;
  log: WindowLog | null;
  ahead_ms?: number;
}

/** A pause of calling by a person; null: none. */
export type Pause = ResultOf<"merchants.pauses">["deployment"];

/** All that the gates judge. An input that is null was not read, and its gate is not judged; `lead` null: a whole queue is judged. */
export interface GateInputs extends CalleeCapInputs, SpendInputs {
  at: Date;
  lead: GateLead | null;
  /** null: the template no longer exists. */
  plan: Plan | null;
  pauses: { deployment: Pause; merchant: Pause };
  blacklisted: boolean | null;
  /** Zones where the callee may be; absent: by the lead's number. */
  callee_zones?: readonly string[];
  /** ISO country of the callee; null: it belongs to none. */
  country: string | null;
  slots: SlotAvailability | null;
  /** Which numbers the deployment calls; absent: no special ones. */
  destinations?: Allowed;
  rate: LimitState | null;
  carrier: LimitState | null;
}

/** Permits that become free within this long (ms) count as free: the dialer sends its request at the permit's instant. */
export const PERMIT_AHEAD_MS = 100;

const ofLead = (f: GateInputs, rule: (lead: GateLead) => Ruling): Ruling =>
  f.lead ? rule(f.lead) : notJudged("This gate is about single leads.");
const configured = (f: GateInputs, rule: (configuration: ConfigurationRecord) => Ruling): Ruling => {
  const configuration = f.plan?.configuration;
  return configuration ? rule(configuration) : notJudged("The template has no configuration to judge this by.");
};

function pausedBy(pause: Pause, whose: string): Ruling {
  if (!pause) return pass(`Calling is not paused for ${whose}.`);
  return hold(
    `Calling is paused for ${whose} since ${pause.at}${pause.reason === null ? "" : ` (${pause.reason})`}; it goes on when somebody resumes it.`,
    null,
    { ...pause },
  );
}

function limitRuling({ log, limit, ahead_ms = PERMIT_AHEAD_MS }: LimitState, at: Date, what: string): Ruling {
  const { free, next } = permitsAt(log, limit, plusMs(at, ahead_ms));
  const values = limit ? { max_calls: limit.max, window_seconds: limit.window_ms / MS_PER_SECOND, free } : {};
  if (next === null)
    return pass(
      limit
        ? `${what} has room for ${free} more of ${limit.max} in ${limit.window_ms / MS_PER_SECOND} s.`
        : `${what} has no limit.`,
      values,
    );
  const until = plusMs(next, -ahead_ms);
  const { closed_until, closed_why } = log ?? { closed_until: null, closed_why: null };
  if (closed_until !== null && closed_until > at)
    return hold(
      `${what} takes no calls until ${closed_until.toISOString()}: ${closed_why ?? "it asked for a pause"}.`,
      until,
      { ...values, closed_until: closed_until.toISOString() },
    );
  return hold(`${what} is used up; the next place frees at ${next.toISOString()}.`, until, values);
}

function internationalRuling(f: GateInputs, c: ConfigurationRecord): Ruling {
  if (c.enable_international_call) return pass("International calls are allowed.");
  if (f.country === null)
    return drop("INTERNATIONAL_BLOCKED", "International calls are off, and the number to call belongs to no country.");
  const values = { country: f.country };
  if (!f.slots?.home) return notJudged("Whether there is a number in the callee's country was not asked.");
  if (f.slots.numbers > 0 && f.slots.home.numbers === 0)
    return drop(
      "INTERNATIONAL_BLOCKED",
      `International calls are off, and none of the usable numbers is in the callee's country ${f.country}.`,
      values,
    );
  return pass(
    `International calls are off; ${f.slots.home.numbers} of the usable numbers are in the callee's country ${f.country}.`,
    { ...values, numbers: f.slots.home.numbers },
  );
}

function slotRuling(f: GateInputs, c: ConfigurationRecord): Ruling {
  if (!f.slots) return notJudged("Whether a line is free shows when one is taken.");
  const { numbers, free_lines } = f.slots.home ?? f.slots;
  const values = { provider: c.calling_provider, numbers, free_lines };
  if (numbers === 0)
    return hold(
      `There is no usable number of ${c.calling_provider} with the channel voice for this merchant; add one.`,
      null,
      values,
    );
  if (free_lines === 0)
    return hold(
      `All lines of the ${numbers} usable number(s) of ${c.calling_provider} are taken; the next one that frees is used.`,
      null,
      values,
    );
  return pass(`${free_lines} line(s) of ${numbers} usable number(s) of ${c.calling_provider} are free.`, values);
}

function rateRuling(f: GateInputs, c: ConfigurationRecord): Ruling {
  if (!c.rate_limit_enabled || c.rate_limit_max_calls === null) return pass("The configuration has no rate limit.");
  const to = f.lead?.phone_number ?? null;
  if (to !== null && hasPhone(c.rate_limit_whitelist, to))
    return pass("The number is on the rate limit's whitelist: it neither waits nor counts.", { whitelisted: true });
  return f.rate
    ? limitRuling(f.rate, f.at, "The configuration's rate limit")
    : notJudged("The rate limit was not asked.");
}

function statusRuling(lead: GateLead): Ruling {
  if (lead.status === "PROCESSING") return hold("The lead is being called right now.", null, { status: lead.status });
  if (lead.status === "FINISHED")
    return drop(
      "failed",
      `The lead is finished${lead.outcome ? ` (${lead.outcome})` : ""} and will not be called any more.`,
      { status: lead.status, outcome: lead.outcome ?? null },
    );
  return pass(`The lead waits in ${lead.status}.`, { status: lead.status });
}

function phoneRuling(lead: GateLead, allowed: Allowed = { special: [] }): Ruling {
  const values = { phone_number: lead.masked, execution_mode: lead.execution_mode };
  if (!DIALLED_MODES.includes(lead.execution_mode))
    return hold(
      `A lead of mode ${lead.execution_mode} is not dialled; it waits until a client joins it.`,
      null,
      values,
    );
  if (lead.phone_number === null)
    return hold(
      "The payload has no customer_mobile_number, or misspells its name, so there is nobody to call. The lead stays in BACKLOG and does not expire: abort it, and push one with the number.",
      null,
      values,
    );
  if (isShortNumber(lead.phone_number))
    return drop(
      "NUMBER_UNAVAILABLE",
      "the number is one of an emergency or short service, which is never called",
      values,
    );
  const issue = destinationIssue(lead.phone_number, allowed);
  if (issue !== null) return drop("NUMBER_UNAVAILABLE", `the number ${issue}`, values);
  return pass(`The number to call is ${lead.masked ?? "known"}.`, values);
}

function joinByRuling(join_by: string, at: Date): Ruling {
  const values = { expires_at: join_by };
  return at >= new Date(join_by)
    ? drop("EXPIRED", "no client joined in time", values)
    : pass(`A client may join until the lead expires at ${join_by}.`, values);
}

function expiryRuling(lead: GateLead, plan: Plan, at: Date): Ruling {
  const parked_at = lead.faults?.parked_at;
  if (parked_at !== undefined)
    return pass(`The lead does not age while it is parked, which it is since ${parked_at}.`, {
      max_age_seconds: plan.max_age_seconds,
      parked_at,
    });
  if (lead.join_by !== undefined) return joinByRuling(lead.join_by, at);
  if (lead.phone_number === null && DIALLED_MODES.includes(lead.execution_mode))
    return pass("A lead without a number to call does not expire.", { max_age_seconds: plan.max_age_seconds });
  const expires = plusSeconds(new Date(lead.aged_from ?? lead.created_at), plan.max_age_seconds);
  const values = { max_age_seconds: plan.max_age_seconds, expires_at: expires.toISOString() };
  if (at >= expires) return drop("EXPIRED", `not dialled within ${plan.max_age_seconds} seconds`, values);
  return pass(`The lead may be called until it expires at ${expires.toISOString()}.`, values);
}

function parkedRuling({ faults, due_at }: GateLead, at: Date): Ruling {
  if (faults?.parked_at === undefined)
    return faults === undefined
      ? pass("The lead is not parked.")
      : pass(
          `The lead is not parked; its last attempts stopped at a technical fault before dialling (${faults.code}).`,
          {
            ...faults,
          },
        );
  if (faults.code === RESTORED)
    return hold(
      `The lead is parked since ${faults.parked_at}: the database was restored from a copy, and the lead may have been called since that copy was made. It waits until somebody resumes it.`,
      null,
      { ...faults },
    );
  const why = `The lead is parked since ${faults.parked_at}: ${faults.count} attempts in a row stopped at a technical fault before dialling, the last at ${faults.code}.`;
  const until = due_at === null ? null : new Date(due_at);
  if (until !== null && until <= at) return pass(`${why} It is tried again now.`, { ...faults });
  const next =
    until === null ? "" : ` It is tried again at ${until.toISOString()}, or sooner when somebody resumes it.`;
  return hold(`${why}${next}`, until, { ...faults });
}

function dueRuling(lead: GateLead, at: Date): Ruling {
  if (lead.due_at === null) return hold("The lead has no due time.", null);
  const due = new Date(lead.due_at);
  const values = { due_at: lead.due_at, ...(lead.held ? { held: lead.held } : {}) };
  if (due <= at) return pass(`The lead is due since ${lead.due_at}.`, values);
  return hold(
    `The lead is due at ${lead.due_at}${lead.held ? `; it was put off by itself (${lead.held.why})` : ""}.`,
    due,
    values,
  );
}

/** Every gate, as a pure function of its inputs. */
export const RULES: Readonly<Record<GateName, (f: GateInputs) => Ruling>> = {
  status: (f) => ofLead(f, statusRuling),
  phone_number: (f) => ofLead(f, (lead) => phoneRuling(lead, f.destinations)),
  template: ({ plan }) =>
    plan
      ? pass("The template exists.", { template_id: plan.template_id, version: plan.version })
      : drop("failed", "the template no longer exists"),
  expiry: (f) => ofLead(f, (lead) => (f.plan ? expiryRuling(lead, f.plan, f.at) : notJudged("There is no template."))),
  parked: (f) => ofLead(f, (lead) => parkedRuling(lead, f.at)),
  due: (f) => ofLead(f, (lead) => dueRuling(lead, f.at)),
  former_call_open: (f) => ofLead(f, (lead) => otherCallRuling(lead, f.at, FORMER_CALL_OPEN)),
  callee_busy: (f) => ofLead(f, (lead) => otherCallRuling(lead, f.at, CALLEE_BUSY)),
  callee_capped: (f) => ofLead(f, (lead) => calleeCapRuling(lead, f)),
  deployment: ({ pauses }) => pausedBy(pauses.deployment, "the whole deployment"),
  merchant: ({ pauses }) => pausedBy(pauses.merchant, "the merchant"),
  spend_ceiling: spendRuling,
  template_active: ({ plan }) =>
    plan?.is_active === true
      ? pass("The template is switched on.")
      : hold("The template is switched off (is_active); switch it on.", null),
  configuration: ({ plan }) =>
    plan?.configuration
      ? pass("The template has a configuration.", { configuration_id: plan.configuration.id })
      : hold("The template has no configuration; add one.", null),
  calling_enabled: (f) =>
    configured(f, (c) =>
      c.enable_calling
        ? pass("Calling is enabled.")
        : hold("Calling is switched off in the configuration (enable_calling); switch it on.", null),
    ),
  window: (f) => configured(f, (c) => windowRuling(c, f.callee_zones ?? zonesOf(f.lead?.phone_number ?? ""), f.at)),
  blacklist: (f) =>
    ofLead(f, () =>
      configured(f, (c) => {
        if (!c.enforce_blacklist) return pass("The blacklist is not enforced for this template.");
        if (f.blacklisted === null) return notJudged("The blacklist was not asked.");
        return f.blacklisted
          ? drop("BLACKLISTED", "the number was put on the blacklist while the lead was queued")
          : pass("The number is not on the blacklist.");
      }),
    ),
  international: (f) => ofLead(f, () => configured(f, (c) => internationalRuling(f, c))),
  line: (f) => configured(f, (c) => slotRuling(f, c)),
  rate_limit: (f) => configured(f, (c) => rateRuling(f, c)),
  carrier_limit: (f) =>
    configured(f, (c) =>
      f.carrier
        ? limitRuling(f.carrier, f.at, `The account of ${c.calling_provider}`)
        : notJudged("The carrier's limit was not asked."),
    ),
};
