import { IANAZone } from "luxon";
import { ZONE_NAMES } from "../../../shared/numbering/callee-zone-table.ts";
import {
  isAbroad,
  knownZones,
  zoneMark,
  zoneName,
  zonesOf,
  zonesOfMark,
} from "../../../shared/numbering/callee-zones.ts";

/** Where a phone number may be, by libphonenumber's map of time zones. */

test.each<[string, string[]]>([
  ["+12125551234", ["America/New_York"]],
  ["+14155550123", ["America/Los_Angeles"]],
  ["+4915112345678", ["Europe/Berlin"]],
  ["+819012345678", ["Asia/Tokyo"]],
  ["+919812345678", [zoneName("Asia/Kolkata")]],
  ["+447911123456", ["Europe/Guernsey", "Europe/Isle_of_Man", "Europe/London"]],
  ["+870773111632", []],
  ["+80012345678", []],
])("%s", (number, zones) => {
  expect(zonesOf(number)).toEqual(zones);
});

test("a number that is nowhere in particular may be in any zone of its calling code", () => {
  const zones = zonesOf("+18005551234");
  expect(zones.length).toBeGreaterThan(30);
  expect(zones).toEqual(expect.arrayContaining(["America/New_York", "Pacific/Guam", "America/St_Johns"]));
});

test("the map's zones are known to this runtime, each under one name", () => {
  const names = ZONE_NAMES.trim().split(/\s+/);
  expect(names.length).toBeGreaterThan(250);
  expect(names.filter((name) => !IANAZone.isValidZone(name))).toEqual([]);
});

test("a zone that the runtime does not know says nothing; others of the number still count", () => {
  expect(knownZones(["Mars/Olympus", "Europe/Paris", "Asia/Kolkata", "Asia/Calcutta"])).toEqual(
    [zoneName("Asia/Kolkata"), "Europe/Paris"].sort(),
  );
  expect(knownZones(["Mars/Olympus"])).toEqual([]);
});

test("a mark stands for numbers of the same zones, and for no others", () => {
  const numbers = ["+12125551234", "+19175551234", "+14155550123", "+4915112345678", "+18005551234", "+819012345678"];
  for (const a of numbers) {
    expect(zonesOfMark(zoneMark(a) ?? "")).toEqual(zonesOf(a));
    for (const b of numbers) expect(zoneMark(a) === zoneMark(b)).toBe(zonesOf(a).join() === zonesOf(b).join());
  }
  expect(zoneMark("+870773111632")).toBeNull();
});

test.each<[string, string, boolean]>([
  ["+12125551234", "America/Los_Angeles", false],
  ["+12125551234", "US/Eastern", false],
  ["+14165551234", "America/New_York", true], // Toronto
  ["+18005551234", "America/New_York", false], // may be there
  ["+4915112345678", "Europe/Berlin", false],
  ["+4915112345678", "Europe/Zurich", true],
  ["+34922123456", "Europe/Madrid", false], // the Canaries
  ["+919812345678", "Asia/Kolkata", false],
  ["+77011234567", "Europe/Moscow", true], // Kazakhstan
  ["+4915112345678", "UTC", true],
])("%s is abroad for %s: %s", (number, zone, abroad) => {
  expect(isAbroad(zonesOf(number), zone)).toBe(abroad);
});
