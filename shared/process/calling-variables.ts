/** Environment variables of whom the deployment calls and what it pays for it (variables.ts). */
export const CALLING_VARIABLES = {
  DEFAULT_COUNTRY: {
    kind: "text",
    doc: "ISO country that decides what is international where the calling number does not tell",
  },
  CALL_COUNTRIES: {
    kind: "text",
    doc: "ISO countries whose numbers may be called, separated by commas; 001: numbers of no country; empty: all",
  },
  CALL_SPECIAL_NUMBERS: {
    kind: "text",
    doc: "special numbers that may be called, separated by commas: premium, satellite, shared_cost; empty: none",
  },
  SPEND_DEFAULT_PRICE: {
    kind: "text",
    doc: "what a spend ceiling in money counts a started minute at that CALL_PRICES has no price for, inbound calls included, in COST_CURRENCY: 0.05; empty: such a leg waits, or is refused",
  },
  COST_CURRENCY: { kind: "text", default: "USD", doc: "currency of lead cost" },
  NUMBERS_ADDED_BY: {
    kind: "enum",
    values: ["admin", "reseller"],
    default: "admin",
    doc: "who adds outbound numbers of the deployment's carrier accounts; reseller: resellers too, for themselves",
  },
} as const;

/** Environment variables of events of leads (variables.ts). */
export const EVENT_VARIABLES = {
  EVENTS_RETENTION_DAYS: {
    kind: "integer",
    min: 1,
    max: 3650,
    default: 7,
    doc: "days for which the log keeps an event of a lead: so long a reader of events may be away and miss none",
  },
  CALLAGENT_EVENTS: {
    kind: "enum",
    values: ["jetstream"],
    doc: "events of leads also go to the stream CALLAGENT_EVENTS of the NATS server, which must have JetStream; empty: they do not",
  },
  EVENTS_STREAM_BYTES: {
    kind: "integer",
    min: 1_000_000,
    max: 1_000_000_000_000,
    default: 1_000_000_000,
    doc: "most bytes of that stream, whose oldest events go first; they go after EVENTS_RETENTION_DAYS too",
  },
  EVENTS_TURNS: {
    kind: "boolean",
    default: false,
    doc: "each turn of a conversation is an event too (lead.turn), without a word of it; a write of the lead for each",
  },
  EVENTS_READERS: {
    kind: "text",
    doc: "who reads that stream with a user of their own (npm run nats:users -- --reader), by commas: a name for all of it, name=<reseller id> or name=<reseller id>/<merchant id> for a tenant's part",
  },
} as const;
