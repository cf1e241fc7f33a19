import { shownPath } from "../../services/gateway/http/answer-watch.ts";
import { until } from "../../local/harness/stage.ts";
import { setHttpStage, type HttpStage } from "./fixtures/http-stage.ts";

/** What the gateway's log says of its answers. */
const lines: Record<string, unknown>[] = [];
const keep = (line: string): void => {
  lines.push(JSON.parse(line) as Record<string, unknown>);
};
const open: HttpStage[] = [];
const started = async (env: Record<string, string>): Promise<HttpStage> => {
  const http = await setHttpStage([], { LOG_LEVEL: "info", ...env }, {}, {}, keep);
  open.push(http);
  return http;
};
afterEach(async () => {
  for (const http of open.splice(0)) await http.stop();
  lines.length = 0;
});
const said = (event: string, request_id: string) =>
  until(`${event} of ${request_id}`, () =>
    lines.find((line) => line["event"] === event && line["request_id"] === request_id),
  );

test("each push and each refusal is found by its request id, other answers only where they are asked for", async () => {
  const http = await started({});
  const headers = (id: string) => ({ headers: { "x-request-id": id } });
  await http.ask("POST", "/leads", { body: {}, ...headers("push-1") });
  expect(await said("http.answered", "push-1")).toMatchObject({
    level: "info",
    service: "gateway",
    method: "POST",
    path: "/agent/voice/callagent/leads",
    status: expect.any(Number),
    ms: expect.any(Number),
  });
  const { status } = await http.ask("GET", "/nowhere", headers("get-1"));
  expect(await said("http.refused", "get-1")).toMatchObject({ level: "info", status, code: expect.any(String) });
  await http.ask("GET", "/merchants", headers("get-2"));
  await http.ask("POST", "/leads", { body: {}, ...headers("push-2") });
  await said("http.answered", "push-2");
  expect(lines.filter((line) => line["request_id"] === "get-2")).toEqual([]);
});

test("a push's request id leads to its lead; that of a bulk push to the first, and to how many there are", async () => {
  const http = await started({});
  const headers = (id: string) => ({ headers: { "x-request-id": id } });
  const queued = (n: number) => ({
    status: "queued",
    lead_call_tracker_id: `lead-${n}`,
    order_id: `order-${n}`,
    message: "",
  });
  http.script["leads.push"] = () => queued(1);
  http.script["leads.pushMany"] = () => ({
    results: [
      { index: 0, status: "refused", code: "TEMPLATE_UNKNOWN", message: "no" },
      ...[2, 3].map((n) => ({ index: n - 1, ...queued(n) })),
    ],
  });
  const body = { request_id: "order-1", template_id: "t", reseller_id: http.reseller_id, payload: {} };
  await http.ask("POST", "/leads", { body, ...headers("one") });
  expect(await said("http.answered", "one")).toMatchObject({ status: 201, lead_id: "lead-1", order_id: "order-1" });
  await http.ask("POST", "/leads/bulk", { body: [body, body, body], ...headers("many") });
  expect(await said("http.answered", "many")).toMatchObject({
    status: 200,
    lead_id: "lead-2",
    order_id: "order-2",
    queued: 2,
    refused: 1,
  });
});

test("with ACCESS_LOG every answer is logged", async () => {
  const http = await started({ ACCESS_LOG: "true" });
  await http.ask("GET", "/merchants?limit=5", { headers: { "x-request-id": "get-3" } });
  expect(await said("http.answered", "get-3")).toMatchObject({
    method: "GET",
    path: "/agent/voice/callagent/merchants",
    status: 200,
  });
});

test.each([
  [
    "/agent/voice/callagent/leads/6f9619ff-8b86-4d01-b42d-00cf4fc964ff/explain?x=1",
    "/agent/voice/callagent/leads/6f9619ff-8b86-4d01-b42d-00cf4fc964ff/explain",
  ],
  [
    "/carriers/PROVIDER_ONE/status/6f9619ff-8b86-4d01-b42d-00cf4fc964ff.1",
    "/carriers/PROVIDER_ONE/status/6f9619ff-8b86-4d01-b42d-00cf4fc964ff.1",
  ],
  ["/agent/voice/callagent/blacklist/+14155550100", "/agent/voice/callagent/blacklist/…"],
  ["/r/join/Zk3secretsecretsecret", "/r/…"],
  ["/r/call/pk_live", "/r/…"],
])("the path %s is shown as %s", (url, shown) => expect(shownPath(url)).toBe(shown));
