import { readFileSync } from "node:fs";
import { parse } from "csv-parse/sync";
import { isValidPhoneNumber } from "libphonenumber-js/max";
import type { SampleFunction, SampleNode, SampleTemplate } from "../../../local/tools/sample/template.ts";
import { BLACKLISTED_NUMBER, sampleTemplates } from "../../../local/tools/sample/templates.ts";
import { TemplateInput } from "../../../shared/contracts/records/template.ts";
import { Ajv2020 } from "ajv/dist/2020.js";

const LEADS_FILE = new URL("../../../local/tools/sample/leads.csv", import.meta.url);
const COLUMNS = [
  "request_id",
  "customer_mobile_number",
  "customer_name",
  "order_id",
  "amount",
  "delivery_date",
  "expected",
];
const rows: Record<string, string>[] = parse(readFileSync(LEADS_FILE), { columns: true });

const functionsOf = (template: SampleTemplate): SampleFunction[] => [
  ...template.global_functions,
  ...template.nodes.flatMap((node) => node.functions ?? []),
];
const asRecord = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null ? { ...value } : {};

describe.each(sampleTemplates.map((template) => [template.name, template] as const))(
  "template %s",
  (_name, template) => {
    const names = template.nodes.map(({ name }) => name);
    const known = new Set([...Object.keys(asRecord(template.payload_schema["properties"])), ...template.variables]);

    test("is accepted by the config contract", () => {
      const ajv = new Ajv2020({ allErrors: true, strict: false });
      const valid = ajv.validate(structuredClone(TemplateInput), { reseller_id: "r", ...template });
      expect(ajv.errors ?? []).toEqual([]);
      expect(valid).toBe(true);
    });
    test("every function leads to a node that exists, and every node is reached", () => {
      expect(new Set(names).size).toBe(names.length);
      for (const { next_node: next } of functionsOf(template)) expect(names).toContain(next);
      const reached = new Set<string>();
      const visit = (name: string): void => {
        if (reached.has(name)) return;
        reached.add(name);
        const node = template.nodes.find((one) => one.name === name);
        for (const { next_node: next } of [...(node?.functions ?? []), ...template.global_functions])
          if (next !== undefined) visit(next);
      };
      visit(template.initial_node);
      expect([...reached].sort()).toEqual([...names].sort());
    });
    test("every variable used is given by the payload or filled by a function", () => {
      const texts = [
        template.greeting,
        ...template.nodes.flatMap((node: SampleNode) => [node.prompt ?? "", node.role_prompt ?? "", node.say ?? ""]),
      ];
      const used = [...texts.join("\n").matchAll(/\{\{(\w+)\}\}/g)].map((match) => match[1]!);
      expect(used.length).toBeGreaterThan(0);
      for (const name of used) expect(known).toContain(name);
      const filled = functionsOf(template).flatMap(({ set }) => Object.keys(set ?? {}));
      expect([...new Set(filled)].sort()).toEqual([...template.variables].sort());
    });
    test("what a function stores is one of its parameters", () => {
      for (const { set, parameters } of functionsOf(template)) {
        for (const argument of Object.values(set ?? {}))
          expect(Object.keys(asRecord(parameters?.["properties"]))).toContain(argument);
      }
    });
    test("a node either speaks a fixed text or gives the model a task; dead ends hang up", () => {
      for (const node of template.nodes) {
        expect([node.say, node.prompt].filter((text) => text !== undefined)).toHaveLength(1);
        if ((node.functions ?? []).length === 0) expect(node.on_enter).toContainEqual({ type: "end_call" });
      }
    });
  },
);

test("the samples' outcomes", () => {
  const outcomes = sampleTemplates.map((template) =>
    [...new Set(functionsOf(template).flatMap(({ outcome }) => outcome ?? []))].sort(),
  );
  expect(outcomes).toEqual([
    ["confirmed", "declined", "rescheduled", "wrong_person"],
    ["cancelled", "confirmed", "rescheduled"],
  ]);
});

describe("leads.csv", () => {
  const BY_SUFFIX: Readonly<Record<string, string>> = {
    "01": "confirmed",
    "02": "rescheduled",
    "03": "customer_hangup",
    "04": "customer_hangup or failed",
    "05": "silence",
    "06": "busy",
    "07": "no_answer",
    "08": "confirmed",
    "09": "voicemail",
    "10": "INVALID_NUMBER",
    "11": "confirmed",
    "12": "confirmed",
    "13": "declined",
    "14": "confirmed",
    "15": "failed",
    "16": "confirmed",
    "17": "call_error or failed",
  };

  test("40 rows, each with a tag, a name, an order and a number of its own", () => {
    expect(rows).toHaveLength(40);
    for (const row of rows) expect(Object.keys(row)).toEqual(COLUMNS);
    for (const column of ["request_id", "customer_mobile_number", "customer_name", "order_id"])
      expect(new Set(rows.map((row) => row[column])).size).toBe(40);
  });
  test("each row expects what the person behind its number does; every kind of person is there", () => {
    const seen = new Set<string>();
    for (const { customer_mobile_number: number = "", expected = "" } of rows) {
      if (!number.startsWith("+1415555") || number === BLACKLISTED_NUMBER) continue;
      expect(number).toMatch(/^\+1415555\d{4}$/);
      expect(isValidPhoneNumber(number)).toBe(true);
      expect([number, expected]).toEqual([number, BY_SUFFIX[number.slice(-2)]]);
      seen.add(number.slice(-2));
    }
    expect([...seen].sort()).toEqual(Object.keys(BY_SUFFIX).sort());
  });
  test("one row each is blacklisted, no phone number, and without a number", () => {
    const expecting = (word: string): Record<string, string>[] => rows.filter(({ expected }) => expected === word);
    expect(expecting("403 NUMBER_BLACKLISTED").map((row) => row["customer_mobile_number"])).toEqual([
      BLACKLISTED_NUMBER,
    ]);
    expect(isValidPhoneNumber(BLACKLISTED_NUMBER)).toBe(true);
    expect(expecting("BACKLOG").map((row) => row["customer_mobile_number"])).toEqual([""]);
    const [invalid, ...others] = expecting("422 INVALID_PHONE_NUMBER");
    expect(others).toEqual([]);
    expect(isValidPhoneNumber(invalid?.["customer_mobile_number"] ?? "")).toBe(false);
  });
  test("every row is a payload of the order template", () => {
    const validate = new Ajv2020({ strict: false }).compile(structuredClone(sampleTemplates[0]!.payload_schema));
    for (const { request_id: _tag, expected: _expected, customer_mobile_number: number, ...payload } of rows) {
      expect(validate(number === "" ? payload : { ...payload, customer_mobile_number: number })).toBe(true);
    }
  });
});
