import { createServer } from "node:http";
import { webRequester } from "../../../services/conversation/providers/web-request.ts";
import { systemClock } from "../../../shared/time/clock.ts";

describe("web requests of functions", () => {
  test.each([
    "http://example.com/x",
    "ftp://example.com",
    "https://u:p@example.com",
    "https://10.0.0.1/",
    "https://[::1]/",
    "https://0x7f000001/",
    "https://localhost/",
    "nonsense",
  ])("%s is refused unasked", async (url) =>
    expect(
      await webRequester({ allow_http: false, allow_private: false }, systemClock)(
        { method: "GET", url, body: null },
        new AbortController().signal,
      ),
    ).toEqual({ ok: false, result: "ADDRESS_REFUSED" }),
  );
  test("a name that leads to a private address is refused when connecting", async () => {
    expect(
      await webRequester({ allow_http: true, allow_private: false }, systemClock)(
        { method: "GET", url: "http://localhost:9/", body: null },
        new AbortController().signal,
      ),
    ).toEqual({ ok: false, result: "ADDRESS_REFUSED" });
  });
  test("2xx gives the body in its charset and to the digit, bounded; others their status; redirects are not followed; a dead end its code", async () => {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      let body = "";
      request.on("data", (d: Buffer) => {
        body += d.toString();
      });
      request.on("end", () => {
        asked.push(`${request.method} ${request.url} ${body}`);
        if (request.url === "/big") response.end("x".repeat(300_000));
        else if (request.url === "/moved") response.writeHead(302, { location: "/ok" }).end();
        else if (request.url === "/ok") response.end('{"left":7}');
        else if (request.url === "/latin1")
          response.setHeader("content-type", "application/json; charset=latin1").end(Buffer.from("José", "latin1"));
        else if (request.url === "/unsaid") response.end(Buffer.from("José", "latin1"));
        else if (request.url === "/marked") response.end("\ufeff{}");
        else if (request.url === "/large") response.end('{"id":7615917337495251231}');
        else response.writeHead(500).end("secret");
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const port = (server.address() as { port: number }).port;
    const ask = webRequester({ allow_http: true, allow_private: true }, systemClock);
    const signal = new AbortController().signal;
    const at = (path: string) => `http://127.0.0.1:${port}${path}`;
    expect(await ask({ method: "POST", url: at("/ok"), body: { a: 1 } }, signal)).toEqual({
      ok: true,
      result: '{"left":7}',
    });
    const got = async (path: string) => ask({ method: "GET", url: at(path), body: null }, signal);
    expect([await got("/latin1"), await got("/marked"), await got("/large")].map(({ result }) => result)).toEqual([
      "José",
      "{}",
      '{"id":7615917337495251231}',
    ]);
    expect(await got("/unsaid")).toEqual({ ok: false, result: expect.stringContaining("ANSWER_UNREADABLE") });
    expect((await ask({ method: "GET", url: at("/big"), body: null }, signal)).result.length).toBe(65_536);
    expect(await ask({ method: "GET", url: at("/moved"), body: null }, signal)).toEqual({
      ok: false,
      result: "HTTP_302",
    });
    expect(await ask({ method: "GET", url: at("/none"), body: null }, signal)).toEqual({
      ok: false,
      result: "HTTP_500",
    });
    expect(asked.filter((one) => !/latin1|marked|large|unsaid/.test(one))).toEqual([
      'POST /ok {"a":1}',
      "GET /big ",
      "GET /moved ",
      "GET /none ",
    ]);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    expect(await ask({ method: "GET", url: at("/ok"), body: null }, signal)).toEqual({
      ok: false,
      result: expect.stringMatching(/^(ECONNREFUSED|ECONNRESET|UND_ERR_SOCKET)$/),
    });
  });
});
