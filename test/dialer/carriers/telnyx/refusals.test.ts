import { describe, expect, test } from "@jest/globals";
import { Refusal } from "../../../../services/dialer/carriers/carrier-errors.ts";
import { dialAnswerOf, isOver, isUnknown, refusalOf } from "../../../../services/dialer/carriers/telnyx/refusals.ts";

describe("what a failed dial means", () => {
  const now = new Date("2026-11-21T10:00:00Z");
  const errors = (code: unknown, detail = "No, +14155550101.") => ({ errors: [{ code, title: "A title", detail }] });
  const system = (syscall: string) =>
    Object.assign(new TypeError("fetch failed"), {
      cause: Object.assign(new Error("x"), { code: "ECONNREFUSED", syscall }),
    });
  test.each<[string, unknown, Record<string, unknown>]>([
    ["401", refusalOf(401, errors("10009"), null, now), { kind: "not_placed", credentials_refused: true }],
    ["403 without a code", refusalOf(403, "<html>", null, now), { kind: "not_placed", credentials_refused: true }],
    ["403 10010", refusalOf(403, errors("10010"), null, now), { kind: "not_placed", credentials_refused: true }],
    [
      "403 D13",
      refusalOf(403, errors("D13"), null, now),
      { kind: "refused", invalid_number: false, carrier_code: "D13", reason: "No, +1415***0101." },
    ],
    [
      "403 D1",
      refusalOf(403, errors("D1"), null, now),
      { kind: "not_placed", retry_after_seconds: null, reason: "the carrier takes no more calls at the moment" },
    ],
    ["403 D24", refusalOf(403, errors("D24"), "9", now), { kind: "not_placed", retry_after_seconds: 9 }],
    ["403 D17", refusalOf(403, errors("D17"), null, now), { kind: "not_placed" }],
    [
      "422 10016",
      refusalOf(422, errors("10016"), null, now),
      { kind: "refused", invalid_number: true, carrier_code: "10016" },
    ],
    [
      "422 with a number as code",
      refusalOf(422, errors(10_002), null, now),
      { kind: "refused", invalid_number: true, carrier_code: "10002" },
    ],
    ["403 D11", refusalOf(403, errors("D11"), null, now), { kind: "refused", invalid_number: true }],
    [
      "422 10015",
      refusalOf(422, errors("10015"), null, now),
      { kind: "refused", invalid_number: false, carrier_code: "10015" },
    ],
    [
      "404 of a proxy",
      refusalOf(404, null, null, now),
      { kind: "refused", invalid_number: false, carrier_code: "404", reason: "HTTP 404" },
    ],
    ["429", refusalOf(429, errors("10011"), "17", now), { kind: "not_placed", retry_after_seconds: 17 }],
    [
      "429 with a date",
      refusalOf(429, null, "Sat, 21 Nov 2026 10:00:30 GMT", now),
      { kind: "not_placed", retry_after_seconds: 30 },
    ],
    ["a redirect", refusalOf(308, null, null, now), { kind: "not_placed" }],
    ["408", refusalOf(408, null, null, now), { kind: "uncertain" }],
    ["500", refusalOf(500, errors("10007"), null, now), { kind: "uncertain" }],
    ["503", refusalOf(503, "x", null, now), { kind: "uncertain" }],
    ["a refused connection", system("connect"), { kind: "not_placed" }],
    ["no such host", system("getaddrinfo"), { kind: "not_placed" }],
    ["a broken connection", system("read"), { kind: "uncertain" }],
    [
      "no connection in time",
      Object.assign(new TypeError("fetch failed"), {
        cause: Object.assign(new Error("x"), { code: "UND_ERR_CONNECT_TIMEOUT" }),
      }),
      { kind: "not_placed" },
    ],
    [
      "no answer in time",
      new DOMException("late", "TimeoutError"),
      { kind: "uncertain", reason: "the carrier's answer never came (TimeoutError)" },
    ],
    ["nonsense", "nonsense", { kind: "uncertain" }],
  ])("%s", (_name, error, answer) => {
    expect(dialAnswerOf(error)).toMatchObject(answer);
    expect(JSON.stringify(dialAnswerOf(error))).not.toContain("4155550101");
  });
  test.each<[Refusal, boolean, boolean]>([
    [new Refusal(422, "90018", "over", null), true, false],
    [new Refusal(422, "90015", "none", null), true, true],
    [new Refusal(404, "10005", "none", null), true, true],
    [new Refusal(422, "10015", "no", null), false, false],
    [new Refusal(500, null, "x", null), false, false],
  ])("%o", (refusal, over, unknown) => {
    expect([isOver(refusal), isUnknown(refusal)]).toEqual([over, unknown]);
  });
});
