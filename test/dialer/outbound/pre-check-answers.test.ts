import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createPreCheckClient } from "../../../services/dialer/outbound/pre-checks/pre-check-client.ts";
import { judge } from "../../../services/dialer/outbound/pre-checks/pre-check-verdict.ts";
import { preCheckOf } from "../../../services/dialer/outbound/pre-checks/pre-check.ts";
import { systemClock } from "../../../shared/time/clock.ts";

let sent: { type: string; body: Buffer } = { type: "", body: Buffer.alloc(0) };
const server = createServer((_, response) => response.writeHead(200, { "content-type": sent.type }).end(sent.body));
const client = createPreCheckClient({ allow_http: true, allow_private: true }, systemClock);
beforeAll(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
afterAll(async () => {
  await client.close();
  server.close();
});

async function judged(type: string, body: Buffer, over: Record<string, unknown> = {}) {
  sent = { type, body };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const answer = await client.ask(
    { url, method: "GET", headers: {}, body: null },
    { timeout_ms: 5000, retries: 0, json: true },
    new AbortController().signal,
  );
  return judge(preCheckOf({ name: "crm", url, export: { customer_name: "name", order_id: "id" }, ...over }), answer);
}

test.each<[what: string, type: string, body: Buffer]>([
  ["UTF-8", "application/json", Buffer.from('{"name":"José"}')],
  ["UTF-8 with a byte order mark", "application/json", Buffer.from('\ufeff{"name":"José"}')],
  ["latin1 that says so", "application/json; charset=ISO-8859-1", Buffer.from('{"name":"José"}', "latin1")],
  ["UTF-16 with its mark", "application/json", Buffer.from('\ufeff{"name":"José"}', "utf16le")],
])("an answer in %s is read", async (_what, type, body) => {
  expect(await judged(type, body)).toMatchObject({ status: "passed", exported: { customer_name: "José" } });
});

test.each<[what: string, type: string, body: Buffer, detail: string]>([
  [
    "latin1 that says nothing",
    "application/json",
    Buffer.from('{"name":"José"}', "latin1"),
    "not in the charset utf-8",
  ],
  [
    "a charset that nobody knows",
    "application/json; charset=klingon",
    Buffer.from("{}"),
    "the charset klingon, which is not known",
  ],
])("an answer in %s is an error with the reason, and nothing is spoken of it", async (_what, type, body, detail) => {
  const { status, http_status, exported, detail: told } = await judged(type, body);
  expect([status, http_status, exported, told]).toEqual(["error", 200, {}, expect.stringContaining(detail)]);
});

test("an integer that no double holds is compared, exported and spoken to the digit", async () => {
  const body = Buffer.from('{"id":7615917337495251231}');
  const pass_when = (operator: string, value: unknown) => ({ pass_when: { path: "id", operator, value } });
  expect(await judged("application/json", body, pass_when("equals", "7615917337495251231"))).toMatchObject({
    status: "passed",
    exported: { order_id: "7615917337495251231" },
  });
  expect(await judged("application/json", body, pass_when("equals", "7615917337495251000"))).toMatchObject({
    status: "failed",
  });
  expect(await judged("application/json", body, pass_when("gt", 10))).toMatchObject({ status: "passed" });
});
