import type { IncomingMessage } from "node:http";
import { proxyNotice } from "../../../services/gateway/http/proxy-notice.ts";
import { readEnv } from "../../../shared/process/env.ts";
import { rootLog } from "../../../shared/process/log.ts";

const stage = (TRUST_PROXY: string) => {
  const lines: string[] = [];
  const env = readEnv({ TRUST_PROXY, LOG_LEVEL: "warn" });
  return { lines, notice: proxyNotice({ env, log: rootLog(env, { write: (line) => lines.push(line) }) }) };
};
const request = (remoteAddress: string, forwarded?: string) =>
  ({ headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded }, socket: { remoteAddress } }) as Pick<
    IncomingMessage,
    "headers" | "socket"
  >;

test("a proxy that the gateway is not told of is said once in the log, and in the health answer without failing it", () => {
  const { lines, notice } = stage("false");
  for (let i = 0; i < 3; i++) notice.note(request("::ffff:172.18.0.5", "203.0.113.9"));
  expect(lines.map((line) => (JSON.parse(line) as { event: string }).event)).toEqual(["gateway.proxy_untrusted"]);
  expect(notice.checks()).toEqual([
    { name: "proxy", ok: true, needed: false, reason: expect.stringContaining("TRUST_PROXY=true") },
  ]);
});

test.each([
  ["no header", "false", request("10.0.0.1")],
  ["a stranger who sends the header", "false", request("203.0.113.9", "1.2.3.4")],
  ["a proxy that is trusted", "true", request("10.0.0.1", "1.2.3.4")],
])("%s: nothing is said", (_, trust, req) => {
  const { lines, notice } = stage(trust);
  notice.note(req);
  expect([lines, notice.checks()]).toEqual([[], []]);
});
