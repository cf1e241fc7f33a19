import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { DEFAULT_ACCOUNT, startCarrier, type Carrier } from "../../../local/carriers/server.ts";
import { freePort } from "../../../local/tools/stack/ports.ts";
import { addressFaults } from "../../../local/tools/real-carrier/public-address.ts";
import { realTwilio } from "../../../local/tools/real-carrier/real-twilio.ts";
import { checkTwilio } from "../../../local/tools/real-carrier/twilio-account.ts";

/** What `npm start -- --carrier twilio` checks before it calls anybody, against the carrier simulator and servers of this process. */
const OURS = "+14155550100";
const MINE = "+14155550177";
const TRIAL = { sid: `AC${"7".repeat(32)}`, authToken: "trial-token" };

let carrier: Carrier;
beforeAll(async () => {
  carrier = await startCarrier({
    port: 0,
    timeScale: 1,
    seed: "real-carrier",
    accounts: [
      { ...DEFAULT_ACCOUNT, deniedCountries: ["DE"] },
      { ...TRIAL, type: "Trial", verified: [MINE] },
    ],
    ownNumbers: [OURS],
  });
});
afterAll(() => carrier.close());

const check = (over: Partial<Parameters<typeof checkTwilio>[0]> = {}) =>
  checkTwilio({
    account_sid: DEFAULT_ACCOUNT.sid,
    auth_token: DEFAULT_ACCOUNT.authToken,
    api_base: carrier.url,
    from: null,
    to: null,
    ...over,
  });
const trial = { account_sid: TRIAL.sid, auth_token: TRIAL.authToken };

describe("the account at Twilio", () => {
  test("calls from its first number, or the one that is named; a verified number of others will do", async () => {
    expect(await check({ to: "+14155552601" })).toEqual({ type: "Full", from: OURS });
    expect(await check({ ...trial, from: MINE, to: MINE })).toEqual({ type: "Trial", from: MINE });
  });
  test.each([
    ["a wrong token", { auth_token: "wrong" }, /^Twilio refuses TWILIO_ACCOUNT_SID and TWILIO_AUTH_TOKEN \(401\)/],
    [
      "a number of somebody else",
      { from: "+14155559999" },
      /^\+14155559999 is neither .*; the account has \+14155550100/,
    ],
    ["a country that is shut", { to: "+4930123456" }, /geographic permissions do not allow calls to DE/],
    [
      "a number that a trial may not call",
      { ...trial, to: "+14155552601" },
      /^A trial account calls verified numbers only/,
    ],
    ["nobody at the address", { api_base: "http://127.0.0.1:1" }, /^Twilio could not be asked for the account/],
  ])("with %s is refused before anything is called, in words", async (_what, over, said) => {
    await expect(check(over)).rejects.toThrow(said);
  });
});

describe("what is missing", () => {
  const call = { engine: "relay", real: false, from: undefined, to: undefined } as const;
  const whole = {
    TWILIO_ACCOUNT_SID: DEFAULT_ACCOUNT.sid,
    TWILIO_AUTH_TOKEN: DEFAULT_ACCOUNT.authToken,
    PUBLIC_HTTP_URL: "https://calls.example.com/",
    PUBLIC_WS_URL: "wss://media.example.com",
  };
  test("is named at once, each with where it comes from", async () => {
    await expect(realTwilio({ TWILIO_ACCOUNT_SID: "AC1", PUBLIC_WS_URL: "ws://x" }, call)).rejects.toThrow(
      /TWILIO_AUTH_TOKEN: .*\n {2}PUBLIC_HTTP_URL: an https address.*\n {2}PUBLIC_WS_URL: it must begin with wss:\/\//,
    );
    await expect(realTwilio({ ...whole, STT_BASE_URL: "http://stt" }, { ...call, engine: "cascade" })).rejects.toThrow(
      /STT_BASE_URL, with --real.*\n {2}TTS_BASE_URL, with --real/,
    );
    await expect(realTwilio({ ...whole, TWILIO_API_BASE: carrier.url }, { ...call, from: "12" })).rejects.toThrow(
      /^--from must be a phone number/,
    );
  });
  test("nothing: the account and addresses for the services", async () => {
    const env = { ...whole, TWILIO_API_BASE: carrier.url, OTHER: "x" };
    const { variables, account } = await realTwilio(env, call);
    expect(account.from).toBe(OURS);
    expect(variables).toEqual({
      ...whole,
      PUBLIC_HTTP_URL: "https://calls.example.com",
      TWILIO_API_BASE: carrier.url,
    });
  });
});

describe("a public address", () => {
  const servers: Server[] = [];
  afterAll(() => servers.forEach((server) => server.close()));
  /** A server that answers with a page, and refuses WebSockets with a status. */
  async function serving(page: string | number, refusal: number): Promise<string> {
    const answer: RequestListener = (_request, response) =>
      typeof page === "number" ? response.writeHead(page).end() : response.end(page);
    const server = createServer(answer);
    server.on("upgrade", (_request, socket) =>
      socket.end(`HTTP/1.1 ${refusal} No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`),
    );
    servers.push(server);
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
  const socketOf = (url: string): string => url.replace(/^http/, "ws");

  test("that leads here is found by asking it; one that does not is named with what answers there", async () => {
    const here = await serving("ours", 401);
    const same = await serving("ours", 401);
    const another = await serving("theirs", 200);
    const closed = await serving(502, 502);
    const faults = (at: string, ws = at): Promise<string[]> =>
      addressFaults({ publicHttp: at, http: here, publicWs: socketOf(ws), ws: socketOf(here) });
    expect(await faults(same)).toEqual([]);
    expect(await faults(another, same)).toEqual([
      `PUBLIC_HTTP_URL ${another} does not lead to ${here}: another program answers there.`,
    ]);
    expect(await faults(closed)).toEqual([
      `PUBLIC_HTTP_URL ${closed} does not lead to ${here}: it answers 502.`,
      `PUBLIC_WS_URL ${socketOf(closed)} does not lead to ${socketOf(here)}: a WebSocket is answered with 502.`,
    ]);
    const nobody = `http://127.0.0.1:${await freePort()}`;
    expect(await faults(nobody)).toEqual([
      expect.stringMatching(/ECONNREFUSED/),
      expect.stringMatching(/ECONNREFUSED/),
    ]);
  });
});
