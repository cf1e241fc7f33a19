import { callEndedBy } from "../../../services/leads/rules/outcomes.ts";
import type { AttemptFacts } from "../../../shared/contracts/records/attempt.ts";
import type { CallEndEvidence } from "../../../shared/contracts/dialer.ts";
import type { MediaEnd } from "../../../shared/hangup-source.ts";
import { callRef } from "../../../shared/ids.ts";
import { hold, LEAD } from "./fixtures/held-conversation.ts";

/** What the log says of who ended the conversation, and what the lead will say. */
function wordsIn(t: ReturnType<typeof hold>): [unknown, unknown] {
  const lines = t.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  const { facts } = t.named("leads.settle").at(-1)?.params ?? {};
  return [lines.find(({ event }) => event === "talk.ended")?.["ended_by"], callEndedBy(facts as AttemptFacts)];
}

const sourceIn = (t: ReturnType<typeof hold>): unknown => {
  const { facts } = t.named("leads.settle").at(-1)?.params ?? {};
  return facts && Reflect.get(facts, "hangup_source");
};

test.each<[string, MediaEnd, CallEndEvidence | undefined, unknown]>([
  [
    "the carrier closed the media and nobody else ended the call: the callee",
    "closed",
    undefined,
    { by: "callee", reason: null },
  ],
  [
    "the dialer had ended the call before: we, with its reason",
    "closed",
    { end: null, carrier: null, asked: "overdue" },
    { by: "we", reason: "overdue" },
  ],
  [
    "the carrier says that its network ended it",
    "closed",
    { end: "completed", carrier: "carrier", asked: null },
    { by: "carrier", reason: null },
  ],
  [
    "the carrier cut the call at its limit",
    "closed",
    { end: "time_limit", carrier: null, asked: null },
    { by: "timeout", reason: null },
  ],
  ["the media broke off: the carrier", "broken", undefined, { by: "carrier", reason: null }],
  [
    "the media broke off, and the carrier says that the callee hung up",
    "broken",
    { end: "completed", carrier: "callee", asked: null },
    { by: "callee", reason: null },
  ],
])("%s", async (_name, how, known, source) => {
  const t = hold({ bus: { "dialer.hangUp": () => (known === undefined ? {} : { known }) } });
  await t.pass(0);
  t.events().closed(how);
  await t.session.ended;
  expect(t.named("dialer.hangUp")[0]?.params).toEqual({ call_ref: callRef(LEAD, 3), media: how });
  expect(sourceIn(t)).toEqual(source);
  const [logged, ofLead] = wordsIn(t);
  expect([logged, typeof logged]).toEqual([ofLead, "string"]);
});

test("the carrier's end may be known before the media show by whom", async () => {
  for (const [how, by] of [
    ["closed", "callee"],
    ["broken", "carrier"],
  ] as const) {
    const t = hold({ end: () => undefined });
    await t.pass(0);
    t.session.signal("carrier_ended");
    t.events().closed(how);
    await t.session.ended;
    expect([how, sourceIn(t)]).toEqual([how, { by, reason: null }]);
  }
});

test("media that close after our own goodbye say nothing of the callee", async () => {
  const t = hold({ end: () => undefined });
  await t.pass(0);
  t.session.signal("window_closed");
  for (let i = 0; i < 60; i++) await t.pass(100); // it is said to its end
  t.events().closed("broken");
  await t.session.ended;
  expect(t.named("dialer.hangUp")[0]?.params).toEqual({ call_ref: callRef(LEAD, 3), verdict: true });
  expect(sourceIn(t)).toEqual({ by: "agent", reason: null });
});

test("a session that failed at the carrier is our error with the carrier's code, and no hang-up of the callee's", async () => {
  const known = { end: null, carrier: null, asked: null, media_fault: "64107" };
  const t = hold({ bus: { "dialer.hangUp": () => ({ known }) } });
  await t.pass(0);
  t.events().closed("closed");
  await t.session.ended;
  expect(sourceIn(t)).toEqual({ by: "we", reason: "media_failed" });
  expect(t.named("leads.settle")[0]?.params).toMatchObject({
    facts: { talk: { ended_by: "error", errors: [{ code: "MEDIA_FAILED", node: "ask", detail: "64107" }] } },
  });
});

test("a socket that broke off is told among the errors where nobody hung up", async () => {
  const t = hold({});
  await t.pass(0);
  t.events().closed("broken");
  await t.session.ended;
  expect(t.named("leads.settle")[0]?.params).toMatchObject({ facts: { talk: { errors: [{ code: "MEDIA_LOST" }] } } });
});

test("media that close on our last words say who hung up on them", async () => {
  const t = hold({ end: () => undefined });
  await t.pass(0);
  t.session.signal("window_closed");
  t.events().closed("closed");
  await t.session.ended;
  expect(t.named("dialer.hangUp")[0]?.params).toEqual({ call_ref: callRef(LEAD, 3), media: "closed" });
  expect(sourceIn(t)).toEqual({ by: "callee", reason: null });
});

test("media that close past the call's longest length say nothing of who ended it", async () => {
  const t = hold();
  await t.pass(0);
  const passing = t.clock.advance(100_000);
  t.events().closed("closed"); // before any timer of the process, which stood still, can fire
  await passing;
  await t.session.ended;
  expect(sourceIn(t)).toEqual({ by: "unknown", reason: null });
});

test("a dialer that does not answer keeps nobody waiting: what the conversation saw is settled", async () => {
  const t = hold({ bus: { "dialer.hangUp": () => new Promise(() => undefined) } });
  await t.pass(0);
  t.events().closed();
  await t.pass(0);
  await t.pass(2000);
  expect(t.named("leads.settle")).toEqual([]);
  await t.pass(1000);
  expect(sourceIn(t)).toEqual({ by: "callee", reason: null });
  expect(t.named("leads.settle")[0]?.params).toMatchObject({ end_call: true });
});

test("a conversation that is shut down says so to the dialer and to the lead", async () => {
  const t = hold();
  await t.pass(0);
  t.session.signal("shutdown_now");
  await t.pass(1000);
  await t.session.ended;
  expect(t.named("dialer.hangUp")[0]?.params).toEqual({ call_ref: callRef(LEAD, 3), reason: "shutdown" });
  expect(sourceIn(t)).toEqual({ by: "we", reason: "shutdown" });
});
