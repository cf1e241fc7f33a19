import { contracts } from "../../shared/contracts/index.ts";
import { CATALOGUE } from "../../shared/errors.ts";
import { contractsAreKept, exportsAreDocumented } from "./documents.ts";
import * as names from "./names.ts";
import { machineClockHasOnePlace, pureFiles, pureFilesArePure } from "./purity.ts";
import * as house from "./rules.ts";
import { readProject } from "./sources.ts";
import * as structure from "./structure.ts";

/**
 * Files that only calculate, known by their place: a folder `rules`, the rooms of pure logic, state machines, surfaces named pure, and what a
 * carrier's folder holds beside its requests. The rest by name.
 */
const PURE_PLACES = [
  /^services\/.*\/rules\/[^/]+\.ts$/,
  /^services\/(?:scheduler\/admission|conversation\/(?:dialogue|audio))\/[^/]+\.ts$/,
  /^services\/.*-(?:state-machine|rules)\.ts$/,
  /^services\/[^/]+\/pure\.ts$/,
  /^services\/dialer\/carriers\/[^/]+\/(?:call-records|callbacks|documents|hangup-causes|stream|voices)\.ts$/,
];
const PURE_FILES = [
  "services/leads/lists/lead-views.ts",
  "services/leads/lists/lead-filters.ts",
  "services/leads/lists/lead-summary.ts",
  "services/leads/lists/lead-timeline.ts",
  "services/leads/push/lead-document.ts",
  "services/leads/push/idempotency.ts",
  "services/leads/attempts/inbound-lead.ts",
  "services/scheduler/fairness/fair-shares.ts",
  "services/dialer/outbound/pre-checks/pre-check.ts",
  "services/dialer/outbound/pre-checks/pre-check-request.ts",
  "services/dialer/outbound/pre-checks/pre-check-verdict.ts",
  "services/dialer/inbound/inbound-gate.ts",
  "services/dialer/billing/cost-item.ts",
  "services/dialer/carriers/xml.ts",
  "services/conversation/evaluation/evaluation-prompt.ts",
  "services/conversation/evaluation/evaluation-result.ts",
  "services/gateway/docs/openapi.ts",
  "shared/time/calling-clocks.ts",
  "shared/calling-window.ts",
  "shared/time/zone-offsets.ts",
  "shared/call-prices.ts",
  "shared/placeholders.ts",
  "shared/database/clock-skew.ts",
  "shared/database/database-clock.ts",
  "shared/egress/egress-address.ts",
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
  test("tools know what a service declares", () =>
    expect(faults(structure.toolsUseTheDeclaredSurface(code))).toEqual([]));
  test("a collection has one owner", () => {
    expect(house.collectionsOf(code).map((c) => c.collection)).toEqual(
      expect.arrayContaining(["leads", "calls", "numbers", "deliveries"]),
    );
    expect(faults(house.collectionsHaveOneOwner(code))).toEqual([]);
  });
  test("pure files calculate", () => {
    const placed = code.filter((f) => PURE_PLACES.some((place) => place.test(f.path))).map((f) => f.path);
    expect(placed).toEqual(
      expect.arrayContaining([
        "services/leads/rules/lead-state-machine.ts",
        "services/dialer/call/call-state-machine.ts",
        "services/webhook/rules/delivery-state-machine.ts",
        "services/dialer/carriers/telnyx/stream.ts",
        "services/conversation/dialogue/dialogue-manager.ts",
      ]),
    );
    const { pure, missing } = pureFiles(code, [...PURE_FILES, ...placed]);
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
  test("the bus is used through shared/bus/bus.ts", () => expect(faults(house.busIsTyped(code))).toEqual([]));
  test("every code of the catalogue is given, every event of a contract emitted", () => {
    const events = Object.values(contracts).flatMap((c) => Object.keys(c.events));
    expect(faults(structure.errorCodesAreUsed(code, Object.keys(CATALOGUE)))).toEqual([]);
    expect(faults(structure.eventsAreEmitted(code, events))).toEqual([]);
  });
  test("nothing travels in ctx.meta", () => expect(faults(house.metaCarriesNothing(code))).toEqual([]));
  test("writes wait for a majority and reads ask the primary", () =>
    expect(faults(house.writesAreDurable(code))).toEqual([]));
  test("the database's clock is asked in the one form that databases share", () =>
    expect(faults(house.clockHasOnePlace(code))).toEqual([]));
  test("the machine's clock is asked in shared/time/clock.ts", () =>
    expect(faults(machineClockHasOnePlace(code))).toEqual([]));
  test("batches of the same documents are written in one order", () =>
    expect(faults(house.batchesHaveOneOrder(code))).toEqual([]));
  test("process.env is read in shared/process/env.ts", () =>
    expect(faults(house.environmentIsReadOnce(files))).toEqual([]));
});

describe("files", () => {
  test("are small", () => expect(faults(house.filesAreSmall(code))).toEqual([]));
  test("have no hooks where they are shared", () => expect(faults(structure.hooksAreCalled(code))).toEqual([]));
  test("hold small classes", () => expect(faults(structure.classesAreSmall(code))).toEqual([]));
  test("import each other in no circle", () => expect(faults(structure.importsMakeNoCircle(code))).toEqual([]));
  test("stand in folders that can be taken in at a glance", () =>
    expect(faults(names.foldersAreSmall(files))).toEqual([]));
  test("have names that say what they are", () => expect(faults(house.namesSaySomething(code))).toEqual([]));
  test("have nouns of the glossary for names", () => expect(faults(names.namesAreNouns(code))).toEqual([]));
  test("have names that differ by more than their ending", () =>
    expect(faults(names.namesDifferByMoreThanTheirEnding(code))).toEqual([]));
  test("share a name with another service only for a role", () =>
    expect(faults(names.namesMeanOneThing(code))).toEqual([]));
  test("cite what is in the repository", () => expect(faults(structure.commentsCiteWhatIsThere(files))).toEqual([]));
  test("document what they export", () => expect(faults(exportsAreDocumented(code))).toEqual([]));
  test("believe the compiler", () => expect(faults(house.compilerIsBelieved(code))).toEqual([]));
  test("use packages that are installed without the development ones", () => {
    const { dependencies, optionalDependencies } = JSON.parse(
      files.find((f) => f.path === "package.json")?.text ?? "{}",
    ) as {
      dependencies: Record<string, string>;
      optionalDependencies: Record<string, string>;
    };
    expect(
      faults(house.packagesAreDependencies(code, [...Object.keys(dependencies), ...Object.keys(optionalDependencies)])),
    ).toEqual([]);
  });
  test("need nothing outside the project", () =>
    expect(faults(house.standsAlone(files, OUTSIDE, ".ci/run"))).toEqual([]));
});
