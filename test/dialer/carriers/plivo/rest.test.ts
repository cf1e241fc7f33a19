import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { plivoCarrier } from "../../../../services/dialer/carriers/plivo/carrier.ts";
import { fileAt } from "../../../../services/dialer/carriers/plivo/rest.ts";
import { openRest } from "../../../../services/dialer/carriers/plivo/rest.ts";

test.each<[string, string | null, boolean, [string, boolean] | null]>([
  ["https://media.plivo.com/v1/r.wav?x=1", null, false, ["https://media.plivo.com/v1/r.wav?x=1", true]],
  ["https://media.plivo.com/v1/r.wav", "http://sim:1", false, ["http://sim:1/v1/r.wav", true]],
  ["https://api.plivo.com/v1/r.wav", null, false, ["https://api.plivo.com/v1/r.wav", true]],
  ["http://sim:1/v1/r.wav", "http://sim:1", false, ["http://sim:1/v1/r.wav", true]],
  ["https://eu.media.plivo.com/r.wav", null, false, ["https://eu.media.plivo.com/r.wav", false]],
  [
    "http://s3.amazonaws.com/recordings_2013/r.mp3",
    null,
    false,
    ["https://s3.amazonaws.com/recordings_2013/r.mp3", false],
  ],
  ["http://media.plivo.com/r.wav", null, false, ["https://media.plivo.com/r.wav", false]],
  ["https://bucket.s3.amazonaws.com/r.wav", null, true, ["https://bucket.s3.amazonaws.com/r.wav", false]],
  ["https://bucket.s3.amazonaws.com/r.wav", null, false, null],
  ["https://media.plivo.com:8443/r", null, false, null],
  ["https://u:p@eu.media.plivo.com/r", null, false, null],
  ["https://plivo.com.evil.example/r", null, true, null],
  ["https://xamazonaws.com/r", null, true, null],
  ["ftp://media.plivo.com/r", null, false, null],
  ["http://127.0.0.1/r", null, true, null],
  ["", null, false, null],
])("a file at %s (behind %s, redirected %s) is read from %j", (address, api_base, redirected, expected) => {
  const file = fileAt(address, api_base, redirected);
  expect(file && [file.url.href, file.ours]).toEqual(expected);
});

describe("over the wire", () => {
  let server: Server;
  let base = "";
  let reply: (
    url: string,
    authorization: string,
  ) => { status: number; body?: string; headers?: Record<string, string> } = () => ({ status: 204 });
  const seen: { url: string; authorization: string }[] = [];
  beforeAll(async () => {
    server = createServer((request, response) => {
      const [url, authorization] = [request.url ?? "", request.headers.authorization ?? ""];
      seen.push({ url, authorization });
      const { status, body = "", headers = {} } = reply(url, authorization);
      if (status === 0) response.destroy();
      else response.writeHead(status, headers).end(body);
    });
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const carrier = () =>
    plivoCarrier({
      now: () => new Date(),
      auth_id: "MA1",
      auth_token: "t",
      api_base: base,
      public_http_url: base,
      public_ws_url: base,
    });
  const request = () => ({
    call_ref: "7a1c1a2e-0000-4000-8000-000000000001.1",
    to: "+14155550101",
    from: "+14155550999",
    ring_seconds: 30,
    talk_seconds: 630,
    media: { kind: "text" as const, url: "", token: "t", language: "en-US", voice: null },
    record: false,
    await_beep: false,
    callback_base: base,
  });

  test.each<[string, { status: number; body?: string; headers?: Record<string, string> }, object]>([
    [
      "a request's name",
      { status: 201, body: JSON.stringify({ message: "call fired", request_uuid: "r-1" }) },
      { kind: "placed", call_id: "r-1", queued_ms: 0 },
    ],
    [
      "a list of one",
      { status: 201, body: JSON.stringify({ message: "calls fired", request_uuid: ["r-2"] }) },
      { kind: "placed", call_id: "r-2" },
    ],
    ["no name", { status: 201, body: JSON.stringify({ message: "call fired" }) }, { kind: "uncertain" }],
    ["a page", { status: 200, body: "<html>" }, { kind: "uncertain" }],
    ["nothing", { status: 200 }, { kind: "uncertain" }],
    ["a cut connection", { status: 0 }, { kind: "uncertain" }],
    ["a redirect", { status: 302, headers: { location: "/elsewhere" } }, { kind: "uncertain" }],
  ])("a dial answered with %s", async (_what, answered, expected) => {
    seen.length = 0;
    reply = () => answered;
    expect(await carrier().dial(request())).toMatchObject(expected);
    expect(seen).toHaveLength(1); // never sent twice
  });

  test("files come from Plivo only, and the credentials go to no other host", async () => {
    const rest = openRest({ auth_id: "MA1", auth_token: "t", api_base: base });
    for (const url of [
      "https://media.plivo.com.evil.example/x.wav",
      "http://media.plivo.com:8080/x",
      "https://evilplivo.com/x",
      "http://127.0.0.1:1/x",
      "file:///etc/passwd",
      "https://bucket.s3.amazonaws.com/x",
      "nonsense",
      "http://user@169.254.169.254/",
    ]) {
      await expect(rest.open(url)).rejects.toMatchObject({ type: "RECORDING_NOT_FOUND" });
    }
    reply = (url) =>
      url === "/a"
        ? { status: 302, headers: { location: "http://169.254.169.254/latest" } }
        : url === "/loop"
          ? { status: 302, headers: { location: "/loop" } }
          : { status: 500 };
    await expect(rest.open(`${base}/a`)).rejects.toMatchObject({ type: "RECORDING_NOT_FOUND" });
    await expect(rest.open(`${base}/loop`)).rejects.toMatchObject({ type: "DEPENDENCY_DOWN" });
    await expect(rest.open(`${base}/broken`)).rejects.toMatchObject({ type: "DEPENDENCY_DOWN" });
    reply = () => ({ status: 200, body: "RIFF", headers: { "content-type": "audio/wav", "content-length": "4" } });
    seen.length = 0;
    const opened = await rest.open("https://media.plivo.com/v1/Account/MA1/Recording/r.wav"); // behind another origin for Plivo
    expect([
      opened?.content_type,
      opened?.bytes,
      Buffer.concat((await opened?.body.toArray()) as Buffer[]).toString(),
    ]).toEqual(["audio/wav", 4, "RIFF"]);
    expect(seen).toEqual([
      { url: "/v1/Account/MA1/Recording/r.wav", authorization: `Basic ${Buffer.from("MA1:t").toString("base64")}` },
    ]);
  });

  test("a file that is not there is awaited as long as Plivo knows of the recording", async () => {
    const recording = {
      recording_id: "rec-1",
      url: "https://media.plivo.com/v1/Account/MA1/Recording/rec-1.wav",
      seconds: 3,
      channels: null,
    };
    reply = (url) => (url.endsWith("/Recording/rec-1/") ? { status: 200, body: "{}" } : { status: 404, body: "{}" });
    await expect(carrier().openRecording(recording)).rejects.toMatchObject({ type: "RECORDING_NOT_READY" });
    reply = () => ({ status: 404, body: "{}" });
    await expect(carrier().openRecording(recording)).rejects.toMatchObject({ type: "RECORDING_NOT_FOUND" });
  });

  test("a command that Plivo refuses says so; one it can't answer is down; the number is masked", async () => {
    const handle = { call_id: "r", leg_id: "l" };
    reply = () => ({ status: 400, body: JSON.stringify({ error: "14155550101 is busy" }) });
    await expect(
      carrier().transfer(handle, "+14155550101", "+14155550999", { base, call_ref: "x.1" }),
    ).rejects.toMatchObject({ type: "CALL_REFUSED", message: expect.not.stringContaining("14155550101") });
    for (const status of [429, 500, 503]) {
      reply = () => ({ status });
      await expect(carrier().sendDtmf(handle, "1")).rejects.toMatchObject({ type: "DEPENDENCY_DOWN" });
      await expect(carrier().hangUp(handle, true)).rejects.toMatchObject({ type: "DEPENDENCY_DOWN" });
    }
  });

  test.each(["", "?to=", "?to=abc", "?to=%2B14155550101", "?to=1&from=2"])(
    "a transfer to no number (%s) has no document",
    (query) => {
      expect(() =>
        carrier().answerDocument("transfer", null, {
          callback_base: base,
          call_ref: "x.1",
          path: `/carriers/PROVIDER_TWO/transfer/x.1${query}`,
        }),
      ).toThrow(expect.objectContaining({ type: "VALIDATION_FAILED" }));
    },
  );
});
