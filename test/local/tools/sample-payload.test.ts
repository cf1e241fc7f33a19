import { samplePayload, toldPayload } from "../../../local/tools/sample/sample-payload.ts";
import { sampleTemplates } from "../../../local/tools/sample/templates.ts";

const schema = {
  type: "object",
  required: ["customer_name", "amount", "count", "kind", "desk", "doctor", "appointment_day", "rate", "since", "size"],
  properties: {
    customer_mobile_number: { type: "string" },
    customer_name: { type: "string" },
    amount: { type: "string" },
    count: { type: "integer", minimum: 2 },
    kind: { enum: ["gold", "silver"] },
    desk: { type: "string", examples: ["the front desk"], default: "any" },
    doctor: { type: "string" },
    appointment_day: { type: "string", maxLength: 6 },
    rate: { type: ["number", "null"], default: null },
    since: { type: "string", format: "date" },
    size: { type: "object", required: ["city"], properties: { city: { type: "string" } } },
  },
};

test("a payload is what was given, what the schema names, and values that make sense for the rest; never a number to call", () => {
  expect(samplePayload(schema, { amount: "3" })).toEqual({
    customer_name: "Ada Lindqvist",
    amount: "3",
    count: 2,
    kind: "gold",
    desk: "the front desk",
    doctor: "Doctor Grace Wong",
    appointment_day: "Monday",
    rate: 1,
    since: "2026-06-09",
    size: { city: "San Francisco" },
  });
});

test("what a schema names itself is all that a script is given", () => {
  expect(toldPayload(schema, { amount: "3" })).toEqual({ amount: "3", kind: "gold", desk: "the front desk" });
});

test.each([
  "appointment_time",
  "patient_name",
  "invoice_number",
  "due_date",
  "total_amount",
  "delivery_address",
  "something_else",
])("the value for %s is no repetition of its name", (name) => {
  const { [name]: value } = samplePayload({ required: [name] }, {});
  expect(String(value).toLowerCase()).not.toContain(name.split("_")[0]);
});

test.each(sampleTemplates.map((template) => [template.name, template] as const))(
  "every variable that %s requires has an example of its own",
  (_name, { payload_schema }) => {
    const { required } = payload_schema;
    expect(Object.keys(toldPayload(payload_schema, {})).sort()).toEqual([...(required as string[])].sort());
  },
);
