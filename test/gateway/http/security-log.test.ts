import { readEnv } from "../../../shared/process/env.ts";
import { rootLog } from "../../../shared/process/log.ts";
import { warnOfPlainHttp } from "../../../services/gateway/gateway.ts";
import { setHttpStage, type HttpStage } from "../fixtures/http-stage.ts";

/** What the gateway's log says of those who try, and of a deployment that speaks in clear. */
const lines: Record<string, unknown>[] = [];
const keep = (line: string): void => {
  lines.push(JSON.parse(line) as Record<string, unknown>);
};
const denied = () => lines.filter((line) => line["event"] === "http.denied");
let http: HttpStage;
beforeAll(async () => {
  http = await setHttpStage([], { LOG_LEVEL: "info" }, {}, {}, keep);
});
afterAll(() => http.stop());

test("requests that are denied are in the log, one line for each code, without what they sent", async () => {
  const token = `ca_${"CANARY".repeat(8)}`;
  for (let n = 0; n < 3; n++) expect((await http.ask("GET", "/leads", { token })).status).toBe(401);
  for (let n = 0; n < 3; n++)
    expect((await http.ask("POST", "/resellers", { token: http.tokens.user, body: { name: "x" } })).status).toBe(403);
  expect((await http.ask("GET", "/nowhere")).status).toBe(404);
  expect(denied()).toMatchObject([
    { level: "info", code: "UNAUTHENTICATED", times: 1, request_id: expect.any(String) },
    { level: "info", code: "FORBIDDEN", times: 1, request_id: expect.any(String) },
  ]);
  expect(JSON.stringify(lines)).not.toContain("CANARY");
  expect(JSON.stringify(lines)).not.toContain(http.tokens.user);
});

test.each([
  ["production", "http://calls.example.com", ["gateway.plain_http"]],
  ["production", "https://calls.example.com", []],
  ["test", "http://calls.example.com", []],
])("at start in %s with %s: %j", (NODE_ENV, PUBLIC_HTTP_URL, said) => {
  const own: string[] = [];
  const env = { ...readEnv({ LOG_LEVEL: "warn", PUBLIC_HTTP_URL }), NODE_ENV } as ReturnType<typeof readEnv>;
  warnOfPlainHttp({ env, log: rootLog(env, { write: (line) => own.push(line) }) });
  expect(own.map((line) => (JSON.parse(line) as { event: string }).event)).toEqual(said);
});
