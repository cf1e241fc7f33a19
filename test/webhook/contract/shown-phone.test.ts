import { createServer, type Server } from "node:http";
import webhook from "../../../services/webhook/webhook.service.ts";
import { setStage, standIn, until, type Stage } from "../../../local/harness/stage.ts";
import { fail } from "../../../shared/errors.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const clock = virtualClock(new Date());
const R = "11111111-1111-4111-8111-111111111111";
const FULL = "merchant-full";
const bodies = new Map<string, string>();
let [asked, isAway] = [0, false];
let sink: Server;
let stage: Stage;
let url = "";

beforeAll(async () => {
  sink = createServer((request, response) => {
    let body = "";
    request
      .on("data", (d) => {
        body += String(d);
      })
      .on("end", () => {
        bodies.set(String(request.headers["webhook-id"]), body);
        response.writeHead(204).end();
      });
  });
  await new Promise<void>((resolve) => sink.listen(0, "127.0.0.1", resolve));
  const address = sink.address();
  url = typeof address === "object" && address ? `http://127.0.0.1:${address.port}/` : "";
  const lookup = ({ merchant_id }: { merchant_id?: string }) => {
    asked++;
    if (isAway) return fail("DEPENDENCY_DOWN", "away");
    return {
      reseller: true,
      merchant: true,
      ...(merchant_id === FULL ? { webhook_phone_number: "full" as const } : {}),
    };
  };
  stage = await setStage({
    clock,
    env: { WEBHOOK_ALLOW_HTTP: "true", WEBHOOK_ALLOW_PRIVATE: "true" },
    services: [webhook, standIn("merchants", { lookup })],
  });
});
afterAll(async () => {
  await stage.stop();
  sink.closeAllConnections();
  sink.close();
});

let count = 0;
const shown = async (merchant_id: string | null, phone_number?: string | null): Promise<unknown> => {
  const lead_id = `00000000-0000-4000-8000-${String(++count).padStart(12, "0")}`;
  const owner = { reseller_id: R, merchant_id, url, occurred_at: clock.now().toISOString() };
  const numbers = phone_number === undefined ? {} : { phone_number };
  const data = { outcome: "confirmed", phone_number: "+1415***0100" };
  await stage.bus.call("webhook.enqueueMany", { reports: [{ lead_id, ...owner, data, ...numbers }] });
  const body = await until("the event", () => bodies.get(`msg_${lead_id}`));
  const event: { data: { phone_number: unknown } } = JSON.parse(body);
  return event.data.phone_number;
};
const NUMBER = "+14155550100";

test("a merchant that chose so gets the whole number, every other one the masked one", async () => {
  expect(await shown(FULL, NUMBER)).toBe(NUMBER);
  expect(await shown("merchant-masked", NUMBER)).toBe("+1415***0100");
  expect(await shown(null, NUMBER)).toBe("+1415***0100");
});

test("the choice is asked for once in 30 s, and a new one holds after them", async () => {
  await shown(FULL, NUMBER);
  const before = asked;
  await shown(FULL, NUMBER);
  expect(asked).toBe(before);
  await clock.advance(30_001);
  await shown(FULL, NUMBER);
  expect(asked).toBe(before + 1);
});

test("where the choice cannot be asked for, the event goes out with the masked number", async () => {
  await clock.advance(30_001);
  isAway = true;
  expect(await shown(FULL, NUMBER)).toBe("+1415***0100");
  isAway = false;
  expect(await shown(FULL, NUMBER)).toBe(NUMBER);
});

test("an event of a leads service that sends no number stays as it is", async () => {
  expect(await shown(FULL)).toBe("+1415***0100");
  expect(await shown(FULL, null)).toBe("+1415***0100");
});
