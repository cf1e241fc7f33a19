import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { twilioCarrier } from "../../../../services/dialer/carriers/twilio/carrier.ts";

const account_sid = `AC${"a".repeat(32)}`;
const recording_id = `RE${"b".repeat(32)}`;
const RECORDING = {
  recording_id,
  url: `https://api.twilio.com/2010-04-01/Accounts/${account_sid}/Recordings/${recording_id}`,
  seconds: 3,
  channels: 2,
};
type Asked = { url: string; authorization: string | undefined };

const servers: Server[] = [];
async function listen(
  asked: Asked[],
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<string> {
  const server = createServer((request, response) => {
    asked.push({ url: request.url ?? "", authorization: request.headers.authorization });
    answer(request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const asked: Asked[] = [];
const strangers: Asked[] = [];
let answer: (request: IncomingMessage, response: ServerResponse) => void = () => undefined;
let [api_base, stranger] = ["", ""];
beforeAll(async () => {
  api_base = await listen(asked, (request, response) => answer(request, response));
  stranger = await listen(strangers, (_request, response) => {
    response.end("RIFF");
  });
});
afterAll(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});
beforeEach(() => {
  asked.length = 0;
  strangers.length = 0;
});

const open = () =>
  twilioCarrier({
    account_sid,
    auth_token: "secret",
    api_base,
    public_http_url: "https://p",
    public_ws_url: "wss://p",
  }).openRecording(RECORDING);
const status =
  (code: number, headers: Record<string, string> = {}, body = "") =>
  (_request: IncomingMessage, response: ServerResponse): void => {
    response.writeHead(code, headers).end(body);
  };

test("it is asked once, with the account's credentials, both sides apart, and read as it comes", async () => {
  answer = status(200, { "content-type": "audio/x-wav", "content-length": "4" }, "RIFF");
  const { body, content_type, bytes } = await open();
  expect([Buffer.concat((await body.toArray()) as Buffer[]).toString(), content_type, bytes]).toEqual([
    "RIFF",
    "audio/x-wav",
    4,
  ]);
  expect(asked).toEqual([
    {
      url: `/2010-04-01/Accounts/${account_sid}/Recordings/${recording_id}.wav?RequestedChannels=2`,
      authorization: `Basic ${Buffer.from(`${account_sid}:secret`).toString("base64")}`,
    },
  ]);
});

test("sent on to a stranger, we do not go, and nobody hears our credentials", async () => {
  answer = (request, response) => status(302, { location: `${stranger}${request.url}` })(request, response);
  await expect(open()).rejects.toMatchObject({
    type: "DEPENDENCY_DOWN",
    message: expect.stringContaining("not its own"),
  });
  expect([asked.length, strangers]).toEqual([1, []]);
});
test("sent on within the same origin, we go, but not for ever", async () => {
  answer = (request, response) =>
    (request.url?.startsWith("/file") ? status(200, {}, "RIFF") : status(307, { location: "/file" }))(
      request,
      response,
    );
  await expect(open()).resolves.toMatchObject({ bytes: null });
  answer = status(302, { location: "/again" });
  await expect(open()).rejects.toMatchObject({
    type: "DEPENDENCY_DOWN",
    message: expect.stringContaining("too often"),
  });
});

test.each([
  ["processing", "RECORDING_NOT_READY"],
  ["in-progress", "RECORDING_NOT_READY"],
  ["absent", "RECORDING_NOT_FOUND"],
  ["completed", "RECORDING_NOT_FOUND"],
  ["", "RECORDING_NOT_FOUND"],
])("no file, its resource says %j: %s", async (word, type) => {
  answer = (request, response) =>
    (request.url?.includes(".json") && word !== ""
      ? status(200, { "content-type": "application/json" }, JSON.stringify({ status: word }))
      : status(404))(request, response);
  await expect(open()).rejects.toMatchObject({ type });
});
test.each([401, 429, 500, 503])("HTTP %s: asked again later", async (code) => {
  answer = status(code);
  await expect(open()).rejects.toMatchObject({
    type: "DEPENDENCY_DOWN",
    message: expect.stringContaining(String(code)),
  });
});
test("an answer that breaks off before it began: asked again later, and no secret in what is said", async () => {
  answer = (request) => {
    request.socket.destroy();
  };
  const error: unknown = await open().catch((e: unknown) => e);
  expect(error).toMatchObject({ type: "DEPENDENCY_DOWN" });
  expect(JSON.stringify(error)).not.toContain("secret");
});
