import { contractsAreKept, exportsAreDocumented } from "./documents.ts";
import type { Source } from "./code.ts";
import * as names from "./names.ts";
import { pureFiles, pureFilesArePure } from "./purity.ts";
import * as house from "./rules.ts";
import * as structure from "./structure.ts";

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
    { "services/a/pure.ts": 'import { busOf } from "../../shared/bus.ts";' },
    "services/a/pure.ts:1 imports shared/bus.ts",
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
    "a long file",
    (all) => house.filesAreSmall(all),
    { "test/a.ts": "x;\n".repeat(301) },
    "test/a.ts:301 301 lines; at most 300",
  ],
  [
    "a long file that only says it is generated",
    house.filesAreSmall,
    { "services/a/a.ts": `/** generated */\n${"x;\n".repeat(300)}` },
    "services/a/a.ts:301 301 lines",
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
    "a contract without a service",
    (all) => contractsAreKept(all, { b: [] }),
    {},
    "services/b/b.service.ts:1 the contract b",
  ],
  [
    "a banned name",
    names.namesAreNouns,
    { "services/a/together.ts": "" },
    "services/a/together.ts:1 the name together is banned",
  ],
  [
    "a verb in -ing",
    names.namesAreNouns,
    { "services/a/rooms/judging.ts": "", "services/a/rooms/endpointing.ts": "" },
    "services/a/rooms/judging.ts:1 the name judging is a verb in -ing",
  ],
  [
    "names that differ by their ending",
    names.namesDifferByMoreThanTheirEnding,
    { "services/a/timed.ts": "", "services/a/x/timing.ts": "" },
    "services/a/x/timing.ts:1 the name differs from services/a/timed.ts by its ending only",
  ],
  [
    "one name in two services",
    names.namesMeanOneThing,
    { "services/a/cost.ts": "", "services/b/cost.ts": "", "services/a/deps.ts": "", "services/b/deps.ts": "" },
    "services/b/cost.ts:1 services/a/cost.ts has the same name",
  ],
  [
    "a crowded folder",
    names.foldersAreSmall,
    Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`services/a/x${i}.ts`, ""])),
    "services/a:1 17 files in one folder; at most 16",
  ],
  [
    "a large class",
    structure.classesAreSmall,
    { "services/a/a.ts": `\nclass Big<T> extends Map<string, T> {\n${"  x = 1;\n".repeat(199)}}\n` },
    "services/a/a.ts:2 the class Big has 201 lines; at most 200",
  ],
  [
    "a circle, by types too",
    structure.importsMakeNoCircle,
    {
      "services/a/a.ts": 'import { b } from "./b.ts";',
      "services/a/b.ts": '\nimport { c } from "./x/c.ts";',
      "services/a/x/c.ts": 'import type { A } from "../a.ts";',
    },
    "services/a/x/c.ts:1 closes the circle services/a/a.ts > services/a/b.ts > services/a/x/c.ts > services/a/a.ts",
  ],
  [
    "a tool that reaches into a service",
    structure.toolsUseTheDeclaredSurface,
    {
      "local/tools/t/a.ts":
        'import { a } from "../../../services/a/pure.ts";\nimport { x } from "../../../services/a/x.ts";',
    },
    "local/tools/t/a.ts:2 a tool imports services/a/x.ts",
  ],
  [
    "a citation of what is not there",
    structure.commentsCiteWhatIsThere,
    {
      "docs/there.md": "",
      "services/a/a.ts":
        "/** docs/there.md, a.ts, ./b/c.ts */\nconst x = 'nowhere.md'; // see gone.md 3.1\nexport const url = 1;",
      "services/a/b/c.ts": "",
    },
    "services/a/a.ts:2 cites gone.md, which is not in the repository",
  ],
  [
    "a code that nothing throws",
    (all) => structure.errorCodesAreUsed(all, ["USED", "MAPPED", "DEAD"]),
    {
      "shared/errors.ts": 'export const CATALOGUE = { USED: 1, MAPPED: 1,\nDEAD: 1 };\nconst BUS = { gone: "MAPPED" };',
      "services/a/a.ts": 'fail("USED"); // "DEAD"',
    },
    "shared/errors.ts:2 nothing throws DEAD",
  ],
  [
    "an event that nothing emits",
    (all) => structure.eventsAreEmitted(all, ["a.done", "a.gone"]),
    { "services/a/a.ts": 'bus.emit("a.done", {}); // bus.emit("a.gone")' },
    "nothing emits the event a.gone",
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
