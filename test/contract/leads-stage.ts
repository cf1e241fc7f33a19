import { MongoClient, type Db } from "mongodb";
import type { Context } from "moleculer";
import leads from "../../services/leads/leads.service.ts";
import type { EventOf, ParamsOf, ResultOf } from "../../shared/bus.ts";
import type { ClaimedLead, DueLead } from "../../shared/contracts/lead.ts";
import type { DeliveryRecord, Report } from "../../shared/contracts/webhook.ts";
import { codeOf, fail, type Fault } from "../../shared/errors.ts";
import { asMerchant, setStage, standIn, type Stage } from "../support/stage.ts";
import { virtualClock } from "../support/virtual-clock.ts";

export const TEMPLATE = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";
export const R = "11111111-1111-4111-8111-111111111111";
export const M = "22222222-2222-4222-8222-222222222222";
export const PHONE = "+14155552601";
export const NOBODY = "33333333-3333-4333-8333-333333333333";
/** What the leads of these tests are claimed with. */
export const ATTEMPT: ParamsOf<"leads.claimMany">["items"][number]["attempt"] = {
  number_id: TEMPLATE,
  provider: "PROVIDER_ONE",
  template_version: 1,
  policy: { max_retry: 1, retry_offset: 60, retry_on: null },
};

/** Leads of the template's queue that are due now. */
export const dueNow = async ({ bus }: Pick<Stage, "bus">, now: Date): Promise<DueLead[]> =>
  (await bus.call("leads.dueOf", { queues: [{ queue: TEMPLATE, limit: 500 }], until: now.toISOString() })).leads;
/** One of them. */
export const dueLead = async (stage: Pick<Stage, "bus">, now: Date, lead_id: string): Promise<DueLead | undefined> =>
  (await dueNow(stage, now)).find((l) => l.lead_id === lead_id);
/** Claims a lead as it was seen; null: the race was lost. */
export const claimSeen = async (
  { bus }: Pick<Stage, "bus">,
  { lead_id, due_at, claim_no }: Pick<DueLead, "lead_id" | "due_at" | "claim_no">,
  attempt = ATTEMPT,
  lease_seconds = 30,
): Promise<ClaimedLead | null> =>
  (await bus.call("leads.claimMany", { lease_seconds, items: [{ lead_id, due_at, claim_no, attempt }] })).claimed[0] ??
  null;

/** The leads service with everything it asks played by stand-ins, and the database at hand. */
export interface LeadsStage {
  stage: Stage;
  db: Db;
  clock: ReturnType<typeof virtualClock>;
  /** Entries that came to the audit log. */
  audited: ParamsOf<"auth.record">[];
  /** Actions that were asked, in order. */
  asked: string[];
  /** Leads that were announced as waiting. */
  announced: EventOf<"lead.queued">[];
  /** What the scheduler was asked to explain. */
  explained: ParamsOf<"scheduler.explain">[];
  calls: ResultOf<"dialer.history">;
  /** Recordings by the call's name at the carrier. */
  recordings: Record<string, NonNullable<ResultOf<"dialer.recordingOf">["recording"]>>;
  deliveries: DeliveryRecord[];
  /** Reports that were handed over. */
  reports: Report[];
  input(over?: object): ParamsOf<"leads.push">["lead"];
  push(over?: object, key?: string): Promise<ResultOf<"leads.push">>;
  pushMany(rows: unknown[], key?: string): Promise<ResultOf<"leads.pushMany">>;
  stop(): Promise<void>;
}

function resolve({
  template_id,
  reseller_id,
  payload,
}: ParamsOf<"config.resolveForPush">): ResultOf<"config.resolveForPush"> {
  if (template_id !== TEMPLATE) fail("TEMPLATE_UNKNOWN", "no such template");
  if (payload["customer_name"] === undefined)
    fail("PAYLOAD_INVALID", "customer_name is missing", {
      errors: [{ path: "payload.customer_name", message: "is required" }],
    });
  return {
    template_id,
    version: 1,
    name: "order-confirmation",
    reseller_id,
    merchant_id: M,
    initial_offset: 30,
    max_age_seconds: 3600,
  };
}

function resolveOne(push: ParamsOf<"config.resolveForPush">): ResultOf<"config.resolveManyForPush">["results"][number] {
  try {
    return { resolved: resolve(push), refusal: null };
  } catch (error) {
    const { message, data } = error as { message: string; data: { errors?: Fault[] } };
    return { resolved: null, refusal: { code: codeOf(error), message, errors: data.errors ?? [] } };
  }
}

/** Sets the stage, with other environment values where given. Numbers that end in 99 are listed; addresses that do not begin with http are refused. */
export async function leadsStage(env: Record<string, string> = {}): Promise<LeadsStage> {
  const clock = virtualClock();
  const made: Pick<
    LeadsStage,
    "audited" | "asked" | "announced" | "explained" | "calls" | "recordings" | "deliveries" | "reports"
  > = {
    audited: [],
    asked: [],
    announced: [],
    explained: [],
    calls: { calls: [], carrier_events: [] },
    recordings: {},
    deliveries: [],
    reports: [],
  };
  const noted =
    <P, T>(name: string, answer: (params: P) => T) =>
    (params: P): T => {
      made.asked.push(name);
      return answer(params);
    };
  const stage = await setStage({
    clock,
    env,
    services: [
      leads,
      standIn("auth", {
        record: (entry) => {
          made.audited.push(entry);
          return {};
        },
      }),
      standIn("config", {
        resolveForPush: noted("config.resolveForPush", resolve),
        resolveManyForPush: noted("config.resolveManyForPush", ({ pushes }) => ({ results: pushes.map(resolveOne) })),
      }),
      standIn("blacklist", {
        check: noted("blacklist.check", ({ pairs }) => ({ listed: pairs.map((p) => p.phone_number.endsWith("99")) })),
      }),
      standIn("webhook", {
        checkAddress: ({ url }) => (url.startsWith("http") ? {} : fail("WEBHOOK_ADDRESS_REFUSED", "not a URL")),
        checkAddresses: noted("webhook.checkAddresses", ({ urls }) => ({
          refusals: urls.map((url) => (url.startsWith("http") ? null : "it is not a URL")),
        })),
        enqueueMany: ({ reports }) => (
          made.reports.push(...reports),
          { delivery_ids: reports.map(({ lead_id }) => `msg_${lead_id}`) }
        ),
        deliveries: () => ({ deliveries: made.deliveries }),
      }),
      standIn("dialer", {
        history: () => made.calls,
        recordingOf: ({ call_id }) => ({ recording: made.recordings[call_id] ?? null }),
      }),
      {
        name: "listener",
        events: {
          "lead.queued": (ctx: Context<EventOf<"lead.queued">>) => {
            made.announced.push(ctx.params);
          },
        },
      },
      standIn("scheduler", {
        explain: (params) => {
          made.explained.push(params);
          return {
            lead_id: params.lead.lead_id,
            at: params.at ?? clock.now().toISOString(),
            status: params.lead.status,
            eligible: false,
            next_eligible_at: null,
            summary: "it waits",
            gates: [],
          };
        },
      }),
    ],
  });
  const client = await MongoClient.connect(stage.env.MONGODB_URI);
  const by = asMerchant(R, M);
  const input = (over: object = {}) => ({
    request_id: "order-1",
    template_id: TEMPLATE,
    reseller_id: R,
    merchant_id: M,
    payload: { customer_mobile_number: PHONE, customer_name: "Ada" },
    ...over,
  });
  return {
    stage,
    db: client.db(),
    clock,
    ...made,
    input,
    push: (over, key) =>
      stage.bus.call("leads.push", { by, lead: input(over), ...(key === undefined ? {} : { idempotency_key: key }) }),
    pushMany: (rows, key) =>
      stage.bus.call("leads.pushMany", { by, rows, ...(key === undefined ? {} : { idempotency_key: key }) }),
    async stop() {
      await client.close();
      await stage.stop();
    },
  };
}
