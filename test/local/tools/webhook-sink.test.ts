import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Webhook } from "standardwebhooks";
import { startSink, type Received, type Sink } from "../../../local/tools/sink/sink-server.ts";
import { ROOT } from "../../house/sources.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OTHER = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const BODY = JSON.stringify({
  type: "lead.finished",
  timestamp: "2026-03-02T09:00:00.000Z",
  data: { order_id: "ö-1" },
});

let sink: Sink;
afterEach(async () => {
  await sink.close();
});
const open = async (secrets: string[]): Promise<void> => {
  sink = await startSink({ port: 0, host: "127.0.0.1", secrets, nowSeconds: () => Math.floor(Date.now() / 1000) });
};
const send = (body: string, headers: Record<string, string>): Promise<Response> =>
  fetch(`${sink.url}/reports`, { method: "POST", body, headers });
const listed = async (): Promise<{ received: number; different: number; webhooks: Received[] }> =>
  (await fetch(sink.url)).json() as Promise<{ received: number; different: number; webhooks: Received[] }>;

/** Headers as the reference library of Standard Webhooks signs them. */
function signed(secret: string, at = new Date(), id = "msg_1"): Record<string, string> {
  return {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": new Webhook(secret).sign(id, at, BODY),
  };
}

describe("the webhook sink", () => {
  test("believes what the reference library signed, with any of its secrets, and lists it newest first", async () => {
    await open([SECRET, OTHER]);
    expect((await send(BODY, signed(SECRET))).status).toBe(200);
    expect((await send(BODY, signed(OTHER, new Date(), "msg_2"))).status).toBe(200);
    expect((await send(BODY, signed(SECRET))).status).toBe(200);
    const rotating = { ...signed(SECRET, new Date(), "msg_3") };
    rotating["webhook-signature"] = `v1,bm9uZQ== v1a,x ${rotating["webhook-signature"]}`;
    expect((await send(BODY, rotating)).status).toBe(200);
    const { webhooks, ...counts } = await listed();
    expect(counts).toEqual({ received: 4, different: 3 });
    expect(webhooks.map((w) => w.webhook_id)).toEqual(["msg_3", "msg_1", "msg_2", "msg_1"]);
    expect(webhooks[0]).toMatchObject({
      signature: "valid",
      fault: null,
      path: "/reports",
      body: { data: { order_id: "ö-1" } },
    });
  });

  const minutes = (n: number): Date => new Date(Date.now() + n * 60_000);
  test.each([
    ["another secret", () => [BODY, signed(OTHER)] as const, /no signature/],
    ["a changed body", () => [`${BODY} `, signed(SECRET)] as const, /no signature/],
    ["an old request", () => [BODY, signed(SECRET, minutes(-6))] as const, /300 s/],
    ["one from the future", () => [BODY, signed(SECRET, minutes(6))] as const, /300 s/],
    ["no headers", () => [BODY, {}] as const, /missing/],
    ["another id", () => [BODY, { ...signed(SECRET), "webhook-id": "msg_9" }] as const, /no signature/],
  ])("refuses %s and shows it as invalid", async (_what, make, fault) => {
    await open([SECRET]);
    expect((await send(...make())).status).toBe(400);
    expect((await listed()).webhooks).toEqual([
      expect.objectContaining({ signature: "invalid", fault: expect.stringMatching(fault) }),
    ]);
  });

  test("without a secret takes everything, and says that nothing was checked", async () => {
    await open([]);
    expect((await send("no json", {})).status).toBe(200);
    expect((await listed()).webhooks).toEqual([expect.objectContaining({ signature: "unchecked", body: "no json" })]);
    await fetch(sink.url, { method: "DELETE" });
    expect(await listed()).toEqual({ received: 0, different: 0, webhooks: [] });
  });

  test("takes no body without end, and no method it does not know", async () => {
    await open([]);
    expect((await send("x".repeat(1_100_000), {}).catch(() => ({ status: 413 }))).status).toBe(413);
    expect((await fetch(sink.url, { method: "PUT" })).status).toBe(405);
    expect((await listed()).received).toBe(0);
  });

  test("as a program says when it is ready, says when its port is taken, and ends on SIGTERM", async () => {
    await open([]);
    const run = (...args: string[]) =>
      spawn(process.execPath, [join(ROOT, "local/tools/sink/main.ts"), ...args], {
        stdio: ["ignore", "pipe", "pipe"],
        env: { SINK_SECRETS: SECRET },
      });
    const late = run("--port", new URL(sink.url).port);
    const [said] = (await once(createInterface({ input: late.stderr }), "line")) as [string];
    const [taken] = (await once(late, "exit")) as [number];
    expect([taken, said]).toEqual([
      1,
      "sink: the port is taken; choose another with --port, or --port 0 for a free one",
    ]);
    const program = run("--port", "0");
    const [line] = (await once(createInterface({ input: program.stdout }), "line")) as [string];
    const ready = JSON.parse(line) as { event: string; url: string };
    expect(ready).toEqual({ event: "ready", url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) });
    expect((await fetch(ready.url, { method: "POST", body: BODY, headers: signed(OTHER) })).status).toBe(400);
    program.kill("SIGTERM");
    const [code] = (await once(program, "exit")) as [number];
    expect(code).toBe(0);
  });
});
