import { described, named, Nullable, Strict, Text, Type, upToBytes } from "../define.ts";
import { ExecutionModeEnum } from "./lead.ts";

const KEY =
  "Names this push: sent again with the same key within 24 hours, it makes nothing twice and gets the first answer. Use a new key for each push.";
/** Names a push, so that repeating it makes no second lead. */
export const IdempotencyKey = described(KEY, Text(255), { example: "order-4711-first" });
/** Of a bulk push: a part of it has the client's key with a suffix. */
export const BatchKey = described(`${KEY} It holds for each row in its place.`, Text(300));

/** Most bytes of a pushed lead's free-form parts, each as JSON. */
export const PUSH_BYTES = { payload: 256 * 1024, configurations_override: 8 * 1024 } as const;

/** What a playground run changes of its template's configuration; which fields it may hold, the config service checks. */
export const Override = Type.Record(Type.String(), Type.Unknown(), upToBytes(PUSH_BYTES.configurations_override));

/** Body of POST /leads (4.2). */
export const PushInput = named(
  "PushLead",
  "A lead to push.",
  Strict({
    request_id: described(
      "Your own name for this push: it comes back as order_id, also in the webhook. A tag, not a key: the same one again makes another lead, unless the configuration's duplicates says otherwise.",
      Text(200),
      { example: "order-4711" },
    ),
    template_id: described("Id of the template that leads the conversation.", Text(64)),
    payload: described(
      `The template's variables, and customer_mobile_number: the number to call, in E.164. At most ${PUSH_BYTES.payload} bytes as JSON.`,
      Type.Record(Type.String(), Type.Unknown(), upToBytes(PUSH_BYTES.payload)),
      { example: { customer_mobile_number: "+14155550123", customer_name: "Ada Lovelace" } },
    ),
    reseller_id: described("The reseller of the template.", Text(64)),
    merchant_id: Type.Optional(
      described("The merchant of the template, where it has one; left out: the token's own.", Text(64)),
    ),
    reporting_webhook_url: Type.Optional(
      described(
        "Where the finished lead is reported, by a signed POST (see the webhook lead.finished): https, or what the deployment allows.",
        Type.String({ minLength: 1, maxLength: 2000 }),
        { example: "https://shop.example.com/webhooks/calls" },
      ),
    ),
    execution_mode: Type.Optional(described("How the lead is reached.", ExecutionModeEnum, { default: "TELEPHONY" })),
    is_playground: Type.Optional(
      described("A playground run: left out of analytics, and configurations_override holds.", Type.Boolean(), {
        default: false,
      }),
    ),
    configurations_override: Type.Optional(
      described(
        `Fields of the template's configuration that are different for this lead; taken only where is_playground is true. At most ${PUSH_BYTES.configurations_override} bytes as JSON.`,
        Nullable(Override),
        { example: { max_retry: 0 } },
      ),
    ),
  }),
);
