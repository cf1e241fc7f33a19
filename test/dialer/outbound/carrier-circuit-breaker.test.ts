import * as fc from "fast-check";
import type { DialAnswer } from "../../../services/dialer/carriers/carrier-port.ts";
import {
  afterAnswer,
  createCarrierBreakers,
  type BreakerState,
} from "../../../services/dialer/outbound/carrier-circuit-breaker.ts";
import { readEnv } from "../../../shared/process/env.ts";
import { rootLog } from "../../../shared/process/log.ts";

const placed = (queued_ms = 0): DialAnswer => ({ kind: "placed", call_id: "CA1", queued_ms });
const down: DialAnswer = { kind: "not_placed", retry_after_seconds: null, reason: "refused connection" };
const busy = (retry_after_seconds: number): DialAnswer => ({ kind: "not_placed", retry_after_seconds, reason: "429" });
const locked: DialAnswer = { ...down, credentials_refused: true };
const silent: DialAnswer = { kind: "uncertain", reason: "no answer" };

/** The breaker's state after answers that came at these moments; `random` in the middle: no spread. */
const after = (answers: [at: number, answer: DialAnswer][]) =>
  answers.reduce<{ state: BreakerState | undefined; why: string | null }>(
    ({ state }, [at, answer]) => afterAnswer(state, answer, at, 0.5),
    { state: undefined, why: null },
  );

test.each<[string, [number, DialAnswer][], number, boolean]>([
  ["taken", [[0, placed()]], -Infinity, false],
  ["cannot be reached", [[0, down]], 2000, true],
  [
    "many of one moment are one miss",
    [
      [0, down],
      [1, down],
      [2, down],
    ],
    2000,
    true,
  ],
  [
    "again after the back-off",
    [
      [0, down],
      [2000, down],
    ],
    6000,
    true,
  ],
  [
    "never longer than a minute",
    Array.from({ length: 12 }, (_v, i) => [i * 100_000, down] as [number, DialAnswer]),
    11 * 100_000 + 60_000,
    true,
  ],
  [
    "a call taken begins anew",
    [
      [0, down],
      [2000, down],
      [6000, placed()],
      [6001, down],
    ],
    8001,
    true,
  ],
  [
    "a call taken while the breaker is open (it was sent before) does not end it",
    [
      [0, busy(7)],
      [100, placed()],
    ],
    7000,
    false,
  ],
  [
    "refused credentials keep for three minutes",
    [
      [0, locked],
      [1, locked],
    ],
    180_001,
    true,
  ],
  [
    "and again, no longer",
    [
      [0, locked],
      [180_000, locked],
      [360_000, locked],
    ],
    540_000,
    true,
  ],
  [
    "set right, all goes on",
    [
      [0, locked],
      [180_000, placed()],
    ],
    -Infinity,
    false,
  ],
  ["Retry-After is obeyed", [[0, busy(7)]], 7000, true],
  ["Retry-After of nothing is a second", [[0, busy(0)]], 1000, true],
  [
    "a shorter Retry-After shortens nothing",
    [
      [0, busy(30)],
      [100, busy(1)],
    ],
    30_000,
    true,
  ],
  [
    "a longer one lengthens",
    [
      [0, busy(3)],
      [100, busy(30)],
    ],
    30_100,
    true,
  ],
  [
    "some requests without an answer are no outage",
    [
      [0, silent],
      [1, silent],
      [2, placed()],
      [3, silent],
      [4, silent],
      [5, silent],
      [6, silent],
    ],
    -Infinity,
    false,
  ],
  [
    "five in a row are",
    [
      [0, silent],
      [1, silent],
      [2, silent],
      [3, silent],
      [4, silent],
    ],
    2004,
    true,
  ],
  [
    "and after the back-off each one more",
    [
      [0, silent],
      [1, silent],
      [2, silent],
      [3, silent],
      [4, silent],
      [2004, silent],
    ],
    6004,
    true,
  ],
  ["a carrier that queues for a moment", [[0, placed(5000)]], -Infinity, false],
  ["a carrier that queues for long", [[0, placed(90_000)]], 90_000, true],
  [
    "a final no is an answer",
    [
      [0, silent],
      [1, silent],
      [2, silent],
      [3, silent],
      [4, { kind: "refused", invalid_number: true, carrier_code: "21211", reason: "no" }],
      [5, silent],
    ],
    -Infinity,
    false,
  ],
])("%s", (_name, answers, openUntilMs, told) => {
  const { state, why } = after(answers);
  expect([state?.openUntilMs, why !== null]).toEqual([openUntilMs, told]);
});

test("one call is the trial of credentials that were refused; the others wait for its result", () => {
  let nowMs = 0;
  const announced: string[] = [];
  const breakers = createCarrierBreakers({
    clock: { monotonicMs: () => nowMs, now: () => new Date(nowMs), wait: () => Promise.resolve() },
    log: rootLog(readEnv({ LOG_LEVEL: "silent" })),
    random: () => 0.5,
    variables: () => ["PROVIDER_ONE_ACCOUNT", "TWILIO_ACCOUNT_SID"],
    announce: (_provider, _until, why) => {
      announced.push(why);
    },
  });
  const may = () => breakers.waitUntil("PROVIDER_ONE") === null;
  breakers.record("PROVIDER_ONE", locked);
  expect([may(), announced]).toEqual([
    false,
    ["refused connection of PROVIDER_ONE: check PROVIDER_ONE_ACCOUNT, TWILIO_ACCOUNT_SID"],
  ]);
  nowMs = 180_000;
  expect([may(), may(), may()]).toEqual([true, false, false]);
  breakers.record("PROVIDER_ONE", locked);
  nowMs = 360_000;
  expect([may(), may()]).toEqual([true, false]);
  nowMs = 391_000; // the trial never came to its dial
  expect([may(), may()]).toEqual([true, false]);
  breakers.record("PROVIDER_ONE", placed());
  expect([may(), may()]).toEqual([true, true]);
});

test("an open breaker never closes earlier, whatever the carrier answers", () => {
  const answer = fc.oneof(fc.constant(down), fc.constant(silent), fc.nat(100).map(busy), fc.nat(20_000).map(placed));
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(3000), answer, fc.double({ min: 0, max: 0.999, noNaN: true }))), (steps) => {
      let [now, state] = [0, undefined as BreakerState | undefined];
      for (const [wait, said, random] of steps) {
        now += wait;
        const before: number = state?.openUntilMs ?? -Infinity;
        state = afterAnswer(state, said, now, random).state;
        if (before > now) expect(state.openUntilMs).toBeGreaterThanOrEqual(before);
      }
    }),
  );
});
