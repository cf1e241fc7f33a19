import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { randomUUID } from "node:crypto";
import type { CallDoc } from "../../../services/dialer/call/calls.model.ts";
import type { SessionOrder } from "../../../shared/contracts/records/session.ts";
import { codeOf } from "../../../shared/errors.ts";
import { callRef } from "../../../shared/ids.ts";
import { until } from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";
import { setDialerStage, type DialerStage } from "../fixtures/dialer-stage/dialer-stage.ts";

/** Sessions of browsers: calls that no carrier has. */
const clock = virtualClock();
let d: DialerStage;
beforeAll(async () => {
  d = await setDialerStage({ clock });
});
afterAll(() => d.stop());
beforeEach(() => {
  d.reset();
  d.script.kind = "audio";
});

const order = (over: Partial<SessionOrder> = {}): SessionOrder => ({
  lead_id: randomUUID(),
  claim_no: 1,
  reseller_id: randomUUID(),
  merchant_id: randomUUID(),
  template_id: randomUUID(),
  template_version: 2,
  execution_mode: "RTC",
  payload: { customer_name: "Ada" },
  max_call_seconds: 120,
  record: true,
  engine: null,
  ...over,
});
const refOf = (o: SessionOrder): string => callRef(o.lead_id, o.claim_no);
const open = (o: SessionOrder) => d.stage.bus.call("dialer.openSession", o);
const told = (o: SessionOrder, what: string) =>
  d.told.filter((t) => t.what === what && (t.params["lead_id"] === o.lead_id || t.params["call_ref"] === refOf(o)));
const join = (o: SessionOrder) => d.stage.bus.call("dialer.joined", { call_ref: refOf(o), node_id: "node-a" });
const callIs = (o: SessionOrder, is: (call: CallDoc) => boolean) =>
  until("the session's document", async () => {
    await clock.advance(1000);
    const call = await d.calls.findOne({ _id: refOf(o) });
    return call && is(call) ? call : undefined;
  });

test("an opened session waits for its client with a token of two minutes; joined, the record names its room and recording", async () => {
  const o = order();
  const now = clock.now().getTime();
  expect(await open(o)).toEqual({
    url: expect.stringContaining("/media/BROWSER/"),
    token: refOf(o),
    room_name: `rtc-${refOf(o)}`,
    expires_at: new Date(now + 120_000).toISOString(),
  });
  expect(told(o, "conversation.prepareMany")[0]?.params).toMatchObject({ provider: "BROWSER", record: true });
  expect(await join(o)).toMatchObject({ go: true, machine: false });
  await until("the record", () => told(o, "leads.annotate").length >= 2 || undefined);
  expect(Object.assign({}, ...told(o, "leads.annotate").map((t) => t.params))).toMatchObject({
    call_id: `rtc-${refOf(o)}`,
    recording_url: expect.stringContaining(`/leads/recording/rtc-${refOf(o)}`),
  });
  const { recording } = await d.stage.bus.call("dialer.recordingOf", { call_id: `rtc-${refOf(o)}` });
  expect(recording).toMatchObject({ lead_id: o.lead_id, state: "wanted" });
});

test("one that nobody joins is released once its token is over, and is joined no more", async () => {
  const o = order();
  await open(o);
  await callIs(o, (call) => call.closed_at !== undefined);
  expect(told(o, "leads.release")[0]?.params).toMatchObject({ claim_no: 1, reason: "no_client_joined" });
  expect(await join(o)).toMatchObject({ go: false });
  expect(await d.stage.bus.call("dialer.rejoinSession", { call_ref: refOf(o) }).catch(codeOf)).toBe("SESSION_OVER");
});

test("a second token is asked of the conversation, and lets the client come later", async () => {
  const o = order();
  await open(o);
  await clock.advance(100_000);
  expect(await d.stage.bus.call("dialer.rejoinSession", { call_ref: refOf(o) })).toMatchObject({
    token: `again ${refOf(o)}`,
    room_name: `rtc-${refOf(o)}`,
  });
  await clock.advance(60_000);
  expect(await join(o)).toMatchObject({ go: true });
});

test("its conversation's end is its end at once: closed, counted in whole minutes, and no carrier asked for a price", async () => {
  const spend_ceilings = { merchant: { per_day: { minutes: 10, money: 1 } } };
  const o = order({ spend_ceilings });
  await open(o);
  await join(o);
  await clock.advance(61_000);
  const { known } = await d.stage.bus.call("dialer.hangUp", { call_ref: refOf(o), media: "closed" });
  expect(known).toMatchObject({ end: "completed", asked: null });
  const call = await callIs(o, ({ closed_at }) => closed_at !== undefined);
  expect([call.ended, call.due_at, call.media_end]).toEqual(["completed", undefined, "closed"]);
  expect(told(o, "leads.settle")).toEqual([]);
  const room = { reseller_id: o.reseller_id, merchant_id: o.merchant_id, spend_ceilings, to: null };
  const fits = (seconds: number) =>
    d.stage.bus.call("dialer.spendRoom", { calls: [{ ...room, max_call_seconds: seconds }] });
  // two of ten minutes are used up; a session reserves its longest length and some
  expect(await open({ ...o, claim_no: 2, max_call_seconds: 300 })).toMatchObject({ token: expect.any(String) });
  expect((await fits(300)).calls[0]?.reached).not.toBeNull();
  expect(await open({ ...o, claim_no: 3, max_call_seconds: 300 }).catch(codeOf)).toBe("SESSION_HELD");
});

test("where the conversation has no place nothing is left behind", async () => {
  const o = order({ spend_ceilings: { merchant: { per_day: { calls: 1 } } } });
  d.script.prepare = () => Promise.reject(new Error("no place"));
  expect(await open(o).catch(() => "refused")).toBe("refused");
  d.reset();
  expect(await d.calls.findOne({ _id: refOf(o) })).toBeNull();
  expect(await open(o)).toMatchObject({ room_name: `rtc-${refOf(o)}` });
});

test("one that outlives its longest length is ended", async () => {
  const o = order({ max_call_seconds: 30 });
  await open(o);
  await join(o);
  await callIs(o, ({ state }) => state === "ENDED");
  const call = await d.calls.findOne({ _id: refOf(o) });
  expect([call?.hang_up, call?.ended]).toEqual(["overdue", "completed"]);
});
