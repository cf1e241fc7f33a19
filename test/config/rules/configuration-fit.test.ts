import {
  configurationMisfits,
  templateMisfits,
  websiteMisfits,
} from "../../../services/config/rules/configuration-fit.ts";
import { fn, node, template } from "../fixtures/template-drafts.ts";

const transfer = fn({ name: "agent", action: "transfer", transfer_to: "{{agent_number}}" });
const transferring = template({ variables: ["agent_number"], nodes: [node({ name: "a", functions: [transfer] })] });
const fixed = template({
  nodes: [node({ name: "a", functions: [fn({ name: "agent", action: "transfer", transfer_to: "+14155550100" })] })],
});
const needing = template({
  payload_schema: {
    type: "object",
    properties: { customer_mobile_number: { type: "string" }, order_id: { type: "string" } },
    required: ["customer_mobile_number", "order_id"],
  },
});

describe("a transfer to a number of a variable", () => {
  test("is named of the template while no configuration lists numbers, at the function", () => {
    for (const c of [null, {}, { transfer_numbers: [] }])
      expect(templateMisfits(transferring, c)).toEqual([
        { path: "nodes.0.functions.0.transfer_to", message: expect.stringContaining("{{agent_number}}") },
      ]);
    expect(templateMisfits(transferring, { transfer_numbers: ["+14155550100"] })).toEqual([]);
    expect(templateMisfits(fixed, null)).toEqual([]);
  });

  test("is named of the configuration, with the functions", () => {
    expect(configurationMisfits(transferring, { transfer_numbers: [] })).toEqual([
      { path: "transfer_numbers", message: expect.stringContaining("agent of the template") },
    ]);
    expect(configurationMisfits(transferring, { transfer_numbers: ["+14155550100"] })).toEqual([]);
    expect(configurationMisfits(fixed, {})).toEqual([]);
  });

  test("in a function of all nodes is one too", () => {
    expect(templateMisfits(template({ global_functions: [transfer] }), null).map(({ path }) => path)).toEqual([
      "global_functions.0.transfer_to",
    ]);
  });
});

describe("variables that a template requires", () => {
  test("are named where inbound callers, who bring none, are let in", () => {
    expect(configurationMisfits(needing, { enable_inbound: true })).toEqual([
      { path: "enable_inbound", message: expect.stringContaining("order_id of the template") },
    ]);
    expect(configurationMisfits(needing, { enable_inbound: false })).toEqual([]);
  });

  test("are named to who makes a button for a website; the caller's own number is none of them", () => {
    expect(websiteMisfits(needing)).toEqual([
      { path: "template_id", message: expect.stringMatching(/requires order_id: /) },
    ]);
    expect(websiteMisfits(fixed)).toEqual([]);
  });
});
