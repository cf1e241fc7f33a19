import { CredentialsRefused } from "../../../services/dialer/carriers/carrier-errors.ts";
import type { CarrierPort } from "../../../services/dialer/carriers/carrier-port.ts";
import { plivoCarrier } from "../../../services/dialer/carriers/plivo/carrier.ts";
import { telnyxCarrier } from "../../../services/dialer/carriers/telnyx/carrier.ts";
import { holdsNumber } from "../../../services/dialer/carriers/telnyx/lookup.ts";
import { twilioCarrier } from "../../../services/dialer/carriers/twilio/carrier.ts";
import {
  DEFAULT_ACCOUNT,
  DEFAULT_PLIVO_ACCOUNT,
  DEFAULT_TELNYX_ACCOUNT,
  startCarrier,
  type Carrier,
} from "../../../local/carriers/server.ts";

/** What carriers say when they are asked whether an account holds a number. */
const OURS = "+14155550100";
/** A number with more digits than ours, all of ours among them: a carrier that matches parts finds it too. */
const LONGER = "+144155550100";
const ADDRESSES = { public_http_url: "http://x", public_ws_url: "ws://x" };
const SECRET = DEFAULT_ACCOUNT.authToken;

const ADAPTERS: Record<string, (api_base: string, public_key: string, secret?: string) => CarrierPort> = {
  twilio: (api_base, _key, auth_token = SECRET) =>
    twilioCarrier({ account_sid: DEFAULT_ACCOUNT.sid, auth_token, api_base, ...ADDRESSES }),
  plivo: (api_base, _key, auth_token = DEFAULT_PLIVO_ACCOUNT.authToken) =>
    plivoCarrier({
      now: () => new Date(0),
      auth_id: DEFAULT_PLIVO_ACCOUNT.authId,
      auth_token,
      api_base,
      ...ADDRESSES,
    }),
  telnyx: (api_base, public_key, api_key = DEFAULT_TELNYX_ACCOUNT.apiKey) =>
    telnyxCarrier({ api_key, public_key, connection_id: DEFAULT_TELNYX_ACCOUNT.connectionId, api_base, ...ADDRESSES }),
};

const start = (ownNumbers?: string[]): Promise<Carrier> =>
  startCarrier({
    port: 0,
    timeScale: 20,
    seed: "held",
    accounts: [DEFAULT_ACCOUNT],
    ...(ownNumbers ? { ownNumbers } : {}),
  });

let some: Carrier;
let unlisted: Carrier;
beforeAll(async () => {
  [some, unlisted] = await Promise.all([start([OURS, LONGER]), start()]);
});
afterAll(async () => {
  await Promise.all([some.close(), unlisted.close()]);
});

describe.each(Object.entries(ADAPTERS))("%s", (_carrier, adapter) => {
  test("a number of the account is held, whole: not one that begins or ends like it", async () => {
    const carrier = adapter(some.url, some.telnyxPublicKey);
    const asked = [OURS, LONGER, "+14155550101", OURS.slice(0, -1), `+${OURS.slice(2)}`, `${OURS}1`];
    expect(await Promise.all(asked.map((number) => carrier.holds(number)))).toEqual([
      true,
      true,
      false,
      false,
      false,
      false,
    ]);
  });

  test("a simulated account without a list holds every number", async () => {
    expect(await adapter(unlisted.url, unlisted.telnyxPublicKey).holds("+442079460999")).toBe(true);
  });

  test("a carrier that does not know our secret, or that nobody reaches, has said nothing; of the first it is known why", async () => {
    const asked = adapter(some.url, some.telnyxPublicKey, "wrong").holds(OURS);
    await expect(asked).rejects.toThrow(CredentialsRefused);
    await expect(asked).rejects.toMatchObject({ type: "DEPENDENCY_DOWN", status: 401 });
    const away = adapter("http://127.0.0.1:1", some.telnyxPublicKey).holds(OURS);
    await expect(away).rejects.toMatchObject({ type: "DEPENDENCY_DOWN" });
    await expect(away).rejects.not.toThrow(CredentialsRefused);
  });
});

test.each([
  ["active", true],
  ["port_out_pending", true],
  ["purchase_pending", false],
  ["purchase_failed", false],
  ["port_pending", false],
  ["port_failed", false],
  ["ported_out", false],
  ["deleted", false],
])("a number that Telnyx lists as %s is held: %s", async (status, held) => {
  const asked: unknown[] = [];
  const nothing = () => Promise.reject(new Error("nothing is changed here"));
  const get = (path: string, query?: Record<string, string>) => {
    asked.push(path, query?.["filter[phone_number]"]);
    return Promise.resolve({ data: [{ phone_number: OURS, status }] });
  };
  expect(await holdsNumber({ origin: "https://x", get, post: nothing, dial: nothing }, OURS)).toBe(held);
  expect(asked).toEqual(["/phone_numbers", "14155550100"]);
});
