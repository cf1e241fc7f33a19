import { dialAnswerOf, refusalOf } from "../../../../services/dialer/carriers/plivo/refusals.ts";

const NOW = new Date("2026-11-21T10:00:00Z");
const answer = (status: number, body: unknown, retry_after: string | null = null) =>
  dialAnswerOf(refusalOf(status, body, retry_after, NOW));

describe("dial answers", () => {
  test.each<[number, unknown, object]>([
    [
      400,
      { api_id: "a", error: "to is not a valid phone number" },
      { kind: "refused", invalid_number: true, carrier_code: "400", reason: "to is not a valid phone number" },
    ],
    [
      400,
      { error: "invalid destination 14155550101" },
      { kind: "refused", invalid_number: true, reason: "invalid destination +1415***0101" },
    ],
    [400, { error: "from is not a valid phone number of this account" }, { kind: "refused", invalid_number: false }],
    [
      400,
      { error: { error: "answer_url parameter is required" } },
      { kind: "refused", reason: "answer_url parameter is required" },
    ],
    [400, "<html>", { kind: "refused", invalid_number: false, reason: "HTTP 400" }],
    [404, { message: "not found" }, { kind: "refused", reason: "not found" }],
    [402, {}, { kind: "refused", carrier_code: "402" }],
    [401, "Could not verify your access level for that URL.", { kind: "not_placed", credentials_refused: true }],
    [403, { error: "account suspended" }, { kind: "not_placed", credentials_refused: true }],
    [403, { error: "Geo permission to this country is not enabled" }, { kind: "refused", invalid_number: false }],
    [429, { error: "too many" }, { kind: "not_placed", retry_after_seconds: null }],
    [408, "", { kind: "uncertain" }],
    [500, {}, { kind: "uncertain" }],
    [502, "", { kind: "uncertain" }],
    [503, {}, { kind: "uncertain" }],
  ])("HTTP %s %j", (status, body, expected) => {
    expect(answer(status, body)).toMatchObject(expected);
  });
  test.each<[string, unknown, string]>([
    [
      "a refused connection",
      new TypeError("fetch failed", {
        cause: Object.assign(new Error("x"), { code: "ECONNREFUSED", syscall: "connect" }),
      }),
      "not_placed",
    ],
    [
      "no connection in time",
      new TypeError("fetch failed", { cause: Object.assign(new Error("x"), { code: "UND_ERR_CONNECT_TIMEOUT" }) }),
      "not_placed",
    ],
    [
      "a cut connection",
      new TypeError("fetch failed", {
        cause: Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" }),
      }),
      "uncertain",
    ],
    ["no answer in time", new DOMException("timeout", "TimeoutError"), "uncertain"],
  ])("%s", (_what, error, kind) => {
    expect(dialAnswerOf(error).kind).toBe(kind);
  });
  test("Retry-After is obeyed", () =>
    expect(answer(429, {}, "7")).toMatchObject({ kind: "not_placed", retry_after_seconds: 7 }));
});
