import { outcomeDisagreements, type EndedLead } from "../../../local/harness/outcome-agreement.ts";
import type { LedgerCall } from "../../../local/harness/product.ts";

const LEAD = "2f5a2f3e-1c1b-4b8e-9d52-6f6f1f0d7a10";
const call = (over: Partial<LedgerCall> = {}): LedgerCall => ({
  sid: "CA1",
  to: "+12122000001",
  from: "+12122000002",
  status: "completed",
  rang: true,
  rings: 1,
  reference: `${LEAD}.1`,
  answered: true,
  placed_at: "2026-11-21T10:00:00.000Z",
  answered_at: "2026-11-21T10:00:05.000Z",
  ended_at: "2026-11-21T10:00:30.000Z",
  ended_by: "callee",
  transcript: [],
  ...over,
});
const lead = (outcome: string, over: Partial<EndedLead> = {}): EndedLead => ({
  lead_id: LEAD,
  outcome,
  errors: [],
  hangup_by: "unknown",
  ...over,
});
const TALK = [{ who: "agent" }, { who: "person" }];

test.each<[string, EndedLead, LedgerCall[], number]>([
  ["a hang-up of the callee", lead("customer_hangup", { hangup_by: "callee" }), [call()], 0],
  ["a hang-up that was the carrier's", lead("customer_hangup"), [call({ ended_by: "carrier" })], 1],
  ["a hang-up that was ours", lead("customer_hangup"), [call({ ended_by: "api" })], 1],
  ["a hang-up of a call that nobody answered", lead("customer_hangup"), [call({ answered: false })], 1],
  [
    "an outcome that names nobody, but the record names the callee",
    lead("confirmed", { hangup_by: "callee" }),
    [call({ ended_by: "relay_end" })],
    1,
  ],
  [
    "an error after a conversation that the callee ended",
    lead("call_error", { hangup_by: "carrier" }),
    [call({ transcript: TALK })],
    1,
  ],
  [
    "the same, with an error that is known",
    lead("call_error", { errors: ["CONVERSATION_LOST"] }),
    [call({ transcript: TALK })],
    0,
  ],
  ["the same, openly unknown", lead("call_error"), [call({ transcript: TALK })], 0],
  ["a failed call of a callee who left before a word", lead("failed"), [call()], 0],
  ["busy, and somebody answered", lead("busy"), [call()], 1],
  [
    "only the last call counts",
    lead("customer_hangup"),
    [call({ reference: `${LEAD}.2` }), call({ ended_by: "carrier" })],
    0,
  ],
  [
    "the last call by its number, not its place",
    lead("customer_hangup"),
    [call({ reference: `${LEAD}.10`, ended_by: "carrier" }), call({ reference: `${LEAD}.9` })],
    1,
  ],
  ["a call that is still live", lead("customer_hangup"), [call({ ended_at: null, ended_by: null })], 0],
  ["a lead that was never dialled", lead("ABORTED"), [], 0],
])("%s", (_name, ended, calls, count) => {
  expect(outcomeDisagreements([ended], calls)).toHaveLength(count);
});
