import { contracts } from "../../shared/contracts/index.ts";
import type { Source } from "./code.ts";
import { contractsAreKept, exportsAreDocumented } from "./documents.ts";
import { pureFiles, pureFilesArePure } from "./purity.ts";
import * as house from "./rules.ts";
import { readProject } from "./sources.ts";

/** Files that only calculate; machines are added by their name. */
const PURE = [
  "services/leads/rules/settlement.ts",
  "services/leads/rules/outcomes.ts",
  "services/leads/lists/lead-views.ts",
  "services/leads/push/lead-document.ts",
  "services/leads/lists/lead-filters.ts",
  "services/leads/push/idempotency.ts",
  "services/leads/lists/lead-summary.ts",
  "services/leads/lists/lead-timeline.ts",
  "services/scheduler/admission/*",
  "shared/calling-window.ts",
  "services/scheduler/fairness/fair-shares.ts",
  "services/scheduler/limits/sliding-window.ts",
  "services/scheduler/limits/rate-limits.ts",
  "services/leads/rules/queue-names.ts",
  "services/dialer/outbound/pre-checks/pre-check.ts",
  "services/dialer/outbound/pre-checks/pre-check-request.ts",
  "services/dialer/outbound/pre-checks/pre-check-verdict.ts",
  "shared/placeholders.ts",
  "services/dialer/inbound/inbound-gate.ts",
  "services/leads/attempts/inbound-lead.ts",
  "services/webhook/rules/signature.ts",
  "services/webhook/rules/delivery-verdict.ts",
  "shared/egress-address.ts",
  "services/conversation/dialogue/*",
  "services/conversation/audio/*",
  "services/conversation/evaluation/evaluation-prompt.ts",
  "services/conversation/evaluation/evaluation-result.ts",
  "services/dialer/carriers/twilio/documents.ts",
  "services/dialer/carriers/twilio/callbacks.ts",
  "services/dialer/carriers/xml.ts",
  "services/dialer/carriers/plivo/documents.ts",
  "services/dialer/carriers/plivo/callbacks.ts",
  "services/dialer/carriers/plivo/hangup-causes.ts",
  "services/dialer/carriers/plivo/call-records.ts",
  "services/dialer/carriers/plivo/recordings.ts",
  "services/dialer/carriers/plivo/voices.ts",
  "services/config/rules/effective-configuration.ts",
  "services/config/rules/template-validation.ts",
  "services/config/rules/configuration-validation.ts",
  "services/config/rules/pattern-validation.ts",
  "services/config/rules/flow-transition-validation.ts",
  "services/gateway/api/authorize.ts",
  "services/gateway/docs/openapi.ts",
  "services/auth/tokens/token-rules.ts",
  "services/auth/users/user-rules.ts",
  "services/dialer/billing/cost-item.ts",
  "services/gateway/byte-range.ts",
  "shared/call-prices.ts",
  "services/merchants/permissions.ts",
  "services/merchants/name-key.ts",
  "services/numbers/slot-allocation.ts",
  "services/numbers/slot-leases.ts",
  "shared/clock-skew.ts",
];
/** Written in two parts, so that this file does not break its own rule. */
const OUTSIDE = ["spec", "design", "conformance", "scaffold"]
  .map((folder) => `../shared/${""}${folder}`)
  .concat(["", "work", "shared"].join("/"));

const files = readProject();
const code = files.filter((f) => /^(?:services|shared|deploy|local|test)\//.test(f.path));
const faults = (violations: house.Violation[]): string[] => violations.map(house.said);

describe("who may know whom", () => {
  test("services know themselves and shared/, shared/ knows itself, the simulators know no service", () =>
    expect(faults(house.importsStayAtHome(code))).toEqual([]));
  test("carriers and models know their port", () => expect(faults(house.adaptersKnowOnlyTheirPort(code))).toEqual([]));
  test("a collection has one owner", () => {
    expect(house.collectionsOf(code).map((c) => c.collection)).toEqual(
      expect.arrayContaining(["leads", "calls", "numbers", "deliveries"]),
    );
    expect(faults(house.collectionsHaveOneOwner(code))).toEqual([]);
  });
  test("pure files calculate", () => {
    const machines = code.filter((f) => /^services\/.*-machine\.ts$/.test(f.path)).map((f) => f.path);
    expect(machines).toEqual(
      expect.arrayContaining([
        "services/leads/rules/lead-state-machine.ts",
        "services/dialer/call/call-state-machine.ts",
        "services/webhook/rules/delivery-state-machine.ts",
      ]),
    );
    const { pure, missing } = pureFiles(code, [...PURE, ...machines]);
    expect(missing).toEqual([]);
    expect(faults(pureFilesArePure(code, pure))).toEqual([]);
  });
  test("a lead's status moves in the machine", () => expect(faults(house.statusMovesInTheMachine(code))).toEqual([]));
});

describe("the bus and the environment", () => {
  test("every contract has its service, and every action its handler", () => {
    expect(
      faults(
        contractsAreKept(
          code,
          Object.fromEntries(Object.values(contracts).map((c) => [c.name, Object.keys(c.actions)])),
        ),
      ),
    ).toEqual([]);
  });
  test("the bus is used through shared/bus.ts", () => expect(faults(house.busIsTyped(code))).toEqual([]));
  test("nothing travels in ctx.meta", () => expect(faults(house.metaCarriesNothing(code))).toEqual([]));
  test("writes wait for a majority and reads ask the primary", () =>
    expect(faults(house.writesAreDurable(code))).toEqual([]));
  test("process.env is read in shared/env.ts", () => expect(faults(house.environmentIsReadOnce(files))).toEqual([]));
});

describe("files", () => {
  test("are small", () => expect(faults(house.filesAreSmall(code, 550))).toEqual([]));
  test("have names that say what they are", () => expect(faults(house.namesSaySomething(code))).toEqual([]));
  test("document what they export", () => expect(faults(exportsAreDocumented(code))).toEqual([]));
  test("believe the compiler", () => expect(faults(house.compilerIsBelieved(code))).toEqual([]));
  test("use packages that are installed without the development ones", () => {
    const { dependencies } = JSON.parse(files.find((f) => f.path === "package.json")?.text ?? "{}") as {
      dependencies: Record<string, string>;
    };
    expect(faults(house.packagesAreDependencies(code, Object.keys(dependencies)))).toEqual([]);
  });
  test("need nothing outside the project", () =>
    expect(faults(house.standsAlone(files, OUTSIDE, ".ci/run"))).toEqual([]));
});

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
    (all) => house.standsAlone(all, OUTSIDE, ".ci/run"),
    { "README.md": `see\n${OUTSIDE[0]}/x.md` },
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
