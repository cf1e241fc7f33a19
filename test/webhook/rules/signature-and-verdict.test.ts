import { Webhook } from "standardwebhooks";
import { isPublicAddress, addressRefusal } from "../../../shared/egress/egress-address.ts";
import { sign } from "../../../services/webhook/rules/webhook-signature.ts";
import {
  MAX_RETRY_AFTER_MS,
  RETRY_DELAYS_MS,
  verdictOf,
  type Try,
  type TryResult,
} from "../../../services/webhook/rules/delivery-verdict.ts";

const NOW = new Date();
const SECRET = `whsec_${Buffer.from("0123456789abcdef0123456789abcdef").toString("base64")}`;
const OLD = `whsec_${Buffer.from("fedcba9876543210fedcba9876543210").toString("base64")}`;

describe("signing", () => {
  const body = JSON.stringify({ type: "lead.finished", data: { name: "Ädá" } });
  const seconds = Math.floor(NOW.getTime() / 1000);
  const headers = (signature: string) => ({
    "webhook-id": "msg_1",
    "webhook-timestamp": String(seconds),
    "webhook-signature": signature,
  });
  test("the reference library accepts it, with either secret of a rotation", () => {
    const signature = sign([SECRET, OLD], "msg_1", seconds, body);
    expect(new Webhook(SECRET).verify(body, headers(signature))).toEqual(JSON.parse(body));
    expect(new Webhook(OLD).verify(body, headers(signature))).toEqual(JSON.parse(body));
  });
  test("a message of more than five minutes ago is refused by the reference library, and one from the future", () => {
    for (const [at, accepted] of [
      [seconds - 290, true],
      [seconds - 310, false],
      [seconds + 310, false],
    ] as const) {
      const signed = { ...headers(sign([SECRET], "msg_1", at, body)), "webhook-timestamp": String(at) };
      if (accepted) expect(new Webhook(SECRET).verify(body, signed)).toEqual(JSON.parse(body));
      else expect(() => new Webhook(SECRET).verify(body, signed)).toThrow("timestamp");
    }
  });
  test("the id and the timestamp are signed too", () => {
    const signed = headers(sign([SECRET], "msg_1", seconds, body));
    expect(() => new Webhook(SECRET).verify(body, { ...signed, "webhook-id": "msg_2" })).toThrow();
    expect(() => new Webhook(SECRET).verify(body, { ...signed, "webhook-timestamp": String(seconds + 1) })).toThrow();
  });
  test("one changed byte is refused", () => {
    expect(() => new Webhook(SECRET).verify(`${body} `, headers(sign([SECRET], "msg_1", seconds, body)))).toThrow();
  });
});

describe("verdict", () => {
  const verdict = (result: TryResult, over: Partial<Try>, random = 0.5) =>
    verdictOf(result, { tries: 1, planned_at: null, says_nothing: false, now: NOW, ...over }, random);
  const later = (ms: number): Date => new Date(NOW.getTime() + ms);
  const again = (ms: number, due_ms = ms) => ({ kind: "again", at: later(ms), due: later(due_ms) });
  const ok = (status: number, retry_after_seconds: number | null = null) => ({ status, retry_after_seconds });
  test.each([200, 201, 204, 299])("%i is success", (status) => {
    expect(verdict(ok(status), { tries: 1 }).kind).toBe("delivered");
  });
  test.each([301, 302, 307, 400, 404, 429, 500, 503])("%i is tried again after the planned pause", (status) => {
    expect(verdict(ok(status), { tries: 1 })).toEqual(again(5000));
  });
  test("410 stops", () => {
    expect(verdict(ok(410), { tries: 1 }).kind).toBe("refused");
  });
  test("a refused address stops", () => {
    expect(verdict({ status: null, error: "x", refused: true }, { tries: 1 }).kind).toBe("refused");
  });
  test("no answer is tried again", () => {
    expect(verdict({ status: null, error: "timeout", refused: false }, { tries: 2 })).toEqual(again(300_000));
  });
  test("ten tries in all, then exhausted", () => {
    expect(RETRY_DELAYS_MS).toHaveLength(9);
    expect(verdict(ok(500), { tries: 9 }).kind).toBe("again");
    expect(verdict(ok(500), { tries: 10 }).kind).toBe("exhausted");
  });
  test("Retry-After is obeyed up to 24 h, and never shortens the plan", () => {
    const asked = (ms: number) => ({ asked_until: later(ms) });
    expect(verdict(ok(503, 60), { tries: 1 })).toEqual({ ...again(60_000), ...asked(60_000) });
    expect(verdict(ok(503, 999_999_999), { tries: 1 })).toEqual({
      ...again(MAX_RETRY_AFTER_MS),
      ...asked(MAX_RETRY_AFTER_MS),
    });
    expect(verdict(ok(503, 1), { tries: 2 })).toEqual({ ...again(300_000), ...asked(1000) });
  });
  test("the pause is spread by ten per cent", () => {
    expect(verdict(ok(500), { tries: 1 }, 0)).toEqual(again(4500));
    expect(verdict(ok(500), { tries: 1 }, 1)).toEqual(again(5500));
  });
  test("while its host is down it is due at once, and no sooner than a Retry-After; its plan is as before", () => {
    const down = { tries: 2, says_nothing: true };
    expect(verdict(ok(500), down)).toEqual(again(300_000, 1000));
    expect(verdict(ok(503, 60), down)).toEqual({ ...again(300_000, 60_000), asked_until: later(60_000) });
    expect(verdict(ok(503, 900), down)).toEqual({ ...again(900_000), asked_until: later(900_000) });
    expect(verdict(ok(500), { ...down, tries: 10 }).kind).toBe("exhausted");
  });
  test("what fails before the plan's time costs no try: at a host that is down it is due at once, else when the plan has it, and no sooner than a Retry-After", () => {
    const probe = { tries: 10, planned_at: later(300_000), says_nothing: true };
    expect(verdict(ok(500), probe)).toEqual({ kind: "probed", due: later(1000) });
    expect(verdict(ok(503, 60), probe)).toEqual({
      kind: "probed",
      due: later(60_000),
      asked_until: later(60_000),
    });
    const well = { ...probe, says_nothing: false };
    for (const status of [404, 500]) expect(verdict(ok(status), well)).toEqual({ kind: "probed", due: later(300_000) });
    expect(verdict(ok(503, 900), well)).toEqual({ kind: "probed", due: later(900_000), asked_until: later(900_000) });
    expect(verdict(ok(200), probe).kind).toBe("delivered");
    expect(verdict(ok(410), probe).kind).toBe("refused");
  });
});

describe("addresses", () => {
  const strict = { allow_http: false, allow_private: false };
  test.each(["https://example.com/hook", "https://8.8.8.8/hook", "https://[2606:4700::1]/"])("%s is allowed", (url) => {
    expect(addressRefusal(url, strict)).toBeNull();
  });
  test.each([
    "http://example.com/",
    "ftp://example.com/",
    "file:///etc/passwd",
    "gopher://x/",
    "not a url",
    "https://user:pw@example.com/",
    "https://localhost/",
    "https://localhost./",
    "https://a.localhost/",
    "https://127.0.0.1/",
    "https://127.1/",
    "https://0x7f.1/",
    "https://2130706433/",
    "https://017700000001/",
    "https://0/",
    "https://[::]/",
    "https://[::1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[64:ff9b::7f00:1]/",
    "https://169.254.169.254/latest",
    "https://100.64.0.1/",
    "https://10.0.0.1/",
    "https://192.168.1.1/",
    "https://[fd00::1]/",
    "https://[fe80::1]/",
    "https://①②⑦.⓪.⓪.①/",
    "https://example.com:22/",
    "https://example.com:6379/",
    "https://metadata.google.internal/",
  ])("%s is refused", (url) => {
    expect(addressRefusal(url, strict)).not.toBeNull();
  });
  test("the laptop's policy allows http and loopback", () => {
    expect(addressRefusal("http://127.0.0.1:4000/x", { allow_http: true, allow_private: true })).toBeNull();
  });
  test.each([
    ["8.8.8.8", true],
    ["127.0.0.1", false],
    ["::ffff:10.0.0.1", false],
    ["not an address", false],
    ["0.0.0.0", false],
    ["224.0.0.1", false],
    ["10.1.2.3", false],
    ["192.168.0.1", false],
    ["169.254.169.254", false],
    ["100.64.0.1", false],
    ["::1", false],
    ["fd00::1", false],
    ["fe80::1", false],
    ["::ffff:7f00:1", false],
    ["93.184.216.34", true],
    ["2606:2800:220:1::1", true],
  ])("public address %s: %s", (a, expected) => {
    expect(isPublicAddress(a)).toBe(expected);
  });
});
