import { randomUUID } from "node:crypto";
import { ApiFailure, apiClient, type Client } from "../tools/api-client.ts";
import type { Product } from "./product.ts";
import type { Sample } from "../tools/sample/seed.ts";
import { until } from "./stage.ts";

/** A phone number of its own for every `n`; its last two digits choose who answers (local/people/behaviours.ts). */
export const callee = (n: number, who: string): string => `+1212${2_000_000 + n * 100 + Number(who)}`;

/** What a push may say beside the number. */
export interface PushMore {
  request_id?: string;
  template_id?: string;
  key?: string;
  /** The header. */
  traceparent?: string;
  report?: boolean;
}

/** Pushes leads of the sample merchant as that merchant. */
export interface Pusher {
  client: Client;
  /** Its token. */
  token: string;
  /** The lead's id; ApiFailure or a connection failure where it was not taken. */
  push(to: string, more?: PushMore): Promise<string>;
  /** The same, again and again while the service can't take it: with one Idempotency-Key, so that it makes one lead. */
  insist(to: string, more?: PushMore): Promise<string>;
  /** Many, so many at once, each insisted upon for so long; the ids in order. */
  insistAll(to: readonly string[], more?: PushMore, how?: { parallel?: number; insistMs?: number }): Promise<string[]>;
}

const PARALLEL = 8;
const INSIST_MS = 60_000;
const RETRY_MS = 200;
/** No fault of the lead: the service, or something behind it, was out of reach. */
const passes = (error: unknown): boolean =>
  !(error instanceof ApiFailure) || error.status >= 500 || error.status === 429;

/** A lead of the sample merchant's first template, as POST /leads takes it. */
export const leadBody = (
  sample: Pick<Sample, "reseller_id" | "merchant_id" | "templates">,
  to: string,
  reporting_webhook_url: string | null,
  { request_id = randomUUID(), template_id = sample.templates[0]?.id ?? "" }: PushMore = {},
) => ({
  request_id,
  template_id,
  reseller_id: sample.reseller_id,
  merchant_id: sample.merchant_id,
  ...(reporting_webhook_url === null ? {} : { reporting_webhook_url }),
  payload: {
    customer_mobile_number: to,
    customer_name: "Ada Lindqvist",
    order_id: "NW-1",
    amount: "10.00",
    delivery_date: "Monday, June 9",
    doctor: "Dr. Reyes",
    appointment_day: "Thursday, June 12",
    appointment_time: "9:30 am",
  },
});

/** Makes a token of the sample merchant and pushes with it. */
export async function startPushing(product: Product): Promise<Pusher> {
  const { sample, sink, stack, admin } = product;
  const { token } = await admin.ask("POST", "/s2s-token", {
    body: {
      name: `pusher ${randomUUID()}`,
      role: "merchant",
      reseller_id: sample.reseller_id,
      merchant_id: sample.merchant_id,
    },
  });
  const client = apiClient(stack.baseUrl, token);
  const push: Pusher["push"] = async (to, { key, traceparent, report = true, ...more } = {}) => {
    const { lead_call_tracker_id } = await client.ask("POST", "/leads", {
      body: leadBody(sample, to, report ? sink.url : null, more),
      headers: {
        ...(key === undefined ? {} : { "Idempotency-Key": key }),
        ...(traceparent === undefined ? {} : { traceparent }),
      },
    });
    return lead_call_tracker_id;
  };
  const insist = (to: string, more: PushMore = {}, insistMs = INSIST_MS): Promise<string> => {
    const key = more.key ?? randomUUID();
    const request_id = more.request_id ?? randomUUID();
    return until(
      "the push to be taken",
      () =>
        push(to, { ...more, key, request_id }).catch((error: unknown) => {
          if (passes(error)) return undefined;
          throw error;
        }),
      insistMs,
      RETRY_MS,
    );
  };
  return {
    client,
    token,
    push,
    insist: (to, more) => insist(to, more),
    async insistAll(to, more, { parallel = PARALLEL, insistMs } = {}) {
      const ids: string[] = [];
      const queue = to.entries();
      await Promise.all(
        Array.from({ length: parallel }, async () => {
          for (const [i, number] of queue) ids[i] = await insist(number, more, insistMs);
        }),
      );
      return ids;
    },
  };
}
