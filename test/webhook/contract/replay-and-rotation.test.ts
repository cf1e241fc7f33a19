import { createServer, type Server } from "node:http";
import { MongoClient, type Db } from "mongodb";
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { Webhook } from "standardwebhooks";
import webhook from "../../../services/webhook/webhook.service.ts";
import type { ParamsOf } from "../../../shared/bus/bus.ts";
import {
  asAdmin,
  asMerchant,
  asReseller,
  asUser,
  setStage,
  standIn,
  until,
  type Stage,
} from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const R = "11111111-1111-4111-8111-111111111111";
const M = "22222222-2222-4222-8222-222222222222";
const clock = virtualClock(new Date());
const received: { headers: Record<string, string>; body: string }[] = [];
const audited: ParamsOf<"auth.record">[] = [];
let answers: number[] = [];
let sink: Server;
let url = "";
let stage: Stage;
let client: MongoClient;
let db: Db;

beforeAll(async () => {
  sink = createServer((request, response) => {
    let body = "";
    request
      .on("data", (d) => {
        body += String(d);
      })
      .on("end", () => {
        received.push({
          headers: Object.fromEntries(Object.entries(request.headers).map(([k, v]) => [k, String(v)])),
          body,
        });
        response.writeHead(answers.shift() ?? 200).end();
      });
  });
  await new Promise<void>((resolve) => sink.listen(0, "127.0.0.1", resolve));
  const address = sink.address();
  url = typeof address === "object" && address ? `http://127.0.0.1:${address.port}/` : "";
  stage = await setStage({
    clock,
    random: () => 0.5,
    env: { WEBHOOK_ALLOW_HTTP: "true", WEBHOOK_ALLOW_PRIVATE: "true" },
    services: [
      webhook,
      standIn("merchants", {
        lookup: ({ reseller_id, merchant_id }) => ({ reseller: reseller_id === R, merchant: merchant_id === M }),
      }),
      standIn("auth", {
        record: (entry) => {
          audited.push(entry);
          return {};
        },
      }),
    ],
  });
  client = await MongoClient.connect(stage.uri);
  db = client.db();
});
afterAll(async () => {
  await client.close();
  await stage.stop();
  sink.closeAllConnections();
  sink.close();
});

const id = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
const enqueue = (n: number, merchant_id: string | null = M) =>
  stage.bus.call("webhook.enqueueMany", {
    reports: [
      {
        lead_id: id(n),
        reseller_id: R,
        merchant_id,
        url,
        occurred_at: clock.now().toISOString(),
        data: { order_id: `o-${n}` },
      },
    ],
  });
const delivery = async (n: number) => (await stage.bus.call("webhook.deliveries", { lead_id: id(n) })).deliveries[0]!;
const replay = (n: number) => stage.bus.call("webhook.replay", { by: asMerchant(R, M), lead_id: id(n) });
const inState = (n: number, state: string, tries: number) =>
  until(`delivery ${n} ${state} after ${tries} tries`, async () => {
    await clock.advance(10);
    const d = await delivery(n);
    return d.state === state && d.tries.length === tries ? d : undefined;
  });
const requestsOf = (n: number) => received.filter((r) => r.headers["webhook-id"] === `msg_${id(n)}`);

describe("a replay", () => {
  test.each([
    ["delivered", 1, [200]],
    ["refused", 2, [410]],
  ])("sends a %s report again, with the same id and bytes", async (state, n, first) => {
    answers = [...first];
    await enqueue(n);
    await inState(n, state, 1);
    const answer = await replay(n);
    expect(answer).toMatchObject({ id: `msg_${id(n)}`, state: "pending", tries: [{ status: first[0] }] });
    await inState(n, "delivered", 2);
    const [one, other] = requestsOf(n);
    expect(audited.at(-1)).toMatchObject({
      action: "delivery.replayed",
      subject: id(n),
      reseller_id: R,
      merchant_id: M,
    });
    expect([other!.headers["webhook-id"], other!.body]).toEqual([one!.headers["webhook-id"], one!.body]);
  });
  test("is a whole new round for a report that was exhausted, and its tries stay listed", async () => {
    await enqueue(3);
    await inState(3, "delivered", 1);
    answers = Array.from({ length: 10 }, () => 500);
    await replay(3);
    for (let i = 1; i <= 9; i++) {
      await inState(3, "pending", 1 + i);
      await clock.advance(25 * 3_600_000);
    }
    expect((await inState(3, "exhausted", 11)).next_try_at).toBeNull();
    await replay(3);
    await inState(3, "delivered", 12);
  });
  test("of a report on its way, or of none, is refused", async () => {
    answers = [500];
    await enqueue(4);
    await inState(4, "pending", 1);
    await expect(replay(4)).rejects.toMatchObject({ type: "DELIVERY_PENDING" });
    await expect(replay(99)).rejects.toMatchObject({ type: "DELIVERY_NOT_FOUND" });
    await clock.advance(5500);
    await inState(4, "delivered", 2); // or its next try takes an answer that is meant for another
  });
  test("of many at once, one starts the round", async () => {
    await enqueue(5);
    await inState(5, "delivered", 1);
    const results = await Promise.allSettled(Array.from({ length: 10 }, () => replay(5)));
    expect(results.filter((r) => r.status === "fulfilled")).toHaveLength(1);
    await inState(5, "delivered", 2);
  });
});

describe("a rotated secret", () => {
  const secret = async (merchant_id?: string) =>
    (await stage.bus.call("webhook.secret", { by: asAdmin, reseller_id: R, ...(merchant_id ? { merchant_id } : {}) }))
      .secret;
  const rotate = (by: Parameters<typeof stage.bus.call<"webhook.rotateSecret">>[1]["by"] = asAdmin) =>
    stage.bus.call("webhook.rotateSecret", { by, reseller_id: R, merchant_id: M });
  /** What the reference library says of a request, at the instant at which it was sent. */
  const verifies = (n: number, by: string, of = 0): boolean => {
    const sent = requestsOf(n)[of]!;
    const machine = jest.spyOn(Date, "now").mockReturnValue(Number(sent.headers["webhook-timestamp"]) * 1000);
    try {
      new Webhook(by).verify(sent.body, sent.headers);
      return true;
    } catch {
      return false;
    } finally {
      machine.mockRestore();
    }
  };

  test("signs first; the one before signs beside it for a day, and is then gone", async () => {
    const before = await secret(M);
    const { secret: after, previous_valid_until } = await rotate();
    expect([await secret(M), Date.parse(previous_valid_until!) - clock.now().getTime()]).toEqual([after, 86_400_000]);
    await enqueue(10);
    await inState(10, "delivered", 1);
    expect(requestsOf(10)[0]!.headers["webhook-signature"]!.split(" ")).toHaveLength(2);
    expect([verifies(10, after), verifies(10, before)]).toEqual([true, true]);
    await clock.advance(86_400_001);
    await enqueue(11);
    await inState(11, "delivered", 1);
    expect(requestsOf(11)[0]!.headers["webhook-signature"]!.split(" ")).toHaveLength(1);
    expect([verifies(11, after), verifies(11, before)]).toEqual([true, false]);
  });
  test("between two tries signs the second one too: each try has its own timestamp and its own signatures", async () => {
    answers = [500];
    await enqueue(12);
    await inState(12, "pending", 1);
    const { secret: after } = await rotate();
    await clock.advance(5500);
    await inState(12, "delivered", 2);
    expect([verifies(12, after, 0), verifies(12, after, 1)]).toEqual([false, true]);
    const [one, other] = requestsOf(12);
    expect([
      other!.body,
      Number(other!.headers["webhook-timestamp"]) - Number(one!.headers["webhook-timestamp"]),
    ]).toEqual([one!.body, expect.closeTo(5, -1)]);
  });
  test("is the merchant's own; a report without a merchant is signed with the reseller's", async () => {
    await enqueue(13, null);
    await inState(13, "delivered", 1);
    expect([verifies(13, await secret()), verifies(13, await secret(M))]).toEqual([true, false]);
  });
  test("twice in a day leaves two, never three", async () => {
    const first = await secret(M);
    const second = (await rotate()).secret;
    const third = (await rotate()).secret;
    const doc = await db
      .collection<{ _id: string; secrets: { value: string }[] }>("webhook_secrets")
      .findOne({ _id: `merchant:${M}` });
    expect([doc!.secrets.map((s) => s.value), doc!.secrets.some((s) => s.value === first)]).toEqual([
      [third, second],
      false,
    ]);
  });
  test("by many at once loses none: each answer was the newest for a moment", async () => {
    const results = await Promise.allSettled(Array.from({ length: 4 }, () => rotate()));
    const made = results.flatMap((r) => (r.status === "fulfilled" ? [r.value.secret] : []));
    expect(made).toContain(await secret(M));
    expect(results.every((r) => r.status === "fulfilled" || (r.reason as { type: string }).type === "BUSY")).toBe(true);
  });
  test("each reading of it is in the audit log, without the secret", async () => {
    audited.length = 0;
    const shown = await secret(M);
    expect(audited).toEqual([
      expect.objectContaining({ action: "webhook_secret.read", subject: M, reseller_id: R, merchant_id: M }),
    ]);
    expect(JSON.stringify(audited)).not.toContain(shown);
  });
  test("is its owners' to rotate, and in the audit log without the secret", async () => {
    audited.length = 0;
    const { secret: made } = await rotate(asMerchant(R, M));
    expect(audited).toEqual([
      expect.objectContaining({ action: "webhook_secret.rotated", subject: M, reseller_id: R, merchant_id: M }),
    ]);
    expect(JSON.stringify(audited)).not.toContain(made);
    await expect(rotate(asUser(R, M))).rejects.toMatchObject({ type: "FORBIDDEN" });
    await expect(rotate(asReseller(M))).rejects.toMatchObject({ type: "FORBIDDEN" });
    await expect(
      stage.bus.call("webhook.rotateSecret", { by: asAdmin, reseller_id: R, merchant_id: R }),
    ).rejects.toMatchObject({ type: "MERCHANT_NOT_FOUND" });
    await expect(stage.bus.call("webhook.rotateSecret", { by: asAdmin, reseller_id: M })).rejects.toMatchObject({
      type: "RESELLER_NOT_FOUND",
    });
  });
});
