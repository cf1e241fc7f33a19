import { causeOf, dollarsOf, endOf, timeOf } from "../../../../services/dialer/carriers/plivo/hangup-causes.ts";
import { wholeOf } from "../../../../services/dialer/carriers/json.ts";

test.each<[string | null, number | null, boolean, string | null]>([
  [null, null, true, "completed"],
  [null, 4010, true, "completed"],
  [null, 6000, true, "time_limit"],
  [null, 3000, false, "no_answer"],
  [null, 6010, false, "no_answer"],
  [null, 3010, false, "busy"],
  [null, 3020, false, "rejected"],
  [null, 1000, false, "canceled"],
  [null, 2000, false, "invalid_number"],
  [null, 5020, false, "failed"],
  [null, 0, false, "failed"],
  [null, null, false, "failed"],
  ["ANSWER", 4000, true, "completed"],
  ["NO_ANSWER", null, false, "no_answer"],
  ["what", 4000, true, null],
])("status %s, code %s, answered %s is %s", (status, code, answered, end) => {
  expect(endOf({ status, code, name: null, answered })).toBe(end);
});
test("times, numbers and dollars in all their forms", () => {
  expect(
    [
      "2015-07-26 15:45:02+05:30",
      "2026-11-21 10:00:00",
      "2014-03-23 14:49:39.722551",
      "2026-11-21T10:00:00Z",
      "",
      "yesterday",
      null,
    ].map(timeOf),
  ).toEqual([
    "2015-07-26T10:15:02.000Z",
    "2026-11-21T10:00:00.000Z",
    "2014-03-23T14:49:39.722Z",
    "2026-11-21T10:00:00.000Z",
    null,
    null,
    null,
  ]);
  expect([12, "12", "", "1.5", -1, null, "1234567890123456"].map(wholeOf)).toEqual([
    12,
    12,
    null,
    null,
    null,
    null,
    null,
  ]);
  expect(["0.00850", 0.0085, "-0.1", "", "free", null].map(dollarsOf)).toEqual([
    { amount: 0.0085, currency: "USD" },
    { amount: 0.0085, currency: "USD" },
    { amount: 0.1, currency: "USD" },
    null,
    null,
    null,
  ]);
  expect([
    causeOf({ status: null, code: null, name: null, answered: true }),
    causeOf({ status: null, code: 3010, name: null, answered: false }),
  ]).toEqual([null, "plivo 3010"]);
});
