/** Environment variables of the gateway alone (variables.ts). */
export const GATEWAY_VARIABLES = {
  TRUST_PROXY: {
    kind: "boolean",
    default: false,
    doc: "the gateway is behind a trusted proxy: take the client address from the last entry of X-Forwarded-For",
  },
  CORS_ORIGINS: {
    kind: "text",
    doc: "origins whose web pages may use the API, separated by commas (https://app.example.com); empty: none",
  },
  TALK_PAGE_URL: {
    kind: "url",
    doc: "address of a page on which a person talks to an agent; the page at / leads there. npm start sets it to its own",
  },
  ACCESS_LOG: {
    kind: "boolean",
    default: false,
    doc: "every answer goes to the log (http.answered), not only those to pushes and refusals",
  },
  API_RATE_LIMIT_PER_MINUTE: {
    kind: "integer",
    min: 0,
    max: 1_000_000,
    default: 60_000,
    doc: "units a minute of each merchant (all its tokens and people), reseller and admin, over all gateways; a request costs one or more (docs/api.md); 0: no limit",
  },
} as const;
