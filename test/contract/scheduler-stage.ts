import scheduler from "../../services/scheduler/scheduler.service.ts";
import type { ParamsOf, ResultOf } from "../../shared/bus.ts";
import type { Plan } from "../../shared/contracts/config.ts";
import type { ConfigurationRecord } from "../../shared/contracts/configuration.ts";
import type { DueLead, QueueHead } from "../../shared/contracts/lead.ts";
import { countryOf } from "../../shared/phone.ts";
import { setStage, standIn, until, type Stage } from "../support/stage.ts";
import { virtualClock } from "../support/virtual-clock.ts";

export const T = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";
export const N = "22222222-2222-4222-8222-222222222222";
export const id = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;

/** What a waiting lead of the stage is made of. */
export type Waiting = DueLead & { queue: string };

/** The scheduler with everything it asks played by stand-ins over plain maps, on a clock that moves when told to. */
export interface SchedulerStage {
  stage: Stage;
  clock: ReturnType<typeof virtualClock>;
  leads: Map<string, Waiting>;
  /** Plans by template; the default template is there from the start. */
  plans: Map<string, Plan>;
  pauses: ResultOf<"merchants.pauses">;
  /** Free lines by phone number. */
  lines: Map<string, number>;
  told: { what: string; p: Record<string, unknown> }[];
  /** What the next offers do; null: all orders are taken. */
  dial: ((orders: ParamsOf<"dialer.dialMany">["orders"]) => boolean[]) | null;
  /** Whether claims are won. */
  claimWins: boolean;
  put(n: number, over?: Partial<Waiting>): Waiting;
  configure(over: Partial<ConfigurationRecord>, plan?: Partial<Plan>, template?: string): void;
  of(what: string): Record<string, unknown>[];
  dialled(): string[];
  /** Moves time on in steps until `done` says so; steps under 50 ms are slow enough for instants to be judged. */
  run(what: string, done: () => boolean, stepMs?: number): Promise<void>;
  /** Lets at least this much time pass, pass by pass. */
  pass(ms?: number): Promise<void>;
  reset(): void;
}

const DEADLINE_MS = 45_000;
/** Real time between two steps of the clock: where instants are judged, a pass must have time to end in between. */
const SLOW_MS = 10;
const FAST_MS = 2;

/** A configuration in full, open all day. */
export const record = (template_id: string, at: string, over: Partial<ConfigurationRecord>): ConfigurationRecord => ({
  id: N,
  reseller_id: "r",
  merchant_id: "m",
  template_id,
  template: "t",
  initial_offset: 0,
  retry_offset: 5,
  call_start_time: "00:00",
  call_end_time: "00:00",
  timezone: "UTC",
  max_retry: 1,
  calling_provider: "PROVIDER_ONE",
  enable_calling: true,
  enable_international_call: true,
  enable_inbound: false,
  inbound_call_start_time: null,
  inbound_call_end_time: null,
  inbound_call_timezone: null,
  inbound_block_action: "REJECT",
  inbound_redirect_number: null,
  inbound_block_message: null,
  inbound_webhook_url: null,
  inbound_max_calls_per_caller: 10,
  inbound_caller_window_seconds: 3600,
  record_calls: true,
  voicemail_action: "hangup",
  engine: null,
  enforce_blacklist: true,
  rate_limit_enabled: false,
  rate_limit_max_calls: null,
  rate_limit_window_seconds: 3600,
  rate_limit_whitelist: [],
  pre_checks: [],
  created_at: at,
  updated_at: at,
  ...over,
});

/** Sets the stage; rings are judged by the database's clock, so tests of them begin at the real time. Numbers that end in 99 are listed. Calls per second are not limited unless the environment says so. */
export async function schedulerStage(env: Record<string, string> = {}, start?: Date): Promise<SchedulerStage> {
  const clock = virtualClock(start);
  const note = (what: string, p: object): void => {
    s.told.push({ what, p: { ...p } });
  };
  const due = (queue: string, by: string): Waiting[] =>
    [...s.leads.values()]
      .filter((l) => l.queue === queue && l.due_at <= by)
      .sort((a, b) => (a.due_at + a.lead_id < b.due_at + b.lead_id ? -1 : 1));
  const stage = await setStage({
    clock,
    env: { PROVIDER_ONE_CALLS_PER_SECOND: "0", PROVIDER_TWO_CALLS_PER_SECOND: "0", ...env },
    services: [
      scheduler,
      standIn("leads", {
        heads({ until: by, own, after, limit }) {
          const queues = [...new Set([...s.leads.values()].map((l) => l.queue))]
            .filter((q) => q.startsWith("p:") === own && (after === null || q > after))
            .sort();
          const heads = queues
            .flatMap((queue): QueueHead[] => {
              const [l] = due(queue, by);
              return l
                ? [
                    {
                      queue,
                      template_id: l.template_id,
                      reseller_id: l.reseller_id,
                      merchant_id: l.merchant_id,
                      due_at: l.due_at,
                      configurations_override: l.configurations_override,
                    },
                  ]
                : [];
            })
            .slice(0, limit);
          note("heads", { own });
          return { heads, next: heads.length === limit ? (heads.at(-1)?.queue ?? null) : null };
        },
        dueOf: (p) => {
          note("dueOf", p);
          return { leads: p.queues.flatMap(({ queue, limit }) => due(queue, p.until).slice(0, limit)) };
        },
        claimMany(p) {
          note("claimMany", p);
          return {
            claimed: p.items.map((i) => {
              const l = s.leads.get(i.lead_id);
              if (
                !s.claimWins ||
                !l ||
                l.due_at !== i.due_at ||
                l.claim_no !== i.claim_no ||
                l.due_at > clock.now().toISOString()
              )
                return null;
              s.leads.delete(i.lead_id);
              return {
                ...l,
                claim_no: l.claim_no + 1,
                attempt_count: l.attempt_count + 1,
                payload: {},
                pre_check_defers: {},
              };
            }),
          };
        },
        inFlight: () => ({ total: 0, templates: [] }),
        expire: (p) => {
          note("expire", p);
          return { expired: 0 };
        },
        drop: (p) => {
          note("drop", p);
          s.leads.delete(p.lead_id);
          return { done: true };
        },
        settle: (p) => {
          note("settle", p);
          return { done: true, status: "FINISHED", outcome: "call_error" };
        },
        release: (p) => {
          note("leads.release", p);
          return { done: true };
        },
      }),
      standIn("config", {
        plans: ({ template_ids }) => ({ plans: template_ids.flatMap((t) => s.plans.get(t) ?? []) }),
        overridden({ template_id, override }) {
          const c = s.plans.get(template_id)?.configuration;
          return { configuration: c ? { ...c, ...override } : null };
        },
      }),
      standIn("merchants", { pauses: () => s.pauses }),
      standIn("blacklist", { check: ({ pairs }) => ({ listed: pairs.map((p) => p.phone_number.endsWith("99")) }) }),
      standIn("numbers", {
        reserveMany(p) {
          note("reserveMany", p);
          return {
            lines: p.wants.map((want) => {
              const [free] = [...s.lines].filter(
                ([number, n]) => n > 0 && (!p.same_country || countryOf(number) === countryOf(want.to)),
              );
              if (!free) return null;
              s.lines.set(free[0], free[1] - 1);
              return { id: N, phone_number: free[0], provider: p.provider };
            }),
          };
        },
        releaseMany: (p) => {
          note("releaseMany", p);
          return {};
        },
        availability({ country }) {
          note("availability", {});
          const of = [...s.lines].filter(([number]) => country === undefined || countryOf(number) === country);
          return { numbers: of.length, free_lines: of.reduce((sum, [, n]) => sum + n, 0) };
        },
      }),
      standIn("dialer", {
        dialMany(p) {
          const taken = s.dial ? s.dial(p.orders) : p.orders.map(() => true);
          p.orders.forEach((o, i) => {
            if (taken[i] === true) note("dial", o);
          });
          note("dialMany", { offered: p.orders.length });
          return { taken };
        },
      }),
    ],
  });
  const s: SchedulerStage = {
    stage,
    clock,
    leads: new Map(),
    plans: new Map(),
    pauses: { deployment: null, merchants: [] },
    lines: new Map(),
    told: [],
    dial: null,
    claimWins: true,
    put(n, over = {}) {
      const at = clock.now().toISOString();
      const lead: Waiting = {
        lead_id: id(n),
        queue: over.template_id ?? T,
        status: "BACKLOG",
        due_at: at,
        created_at: at,
        reseller_id: "r",
        merchant_id: "m",
        template_id: T,
        phone_number: "+14155552601",
        attempt_count: 0,
        claim_no: 0,
        execution_mode: "TELEPHONY",
        configurations_override: null,
        ...over,
      };
      s.leads.set(lead.lead_id, lead);
      return lead;
    },
    configure(over, plan = {}, template = T) {
      s.plans.set(template, {
        template_id: template,
        version: 7,
        is_active: true,
        max_age_seconds: 36_000,
        max_call_seconds: 120,
        retry_on: null,
        configuration: record(template, clock.now().toISOString(), over),
        ...plan,
      });
      stage.bus.broadcast("config.changed", { template_id: template });
    },
    of: (what) => s.told.filter((t) => t.what === what).map((t) => t.p),
    dialled: () => s.of("dial").map((o) => String(o["lead_id"])),
    async run(what, done, stepMs = 50) {
      await until(
        what,
        async () => {
          if (done()) return true;
          await clock.advance(stepMs);
          return undefined;
        },
        DEADLINE_MS,
        stepMs < 50 ? SLOW_MS : FAST_MS,
      );
    },
    async pass(ms = 2500) {
      const end = clock.monotonicMs() + ms;
      const scans = s.of("heads").length;
      await s.run(
        "a full scan, and time to pass",
        () => clock.monotonicMs() >= end && s.of("heads").length >= scans + 2,
        Math.max(50, ms / 50),
      );
    },
    reset() {
      s.leads.clear();
      s.plans.clear();
      s.lines = new Map([["+14155550100", 1000]]);
      s.pauses = { deployment: null, merchants: [] };
      s.dial = null;
      s.claimWins = true;
      s.told.length = 0;
      s.configure({});
      stage.bus.broadcast("calling.switched", { merchant_id: null });
      stage.bus.broadcast("numbers.freed", { provider: "PROVIDER_ONE" });
    },
  };
  s.reset();
  return s;
}
