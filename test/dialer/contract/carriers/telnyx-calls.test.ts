import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { DEFAULT_TELNYX_ACCOUNT } from "../../../../local/carriers/server.ts";
import type { DialJob } from "../../../../shared/contracts/dialer.ts";
import { systemClock } from "../../../../shared/time/clock.ts";
import { callIs, toldIs } from "../../fixtures/dialer-stage/call-waits.ts";
import { refOf } from "../../fixtures/dialer-stage/dial-orders.ts";
import { setDialerStage, type DialerStage } from "../../fixtures/dialer-stage/dialer-stage.ts";

let d: DialerStage;
beforeAll(async () => {
  d = await setDialerStage({
    clock: systemClock,
    more: ({ telnyxPublicKey, url }) => ({
      PROVIDER_THREE: "telnyx",
      PROVIDER_THREE_CALLS_PER_SECOND: "0",
      TELNYX_CONNECTION_ID: DEFAULT_TELNYX_ACCOUNT.connectionId,
      TELNYX_API_KEY: DEFAULT_TELNYX_ACCOUNT.apiKey,
      TELNYX_PUBLIC_KEY: telnyxPublicKey,
      TELNYX_API_BASE: url,
    }),
  });
});
beforeEach(async () => {
  d.reset();
  await fetch(`${d.carrier}/faults`, { method: "DELETE" });
});
afterAll(() => d.stop());

const order = (ending: string, over: Partial<DialJob> = {}): DialJob =>
  d.order(ending, { provider: "PROVIDER_THREE", record: false, ...over });
const dialled = async (ending: string, over: Partial<DialJob> = {}): Promise<DialJob> => {
  const o = order(ending, over);
  await d.dial(o);
  return o;
};
const facts = async (o: DialJob) => (await toldIs(d, o, "leads.settle"))["facts"];

test("a call is dialled, joined and ended by us, for the relay's end leaves the line open; its price is told", async () => {
  const o = await dialled("05");
  await callIs(d, o, "the talk", (c) => c.joined_at !== undefined);
  await d.stage.bus.call("dialer.hangUp", { call_ref: refOf(o) });
  const call = await callIs(d, o, "the end", (c) => c.state === "ENDED" && c.closed_at !== undefined);
  expect(call).toMatchObject({ ended: "completed", cause: "sip 200", provider: "PROVIDER_THREE" });
  const [row] = await d.ledger(o);
  expect(row).toMatchObject({ sid: call.carrier_call_id, reference: refOf(o), rings: 1, ended_by: "api" });
  expect(await callIs(d, o, "the price", (c) => c.cost !== undefined)).toMatchObject({ cost_currency: "USD" });
});

test.each([
  ["06", "busy"],
  ["15", "failed"],
  ["10", "invalid_number"],
])("%s is settled as %s", async (ending, ended) => {
  expect(await facts(await dialled(ending))).toMatchObject({ ended });
});

test("an answer that is lost, and every event: found by its reference, one ring", async () => {
  const o = order("06");
  await Promise.all([d.fault("drop_reply", o), d.fault("lose_callbacks", o)]);
  await d.dial(o);
  expect(await facts(o)).toMatchObject({ ended: "busy", call_id: (await d.ledger(o))[0]?.sid });
  expect(await d.ledger(o)).toHaveLength(1);
});

test("a call is recorded, and the recording fetched before its link dies", async () => {
  const o = await dialled("05", { record: true });
  await callIs(d, o, "the talk", (c) => c.joined_at !== undefined);
  await d.stage.bus.call("dialer.hangUp", { call_ref: refOf(o) });
  const call = await callIs(d, o, "the recording", (c) => c.recording?.state === "stored");
  expect(call.recording?.bytes).toBeGreaterThan(44);
  expect(await toldIs(d, o, "leads.annotate")).toBeDefined();
});

test("a machine ends the call; forged, doubled and late events change nothing", async () => {
  const o = order("09");
  d.script.hold = true;
  await Promise.all(["forge_callbacks", "duplicate_callbacks"].map((kind) => d.fault(kind, o)));
  await d.dial(o);
  await callIs(d, o, "the verdict", (c) => c.machine === "machine");
  // a talk that has begun is stopped by its own node; before that the call is ended at once
  await callIs(
    d,
    o,
    "what follows",
    (c) =>
      c.hang_up === "machine" ||
      d.toldOf(o).some((t) => t.what === "conversation.stop" && t.params["reason"] === "machine"),
  );
  await d.stage.bus.call("dialer.hangUp", { call_ref: refOf(o) });
  await callIs(d, o, "the end", (c) => c.state === "ENDED");
});
