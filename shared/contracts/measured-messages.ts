/** What an action takes, and what it gives. */
export type Side = "params" | "result";

/** No message on the bus is larger as JSON: half of what a NATS server takes, unless it is told otherwise. */
export const MESSAGE_BYTES = 500_000;

/**
 * Messages that may be larger for one minor version: answers to askers of 0.2.0, who know no pages of them and get them whole, and what templates,
 * pre-checks and payloads (with variables of pre-checks) of versions that did not bound them take.
 */
export const LARGER_FROM_OLDER: Readonly<Record<string, Side>> = {
  "config.getTemplate": "result",
  "config.listTemplates": "result",
  "config.listVersions": "result",
  "config.plans": "result",
  "config.templateVersion": "result",
  "config.updateTemplate": "result",
  "conversation.prepareMany": "params",
  "dialer.dialMany": "params",
  "leads.claimMany": "result",
  "leads.dueOf": "result",
};
/** Their bound: what a NATS server takes, less what the bus adds. */
export const LARGER_BYTES = 1_000_000;

/**
 * Messages whose size their schema does not bound: contents that a tenant chose, pages, batches. Whoever sends one cuts it (shared/page.ts,
 * shared/batching.ts, shared/talk-bounds.ts), and the bus measures it: what is too large is not sent, and fails with MESSAGE_TOO_LARGE, which names the
 * action. Every other message is bounded by its schema. test/house/message-sizes.test.ts computes both, and keeps this list complete.
 */
export const MEASURED: Readonly<Record<string, readonly Side[]>> = {
  "auth.listAudit": ["result"],
  "auth.listS2s": ["result"],
  "auth.listUsers": ["result"],
  "auth.record": ["params"],
  "blacklist.add": ["params"],
  "blacklist.list": ["result"],
  "blacklist.remove": ["params"],
  "config.createConfiguration": ["result"],
  "config.createTemplate": ["params", "result"],
  "config.getConfiguration": ["result"],
  "config.getTemplate": ["result"],
  "config.inboundFor": ["result"],
  "config.listConfigurations": ["result"],
  "config.listDoors": ["result"],
  "config.listSecrets": ["result"],
  "config.listTemplates": ["result"],
  "config.listVersions": ["result"],
  "config.overridden": ["params", "result"],
  "config.plans": ["result"],
  "config.resolveForPush": ["params"],
  "config.resolveManyForPush": ["params", "result"],
  "config.templateVersion": ["result"],
  "config.updateConfiguration": ["result"],
  "config.updateTemplate": ["params", "result"],
  "conversation.prepareMany": ["params", "result"],
  "conversation.salvage": ["result"],
  "conversation.turn": ["params", "result"],
  "dialer.archive": ["params"],
  "dialer.carrierEvent": ["params", "result"],
  "dialer.dialMany": ["params"],
  "dialer.history": ["result"],
  "dialer.inboundCalls": ["result"],
  "dialer.openSession": ["params"],
  "dialer.reconcile": ["result"],
  "dialer.verifyUpgrade": ["params"],
  "leads.abort": ["params", "result"],
  "leads.annotate": ["params"],
  "leads.byRequest": ["result"],
  "leads.claimMany": ["params", "result"],
  "leads.dueOf": ["result"],
  "leads.events": ["result"],
  "leads.eventsAfter": ["result"],
  "leads.explain": ["result"],
  "leads.get": ["result"],
  "leads.heads": ["result"],
  "leads.inFlight": ["result"],
  "leads.list": ["result"],
  "leads.listErasures": ["result"],
  "leads.listEvents": ["result"],
  "leads.listLegalHolds": ["result"],
  "leads.overrideOf": ["result"],
  "leads.pushMany": ["params", "result"],
  "leads.release": ["params"],
  "leads.settle": ["params"],
  "leads.summary": ["result"],
  "leads.takeEvents": ["params"],
  "leads.timeline": ["result"],
  "merchants.list": ["result"],
  "merchants.listResellers": ["result"],
  "merchants.pauses": ["result"],
  "numbers.list": ["result"],
  "scheduler.admitSession": ["params"],
  "scheduler.explain": ["params", "result"],
  "webhook.checkAddresses": ["params", "result"],
  "webhook.deliveries": ["result"],
  "webhook.endpointDeliveries": ["result"],
  "webhook.enqueueMany": ["params"],
  "webhook.list": ["result"],
  "webhook.listEndpoints": ["result"],
  "webhook.replay": ["result"],
  "webhook.replayEndpointDelivery": ["result"],
  "webhook.testEndpoint": ["result"],
};
