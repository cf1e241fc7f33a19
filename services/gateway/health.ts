import type { ActionName, Bus, EventOf } from "../../shared/bus/bus.ts";
import type { Clock } from "../../shared/time/clock.ts";
import type { ClockSource } from "../../shared/time/store-clock.ts";
import { PROVIDERS, type Provider } from "../../shared/contracts/records/configuration.ts";
import type { Env } from "../../shared/process/env.ts";
import { RESTORED } from "../../shared/contracts/records/lead.ts";
import { CATALOGUE, codeOf } from "../../shared/errors.ts";
import type { Row } from "./routes/row.ts";

/** Services that the API can be without for a while: leads are accepted and wait. */
const OPTIONAL_SERVICES = ["scheduler", "conversation"];
/** Services the gateway calls without a row. */
const CALLED_WITHOUT_ROUTE = ["dialer"];
/** Time limit of the store probe, ms; the probe reads and changes nothing. */
const PROBE_MS = 2000;
/** One readiness answer serves every probe for this long, ms. */
const REMEMBER_MS = 500;

/** One health check. */
export interface Check {
  name: string;
  ok: boolean;
  needed: boolean;
  reason?: string;
}

/** Whether requests can be served. `degraded`: they can, but calls wait. */
export interface Readiness {
  status: "ready" | "degraded" | "not_ready";
  checks: Check[];
}

/** The verdict over the checks. */
export const verdictOf = (checks: readonly Check[]): Readiness["status"] => {
  if (checks.some((c) => c.needed && !c.ok)) return "not_ready";
  return checks.every((c) => c.ok) ? "ready" : "degraded";
};

const serviceOf = (action: ActionName): string => action.split(".")[0] ?? action;

/** What the gateway needs on the bus: every service a row calls, and those beyond the table. */
export const neededServices = (rows: readonly Row[]): string[] =>
  [
    ...new Set([
      ...rows.flatMap((row) => [row.action, ...(row.guard ? [row.guard] : [])]).map(serviceOf),
      ...CALLED_WITHOUT_ROUTE,
    ]),
  ].sort();

async function checkStore(bus: Bus): Promise<Check> {
  const check = { name: "store", needed: true };
  try {
    await bus.call("merchants.lookup", { reseller_id: "-" }, { timeout_ms: PROBE_MS });
    return { ...check, ok: true };
  } catch (error) {
    return { ...check, ok: false, reason: CATALOGUE[codeOf(error)].title };
  }
}

/** Leads that technical faults keep from being dialled. Where the leads service can't say, the other checks do. */
async function checkParkedLeads(bus: Bus): Promise<Check[]> {
  const check = { name: "parked_leads", needed: false };
  try {
    const { count, code } = await bus.call("leads.parked", {}, { timeout_ms: PROBE_MS });
    if (!(count > 0)) return [{ ...check, ok: true }];
    const why =
      code === RESTORED
        ? "the database was restored from a copy, and they may have been called since; they wait until somebody resumes them"
        : `attempts stop at a technical fault before dialling, mostly ${code ?? "INTERNAL"}`;
    const reason = `${count} ${count === 1 ? "lead is" : "leads are"} parked: ${why}; see GET /leads?parked=true and explain`;
    return [{ ...check, ok: false, reason }];
  } catch {
    return [];
  }
}

/** The deployment's time for who has no database: as the leads service says it. */
export const timeOfLeads = (bus: Bus): ClockSource => ({
  async time() {
    const { now, clock_unknown } = await bus.call("leads.reachable", {}, { timeout_ms: PROBE_MS });
    if (clock_unknown === true) throw new Error("the leads service does not know the time");
    return now === undefined ? null : new Date(now);
  },
});

/** The database's clock. Where the leads service can't say, the other checks do. */
async function checkClock(bus: Bus): Promise<Check[]> {
  const check = { name: "clock", needed: false };
  try {
    const { clock_unknown, clock_ahead_ms: ahead_ms = 0 } = await bus.call(
      "leads.reachable",
      {},
      { timeout_ms: PROBE_MS },
    );
    if (clock_unknown === true)
      return [{ ...check, ok: false, reason: "the leads service does not know the time: a clock was just set" }];
    if (ahead_ms === 0) return [{ ...check, ok: true }];
    const seconds = (Math.abs(ahead_ms) / 1000).toFixed(1);
    const reason = `the database's clock was set and is ${seconds} s ${ahead_ms > 0 ? "ahead of" : "behind"} the deployment's time, which goes on as before; see clock.stepped in docs/operations.md`;
    return [{ ...check, ok: false, reason }];
  } catch {
    return [];
  }
}

type RefusedCommand = EventOf<"database.command_refused">;

/** Notices come every 30 s while a command is refused: one that is older than this is over. */
const REFUSAL_TTL_MS = 100_000;
/** Checks shown; more say nothing new. */
const MAX_SHOWN = 10;

/** The commands that the database refuses, as the services announce them. */
export interface RefusedCommands {
  note(refused: RefusedCommand): void;
  checks(): Check[];
}

/** None yet. */
export function refusedCommands(clock: Pick<Clock, "monotonicMs">): RefusedCommands {
  const known = new Map<string, { refused: RefusedCommand; until: number }>();
  const current = (): RefusedCommand[] => {
    for (const [key, { until }] of known) if (until <= clock.monotonicMs()) known.delete(key);
    return [...known.values()].slice(0, MAX_SHOWN).map(({ refused }) => refused);
  };
  return {
    note(refused) {
      if (refused.taken) known.delete(refused.key);
      else known.set(refused.key, { refused, until: clock.monotonicMs() + REFUSAL_TTL_MS });
      current();
    },
    checks: () =>
      current().map(({ collection, command, code, code_name, since }) => ({
        name: "database",
        ok: false,
        needed: false,
        reason:
          `the database refuses ${command} on ${collection} since ${since} (code ${code ?? "unknown"}${code_name && ` ${code_name}`}); ` +
          "what needs it stands still until a person acts: see database.command_refused in the log",
      })),
  };
}

/** Without a carrier no phone can be called: leads with a number wait, and sessions in browsers alone are held. Nothing to say where there is one. */
export const carrierChecks = (env: Pick<Env, Provider>): Check[] =>
  [env.PROVIDER_ONE, env.PROVIDER_TWO, env.PROVIDER_THREE].some((carrier) => carrier !== "none")
    ? []
    : [
        {
          name: "carriers",
          ok: false,
          needed: false,
          reason: `${PROVIDERS.join(", ")} are none: no phone can be called, and leads with a number wait; name a carrier, or leave it if you hold sessions in browsers alone`,
        },
      ];

/** Checks the bus and, through a service that owns a collection, the store. */
export function readiness(
  rows: readonly Row[],
  bus: Bus,
  clock: Clock,
  visible: () => ReadonlySet<string>,
  refused: Pick<RefusedCommands, "checks">,
): () => Promise<Readiness> {
  const needed = neededServices(rows);
  let last: { at: number; answer: Promise<Readiness> } | null = null;
  const look = async (): Promise<Readiness> => {
    const seen = visible();
    const services = [...needed, ...OPTIONAL_SERVICES].map((name): Check => ({
      name,
      ok: seen.has(name),
      needed: needed.includes(name),
      ...(seen.has(name) ? {} : { reason: "no instance of this service is on the bus" }),
    }));
    const [store, parked, time] = await Promise.all([checkStore(bus), checkParkedLeads(bus), checkClock(bus)]);
    const checks = [...services, store, ...parked, ...time, ...refused.checks()];
    return { status: verdictOf(checks), checks };
  };
  return () => {
    const now = clock.monotonicMs();
    if (last === null || now - last.at >= REMEMBER_MS) last = { at: now, answer: look() };
    return last.answer;
  };
}
