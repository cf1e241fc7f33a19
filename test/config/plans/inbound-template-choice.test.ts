import { describe, expect, test } from "@jest/globals";
import { preferredCandidate, mayUse } from "../../../services/config/plans/inbound-plans.ts";

const of = (template_id: string, merchant_id: string | null, takes: boolean) => ({
  doc: { template_id, merchant_id },
  takes,
});

describe("which configuration takes a call to a number", () => {
  test.each([
    ["none at all", [], undefined],
    ["the oldest that takes inbound calls", [of("off", "m", false), of("a", "m", true), of("b", "m", true)], "a"],
    [
      "the merchant's before the reseller's, though it is younger",
      [of("reseller", null, true), of("merchant", "m", true)],
      "merchant",
    ],
    [
      "the reseller's where the merchant's takes none",
      [of("merchant", "m", false), of("reseller", null, true)],
      "reseller",
    ],
    [
      "the merchant's oldest where none takes any, for its block action",
      [of("reseller", null, false), of("m1", "m", false), of("m2", "m", false)],
      "m1",
    ],
    ["the reseller's where the merchant has none", [of("reseller", null, false)], "reseller"],
  ])("%s", (_, candidates, template_id) => expect(preferredCandidate(candidates)?.doc.template_id).toBe(template_id));
});

test.each([
  [
    "the pool's number by anybody's",
    { reseller_id: null, merchant_id: null },
    { reseller_id: "r", merchant_id: "m" },
    true,
  ],
  [
    "a reseller's number by its own template",
    { reseller_id: "r", merchant_id: null },
    { reseller_id: "r", merchant_id: null },
    true,
  ],
  [
    "a reseller's number by a merchant's of its own",
    { reseller_id: "r", merchant_id: null },
    { reseller_id: "r", merchant_id: "m" },
    true,
  ],
  [
    "a merchant's number by its own",
    { reseller_id: "r", merchant_id: "m" },
    { reseller_id: "r", merchant_id: "m" },
    true,
  ],
  [
    "a merchant's number by its reseller's",
    { reseller_id: "r", merchant_id: "m" },
    { reseller_id: "r", merchant_id: null },
    true,
  ],
  [
    "a merchant's number by its neighbour's",
    { reseller_id: "r", merchant_id: "m" },
    { reseller_id: "r", merchant_id: "n" },
    false,
  ],
  [
    "a number by another reseller's",
    { reseller_id: "r", merchant_id: null },
    { reseller_id: "s", merchant_id: null },
    false,
  ],
])("%s", (_, owner, template, may) => expect(mayUse(owner, template)).toBe(may));
