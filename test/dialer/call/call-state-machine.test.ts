import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import * as machine from "../../../services/dialer/call/call-state-machine.ts";
import { intent } from "../../../services/dialer/call/new-calls.ts";
import type { CallDoc, CallState } from "../../../services/dialer/call/calls.model.ts";
import type { CallProgress } from "../../../services/dialer/carriers/carrier-port.ts";
import { matches } from "../../simulation/collection/match.ts";

const NOW = new Date("2026-11-21T10:00:00.000Z");
const LATER = new Date("2026-11-21T10:05:00.000Z");
const LEAD = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";
const REF = `${LEAD}.3`;
const order = {
  lead_id: LEAD,
  claim_no: 3,
  reseller_id: "r",
  merchant_id: "m",
  template_id: LEAD,
  template_version: 1,
  execution_mode: "TELEPHONY" as const,
  to: "+14155550101",
  from: "+14155550999",
  number_id: LEAD,
  provider: "PROVIDER_ONE" as const,
  payload: {},
  dial_until: "2026-11-21T11:00:00.000Z",
  record: true,
  voicemail_action: "hangup" as const,
  enforce_blacklist: true,
  max_call_seconds: 600,
  rate_limit: null,
  pre_checks: [],
  pre_check_defers: {},
};
const RANK: Record<CallState, number> = { DIALING: 1, RINGING: 2, ANSWERED: 3, ENDED: 9, VOID: 9 };
const call = (state: CallState, over: Partial<CallDoc> = {}): CallDoc => ({
  ...intent(order, "node", NOW, LATER),
  state,
  rank: RANK[state],
  carrier_call_id: "CA1",
  ...over,
});

/** What the database would do with a move: null when the guard is shut. */
function run(doc: CallDoc, { filter, update }: machine.Transition): CallDoc | null {
  if (!matches({ ...doc }, filter, NOW)) return null;
  const after: Record<string, unknown> = { ...doc, ...update.$set };
  for (const field of Object.keys(update.$unset ?? {})) delete after[field];
  for (const [field, at] of Object.entries(update.$min ?? {}))
    after[field] = after[field] === undefined || (after[field] as Date) > at ? at : after[field];
  for (const [field, by] of Object.entries(update.$inc ?? {})) after[field] = Number(after[field] ?? 0) + by;
  return after as unknown as CallDoc;
}

const step = (more: object): CallProgress => ({ call_id: "CA1", at: null, ...more }) as CallProgress;
const ended = step({ type: "ended", end: "busy", cause: "sip 486", seconds: 0 });
const STATES: CallState[] = ["DIALING", "RINGING", "ANSWERED", "ENDED", "VOID"];

/** Every move, and per state what it leads to: a state, or null where the guard is shut. */
const TABLE: [name: string, move: machine.Transition, named: boolean, to: Record<CallState, CallState | null>][] = [
  [
    "queued",
    machine.progress(REF, step({ type: "queued" }), NOW, NOW),
    false,
    { DIALING: "DIALING", RINGING: "RINGING", ANSWERED: "ANSWERED", ENDED: null, VOID: null },
  ],
  [
    "ringing",
    machine.progress(REF, step({ type: "ringing" }), NOW, NOW),
    true,
    { DIALING: "RINGING", RINGING: null, ANSWERED: null, ENDED: null, VOID: null },
  ],
  [
    "answered",
    machine.progress(REF, step({ type: "answered" }), NOW, NOW),
    true,
    { DIALING: "ANSWERED", RINGING: "ANSWERED", ANSWERED: null, ENDED: null, VOID: null },
  ],
  [
    "machine",
    machine.progress(REF, step({ type: "machine", verdict: "machine" }), NOW, NOW),
    true,
    { DIALING: "DIALING", RINGING: "RINGING", ANSWERED: "ANSWERED", ENDED: null, VOID: null },
  ],
  [
    "ended",
    machine.progress(REF, ended, NOW, NOW),
    true,
    { DIALING: "ENDED", RINGING: "ENDED", ANSWERED: "ENDED", ENDED: null, VOID: null },
  ],
  [
    "media lost",
    machine.progress(REF, step({ type: "media_lost", reason: "refused" }), NOW, NOW),
    true,
    { DIALING: "DIALING", RINGING: "RINGING", ANSWERED: "ANSWERED", ENDED: null, VOID: null },
  ],
  [
    "place",
    machine.place(REF, "CA1", NOW, LATER),
    false,
    { DIALING: "DIALING", RINGING: "RINGING", ANSWERED: "ANSWERED", ENDED: null, VOID: null },
  ],
  [
    "not dialled",
    machine.notDialled(REF, { due_at: LATER, reason: "busy" }, NOW),
    false,
    { DIALING: "ENDED", RINGING: null, ANSWERED: null, ENDED: null, VOID: null },
  ],
  [
    "refuse",
    machine.refuse(REF, "failed", { code: "x" }, NOW),
    false,
    { DIALING: "ENDED", RINGING: null, ANSWERED: null, ENDED: null, VOID: null },
  ],
  [
    "give up",
    machine.giveUp(REF, NOW),
    false,
    { DIALING: "ENDED", RINGING: null, ANSWERED: null, ENDED: null, VOID: null },
  ],
  [
    "not dialled, but named",
    machine.notDialled(REF, { due_at: LATER, reason: "busy" }, NOW),
    true,
    { DIALING: null, RINGING: null, ANSWERED: null, ENDED: null, VOID: null },
  ],
  [
    "give up, but named",
    machine.giveUp(REF, NOW),
    true,
    { DIALING: null, RINGING: null, ANSWERED: null, ENDED: null, VOID: null },
  ],
  [
    "cut",
    machine.endUnknown(REF, { code: "x" }, NOW),
    true,
    { DIALING: "ENDED", RINGING: "ENDED", ANSWERED: "ENDED", ENDED: null, VOID: null },
  ],
  [
    "join",
    machine.joinMedia(REF, "c1", NOW, LATER),
    true,
    { DIALING: "ANSWERED", RINGING: "ANSWERED", ANSWERED: "ANSWERED", ENDED: null, VOID: null },
  ],
  [
    "want over",
    machine.requestHangUp(REF, "asked", NOW),
    true,
    { DIALING: "DIALING", RINGING: "RINGING", ANSWERED: "ANSWERED", ENDED: null, VOID: null },
  ],
  [
    "tend",
    machine.ownLease(REF, "n2"),
    true,
    { DIALING: "DIALING", RINGING: "RINGING", ANSWERED: "ANSWERED", ENDED: null, VOID: null },
  ],
  [
    "hand on",
    machine.handOn(REF, true),
    true,
    { DIALING: "DIALING", RINGING: "RINGING", ANSWERED: "ANSWERED", ENDED: null, VOID: null },
  ],
  [
    "look again",
    machine.pollAgain(REF, LATER),
    true,
    { DIALING: "DIALING", RINGING: "RINGING", ANSWERED: "ANSWERED", ENDED: null, VOID: null },
  ],
  [
    "close",
    machine.close(REF, NOW, null),
    true,
    { DIALING: null, RINGING: null, ANSWERED: null, ENDED: "ENDED", VOID: null },
  ],
  [
    "priced",
    machine.priced(REF, { amount: 1, currency: "USD", what: "carrier" }),
    true,
    { DIALING: "DIALING", RINGING: "RINGING", ANSWERED: "ANSWERED", ENDED: "ENDED", VOID: "VOID" },
  ],
  [
    "looked",
    machine.pricePolled(REF, null),
    true,
    { DIALING: null, RINGING: null, ANSWERED: null, ENDED: null, VOID: null },
  ],
];

describe("every (state, move) pair", () => {
  const pairs = TABLE.flatMap(([name, move, named, to]) =>
    STATES.map((state) => [name, state, to[state], move, named] as const),
  );
  test.each(pairs)("%s on %s leads to %s", (_name, state, to, move, named) => {
    const doc = call(state);
    if (!named) delete doc.carrier_call_id;
    expect(run(doc, move)?.state ?? null).toBe(to);
  });
  test("another attempt's document is never touched", () => {
    for (const [name, move, named] of TABLE) {
      const other = call("DIALING", { _id: `${LEAD}.4` });
      if (!named) delete other.carrier_call_id;
      expect([name, run(other, move)]).toEqual([name, null]);
    }
  });
  test("steps of another carrier call change nothing, and a call keeps its first name", () => {
    for (const type of ["ringing", "answered", "machine", "ended"]) {
      const strange = {
        ...step({ type, verdict: "machine", end: "busy", cause: null, seconds: null }),
        call_id: "CA2",
      };
      expect([type, run(call("DIALING"), machine.progress(REF, strange, NOW, NOW))]).toEqual([type, null]);
    }
    expect(run(call("DIALING"), machine.place(REF, "CA2", NOW, LATER))).toBeNull();
  });
});

test("whatever order steps come in, however often: the rank never falls, an end stands, and a full set ends the same", () => {
  const steps = [
    step({ type: "queued" }),
    step({ type: "ringing" }),
    step({ type: "answered" }),
    step({ type: "machine", verdict: "human" }),
    step({ type: "media_lost", reason: "refused" }),
    step({ type: "ended", end: "completed", cause: null, seconds: 7 }),
    step({ type: "ended", end: "busy", cause: null, seconds: 0 }),
  ];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...steps), { maxLength: 40 }), (sequence) => {
      let doc = call("DIALING");
      delete doc.carrier_call_id;
      for (const next of sequence) {
        const after = run(doc, machine.progress(REF, next, NOW, NOW));
        if (after === null) continue;
        expect(doc.state).not.toBe("ENDED");
        expect(after.rank).toBeGreaterThanOrEqual(doc.rank);
        doc = after;
      }
      const end = sequence.find((s) => s.type === "ended");
      expect(doc.ended).toBe(end?.type === "ended" ? end.end : undefined);
    }),
  );
});
