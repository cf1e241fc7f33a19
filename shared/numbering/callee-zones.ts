import { getCountries } from "libphonenumber-js/min";
import { recencyCache } from "../cache.ts";
import { ZONE_NAMES, ZONE_SETS } from "./callee-zone-table.ts";

/** Where a phone number may be: the time zones of its longest known prefix. */

/** Longest prefix of the table, digits. */
const LONGEST_PREFIX = 9;

/** The runtime's names, by the names that were asked for, where it knows one: it takes tens of microseconds to tell, and every judgement of a window asks. */
const runtimeNames = recencyCache<string>({ max: 2000 });

/** The name that this runtime has for a zone; null: it knows none of that name. */
function runtimeName(zone: string): string | null {
  const known = runtimeNames.get(zone);
  if (known !== undefined) return known;
  try {
    const name = new Intl.DateTimeFormat("en", { timeZone: zone }).resolvedOptions().timeZone;
    runtimeNames.set(zone, name);
    return name;
  } catch {
    return null;
  }
}

/** A zone by the runtime's name for it; its own where the runtime knows none. */
export const zoneName = (zone: string): string => runtimeName(zone) ?? zone;

/** The zones that this runtime knows, by its names, each once and in order: one that it does not know says nothing. */
export const knownZones = (names: readonly string[], nameOf = runtimeName): string[] =>
  [...new Set(names.flatMap((name) => nameOf(name) ?? []))].sort();

/** A set of zones, and the prefix that stands for all that have it: the shortest, of those the first. */
interface ZoneSet {
  zones: readonly string[];
  mark: string;
}

const byPrefix: ReadonlyMap<string, ZoneSet> = (() => {
  const names = ZONE_NAMES.trim().split(/\s+/);
  const own = new Map(names.map((name) => [name, runtimeName(name)]));
  const sets = new Map<string, ZoneSet>();
  for (const line of ZONE_SETS.trim().split(/\s+/)) {
    const [places = "", list = ""] = line.split(":");
    const prefixes = list.split(",");
    const [mark = ""] = prefixes.toSorted((a, b) => a.length - b.length || (a < b ? -1 : 1));
    const zones = knownZones(
      places.split("+").map((place) => names[Number(place)] ?? ""),
      (name) => own.get(name) ?? null,
    );
    for (const prefix of prefixes) sets.set(prefix, { zones, mark });
  }
  return sets;
})();

function setOf(e164: string): ZoneSet | null {
  for (let n = Math.min(e164.length - 1, LONGEST_PREFIX); n > 0; n--) {
    const found = byPrefix.get(e164.slice(1, n + 1));
    if (found) return found;
  }
  return null;
}

/** The zones where a number in E.164 may be, by the runtime's names, in order; none: nothing is known (satellites, universal free-phone). */
export const zonesOf = (e164: string): readonly string[] => setOf(e164)?.zones ?? [];

/** The prefix that stands for all numbers that may be in the same zones as this one; null: nothing is known. */
export const zoneMark = (e164: string): string | null => setOf(e164)?.mark ?? null;

/** The zones of the numbers that a mark stands for. */
export const zonesOfMark = (mark: string): readonly string[] => zonesOf(`+${mark}`);

/** The zones of a country as the runtime knows them; an older runtime knows none. */
function zonesOfCountry(country: string): string[] {
  const locale: Intl.Locale & { getTimeZones?: () => string[] | undefined } = new Intl.Locale(`und-${country}`);
  return knownZones(locale.getTimeZones?.() ?? []);
}

let homes: ReadonlyMap<string, ReadonlySet<string>> | undefined;

/** The zones of all countries that a zone lies in, by zone. */
function homeZones(): ReadonlyMap<string, ReadonlySet<string>> {
  if (homes) return homes;
  const made = new Map<string, Set<string>>();
  for (const country of getCountries()) {
    const zones = zonesOfCountry(country);
    for (const zone of zones) made.set(zone, new Set([...(made.get(zone) ?? []), ...zones]));
  }
  return (homes = made);
}

/** Whether numbers that may be in these zones are abroad for who lives in `zone`: none of them lies in its country. UTC lies in no country, so all are. */
export function isAbroad(zones: readonly string[], zone: string): boolean {
  const home = homeZones().get(zoneName(zone));
  return !zones.some((one) => home?.has(one) === true);
}
