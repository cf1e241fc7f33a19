import { endEvidenceOf } from "../../../services/dialer/call/call-facts.ts";
import { describe, expect, test } from "@jest/globals";
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

describe("what the moves leave behind", () => {
  test("an end owes its settling, and nobody tends the lease any more", () => {
    const after = run(call("RINGING", { tended_by: "node" }), machine.progress(REF, ended, NOW, NOW));
    expect(after).toMatchObject({ ended: "busy", cause: "sip 486", talk_seconds: 0, ended_at: NOW });
    expect(after?.due_at).toBeInstanceOf(Date);
    expect(after).not.toHaveProperty("tended_by");
  });
  test("closing takes the debt away, unless the price is still to come", () => {
    expect(run(call("ENDED", { due_at: NOW }), machine.close(REF, NOW, null))).not.toHaveProperty("due_at");
    expect(run(call("ENDED", { due_at: NOW }), machine.close(REF, NOW, LATER))).toMatchObject({
      due_at: LATER,
      closed_at: NOW,
    });
    expect(run(call("ENDED", { closed_at: NOW }), machine.close(REF, LATER, null))).toBeNull();
  });
  test("the first machine verdict stands", () => {
    const human = run(call("ANSWERED"), machine.progress(REF, step({ type: "machine", verdict: "human" }), NOW, NOW));
    expect(run(human!, machine.progress(REF, step({ type: "machine", verdict: "machine" }), NOW, NOW))).toBeNull();
  });
  test("media that is lost before the talk joins ends the call, by either name of it; later its conversation is asked first", () => {
    const lost = (call_id: string) =>
      machine.progress(REF, step({ type: "media_lost", reason: "refused", call_id }), NOW, NOW);
    expect(run(call("ANSWERED", { carrier_leg_id: "leg" }), lost("CA1"))).toMatchObject({
      hang_up: "media_failed",
      state: "ANSWERED",
    });
    expect(run(call("ANSWERED", { carrier_leg_id: "leg" }), lost("leg"))).toMatchObject({ hang_up: "media_failed" });
    expect(run(call("ANSWERED"), lost("CA2"))).toBeNull();
    expect(run(call("ANSWERED", { holder: "c1" }), lost("CA1"))).toBeNull();
    expect(run(call("ANSWERED", { hang_up: "asked" }), lost("CA1"))).toBeNull();
  });
  test("a call that is handed on is marked so while it lives, until the carrier refuses", () => {
    expect(run(call("ANSWERED"), machine.handOn(REF, true))).toMatchObject({ handed_on: true });
    expect(run(call("ANSWERED", { handed_on: true }), machine.handOn(REF, false))).not.toHaveProperty("handed_on");
    expect(run(call("ENDED"), machine.handOn(REF, true))).toBeNull();
  });
  test("a relay session that failed is known with its first code, after the end of the call too", () => {
    const failed = (code: string, call_id = "CA1") =>
      machine.progress(REF, step({ type: "relay_failed", code, call_id }), NOW, NOW);
    const after = run(call("ANSWERED", { holder: "c1" }), failed("64107"));
    expect(after).toMatchObject({ media_fault: "64107", state: "ANSWERED" });
    expect(endEvidenceOf(after ?? call("ANSWERED"))).toMatchObject({ media_fault: "64107" });
    expect(run(after ?? call("ANSWERED"), failed("64105"))).toBeNull();
    expect(run(call("ENDED"), failed("64107"))).toMatchObject({ media_fault: "64107", state: "ENDED" });
    expect(run(call("ANSWERED"), failed("64107", "CA2"))).toBeNull();
    expect(endEvidenceOf(call("ANSWERED"))).not.toHaveProperty("media_fault");
  });
  test("joining keeps the earlier moment of the answer and sets one where there is none", () => {
    const earlier = new Date(NOW.getTime() - 2000);
    expect(
      run(call("ANSWERED", { answered_at: earlier }), machine.joinMedia(REF, "c1", NOW, LATER))?.answered_at,
    ).toEqual(earlier);
    expect(run(call("RINGING"), machine.joinMedia(REF, "c1", NOW, LATER))).toMatchObject({
      answered_at: NOW,
      holder: "c1",
      state: "ANSWERED",
    });
  });
  test.each<[string, Partial<CallDoc>]>([
    ["a machine answered", { machine: "machine" }],
    ["another node holds it", { holder: "c0" }],
    ["we want it over", { hang_up: "asked" }],
    ["the window closed this instant", { dial_until: NOW }],
    ["the window closed before", { dial_until: new Date(NOW.getTime() - 1) }],
  ])("nobody joins when %s", (_name, over) => {
    expect(run(call("ANSWERED", over), machine.joinMedia(REF, "c1", NOW, LATER))).toBeNull();
  });
  test.each<[NonNullable<CallDoc["order"]>["voicemail_action"], boolean]>([
    ["hangup", false],
    ["leave_message", true],
    ["continue", true],
  ])("a machine whose voicemail_action is %s is joined: %s", (voicemail_action, joined) => {
    const doc = call("ANSWERED", { machine: "machine" });
    const asked = { ...doc, order: { ...doc.order!, voicemail_action } };
    expect([run(asked, machine.joinMedia(REF, "c1", NOW, LATER)) !== null, machine.endsForVoicemail(asked)]).toEqual([
      joined,
      !joined,
    ]);
    expect(run({ ...asked, dial_until: NOW }, machine.joinMedia(REF, "c1", NOW, LATER))).toBeNull();
  });
  test("somebody joins a person, an unknown answerer, and a call whose window never closes", () => {
    for (const over of [{ machine: "human" as const }, { machine: "unknown" as const }])
      expect(run(call("ANSWERED", over), machine.joinMedia(REF, "c1", NOW, LATER))).not.toBeNull();
    const always = call("RINGING");
    delete always.dial_until;
    expect(run(always, machine.joinMedia(REF, "c1", NOW, LATER))).not.toBeNull();
  });
});
