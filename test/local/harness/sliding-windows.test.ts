import { crowded, withSending } from "../../../local/harness/sliding-windows.ts";
import type { LedgerCall } from "../../../local/harness/product.ts";

const WINDOW_MS = 4000;
const at = (ms: number): string => new Date(1_700_000_000_000 + ms).toISOString();
/** A call that a dialer was about to send, and that the carrier wrote down. */
const sent = (placed: number, after?: number): LedgerCall =>
  ({
    reference: `lead.${placed}`,
    placed_at: at(placed),
    ...(after === undefined ? {} : { sent_after: at(after) }),
  }) as LedgerCall;
const found = (calls: readonly LedgerCall[]): number => crowded("x", calls, 2, WINDOW_MS).length;

describe("a sliding window is judged by when requests were sent", () => {
  test("a dial too many is found, however little its window was too short", () => {
    expect(found([sent(10, 0), sent(20, 10), sent(3960, 3950)])).toBe(1);
    expect(found([sent(3960, 3950), sent(20, 10), sent(10, 0)])).toBe(1);
  });
  test("as many as are allowed, and one more a window later, are no fault", () => {
    expect(found([sent(10, 0), sent(20, 10), sent(4010, 4000)])).toBe(0);
  });
  test("what a busy carrier wrote down late says nothing of when it was sent", () => {
    expect(found([sent(2000, 0), sent(2010, 10), sent(4010, 4000)])).toBe(0);
    expect(found([sent(10, 0), sent(20, 10), sent(5000, 3900)])).toBe(0);
  });
  test("where nobody logged the sending, the ledger may be late by a tenth of the window", () => {
    expect(found([sent(0), sent(10), sent(3650)])).toBe(0);
    expect(found([sent(0), sent(10), sent(3500)])).toBe(1);
  });
});

test("a call was sent after the last line of log before the carrier wrote it down", () => {
  const line = (ms: number, event = "call.dialling") => ({ event, call_ref: "lead.500", time: at(ms) });
  const log = [line(100), line(400), line(600), line(450, "call.ended"), { ...line(450), call_ref: "other.1" }];
  expect(withSending([sent(500), sent(7)], log).map((call) => call.sent_after)).toEqual([at(400), undefined]);
});
