import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "@jest/globals";
import { until } from "../../../local/harness/stage.ts";
import { createPeers } from "../../../services/dialer/peers.ts";
import type { Bus } from "../../../shared/bus/bus.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";
import { callIs, toldIs } from "../fixtures/dialer-stage/call-waits.ts";
import { refOf } from "../fixtures/dialer-stage/dial-orders.ts";
import { setDialerStage } from "../fixtures/dialer-stage/dialer-stage.ts";

test("SIGTERM: the request under way is answered and written down; wherever else an attempt stands, nothing is sent and it is given back; live calls stay in the documents", async () => {
  const clock = virtualClock(new Date());
  const s = await setDialerStage({ clock, env: { WEBHOOK_ALLOW_HTTP: "true", WEBHOOK_ALLOW_PRIVATE: "true" } });
  const silent = createServer(() => undefined);
  await new Promise<void>((resolve) => {
    silent.listen(0, "127.0.0.1", resolve);
  });
  const dial = (order: ReturnType<typeof s.order>) => s.dial(order);

  const ringing = s.order("07");
  await s.fault("lose_callbacks", ringing);
  await dial(ringing);
  await callIs(s, ringing, "carrier id", (c) => c.carrier_call_id !== undefined);

  const sent = s.order("07");
  let answer = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    answer = resolve;
  });
  let atTheDoor = (): void => undefined;
  const arrived = new Promise<void>((resolve) => {
    atTheDoor = resolve;
  });
  s.script.onDial = async () => {
    atTheDoor();
    await held;
    return false;
  };
  await dial(sent);
  await arrived;

  const checking = s.order("07", {
    pre_checks: [
      { name: "slow", url: `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`, timeout_ms: 30_000 },
    ],
  });
  const asked = new Promise<void>((resolve) => {
    silent.once("request", () => resolve());
  });
  await dial(checking);
  await asked;

  const turning = s.order("07", {
    rate_limit: { configuration_id: sent.template_id, max_calls: 1, window_seconds: 60 },
  });
  // its intent is written, for it is nearly its turn
  s.script.grant = () => ({ granted: true, send_in_ms: 90 });
  await dial(turning);
  await callIs(s, turning, "intent", (c) => c.state === "DIALING");

  const waiting = s.order("07", { rate_limit: turning.rate_limit });
  const granted = new Promise<void>((resolve) => {
    s.script.grant = () => {
      resolve();
      return { granted: true, send_in_ms: 2000 };
    };
  });
  await dial(waiting);
  await granted;

  const preparing = s.order("07");
  let prepared = (): void => undefined;
  const ready = new Promise<void>((resolve) => {
    prepared = resolve;
  });
  s.script.prepare = () => ready;
  await dial(preparing);
  await toldIs(s, preparing, "conversation.prepareMany");

  const stopped = s.stage.broker.destroyService(s.stage.broker.getLocalService("dialer"));
  await until("dials to be turned away", () =>
    dial(s.order("01")).then(
      () => undefined,
      () => true,
    ),
  );
  answer();
  prepared();
  await stopped;
  for (const order of [sent, ringing])
    expect(await s.calls.findOne({ _id: refOf(order) })).toMatchObject({
      state: expect.stringMatching(/DIALING|RINGING/),
      carrier_call_id: expect.stringMatching(/^CA/),
      due_at: expect.any(Date),
    });
  for (const order of [checking, turning, waiting, preparing]) {
    expect(s.toldOf(order).find((t) => t.what === "leads.release")?.params).toMatchObject({
      reason: "the dialer is shutting down",
      due_at: clock.now().toISOString(),
    });
    expect(s.toldOf(order).filter((t) => t.what === "numbers.releaseMany")).toHaveLength(1);
  }
  expect((await s.calls.findOne({ _id: refOf(turning) }))?.ended).toBe("not_dialled");
  expect(s.dials).toEqual([ringing.to, sent.to]);
  await s.stop();
  silent.closeAllConnections();
  silent.close();
});

test("SIGTERM: a slot that could not be given back, as the numbers service was away, is given back before the process goes", async () => {
  const clock = virtualClock(new Date());
  const holders: string[][] = [];
  let away = true;
  const bus = {
    call: (_name: string, { holders: of }: { holders: string[] }) => {
      holders.push(of);
      return away ? Promise.reject(new Error("away")) : Promise.resolve({});
    },
  };
  const peers = createPeers(bus as unknown as Bus, 30, clock);
  await peers.releaseSlotEventually("lead.1");
  const given = peers.giveBackSlots(10_000);
  await until("a second try", () => holders.length > 1 || undefined);
  away = false;
  await until("the slot to be given back", async () => {
    await clock.advance(250);
    return holders.length > 2 || undefined;
  });
  await given;
  const tries = holders.length;
  await peers.giveBackSlots(10_000);
  expect(holders).toEqual(Array.from({ length: tries }, () => ["lead.1"]));

  away = true;
  await peers.releaseSlotEventually("lead.2");
  const bounded = peers.giveBackSlots(1000);
  for (let n = 0; n < 8; n++) await clock.advance(250);
  await bounded;
});
