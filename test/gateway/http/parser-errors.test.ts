import { connect } from "node:net";
import { Readable } from "node:stream";
import type { IncomingMessage } from "node:http";
import { failureOf } from "../../../services/gateway/http/parser-errors.ts";
import { readBytes } from "../../../services/gateway/http/body.ts";
import { setHttpStage, type HttpStage } from "../fixtures/http-stage.ts";

let http: HttpStage;
beforeAll(async () => {
  http = await setHttpStage();
});
afterAll(async () => {
  await http.stop();
});

/** What the server sends on a connection until it closes it. */
const sent = (bytes: string): Promise<string> =>
  new Promise((resolve, reject) => {
    let text = "";
    const socket = connect(Number(new URL(http.origin).port), "127.0.0.1", () => socket.write(bytes));
    socket.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    socket.on("close", () => {
      resolve(text);
    });
    socket.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "ECONNRESET") reject(error);
    });
  });

/** An answer's status, headers by lower-case name and problem. */
function parsed(text: string) {
  const [head = "", body = ""] = text.split("\r\n\r\n");
  const [line = "", ...lines] = head.split("\r\n");
  const headers = new Map(lines.map((l) => [l.slice(0, l.indexOf(":")).toLowerCase(), l.slice(l.indexOf(":") + 2)]));
  return { status: Number(line.split(" ")[1]), headers, problem: JSON.parse(body) as Record<string, unknown> };
}

const GET = "GET /health/live HTTP/1.1\r\n";
const POST = "POST /agent/voice/callagent/leads HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer TOKEN\r\n";

describe("what is no request is answered with a problem, and the connection ends", () => {
  test.each([
    ["garbage", "hello\r\n\r\n", 400, "MALFORMED_REQUEST"],
    ["no Host", `${GET}\r\n`, 400, "MALFORMED_REQUEST"],
    ["two Hosts", `${GET}Host: a\r\nhost: b\r\n\r\n`, 400, "MALFORMED_REQUEST"],
    [
      "two Authorizations",
      `${GET}Host: a\r\nAuthorization: Bearer a\r\nauthorization: Bearer b\r\n\r\n`,
      400,
      "MALFORMED_REQUEST",
    ],
    ["two lengths", `${POST}Content-Length: 1\r\nContent-Length: 2\r\n\r\nx`, 400, "MALFORMED_REQUEST"],
    [
      "a body that breaks while it is awaited",
      `${POST}Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\nzz\r\n`,
      400,
      "MALFORMED_REQUEST",
    ],
    ["large headers", `${GET}Host: x\r\nX-Large: ${"x".repeat(20_000)}\r\n\r\n`, 431, "HEADERS_TOO_LARGE"],
    [
      "large chunk extensions",
      `${POST}Transfer-Encoding: chunked\r\n\r\n1;${"x".repeat(20_000)}\r\nx\r\n`,
      413,
      "BODY_TOO_LARGE",
    ],
    ["an expectation", `${GET}Host: x\r\nExpect: tea\r\n\r\n`, 417, "EXPECTATION_FAILED"],
    ["CONNECT", "CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n", 405, "METHOD_NOT_ALLOWED"],
  ])("%s", async (_what, bytes, status, code) => {
    const answer = parsed(await sent(bytes.replace("TOKEN", http.tokens.user)));
    expect([answer.status, answer.problem["status"], answer.problem["code"]]).toEqual([status, status, code]);
    expect([answer.headers.get("content-type"), answer.headers.get("connection")]).toEqual([
      "application/problem+json",
      "close",
    ]);
    expect(answer.headers.get("x-request-id")).toBe(answer.problem["request_id"]);
    expect(answer.headers.get("x-api-version")).toMatch(/^\d{4}-\d\d-\d\d$/);
    expect(answer.problem["type"]).toBe(`https://calls.example.com/docs#${code}`);
  });

  test("what breaks after its answer is not answered a second time", async () => {
    const text = await sent(
      `${POST.replace(/Authorization.*\r\n/, "")}Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\nzz\r\n`,
    );
    expect([parsed(text).problem["code"], text.match(/HTTP\/1\.1 /g)?.length]).toEqual(["UNAUTHENTICATED", 1]);
  });

  test("one without a Host is a request in HTTP/1.0", async () => {
    expect(await sent("GET /health/live HTTP/1.0\r\n\r\n")).toMatch(/^HTTP\/1\.1 200 /);
  });

  test("a time-out of the parser is 408; a client that is gone gets nothing", () => {
    const named = (code: string) => failureOf(Object.assign(new Error("x"), { code }))?.type ?? null;
    expect(["ERR_HTTP_REQUEST_TIMEOUT", "ECONNRESET", "EPIPE", "HPE_INVALID_EOF_STATE"].map(named)).toEqual([
      "REQUEST_TOO_SLOW",
      null,
      null,
      null,
    ]);
    expect(failureOf(new DOMException("the answer was aborted", "AbortError"))).toBeNull();
  });
});

test("a body whose client hung up before it was read is no endless wait and no fault of ours", async () => {
  const req = new Readable({ read: () => undefined });
  req.on("error", () => undefined).destroy(new Error("aborted"));
  await new Promise((resolve) => req.once("close", resolve));
  const gone = Object.assign(req, { headers: {}, complete: false }) as unknown as IncomingMessage;
  await expect(readBytes(gone)).rejects.toMatchObject({ type: "MALFORMED_JSON" });
});
