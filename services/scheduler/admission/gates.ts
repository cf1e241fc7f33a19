import type { Plan } from "../../../shared/contracts/config.ts";
import type { ConfigurationRecord } from "../../../shared/contracts/configuration.ts";
import type { GateName } from "../../../shared/contracts/explanation.ts";
import { DIALLED_MODES, type WaitingLead } from "../../../shared/contracts/lead.ts";
import type { ParamsOf, ResultOf } from "../../../shared/bus.ts";
import { ringableState } from "./ringable-window.ts";
import { roomAt, type RateLimit, type RingState } from "../limits/sliding-window.ts";

/** What the gates look at of a lead. `masked`: its number as it may be shown. */
export type GateLead = Pick<WaitingLead, "status" | "due_at" | "created_at" | "execution_mode" | "phone_number"> &
  Partial<Pick<WaitingLead, "outcome" | "held">> & { masked: string | null };

/** Usable numbers of a scope and their free lines; `home`: only those of the callee's country, where international calls are off. */
export interface LineFacts {
  numbers: number;
  free_lines: number;
  home: { numbers: number; free_lines: number } | null;
}

/** A limit and the ring of its grants; null state: nothing was granted yet. */
export interface RingFacts {
  limit: RateLimit | null;
  state: RingState | null;
}

/** All that is judged. A fact that is null was not asked for, and its gate is not judged; `lead` null: the whole queue is judged. */
export interface Facts {
  at: Date;
  lead: GateLead | null;
  /** null: the template no longer exists. */
  plan: Plan | null;
  pauses: {
    deployment: ResultOf<"merchants.pauses">["deployment"];
    merchant: ResultOf<"merchants.pauses">["deployment"];
  };
  blacklisted: boolean | null;
  /** ISO country of the callee; null: it belongs to none. */
  country: string | null;
  lines: LineFacts | null;
  rate: RingFacts | null;
  carrier: RingFacts | null;
}

/** An outcome that a gate ends a lead with. */
export type DropOutcome = ParamsOf<"leads.drop">["outcome"];

/** What one gate says. `until`: from when it may let the lead through; null: nobody can tell. */
export interface Ruling {
  verdict: "pass" | "hold" | "drop" | "not_judged";
  detail: string;
  values: Record<string, unknown>;
  until: Date | null;
  outcome?: DropOutcome;
}

/** Tokens and ring places that free within this long count as free: the dialler paces its request to the instant. */
export const PACE_AHEAD_MS = 100;

const pass = (detail: string, values: Record<string, unknown> = {}): Ruling => ({
  verdict: "pass",
  detail,
  values,
  until: null,
});
const hold = (detail: string, until: Date | null, values: Record<string, unknown> = {}): Ruling => ({
  verdict: "hold",
  detail,
  values,
  until,
});
const drop = (outcome: DropOutcome, detail: string, values: Record<string, unknown> = {}): Ruling => ({
  verdict: "drop",
  detail,
  values,
  until: null,
  outcome,
});
const unasked = (detail: string): Ruling => ({ verdict: "not_judged", detail, values: {}, until: null });
const ofLead = (f: Facts, rule: (lead: GateLead) => Ruling): Ruling =>
  f.lead ? rule(f.lead) : unasked("This gate is about single leads.");
const configured = (f: Facts, rule: (configuration: ConfigurationRecord) => Ruling): Ruling => {
  const configuration = f.plan?.configuration;
  return configuration ? rule(configuration) : unasked("The template has no configuration to judge this by.");
};
const since = (at: Date, s: number): Date => new Date(at.getTime() + s * 1000);

function pausedBy(pause: Facts["pauses"]["deployment"], whose: string): Ruling {
  if (!pause) return pass(`Calling is not paused for ${whose}.`);
  return hold(
    `Calling is paused for ${whose} since ${pause.at}${pause.reason === null ? "" : ` (${pause.reason})`}; it goes on when somebody resumes it.`,
    null,
    { ...pause },
  );
}

function ringRuling(facts: RingFacts, at: Date, what: string): Ruling {
  const { free, next } = roomAt(facts.state, facts.limit, new Date(at.getTime() + PACE_AHEAD_MS));
  const values = {
    ...(facts.limit ? { max_calls: facts.limit.max, window_seconds: facts.limit.window_ms / 1000 } : {}),
    ...(facts.limit ? { free } : {}),
  };
  if (next === null)
    return pass(
      facts.limit
        ? `${what} has room for ${free} more of ${facts.limit.max} in ${facts.limit.window_ms / 1000} s.`
        : `${what} has no limit.`,
      values,
    );
  const until = new Date(next.getTime() - PACE_AHEAD_MS);
  const { closed_until, closed_why } = facts.state ?? { closed_until: null, closed_why: null };
  if (closed_until !== null && closed_until > at)
    return hold(
      `${what} takes no calls until ${closed_until.toISOString()}: ${closed_why ?? "it asked for a pause"}.`,
      until,
      { ...values, closed_until: closed_until.toISOString() },
    );
  return hold(`${what} is used up; the next place frees at ${next.toISOString()}.`, until, values);
}

function windowRuling(c: ConfigurationRecord, at: Date): Ruling {
  const state = ringableState({ start: c.call_start_time, end: c.call_end_time, zone: c.timezone }, at);
  const values = { call_start_time: c.call_start_time, call_end_time: c.call_end_time, timezone: c.timezone };
  const said = `${c.call_start_time}-${c.call_end_time} ${c.timezone}`;
  if (!state.open)
    return hold(
      `The calling window ${said} is closed; it opens at ${state.opens_at.toISOString()}.`,
      state.opens_at,
      values,
    );
  if (state.closes_at === null) return pass("The calling window is open all day.", values);
  return pass(`The calling window ${said} is open until ${state.closes_at.toISOString()}.`, {
    ...values,
    closes_at: state.closes_at.toISOString(),
  });
}

function internationalRuling(f: Facts, c: ConfigurationRecord): Ruling {
  if (c.enable_international_call) return pass("International calls are allowed.");
  if (f.country === null)
    return drop("INTERNATIONAL_BLOCKED", "International calls are off, and the number to call belongs to no country.");
  const values = { country: f.country };
  if (!f.lines?.home) return unasked("Whether there is a number in the callee's country was not asked.");
  if (f.lines.numbers > 0 && f.lines.home.numbers === 0)
    return drop(
      "INTERNATIONAL_BLOCKED",
      `International calls are off, and none of the usable numbers is in the callee's country ${f.country}.`,
      values,
    );
  return pass(
    `International calls are off; ${f.lines.home.numbers} of the usable numbers are in the callee's country ${f.country}.`,
    { ...values, numbers: f.lines.home.numbers },
  );
}

function lineRuling(f: Facts, c: ConfigurationRecord): Ruling {
  if (!f.lines) return unasked("Whether a line is free shows when one is taken.");
  const { numbers, free_lines } = f.lines.home ?? f.lines;
  const values = { provider: c.calling_provider, numbers, free_lines };
  if (numbers === 0)
    return hold(`There is no usable number of ${c.calling_provider} for this merchant; add one.`, null, values);
  if (free_lines === 0)
    return hold(
      `All lines of the ${numbers} usable number(s) of ${c.calling_provider} are taken; the next one that frees is used.`,
      null,
      values,
    );
  return pass(`${free_lines} line(s) of ${numbers} usable number(s) of ${c.calling_provider} are free.`, values);
}

function rateRuling(f: Facts, c: ConfigurationRecord): Ruling {
  if (!c.rate_limit_enabled || c.rate_limit_max_calls === null) return pass("The configuration has no rate limit.");
  const to = f.lead?.phone_number ?? null;
  if (to !== null && c.rate_limit_whitelist.includes(to))
    return pass("The number is on the rate limit's whitelist: it neither waits nor counts.", { whitelisted: true });
  return f.rate ? ringRuling(f.rate, f.at, "The configuration's rate limit") : unasked("The rate limit was not asked.");
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

function phoneRuling(lead: GateLead): Ruling {
  const values = { phone_number: lead.masked, execution_mode: lead.execution_mode };
  if (!DIALLED_MODES.includes(lead.execution_mode))
    return hold(
      `A lead of mode ${lead.execution_mode} is not dialled; it waits until a client joins it.`,
      null,
      values,
    );
  if (lead.phone_number === null)
    return hold("The payload named no phone number, so there is nobody to call.", null, values);
  return pass(`The number to call is ${lead.masked ?? "known"}.`, values);
}

function expiryRuling(lead: GateLead, plan: Plan, at: Date): Ruling {
  const expires = since(new Date(lead.created_at), plan.max_age_seconds);
  const values = { max_age_seconds: plan.max_age_seconds, expires_at: expires.toISOString() };
  if (at >= expires) return drop("EXPIRED", `not dialled within ${plan.max_age_seconds} seconds`, values);
  return pass(`The lead may be called until it expires at ${expires.toISOString()}.`, values);
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

/** Every gate: facts in, ruling out; nothing else is asked. */
export const RULES: Readonly<Record<GateName, (f: Facts) => Ruling>> = {
  status: (f) => ofLead(f, statusRuling),
  phone_number: (f) => ofLead(f, phoneRuling),
  template: ({ plan }) =>
    plan
      ? pass("The template exists.", { template_id: plan.template_id, version: plan.version })
      : drop("failed", "the template no longer exists"),
  expiry: (f) => ofLead(f, (lead) => (f.plan ? expiryRuling(lead, f.plan, f.at) : unasked("There is no template."))),
  due: (f) => ofLead(f, (lead) => dueRuling(lead, f.at)),
  deployment: ({ pauses }) => pausedBy(pauses.deployment, "the whole deployment"),
  merchant: ({ pauses }) => pausedBy(pauses.merchant, "the merchant"),
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
  window: (f) => configured(f, (c) => windowRuling(c, f.at)),
  blacklist: (f) =>
    ofLead(f, () =>
      configured(f, (c) => {
        if (!c.enforce_blacklist) return pass("The blacklist is not enforced for this template.");
        if (f.blacklisted === null) return unasked("The blacklist was not asked.");
        return f.blacklisted
          ? drop("BLACKLISTED", "the number was put on the blacklist while the lead was queued")
          : pass("The number is not on the blacklist.");
      }),
    ),
  international: (f) => ofLead(f, () => configured(f, (c) => internationalRuling(f, c))),
  line: (f) => configured(f, (c) => lineRuling(f, c)),
  rate_limit: (f) => configured(f, (c) => rateRuling(f, c)),
  carrier_limit: (f) =>
    configured(f, (c) =>
      f.carrier
        ? ringRuling(f.carrier, f.at, `The account of ${c.calling_provider}`)
        : unasked("The carrier's limit was not asked."),
    ),
};
