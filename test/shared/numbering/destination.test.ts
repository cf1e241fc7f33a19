import { describe, expect, test } from "@jest/globals";
import {
  deploymentDestinations,
  destinationIssue,
  destinationVariableIssues,
  specialNumberOf,
} from "../../../shared/numbering/destination.ts";
import { isPublicAddress } from "../../../shared/egress/egress-address.ts";

const BY_DEFAULT = deploymentDestinations(undefined, undefined);

describe("special numbers", () => {
  test.each([
    ["+19005551234", "premium"],
    ["+19765551234", "premium"],
    ["+14159761234", "premium"],
    ["+499001123456", "premium"],
    ["+979123456789", "premium"],
    ["+8816123456789", "satellite"],
    ["+88213123456", "satellite"],
    ["+870773111632", "satellite"],
    ["+80812345678", "shared_cost"],
    ["+33825123456", "shared_cost"],
    ["+14155550100", null],
    ["+18765551234", null],
    ["+18095551234", null],
    ["+80012345678", null],
    ["+4313091234", null],
  ])("%s is %s", (number, kind) => expect(specialNumberOf(number)).toBe(kind));
  test("a premium number with digits too many is one", () => expect(specialNumberOf("+4990011234569")).toBe("premium"));
});

describe("what a deployment calls", () => {
  test("refuses premium, satellite and shared-cost numbers by default, in any spelling", () => {
    for (const number of ["+1 900 555-1234", "+8816123456789", "+33 825 123 456"])
      expect(destinationIssue(number, BY_DEFAULT)).toMatch(/which this deployment does not call$/);
    expect(destinationIssue("+14155550100", BY_DEFAULT)).toBeNull();
    expect(destinationIssue("+18765551234", BY_DEFAULT)).toBeNull();
  });
  test("calls what its variables allow, and never an emergency number", () => {
    const allowed = deploymentDestinations("US, 001", "satellite");
    expect(destinationIssue("+8816123456789", allowed)).toBeNull();
    expect(destinationIssue("+19005551234", allowed)).toMatch(/premium/);
    expect(destinationIssue("+18765551234", allowed)).toMatch(/^is a number of JM, which is not among the countries/);
    expect(destinationIssue("+911", allowed)).toMatch(/never called$/);
  });
  test("names what it can't read in its variables", () => {
    expect(destinationVariableIssues("UK,US", "premium,gold")).toEqual([
      expect.stringMatching(/^CALL_COUNTRIES holds "UK"/),
      expect.stringMatching(/^CALL_SPECIAL_NUMBERS holds "gold"/),
    ]);
  });
});

test.each(["168.63.129.16", "200::1", "4000::1"])("%s is no public address", (address) =>
  expect(isPublicAddress(address)).toBe(false),
);
