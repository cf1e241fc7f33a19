import type { Schema } from "mongoose";
import { eventCursorSchema } from "../../shared/database/event-cursor.ts";
import type { Store } from "../../shared/database/mongo.ts";
import type { SecretSeal } from "../../shared/process/secret-seal.ts";
import { auditSchema } from "../../services/auth/audit/audit.model.ts";
import { s2sTokenSchema } from "../../services/auth/tokens/s2s-tokens.model.ts";
import { userSchema } from "../../services/auth/users/users.model.ts";
import { entrySchema } from "../../services/blacklist/blacklist.model.ts";
import { configurationSchema } from "../../services/config/configurations/configurations.model.ts";
import { doorSchema, doorUseSchema } from "../../services/config/doors/doors.model.ts";
import { resealClientSecrets } from "../../services/config/secrets/client-secrets.repository.ts";
import { clientSecretSchema } from "../../services/config/secrets/client-secrets.model.ts";
import { templateSchema, versionSchema } from "../../services/config/templates/templates.model.ts";
import { sessionSchema } from "../../services/conversation/session/sessions.model.ts";
import { callSchema } from "../../services/dialer/call/calls.model.ts";
import { carrierEventSchema } from "../../services/dialer/callbacks/carrier-events.model.ts";
import { inboundCallSchema } from "../../services/dialer/inbound/inbound-calls.model.ts";
import { spendLedgerSchema } from "../../services/dialer/spend/spend-ledgers.model.ts";
import { erasureSchema } from "../../services/leads/erasure/erasures.model.ts";
import { tenantOutboxSchema } from "../../services/leads/events/tenant-outboxes.model.ts";
import { logSheetSchema } from "../../services/leads/events/event-log.model.ts";
import { leadSchema } from "../../services/leads/leads.model.ts";
import { pushKeySchema } from "../../services/leads/push/push-keys.model.ts";
import { legalHoldSchema } from "../../services/leads/holds/legal-holds.model.ts";
import { leadCounterSchema } from "../../services/leads/retention/lead-counters.model.ts";
import { retentionSchema } from "../../services/leads/retention/retentions.model.ts";
import { merchantSchema } from "../../services/merchants/merchants.model.ts";
import { deploymentSchema } from "../../services/merchants/pauses/deployment.model.ts";
import { resellerSchema } from "../../services/merchants/resellers.model.ts";
import { numberSchema } from "../../services/numbers/numbers.model.ts";
import { rateWindowSchema } from "../../services/scheduler/limits/rate-windows.model.ts";
import { deliverySchema, endpointDeliverySchema } from "../../services/webhook/deliveries/deliveries.model.ts";
import { endpointSchema } from "../../services/webhook/endpoints/endpoints.model.ts";
import { resealEndpointSecrets } from "../../services/webhook/endpoints/endpoints.repository.ts";
import { resealSigningSecrets } from "../../services/webhook/secrets/secrets.repository.ts";
import { secretsSchema } from "../../services/webhook/secrets/secrets.model.ts";

/** A collection: its owner's schema, and the names of indexes that are to go, since no version that may run beside this one reads by them. */
export interface OwnedCollection {
  name: string;
  schema: Schema;
  retired_indexes?: readonly string[];
  /** Encrypts its secrets under SECRETS_KEY where they are not yet; how many. */
  reseal?: (store: Pick<Store, "model">, seal: SecretSeal) => Promise<number>;
}

/** Every collection there is; each has one owner, the service whose schema it has. */
export const collections: readonly OwnedCollection[] = [
  { name: "users", schema: userSchema },
  { name: "s2s_tokens", schema: s2sTokenSchema },
  { name: "audit", schema: auditSchema },
  { name: "blacklist", schema: entrySchema },
  { name: "templates", schema: templateSchema },
  { name: "template_versions", schema: versionSchema },
  { name: "configurations", schema: configurationSchema },
  {
    name: "secrets",
    schema: clientSecretSchema,
    reseal: (store, seal) => resealClientSecrets(store.model("secrets", clientSecretSchema), seal),
  },
  { name: "doors", schema: doorSchema },
  { name: "door_uses", schema: doorUseSchema },
  { name: "conversation_sessions", schema: sessionSchema },
  { name: "calls", schema: callSchema },
  { name: "carrier_events", schema: carrierEventSchema },
  { name: "inbound_calls", schema: inboundCallSchema },
  { name: "spend_ledgers", schema: spendLedgerSchema },
  { name: "leads", schema: leadSchema, retired_indexes: ["due", "lease", "unfinished_of_template"] },
  { name: "push_keys", schema: pushKeySchema },
  { name: "lead_events", schema: logSheetSchema },
  { name: "tenant_outboxes", schema: tenantOutboxSchema },
  { name: "erasures", schema: erasureSchema },
  { name: "retentions", schema: retentionSchema },
  { name: "lead_counters", schema: leadCounterSchema },
  { name: "legal_holds", schema: legalHoldSchema },
  { name: "event_cursors", schema: eventCursorSchema },
  { name: "resellers", schema: resellerSchema },
  { name: "merchants", schema: merchantSchema },
  { name: "deployment", schema: deploymentSchema },
  { name: "numbers", schema: numberSchema, retired_indexes: ["one_live_per_reseller"] },
  { name: "rate_windows", schema: rateWindowSchema },
  { name: "deliveries", schema: deliverySchema },
  { name: "endpoint_deliveries", schema: endpointDeliverySchema },
  { name: "webhook_cursors", schema: eventCursorSchema },
  {
    name: "webhook_endpoints",
    schema: endpointSchema,
    reseal: (store, seal) => resealEndpointSecrets(store.model("webhook_endpoints", endpointSchema), seal),
  },
  {
    name: "webhook_secrets",
    schema: secretsSchema,
    reseal: (store, seal) => resealSigningSecrets(store.model("webhook_secrets", secretsSchema), seal),
  },
];
