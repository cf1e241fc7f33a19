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
