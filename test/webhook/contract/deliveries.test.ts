import { createServer, type Server } from "node:http";
import { Webhook } from "standardwebhooks";
import webhook from "../../../services/webhook/webhook.service.ts";
import { asAdmin, asMerchant, asUser, setStage, standIn, until, type Stage } from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const clock = virtualClock(new Date());
const R = "11111111-1111-4111-8111-111111111111";
const M = "22222222-2222-4222-8222-222222222222";
const received: { path: string; headers: Record<string, string>; body: string }[] = [];
/** What the sink answers, by the number of the lead; 200 when nothing is left. */
const answers = new Map<number, { status: number; headers?: Record<string, string> }[]>();
let sink: Server;
let url = "";
let stage: Stage;

beforeAll(async () => {
  sink = createServer((request, response) => {
    let body = "";
    request
      .on("data", (d) => {
        body += String(d);
      })
      .on("end", () => {
        received.push({
          path: request.url ?? "",
          headers: Object.fromEntries(Object.entries(request.headers).map(([k, v]) => [k, String(v)])),
          body,
        });
        const answer = answers.get(Number(String(request.headers["webhook-id"]).slice(-12)))?.shift() ?? {
          status: 200,
        };
        response.writeHead(answer.status, answer.headers).end();
      });
  });
  await new Promise<void>((resolve) => sink.listen(0, "127.0.0.1", resolve));
  const address = sink.address();
  url = typeof address === "object" && address ? `http://127.0.0.1:${address.port}` : "";
  stage = await setStage({
    clock,
    random: () => 0.5,
    env: { WEBHOOK_ALLOW_HTTP: "true", WEBHOOK_ALLOW_PRIVATE: "true" },
    services: [
      webhook,
      standIn("merchants", { lookup: ({ merchant_id }) => ({ reseller: true, merchant: merchant_id === M }) }),
    ],
  });
});
afterAll(async () => {
  await stage.stop();
  sink.closeAllConnections();
  sink.close();
});

const id = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
const enqueue = (n: number, path = "/ok") =>
  stage.bus.call("webhook.enqueueMany", {
    reports: [
      {
        lead_id: id(n),
        reseller_id: R,
        merchant_id: M,
        url: `${url}${path}`,
        occurred_at: clock.now().toISOString(),
        data: { order_id: `o-${n}`, outcome: "confirmed" },
      },
    ],
  });
const delivery = async (n: number) => (await stage.bus.call("webhook.deliveries", { lead_id: id(n) })).deliveries[0];
const inState = (n: number, state: string) =>
  until(`delivery ${n} ${state}`, async () => {
    await clock.advance(10);
    const d = await delivery(n);
    return d?.state === state ? d : undefined;
  });
const tried = (n: number, tries: number) =>
  until(`${tries} tries of ${n}`, async () => {
    await clock.advance(10);
    const d = await delivery(n);
    return (d?.tries.length ?? 0) >= tries ? d : undefined;
  });

test("a report arrives once, signed as Standard Webhooks says, and the reference library accepts it", async () => {
  await enqueue(1);
  await enqueue(1);
  await inState(1, "delivered");
  const mine = received.filter((r) => r.headers["webhook-id"] === `msg_${id(1)}`);
  expect(mine).toHaveLength(1);
  const { secret } = await stage.bus.call("webhook.secret", { by: asAdmin, reseller_id: R, merchant_id: M });
  expect(new Webhook(secret).verify(mine[0]!.body, mine[0]!.headers)).toMatchObject({
    type: "lead.finished",
    data: { order_id: "o-1" },
  });
});

test("a failed try is repeated with the same id and the same bytes", async () => {
  answers.set(2, [{ status: 500 }]);
  await enqueue(2);
  const failed = await tried(2, 1);
  expect(failed).toMatchObject({ state: "pending", tries: [{ status: 500 }] });
  await clock.advance(5001);
  await inState(2, "delivered");
  const mine = received.filter((r) => r.headers["webhook-id"] === `msg_${id(2)}`);
  expect(mine).toHaveLength(2);
  expect(mine[0]!.body).toBe(mine[1]!.body);
});

test("redirects are not followed", async () => {
  answers.set(3, [{ status: 307, headers: { location: `${url}/elsewhere` } }]);
  await enqueue(3, "/redirect");
  await tried(3, 1);
  expect(received.some((r) => r.path === "/elsewhere")).toBe(false);
});

test("410 ends the delivery, Retry-After is obeyed", async () => {
  answers.set(4, [{ status: 410 }]);
  await enqueue(4);
  await inState(4, "refused");
  answers.set(5, [{ status: 503, headers: { "retry-after": "120" } }]);
  await enqueue(5);
  const waiting = await tried(5, 1);
  expect(Date.parse(waiting!.next_try_at!) - clock.now().getTime()).toBeGreaterThan(110_000);
});

test("ten failed tries exhaust a delivery, which stays listed", async () => {
  answers.set(
    6,
    Array.from({ length: 10 }, () => ({ status: 500 })),
  );
  await enqueue(6);
  for (let i = 1; i <= 10; i++) {
    await tried(6, i);
    await clock.advance(25 * 3_600_000);
  }
  expect(await inState(6, "exhausted")).toMatchObject({ next_try_at: null, tries: { length: 10 } });
});

test("the secret is shown to the merchant and its masters only, and stays the same", async () => {
  const mine = await stage.bus.call("webhook.secret", { by: asMerchant(R, M), reseller_id: R, merchant_id: M });
  expect(mine.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(await stage.bus.call("webhook.secret", { by: asAdmin, reseller_id: R, merchant_id: M })).toEqual(mine);
  await expect(
    stage.bus.call("webhook.secret", { by: asUser(R, M), reseller_id: R, merchant_id: M }),
  ).rejects.toMatchObject({ type: "FORBIDDEN" });
  await expect(
    stage.bus.call("webhook.secret", { by: asMerchant(R, R), reseller_id: R, merchant_id: M }),
  ).rejects.toMatchObject({ type: "FORBIDDEN" });
});

test("without leave for private addresses nothing is sent to this machine", async () => {
  const strict = await setStage({ clock, services: [webhook, standIn("merchants", {})] });
  try {
    await expect(strict.bus.call("webhook.checkAddress", { url })).rejects.toMatchObject({
      type: "WEBHOOK_ADDRESS_REFUSED",
    });
    const before = received.length;
    await strict.bus.call("webhook.enqueueMany", {
      reports: [
        {
          lead_id: id(9),
          reseller_id: R,
          merchant_id: M,
          url: `${url}/private`,
          occurred_at: clock.now().toISOString(),
          data: {},
        },
      ],
    });
    await until("the refusal", async () => {
      await clock.advance(10);
      const d = (await strict.bus.call("webhook.deliveries", { lead_id: id(9) })).deliveries[0];
      return d?.state === "refused" ? d : undefined;
    });
    expect(received.length).toBe(before);
  } finally {
    await strict.stop();
  }
});
