import * as fc from "fast-check";
import { exportable } from "../../../services/leads/attempts/annotation.ts";
import { partsOf, queueName, queueOf, rightQueue } from "../../../services/leads/rules/queue-names.ts";

const lead = (over: object = {}) => ({
  _id: "6f9619ff-8b86-4d01-b42d-00cf4fc964ff",
  template_id: "11111111-1111-4111-8111-111111111111",
  merchant_id: "22222222-2222-4222-8222-222222222222",
  configurations_override: null,
  ...over,
});

describe("the queue of a lead", () => {
  test("is its template's; of a reseller's template there is one for each merchant; a configuration of its own makes one of its own", () => {
    expect(queueName(lead(), "merchant")).toBe(lead().template_id);
    expect(queueName(lead({ merchant_id: null }), "reseller")).toBe(lead().template_id);
    const [a, b] = [
      queueName(lead(), "reseller"),
      queueName(lead({ merchant_id: "33333333-3333-4333-8333-333333333333" }), "reseller"),
    ];
    expect(a).not.toBe(b);
    expect(queueName(lead({ configurations_override: {} }), "merchant")).toBe(`p:${lead()._id}`);
    expect(queueOf(lead({ queue: "as it was" }))).toBe("as it was");
  });
  test("has a name that fits where names go, and lies in exactly one part of its kind", () => {
    fc.assert(
      fc.property(
        fc.uuid(),
        fc.uuid(),
        fc.uuid(),
        fc.boolean(),
        fc.constantFrom("merchant" as const, "reseller" as const),
        fc.boolean(),
        fc.constantFrom(null, "+12125551234", "+4915112345678", "+18005551234", "+870773111632"),
        (_id, template_id, merchant_id, upper, whose, own, phone_number) => {
          const name = queueName(
            {
              _id,
              template_id: upper ? template_id.toUpperCase() : template_id,
              merchant_id,
              configurations_override: own ? {} : null,
              phone_number,
            },
            whose,
          );
          expect(name.length).toBeLessThanOrEqual(64);
          const within = (kind: boolean) => partsOf(kind).filter(({ from, to }) => name >= from && name < to).length;
          expect([within(own), within(!own)]).toEqual([1, 0]);
          expect(rightQueue({ queue: name, phone_number })).toBe(name);
        },
      ),
    );
  });
  test.each([true, false])("the parts follow each other without a gap (own: %s)", (own) => {
    const parts = partsOf(own);
    expect(parts).toHaveLength(16);
    parts.slice(1).forEach((part, i) => expect([part.from, part.from < part.to]).toEqual([parts[i]?.to, true]));
  });
});

test("variables of pre-checks: whatever they are called, none reaches another field than one of the payload, and never the number or the address", () => {
  const name = fc.oneof(
    fc.string(),
    fc.constantFrom("customer_mobile_number", "reporting_webhook_url", "a.b", "$set", "__proto__", "ok", "open_orders"),
    fc.stringMatching(/^[A-Za-z][A-Za-z0-9_]{0,20}$/),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(name, fc.jsonValue()), { maxLength: 150 }), (entries) => {
      const exported = Object.fromEntries(entries);
      const { taken, refused } = exportable(exported);
      expect(Object.keys(taken).length).toBeLessThanOrEqual(100);
      for (const key of Object.keys(taken))
        expect(key).toMatch(/^(?!customer_mobile_number$|reporting_webhook_url$)[A-Za-z][A-Za-z0-9_]*$/);
      if (Object.keys(exported).length <= 100)
        expect(Object.keys(taken).length + refused.length).toBe(Object.keys(exported).length);
    }),
  );
  expect(exportable({ nul: { "a\0b": 1 }, ok: 1 })).toEqual({ taken: { ok: 1 }, refused: ["nul"] });
});
