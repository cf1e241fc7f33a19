import * as fc from "fast-check";
import { Errors, ServiceBroker } from "moleculer";
import type { ParamsOf } from "../../../shared/bus/bus.ts";
import { busOf } from "../../../shared/bus/bus.ts";
import { standIn } from "../../../local/harness/stage.ts";
import { BusValidator } from "../../../shared/bus/bus-validator.ts";
import { contracts } from "../../../shared/contracts/index.ts";
import { Nullable, Strict, Type } from "../../../shared/contracts/define.ts";
import { NodeAction } from "../../../shared/contracts/flow/flow-node.ts";
import { TemplateInput } from "../../../shared/contracts/records/template.ts";
import { readEnv } from "../../../shared/process/env.ts";
import { randomIds } from "../../../shared/ids.ts";
import { provideDeps } from "../../../shared/process/process-deps.ts";
import { rootLog } from "../../../shared/process/log.ts";
import { tolerantReader } from "../../../shared/bus/tolerant-reader.ts";
import { unknownFields } from "../../../shared/bus/unknown-fields.ts";
import { systemClock } from "../../../shared/time/clock.ts";

describe("what a tolerant reader makes of a message", () => {
  const inner = Strict({ a: Type.Integer(), b: Type.Optional(Type.String()) });
  const rows: [string, Parameters<typeof tolerantReader>[0], unknown, unknown, string[], number][] = [
    ["nothing unknown", inner, { a: 1 }, { a: 1 }, [], 0],
    ["a field more", inner, { a: 1, z: 2 }, { a: 1 }, ["z"], 0],
    ["a field more, and one wrong", inner, { a: "x", z: 2 }, { a: "x" }, ["z"], 1],
    ["a field more, one missing", inner, { z: 2 }, {}, ["z"], 1],
    ["a wrong field alone", inner, { a: "x" }, { a: "x" }, [], 1],
    ["in a list, named once", Strict({ rows: Type.Array(inner) }), { rows: [{ a: 1, z: 1 }, { a: 2, z: 2, y: 3 }] }, { rows: [{ a: 1 }, { a: 2 }] }, ["rows[].z", "rows[].y"], 0], // prettier-ignore
    ["in a value that may be null", Strict({ one: Nullable(inner) }), { one: { a: 1, z: 1 } }, { one: { a: 1 } }, ["one.z"], 0], // prettier-ignore
    ["null where it may be", Strict({ one: Nullable(inner) }), { one: null, z: 1 }, { one: null }, ["z"], 0],
    ["in a map", Strict({ by: Type.Record(Type.String(), inner) }), { by: { x: { a: 1, z: 1 } } }, { by: { x: { a: 1 } } }, ["by.x.z"], 0], // prettier-ignore
    ["free-form content is left alone", Strict({ payload: Type.Record(Type.String(), Type.Unknown()) }), { payload: { any: { thing: 1 } }, z: 1 }, { payload: { any: { thing: 1 } } }, ["z"], 0], // prettier-ignore
    ["one of several shapes", Strict({ do: NodeAction }), { do: { type: "set", variable: "x", value: "1", z: 1 } }, { do: { type: "set", variable: "x", value: "1" } }, ["do.z"], 0], // prettier-ignore
    ["none of several shapes", Strict({ do: NodeAction }), { do: { type: "jump", z: 1 } }, { do: { type: "jump", z: 1 } }, [], 9], // prettier-ignore
    ["not even an object", inner, 7, 7, [], 1],
  ];
  test.each(rows)("%s", (_what, schema, sent, value, unknown, issues) => {
    const reading = tolerantReader(schema)(sent);
    expect([reading.value, reading.unknown]).toEqual([value, unknown]);
    if (issues === 0) expect(reading.issues).toEqual([]);
    else expect(reading.issues.length).toBeGreaterThan(0);
  });

  test("what is sent stays as it is", () => {
    const sent = { a: 1, z: { deep: [1] } };
    tolerantReader(inner)(sent);
    expect(sent).toEqual({ a: 1, z: { deep: [1] } });
  });

  const template = {
    reseller_id: "r",
    name: "t",
    initial_node: "start",
    nodes: [{ name: "start", say: "Hello", on_enter: [{ type: "end_call" }] }],
  };
  test("a field of a later version anywhere in a template is the only thing that goes", () => {
    const read = tolerantReader(TemplateInput);
    const places: [string, (t: typeof template) => object | undefined][] = [
      ["later", (t) => t],
      ["nodes[].later", (t) => t.nodes[0]],
      ["nodes[].on_enter[].later", (t) => t.nodes[0]?.on_enter[0]],
    ];
    fc.assert(
      fc.property(fc.constantFrom(...places), fc.jsonValue(), ([path, at], later) => {
        const sent = structuredClone(template);
        Object.assign(at(sent) ?? {}, { later });
        expect(read(sent)).toEqual({ value: template, unknown: [path], issues: [] });
      }),
    );
  });
});

test("every action of every contract takes a message with a field more than it knows", () => {
  for (const { actions } of Object.values(contracts))
    for (const [name, { params }] of Object.entries(actions)) {
      const reading = tolerantReader(params)({ of_a_later_version: true });
      expect([name, reading.unknown]).toEqual([name, ["of_a_later_version"]]);
      expect([name, reading.issues.filter((i) => i.message === "is not a known field")]).toEqual([name, []]);
    }
});

describe("over the bus", () => {
  const lines: string[] = [];
  const got: unknown[] = [];
  const broker = new ServiceBroker({ logger: false, nodeID: "new", validator: new BusValidator() });
  const bus = busOf(broker);
  beforeAll(async () => {
    const env = readEnv({ NODE_ENV: "test" });
    const log = rootLog(env, { write: (line) => lines.push(line) });
    provideDeps(broker, { env, clock: systemClock, ids: randomIds, log, random: Math.random });
    const pauses = (params: unknown) => {
      got.push(params);
      return { deployment: null, merchants: [] };
    };
    broker.createService(standIn("merchants", { pauses }));
    await broker.start();
  });
  afterAll(() => broker.stop());
  const later = { merchant_ids: ["m"], regions: ["eu"] } as ParamsOf<"merchants.pauses">;

  test("a caller of a later version is served without what it says more, and counted in the log once a minute", async () => {
    for (let i = 0; i < 3; i++) await bus.call("merchants.pauses", later);
    expect(got).toEqual([1, 2, 3].map(() => ({ merchant_ids: ["m"] })));
    const said = lines.map((l) => JSON.parse(l) as Record<string, unknown>);
    expect(said.filter((l) => l["event"] === "bus.unknown_fields")).toEqual([
      expect.objectContaining({ action: "merchants.pauses", sender: "new", fields: ["regions"], messages: 1 }),
    ]);
  });

  test("what is wrong is refused as before", async () => {
    const wrong = { merchant_ids: "m", regions: [] } as never;
    await expect(bus.call("merchants.pauses", wrong)).rejects.toBeInstanceOf(Errors.ValidationError);
  });
});

test("messages between two lines of the log are counted in the later one", () => {
  const lines: Record<string, unknown>[] = [];
  let now = 0;
  const log = rootLog(readEnv({ NODE_ENV: "test" }), {
    write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
  });
  const fields = unknownFields({ log, clock: { ...systemClock, monotonicMs: () => now } });
  for (now = 0; now <= 60_000; now += 10_000) fields.count("leads.push", "old", ["z"]);
  fields.count("leads.push", "other", ["z"]);
  expect(lines.map((l) => [l["sender"], l["messages"]])).toEqual([
    ["old", 1],
    ["old", 6],
    ["other", 1],
  ]);
});
