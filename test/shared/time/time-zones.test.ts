import { ZONE_NAMES } from "../../../shared/numbering/callee-zone-table.ts";
import { knownZones } from "../../../shared/numbering/callee-zones.ts";
import { readEnv } from "../../../shared/process/env.ts";
import { isTimeZone } from "../../../shared/time/time-zones.ts";

/** Abbreviations and offsets that the runtime takes for a zone, and those of other systems. */
const NONE =
  "BST IST EST CST AST ART ECT NST SST PST MST HST ACT AET VST PLT JST CTT EST5EDT PST8PDT GMT GMT0 WET CET Zulu UCT utc GB Eire Japan Cuba Egypt NZ PRC ROK W-SU Iran Turkey +02:00 UTC+2 GMT+3 SystemV/AST4 posix/Europe/Paris Mars/Olympus Europe/".split(
    " ",
  );

test("UTC and every name with a slash that the tz database has are time zones, links included", () => {
  const names = [
    ...Intl.supportedValuesOf("timeZone"),
    ..."UTC Etc/UTC Etc/GMT+3 Asia/Kolkata Europe/Kyiv US/Eastern America/Nuuk America/Argentina/Buenos_Aires".split(
      " ",
    ),
  ];
  expect(names.filter((name) => !isTimeZone(name))).toEqual([]);
});

test("every zone of callees that the runtime knows is one", () => {
  const known = ZONE_NAMES.trim()
    .split(/\s+/)
    .filter((name) => knownZones([name]).length > 0);
  expect([known.length > 100, known.filter((name) => !isTimeZone(name))]).toEqual([true, []]);
});

test.each(NONE)("%s is none, and no deployment's default", (name) => {
  expect(isTimeZone(name)).toBe(false);
  expect(() => readEnv({ NODE_ENV: "test", DEFAULT_TIMEZONE: name })).toThrow("DEFAULT_TIMEZONE");
});
