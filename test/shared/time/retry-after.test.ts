import { retryAfterSeconds } from "../../../shared/time/retry-after.ts";

const NOW = new Date("2026-11-21T10:00:00Z");

test.each<[header: string | undefined, seconds: number | null]>([
  ["120", 120],
  [" 7 ", 7],
  ["0", 0],
  ["12.5", 13],
  ["0.2", 1],
  ["120s", 120],
  ["2 seconds", 2],
  ["+30", 30],
  ["-5", 0],
  ["Sat, 21 Nov 2026 10:00:10 GMT", 10],
  ["Saturday, 21-Nov-26 10:00:10 GMT", 10],
  ["Sat Nov 21 10:00:10 2026 GMT", 10],
  ["2026-11-21T10:00:09.5Z", 10],
  ["Sat, 21 Nov 2026 09:00:00 GMT", 0],
  ["soon", null],
  ["1e3", null],
  ["12,5", null],
  ["2026", 2026],
  ["", null],
  [undefined, null],
])("Retry-After %j is %s seconds", (header, seconds) => {
  expect(retryAfterSeconds(header, NOW)).toBe(seconds);
});

test("a date says nothing where it is not known when the answer was made", () =>
  expect(retryAfterSeconds("Sat, 21 Nov 2026 10:00:10 GMT", new Date(Number.NaN))).toBeNull());
