import { contractsAreKept, exportsAreDocumented } from "./documents.ts";
import type { Source } from "./code.ts";
import { machineClockHasOnePlace, pureFiles, pureFilesArePure } from "./purity.ts";
import * as house from "./rules.ts";

/** Written in two parts, so that this file does not break its own rule. */
const OUTSIDE = `../shared/${""}spec`;
const faults = (violations: house.Violation[]): string[] => violations.map(house.said);

/** Made-up files that break one rule each: the line that must be named, and a word of the reason. */
const BAD: [string, (files: Source[]) => house.Violation[], Record<string, string>, string][] = [
  [
    "another service's file",
    house.importsStayAtHome,
    { "services/a/a.ts": '// fine\nimport type { X } from "../b/x.ts";' },
    "services/a/a.ts:2 services/a imports another service's file services/b/x.ts",
  ],
  [
    "another service, loaded late",
    house.importsStayAtHome,
    { "services/a/deep/a.ts": '\n\nconst x = await import("../../b/x.ts");' },
    "services/a/deep/a.ts:3 services/a imports another",
  ],
  [
    "a test from a service",
    house.importsStayAtHome,
    { "services/a/a.ts": "export { x } from '../../test/fixtures/x.ts';" },
    "services/a/a.ts:1 services/a imports test/fixtures/x.ts",
  ],
  [
    "a service from shared/",
    house.importsStayAtHome,
    { "shared/a.ts": 'import {\n  x,\n} from "../services/a/a.ts";' },
    "shared/a.ts:1 shared/ imports services/a/a.ts",
  ],
  [
    "a service from a simulator",
    house.importsStayAtHome,
    { "local/store/a.ts": 'import "../../services/a/a.ts";' },
    "local/store/a.ts:1 a simulator imports services/a/a.ts",
  ],
  [
    "a test from deploy/",
    house.importsStayAtHome,
    { "deploy/a.ts": 'import x from "../test/x.ts";' },
    "deploy/a.ts:1 deploy/ imports test/x.ts",
  ],
  [
    "a carrier that knows another",
    house.adaptersKnowOnlyTheirPort,
    { "services/d/carriers/a/x.ts": 'import { y } from "../b/y.ts";' },
    "services/d/carriers/a/x.ts:1 a carrier imports another",
  ],
  [
    "a carrier that knows the machine",
    house.adaptersKnowOnlyTheirPort,
    { "services/d/carriers/a/x.ts": 'import { y } from "../../call-machine.ts";' },
    "services/d/carriers/a/x.ts:1 an adapter imports",
  ],
  [
    "two owners of a collection",
    house.collectionsHaveOneOwner,
    {
      "services/a/a.service.ts": 'store.model<Doc>("things", s)',
      "services/b/b.service.ts": '\nstore.model("things", s)',
    },
    "services/b/b.service.ts:2 the collection things belongs to services/a",
  ],
  [
    "the clock in a pure file",
    pureTogether,
    { "services/a/pure.ts": "/** Not Date.now() here. */\nconst t = Date.now();" },
    "services/a/pure.ts:2 Date.now",
  ],
  [
    "the time in a pure file",
    pureTogether,
    { "services/a/pure.ts": "const t = new Date(), u = new Date(0);" },
    "services/a/pure.ts:1 new Date()",
  ],
  [
    "waiting in a pure file",
    pureTogether,
    { "services/a/pure.ts": "const s = `await ${await x}`;" },
    "services/a/pure.ts:1 await",
  ],
  [
    "the bus in a pure file",
    pureTogether,
    { "services/a/pure.ts": 'import { busOf } from "../../shared/bus/bus.ts";' },
    "services/a/pure.ts:1 imports shared/bus/bus.ts",
  ],
  [
    "chance behind a pure file",
    pureTogether,
    { "services/a/pure.ts": 'import { x } from "./x.ts";', "services/a/x.ts": "export const x = Math.random();" },
    "services/a/x.ts:1 Math.random in a file that is used by",
  ],
  [
    "a status outside the machine",
    house.statusMovesInTheMachine,
    { "services/leads/x.ts": 'move({\n  status: "FINISHED" });' },
    "services/leads/x.ts:2 a lead's status",
  ],
  [
    "a status in an update",
    house.statusMovesInTheMachine,
    { "services/leads/x.ts": "update({ $set: { a: 1, status } });" },
    "services/leads/x.ts:1 a lead's status",
  ],
  [
    "a raw call",
    house.busIsTyped,
    { "services/a/a.ts": 'await this.broker.call<X>("b.c");' },
    "services/a/a.ts:1 raw ctx.call",
  ],
  [
    "something in meta",
    house.metaCarriesNothing,
    { "services/a/a.ts": "const who = ctx.meta.user;" },
    "services/a/a.ts:1 ctx.meta",
  ],
  [
    "the environment",
    house.environmentIsReadOnce,
    { "services/a/a.ts": "const { A } = process.env;" },
    "services/a/a.ts:1 process.env",
  ],
  [
    "the machine's own clock",
    machineClockHasOnePlace,
    { "shared/a.ts": "const a = new Date(0);\nconst b = new Date();" },
    "shared/a.ts:2 the machine's clock",
  ],
  [
    "a write that nobody acknowledges",
    house.writesAreDurable,
    { "services/a/a.ts": "model.create(x, { w: 0 });" },
    "services/a/a.ts:1 writes wait for a majority",
  ],
  [
    "a write that one member acknowledges",
    house.writesAreDurable,
    { "services/a/a.ts": '\nmodel.updateOne(f, u, { writeConcern: { w: "1" } });' },
    "services/a/a.ts:2 writes wait",
  ],
  [
    "a read from a copy",
    house.writesAreDurable,
    { "services/a/a.ts": 'model.find(f).read("secondaryPreferred");' },
    "services/a/a.ts:1 writes wait",
  ],
  [
    "the database's clock in any place",
    house.clockHasOnePlace,
    { "services/a/a.ts": 'const a = { $set: { at: "$$NOW" } };', "shared/database/database-clock.ts": '"$$NOW";' },
    "services/a/a.ts:1 the database's clock",
  ],
  [
    "the database's clock in a distinct",
    house.clockHasOnePlace,
    { "services/a/a.ts": 'const f = whereByClock(1);\nmodel.distinct("a", f);' },
    "services/a/a.ts:2 distinct",
  ],
  [
    "the database's clock in a group",
    house.clockHasOnePlace,
    { "services/a/a.ts": "const g = { $group: {\n_id: null, ...fieldsByClock(x) } };" },
    "services/a/a.ts:1 the database's clock inside",
  ],
  [
    "a batch of a service's own",
    house.batchesHaveOneOrder,
    { "services/a/a.ts": "await model.insertMany(docs);", "shared/database/write-batches.ts": "model.bulkWrite(x);" },
    "services/a/a.ts:1 a batch is written by",
  ],
  ["a long file", house.filesAreSmall, { "test/a.ts": "x;\n".repeat(601) }, "test/a.ts:601 601 lines; at most 600"],
  [
    "a long file that only says it is generated",
    house.filesAreSmall,
    { "services/a/a.ts": `/** generated */\n${"x;\n".repeat(600)}` },
    "services/a/a.ts:601 601 lines",
  ],
  [
    "a long service file",
    house.filesAreSmall,
    { "services/a/a.service.ts": "x;\n".repeat(151) },
    "services/a/a.service.ts:151 151 lines; at most 150",
  ],
  ["a vague name", house.namesSaySomething, { "shared/utils.ts": "" }, "shared/utils.ts:1 the name says nothing"],
  ["a vague folder", house.namesSaySomething, { "services/a/helpers/x.ts": "" }, "services/a/helpers/x.ts:1 the name"],
  [
    "no doc comment",
    exportsAreDocumented,
    { "shared/a.ts": "/** One. */\nexport const one = { a: 1 };\nexport const two = { a: 1 };" },
    "shared/a.ts:3 two is exported",
  ],
  [
    "an ordinary comment",
    exportsAreDocumented,
    { "services/a/a.ts": "/* Hm. */\nexport default service();" },
    "services/a/a.ts:2 the default export",
  ],
  ["any", house.compilerIsBelieved, { "shared/a.ts": "// as any\nconst a = x as any;" }, "shared/a.ts:2 any"],
  ["any as a parameter", house.compilerIsBelieved, { "shared/a.ts": "function f(a: any) {}" }, "shared/a.ts:1 any"],
  [
    "a silenced compiler",
    house.compilerIsBelieved,
    { "test/a.test.ts": `x;\n// ${"@"}ts-ignore because` },
    "test/a.test.ts:2 a compiler error",
  ],
  [
    "a development package",
    (all) => house.packagesAreDependencies(all, ["ws"]),
    { "services/a/a.ts": 'import ws from "ws";\nimport { x } from "@jest/globals/y";' },
    "services/a/a.ts:2 the package @jest/globals",
  ],
  [
    "a folder outside",
    (all) => house.standsAlone(all, [OUTSIDE], ".ci/run"),
    { "README.md": `see\n${OUTSIDE}/x.md` },
    "README.md:2 names",
  ],
  [
    "an action without a handler",
    (all) => contractsAreKept(all, { a: ["push", "pull"] }),
    { "services/a/a.service.ts": "\nconst x = { actions: { push: (p) => pull(p) } };" },
    "services/a/a.service.ts:2 the action a.pull",
  ],
  [
    "an action that no part of a service gives",
    (all) => contractsAreKept(all, { a: ["push", "pull", "get"] }),
    {
      "services/a/a.service.ts": "const x = { actions: { push: (p) => pull(p), ...reads(deps) } };",
      "services/a/reads.ts": 'export const reads = (): Handlers<"a", "get"> => ({});',
    },
    "services/a/a.service.ts:1 the action a.pull",
  ],
  [
    "a contract without a service",
    (all) => contractsAreKept(all, { b: [] }),
    {},
    "services/b/b.service.ts:1 the contract b",
  ],
];

function pureTogether(all: Source[]): house.Violation[] {
  return pureFilesArePure(all, pureFiles(all, ["services/a/pure.ts"]).pure);
}

describe("the rules themselves", () => {
  test.each(BAD)("notice %s", (_what, rule, made, expected) => {
    const found = faults(rule(Object.entries(made).map(([path, text]) => ({ path, text }))));
    expect(found).toEqual([expect.stringContaining(expected)]);
  });

  test("notice a pure file that is gone", () =>
    expect(pureFiles([], ["services/a/gone.ts", "services/b/*"]).missing).toEqual([
      "services/a/gone.ts",
      "services/b/*",
    ]));

  test("are not misled by comments, texts and regular expressions", () => {
    const text = [
      '// import "../b/x.ts"; process.env; as any',
      "const a = \"import x from '../b/x.ts' process.env Date.now() await ctx.call(\";",
      "const b = `process.env ${`nested ${1} Math.random()`} await`; /* ctx.meta */",
      'const c = /process.env "/.test(x) ? 1 / 2 : 3; const d = /[/"]/;',
      "/** new Date() */ const many: unknown = company;",
    ].join("\n");
    const all = [{ path: "services/a/pure.ts", text }];
    const rules = [
      house.importsStayAtHome,
      house.busIsTyped,
      house.metaCarriesNothing,
      house.environmentIsReadOnce,
      house.compilerIsBelieved,
      pureTogether,
    ];
    expect(rules.flatMap((rule) => faults(rule(all)))).toEqual([]);
  });

  test("a good file breaks none", () => {
    const text =
      "/** Doc. */\nexport const SIZES = [1] as const;\nexport type Size = (typeof SIZES)[number];\n\n/** Bounds. */\nexport const MAX_A = 1;\nexport const MAX_B = 2;\nexport const PAUSE_MS = 5;\n";
    expect(faults(exportsAreDocumented([{ path: "shared/a.ts", text }]))).toEqual([]);
  });
});
