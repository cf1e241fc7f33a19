import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { telnyxCarrier } from "../../../../services/dialer/carriers/telnyx/carrier.ts";
import { clock } from "../fixtures/agent.ts";
import { CONNECTION, FROM, KEY, startTelnyxBench, type TelnyxBench, type Told } from "../fixtures/telnyx-agent.ts";

let bench: TelnyxBench;
beforeAll(async () => {
  bench = await startTelnyxBench();
});
afterEach(async () => {
  bench.agent.script = () => undefined;
  bench.agent.reply = () => ({ status: 204 });
  await fetch(`${bench.carrier.url}/faults`, { method: "DELETE" });
});
afterAll(() => bench.close());

const REF = "7a1c1a2e-0000-4000-8000-000000000001.1";
const state = Buffer.from(REF).toString("base64");
const eventTypes = (id: string): string[] =>
  bench.told.filter((t) => t.payload["call_control_id"] === id).map((t) => t.type);
const hangUp = (id: string) => bench.sdk.calls.actions.hangup(id, {});
const answered = async (to: string, more = {}): Promise<string> => {
  const id = await bench.dial(to, more);
  await bench.event(id, "call.answered");
  return id;
};

describe("faults", () => {
  test("lost, doubled, late and forged events; what is lost is listed all the same", async () => {
    const to = "+14155550401";
    await bench.fault({ kind: "lose_callbacks", to, times: 1 });
    await bench.fault({ kind: "duplicate_callbacks", to, times: 1 });
    await bench.fault({ kind: "forge_callbacks", to, times: 1 });
    const id = await answered(to);
    await hangUp(id);
    await bench.event(id, "call.hangup");
    expect(eventTypes(id)).not.toContain("call.initiated");
    const verdicts = await Promise.all(
      bench.told
        .filter((t) => t.payload["call_control_id"] === id && t.type === "call.answered")
        .map(({ body, headers }: Told) =>
          bench.sdk.webhooks.unwrap(body, { headers }).then(
            () => true,
            () => false,
          ),
        ),
    );
    expect(verdicts).toEqual([false, true, true]);
    const events = await bench.sdk.callEvents.list({ filter: { to } });
    expect(events.data.map((e) => e.name)).toContain("call.initiated");
  });

  test("a call that waits in the queue is found among the live ones before anything is told of it", async () => {
    const to = "+14155550501";
    await bench.fault({ kind: "queue_delay", to, seconds: 20 });
    const id = await bench.dial(to, { client_state: state });
    const carrier = telnyxCarrier({
      api_key: KEY,
      api_base: bench.carrier.url,
      connection_id: CONNECTION,
      public_key: bench.carrier.telnyxPublicKey,
      public_http_url: "http://x",
      public_ws_url: "ws://x",
    });
    expect(await carrier.find({ call_ref: REF, to, from: FROM, since: clock.now(), until: clock.now() })).toEqual([
      { call_id: id, created_at: null, live: true, progress: [], cost: null },
    ]);
    await carrier.hangUp({ call_id: id, leg_id: null }, false);
  });

  test("after a restart the calls of before are known, and those that lived are over", async () => {
    const folder = mkdtempSync(join(tmpdir(), "telnyx-"));
    try {
      const ledgerFile = join(folder, "ledger");
      const first = await startTelnyxBench({ ledgerFile });
      const [done, live] = [
        await first.dial("+14155550105", { client_state: state }),
        await first.dial("+14155550105"),
      ];
      for (const id of [done, live]) await first.event(id, "call.answered");
      await first.sdk.calls.actions.hangup(done, {});
      await first.event(done, "call.hangup");
      await first.close();
      const second = await startTelnyxBench({ ledgerFile });
      try {
        const carrier = telnyxCarrier({
          api_key: KEY,
          api_base: second.carrier.url,
          connection_id: CONNECTION,
          public_key: second.carrier.telnyxPublicKey,
          public_http_url: "http://x",
          public_ws_url: "ws://x",
        });
        for (const call_id of [done, live]) {
          const seen = await carrier.fetch({ call_id, leg_id: null });
          expect(seen).toMatchObject({ live: false });
          expect(seen?.progress.map((p) => p.type)).toEqual(["queued", "answered", "ended"]);
        }
        expect(
          (
            await carrier.find({
              call_ref: REF,
              to: "+14155550105",
              from: FROM,
              since: new Date(0),
              until: clock.now(),
            })
          ).map((c) => c.call_id),
        ).toEqual([done]);
      } finally {
        await second.close();
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
