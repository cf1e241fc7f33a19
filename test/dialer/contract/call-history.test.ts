import { randomUUID } from "node:crypto";
import { MongoClient, type Db } from "mongodb";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { CallDoc } from "../../../services/dialer/call/calls.model.ts";
import type { CarrierEventDoc } from "../../../services/dialer/callbacks/carrier-events.model.ts";
import dialer from "../../../services/dialer/dialer.service.ts";
import { setStage, standIn, type Stage } from "../../../local/harness/stage.ts";
import { needing } from "../../fixtures/database-abilities.ts";

/** Calls and callbacks put where the dialer keeps them: what is shown of them, and what is not. */
let stage: Stage;
let client: MongoClient;
let db: Db;
beforeAll(async () => {
  stage = await setStage({
    env: { PROVIDER_ONE: "none", SWEEP_INTERVAL_MS: "60000" },
    services: [
      dialer,
      standIn("leads", {}),
      standIn("numbers", {}),
      standIn("conversation", {}),
      standIn("blacklist", {}),
    ],
  });
  client = await MongoClient.connect(stage.uri);
  db = client.db();
});
afterAll(async () => {
  await client.close();
  await stage.stop();
});

const BEGIN = Date.parse("2026-11-21T10:00:00.000Z");
const at = (second: number): Date => new Date(BEGIN + second * 1000);
const call = (lead_id: string, claim_no: number, over: Partial<CallDoc> = {}): CallDoc => ({
  _id: `${lead_id}.${claim_no}`,
  lead_id,
  claim_no,
  state: "ENDED",
  rank: 9,
  created_at: at(claim_no * 100),
  provider: "PROVIDER_ONE",
  carrier_call_id: `CA-${lead_id}-${claim_no}`,
  placed_at: at(claim_no * 100 + 1),
  ended_at: at(claim_no * 100 + 40),
  closed_at: at(claim_no * 100 + 41),
  ended: "no_answer",
  order: { to: "+14155550123", from: "+14155550100", payload: { customer_name: "private" } } as unknown as NonNullable<
    CallDoc["order"]
  >,
  ...over,
});
const event = (ref: string, second: number): CarrierEventDoc => ({
  _id: randomUUID(),
  provider: "PROVIDER_ONE",
  kind: "status",
  ref,
  carrier_call_id: "CA",
  progress: [{ call_id: "CA", at: at(second).toISOString(), type: "ringing" }],
  body: "To=%2B14155550123",
  received_at: at(second),
  applied: true,
});
const history = (lead_id: string) => stage.bus.call("dialer.history", { lead_id });

describe("dialer.history", () => {
  test("shows a lead's calls and callbacks, oldest first, and nobody else's", async () => {
    const [mine, other] = [randomUUID(), randomUUID()];
    await db
      .collection<CallDoc>("calls")
      .insertMany([
        call(mine, 2, { answered_at: at(210), talk_seconds: 30, cost: 0.02, cost_currency: "USD" }),
        call(mine, 1),
        call(other, 1),
      ]);
    await db
      .collection<CarrierEventDoc>("carrier_events")
      .insertMany([event(`${mine}.2`, 205), event(`${mine}.1`, 110), event(`${other}.1`, 111)]);
    const { calls, carrier_events } = await history(mine);
    expect(calls.map((c) => [c.claim_no, c.answered_at, c.cost])).toEqual([
      [1, null, null],
      [2, at(210).toISOString(), 0.02],
    ]);
    expect(carrier_events).toEqual([
      {
        call_ref: `${mine}.1`,
        kind: "status",
        received_at: at(110).toISOString(),
        applied: true,
        note: null,
        steps: [{ type: "ringing", at: at(110).toISOString() }],
      },
      expect.objectContaining({ call_ref: `${mine}.2` }),
    ]);
  });
  test("shows no phone number, no payload and no callback's body", async () => {
    const lead_id = randomUUID();
    await db.collection<CallDoc>("calls").insertOne(call(lead_id, 1));
    await db.collection<CarrierEventDoc>("carrier_events").insertOne(event(`${lead_id}.1`, 105));
    expect(JSON.stringify(await history(lead_id))).not.toMatch(/4155550|private|body/);
  });
  test("of a lead that was never dialled is empty; of one with many calls it is the newest hundred", async () => {
    expect(await history(randomUUID())).toEqual({ calls: [], carrier_events: [] });
    const lead_id = randomUUID();
    await db.collection<CallDoc>("calls").insertMany(Array.from({ length: 103 }, (_, i) => call(lead_id, i + 1)));
    expect((await history(lead_id)).calls.map((c) => c.claim_no)).toEqual(Array.from({ length: 100 }, (_, i) => i + 4));
  });
  needing("plans", () => {
    test("is found by indexes", async () => {
      const plans = [
        await db.collection("calls").find({ lead_id: "x" }).sort({ claim_no: -1 }).explain("queryPlanner"),
        await db
          .collection("carrier_events")
          .find({ ref: { $in: ["a.1", "a.2"] } })
          .sort({ received_at: -1 })
          .explain("queryPlanner"),
      ];
      expect(plans.map((p) => /"indexName":"(\w+)"/.exec(JSON.stringify(p))?.[1])).toEqual(["by_lead", "by_ref"]);
    });
  });
});
