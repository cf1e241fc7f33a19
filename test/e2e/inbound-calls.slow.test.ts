import type { CallRow } from "../../local/carriers/ledger/call-rows.ts";
import { startProduct, type Product } from "../../local/harness/product.ts";
import { until } from "../../local/harness/stage.ts";

const START_MS = 90_000;
const RUN_MS = 120_000;
const CONFIRMS = "+14155557801";
const LISTED = "+14155557802";

let product: Product;
let template_id = "";
beforeAll(async () => {
  product = await startProduct();
  const { admin, sample, stack, sink } = product;
  const template = sample.templates.find((t) => t.name === "order-confirmation")!;
  template_id = template.id;
  await admin.ask("PUT", "/configurations/{config_id}", {
    path: { config_id: template.configuration_id },
    body: { enable_inbound: true, inbound_webhook_url: sink.url, inbound_block_message: "We do not take your calls." },
  });
  await admin.ask("POST", "/blacklist", { body: { phone_numbers: [LISTED] } });
  const at = `${stack.httpUrl}/carriers/PROVIDER_ONE`;
  const set = await fetch(`${stack.carrierUrl}/inbound-address`, {
    method: "POST",
    body: JSON.stringify({ carrier: "twilio", url: `${at}/inbound/new`, status_url: `${at}/status/new` }),
  });
  expect(set.status).toBe(204);
}, START_MS);
afterAll(async () => {
  if (product) await product.stop();
}, START_MS);

/** Somebody calls us and the call comes to its end. */
async function callIn(from: string): Promise<CallRow> {
  const answer = await fetch(`${product.stack.carrierUrl}/inbound`, {
    method: "POST",
    body: JSON.stringify({ carrier: "twilio", from, to: product.sample.numbers[0] }),
  });
  const { sid } = (await answer.json()) as { sid: string };
  return until(
    `the end of the call from ${from}`,
    async () => {
      const { calls } = (await (await fetch(`${product.stack.carrierUrl}/ledger/calls`)).json()) as {
        calls: CallRow[];
      };
      return calls.find((c) => c.sid === sid && c.ended_at !== null);
    },
    RUN_MS,
    250,
  );
}

const recordOf = async (sid: string) =>
  (await product.admin.ask("GET", "/inbound-calls", { query: { template_id } })).inbound_calls.find(
    (c) => c.call_id === sid,
  );

describe("an inbound call", () => {
  test(
    "has a conversation: the lead is inbound and finished, with its transcript, its webhook event and its timeline",
    async () => {
      const call = await callIn(CONFIRMS);
      expect(call).toMatchObject({ direction: "inbound", answered: true });
      const lead_id = (await recordOf(call.sid))?.lead_id ?? "";
      const report = await until("the report", () => product.sink.reports.get(lead_id), RUN_MS, 250);
      expect(report).toMatchObject({ status: "FINISHED", outcome: "confirmed", call_id: call.sid });
      const lead = await product.admin.ask("GET", "/leads/{lead_id}", { path: { lead_id } });
      expect(lead).toMatchObject({
        status: "FINISHED",
        outcome: "confirmed",
        attempt_count: 1,
        execution_mode: "TELEPHONY",
        call_direction: "INBOUND",
        template: "order-confirmation",
        call_id: call.sid,
        reseller_id: product.sample.reseller_id,
        merchant_id: product.sample.merchant_id,
        payload: {
          caller_number: CONFIRMS,
          called_number: product.sample.numbers[0],
          reporting_webhook_url: product.sink.url,
        },
        metaData: {
          call_ended_by: "agent",
          errors: [],
          transcription: expect.arrayContaining([{ role: "user", content: expect.any(String) }]),
        },
      });
      const { events } = await product.admin.ask("GET", "/leads/{lead_id}/timeline", { path: { lead_id } });
      expect(events.map((e) => e.event)).toEqual(
        expect.arrayContaining([
          "received",
          "ringing",
          "answered",
          "media_joined",
          "talk_ended",
          "ended",
          "finished",
          "report_queued",
        ]),
      );
      expect(events.map((e) => e.event)).not.toContain("dial_intended");
      expect((await product.admin.ask("GET", "/leads/{lead_id}/explain", { path: { lead_id } })).summary).toContain(
        "inbound",
      );
    },
    RUN_MS,
  );

  test(
    "from a blacklisted number: the caller hears why not, and the call is listed with its reason",
    async () => {
      const call = await callIn(LISTED);
      expect(call.transcript.filter((t) => t.who === "agent").map((t) => t.text)).toEqual([
        "We do not take your calls.",
      ]);
      expect(await recordOf(call.sid)).toMatchObject({
        verdict: "REJECTED",
        reason: "blacklisted",
        lead_id: null,
        caller_number: LISTED,
      });
    },
    RUN_MS,
  );

  test("leaves nothing of the conversation in the log", () => {
    const text = JSON.stringify(product.log);
    for (const phone of [CONFIRMS, LISTED]) expect(text).not.toContain(phone);
  });
});
