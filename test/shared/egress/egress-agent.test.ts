import type { LookupAddress } from "node:dns";
import { createServer } from "node:http";
import { createServer as createTrap, type AddressInfo, type Server } from "node:net";
import { request, type Agent } from "undici";
import { egressAgent } from "../../../shared/egress/egress-agent.ts";
import type { Resolve } from "../../../shared/egress/network-names.ts";
import { addressRefusal } from "../../../shared/egress/egress-address.ts";

/** S20–S24: the one way out refuses by itself, whatever was checked before it, and the trap sees no packet. */
const strict = { allow_http: true, allow_private: false };
const open = { allow_http: true, allow_private: true };
const BOUND_MS = 300;
const agents: Agent[] = [];
let traps: Server[] = [];
let port = 0;
let met = 0;

/** Public by its form, and assigned to nobody. */
const NOBODYS = "2d00::1";

/** A trap on every address of this machine that a test can name, all on one port. */
beforeAll(async () => {
  const listen = (host: string, at: number): Promise<Server> =>
    new Promise((resolve, reject) => {
      const trap = createTrap((socket) => {
        met++;
        socket.destroy();
      });
      trap.once("error", reject).listen(at, host, () => resolve(trap));
    });
  const first = await listen("0.0.0.0", 0);
  port = (first.address() as AddressInfo).port;
  traps = [
    first,
    ...(await listen("::1", port).then(
      (trap) => [trap],
      () => [],
    )),
  ];
});
afterAll(async () => {
  await Promise.all(agents.map((a) => a.destroy()));
  await Promise.all(
    traps.map(
      (t) =>
        new Promise((resolve) => {
          t.close(resolve);
        }),
    ),
  );
});
beforeEach(() => {
  met = 0;
});

const agent = (policy: typeof strict, resolve?: Resolve): Agent => {
  const made = egressAgent(policy, { connectTimeoutMs: BOUND_MS }, resolve);
  agents.push(made);
  return made;
};
const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code;
const ask = (url: string, dispatcher: Agent): Promise<unknown> =>
  request(url, { dispatcher, headersTimeout: BOUND_MS }).then(() => "answered", codeOf);
/** A resolver that gives these answers one after the other, the last one for ever, and counts the questions. */
const resolving = (...answers: string[][]) => {
  let asked = 0;
  const resolve: Resolve = (_hostname, _options, callback) => {
    const answer = answers[Math.min(asked++, answers.length - 1)] ?? [];
    callback(
      null,
      answer.map((address): LookupAddress => ({ address, family: address.includes(":") ? 6 : 4 })),
    );
  };
  return { resolve, asked: () => asked };
};

const PRIVATE = [
  "127.0.0.1",
  "127.1",
  "0x7f.1",
  "2130706433",
  "017700000001",
  "0",
  "[::]",
  "[::1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[::7f00:1]",
  "[64:ff9b::7f00:1]",
  "[2002:7f00:1::]",
  "①②⑦.⓪.⓪.①",
  "１２７．０．０．１",
  "169.254.169.254",
  "100.64.0.1",
  "10.0.0.1",
  "172.16.0.1",
  "192.168.0.1",
  "[fd00::1]",
  "[fe80::1]",
  "255.255.255.255",
  "224.0.0.1",
];
describe("an address that is not public", () => {
  test.each(PRIVATE)("%s is refused before, by name, and when connecting", async (host) => {
    expect(addressRefusal(`http://${host}:${port}/`, strict)).not.toBeNull();
    expect(await ask(`http://${host}:${port}/`, agent(strict))).toBe("ADDRESS_REFUSED");
    expect(met).toBe(0);
  });
  test.each(["localhost", "localhost.", "a.localhost"])("%s is refused before, and when it resolves", async (host) => {
    expect(addressRefusal(`http://${host}:${port}/`, strict)).not.toBeNull();
    expect(await ask(`http://${host}:${port}/`, agent(strict, resolving(["127.0.0.1"]).resolve))).toBe(
      "ADDRESS_REFUSED",
    );
    expect(await ask(`http://localhost:${port}/`, agent(strict))).toBe("ADDRESS_REFUSED");
    expect(met).toBe(0);
  });
  test("the trap works: where it is allowed, it is met", async () => {
    await ask(`http://127.0.0.1:${port}/`, agent(open));
    await ask(`http://localhost:${port}/`, agent(open));
    expect(met).toBeGreaterThanOrEqual(2);
  });
});

describe("a name", () => {
  test.each([
    [["93.184.216.34", "127.0.0.1"]],
    [["127.0.0.1", "93.184.216.34"]],
    [["93.184.216.34", "::1"]],
    [["2606:2800:220:1::1", "10.0.0.1"]],
    [["::ffff:127.0.0.1"]],
    [["64:ff9b::7f00:1"]],
    [[]],
  ])("with the addresses %j is refused as a whole", async (addresses) => {
    expect(await ask(`http://shop.example.com:${port}/`, agent(strict, resolving(addresses).resolve))).toBe(
      "ADDRESS_REFUSED",
    );
    expect(met).toBe(0);
  });
  test("that is public when asked for and private the next time leads nowhere private: one question, and the address of its answer, for each connection", async () => {
    const rebinding = resolving([NOBODYS], ["127.0.0.1"]);
    const dispatcher = agent(strict, rebinding.resolve);
    expect(await ask(`http://shop.example.com:${port}/`, dispatcher)).not.toBe("ADDRESS_REFUSED"); // nobody there, or no way there
    expect(rebinding.asked()).toBe(1);
    expect(await ask(`http://shop.example.com:${port}/`, dispatcher)).toBe("ADDRESS_REFUSED");
    expect(met).toBe(0);
  });
  test("is let through to where it leads when private addresses are allowed", async () => {
    const server = createServer((_q, r) => {
      r.end("here");
    });
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    const url = `http://shop.example.com:${(server.address() as AddressInfo).port}/`;
    expect(await ask(url, agent(open, resolving(["127.0.0.1"]).resolve))).toBe("answered");
    server.closeAllConnections();
    server.close();
  });
});

describe("what else is refused", () => {
  test.each([22, 25, 6379, 5432, 27017, 4222])("port %i", async (number) => {
    expect(addressRefusal(`http://93.184.216.34:${number}/`, strict)).toContain(String(number));
    expect(await ask(`http://93.184.216.34:${number}/`, agent(strict))).toBe("ADDRESS_REFUSED");
  });
  test.each([
    "file:///etc/passwd",
    "gopher://93.184.216.34/",
    "ftp://93.184.216.34/",
    "http://user:pass@93.184.216.34/",
    "http://user@93.184.216.34/",
    "http://93.184.216.34/\r\nX-Evil: 1",
    "http://93.184.216.34/\n",
    "http://127.0.\n0.1/",
    "http://93.184.216.34/\u0000",
    "",
  ])("%j", (url) => {
    expect(addressRefusal(url, strict)).not.toBeNull();
  });
  test.each(["\r\n", "\n", "\u0000"])("a control character, on a laptop too", (mark) => {
    expect(addressRefusal(`http://127.0.0.1/${mark}x`, open)).not.toBeNull();
  });
});
