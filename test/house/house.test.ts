import { contracts } from "../../shared/contracts/index.ts";
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
  "services/dialer/carriers/plivo/voices.ts",
  "services/config/rules/effective-configuration.ts",
  "services/config/rules/template-validation.ts",
  "services/config/rules/configuration-validation.ts",
  "services/config/rules/pattern-validation.ts",
  "services/config/rules/flow-transition-validation.ts",
  "services/gateway/docs/openapi.ts",
  "services/auth/tokens/token-rules.ts",
  "services/auth/users/user-rules.ts",
  "services/dialer/billing/cost-item.ts",
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
