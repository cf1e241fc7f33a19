import { Nullable, Strict, Text, Type, upToBytes } from "../define.ts";
import { EXECUTION_MODES } from "./lead.ts";

/** Names a push, so that repeating it makes no second lead. */
export const IdempotencyKey = Text(255);
/** Of a bulk push: a part of it has the client's key with a suffix. */
export const BatchKey = Text(300);

/** Most bytes of a pushed lead's free-form parts, each as JSON. */
export const PUSH_BYTES = { payload: 256 * 1024, configurations_override: 8 * 1024 } as const;

/** What a playground run changes of its template's configuration; which fields it may hold, the config service checks. */
export const Override = Type.Record(Type.String(), Type.Unknown(), upToBytes(PUSH_BYTES.configurations_override));

/** Body of POST /leads (4.2). */
export const PushInput = Strict({
  request_id: Text(200),
  template_id: Text(64),
  payload: Type.Record(Type.String(), Type.Unknown(), upToBytes(PUSH_BYTES.payload)),
  reseller_id: Text(64),
  merchant_id: Type.Optional(Text(64)),
  reporting_webhook_url: Type.Optional(Type.String({ minLength: 1, maxLength: 2000 })),
  execution_mode: Type.Optional(Type.Enum([...EXECUTION_MODES])),
  is_playground: Type.Optional(Type.Boolean()),
  configurations_override: Type.Optional(Nullable(Override)),
});
