import { createHash } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import webhooks from "twilio/lib/webhooks/webhooks.js";
import { answeredAt, retryAfter, withoutNumbers } from "../../../../services/dialer/carriers/carrier-errors.ts";
import { dialAnswerOf, refusalOf } from "../../../../services/dialer/carriers/twilio/refusals.ts";
import { answeredBy, translate } from "../../../../services/dialer/carriers/twilio/callbacks.ts";
import { relayDocument, transferDocument } from "../../../../services/dialer/carriers/twilio/documents.ts";
import { isSigned, isUpgradeSigned, signatureOf } from "../../../../services/dialer/carriers/twilio/signature.ts";
import { movedTo } from "../../../../services/dialer/carriers/twilio/rest.ts";
import { parseXml } from "../../../../local/carriers/http/xml.ts";

const TOKEN = "a-secret-token";
const PUBLIC = "https://calls.example.com";
const FORM = "application/x-www-form-urlencoded; charset=utf-8";
const none = new URLSearchParams();

function signed(path: string, fields: Record<string, string>, url = PUBLIC + path) {
  const body = new URLSearchParams(fields).toString();
  return {
    method: "POST" as const,
    path,
    body,
    headers: { "content-type": FORM, "x-twilio-signature": webhooks.getExpectedTwilioSignature(TOKEN, url, fields) },
  };
}

describe("signature", () => {
  test("equals the SDK's for any fields and addresses", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ minLength: 1 }), fc.string(), { noNullPrototype: true }),
        fc.webUrl({ withQueryParameters: true }),
        (fields, url) => {
          expect(signatureOf(TOKEN, url, new URLSearchParams(fields))).toBe(
            webhooks.getExpectedTwilioSignature(TOKEN, url, Object.fromEntries(new URLSearchParams(fields))),
          );
        },
      ),
    );
  });
  test("several values of one name count once each, sorted", () => {
    expect(signatureOf(TOKEN, PUBLIC, new URLSearchParams("a=2&a=1&a=2"))).toBe(
      webhooks.getExpectedTwilioSignature(TOKEN, PUBLIC, { a: ["2", "1", "2"] }),
    );
  });
  test("the published example of the protocol", () => {
    const form = new URLSearchParams({
      CallSid: "CA1234567890ABCDE",
      Caller: "+14158675309",
      Digits: "1234",
      From: "+14158675309",
      To: "+18005551212",
    });
    expect(signatureOf("12345", "https://mycompany.com/myapp.php?foo=1&bar=2", form)).toBe(
      "RSOYDt4T1cUTdK1PDd93/VVr8B8=",
    );
  });

  const path = "/carriers/PROVIDER_ONE/status/x.1?a=1&b=2";
  const good = signed(path, { CallSid: "CA1", CallStatus: "ringing" });
  test("what Twilio signed passes, with the standard port too", () => {
    expect(isSigned(TOKEN, PUBLIC, good)).toBe(true);
    expect(isSigned(TOKEN, PUBLIC, signed(path, { CallSid: "CA1" }, `https://calls.example.com:443${path}`))).toBe(
      true,
    );
    expect(
      isSigned(TOKEN, PUBLIC, {
        ...good,
        headers: { "Content-Type": FORM, "X-Twilio-Signature": good.headers["x-twilio-signature"] },
      }),
    ).toBe(true);
  });
  test.each<[string, Parameters<typeof isSigned>[2], string?, string?]>([
    ["no signature", { ...good, headers: { "content-type": FORM } }],
    ["an empty one", { ...good, headers: { ...good.headers, "x-twilio-signature": "" } }],
    ["one byte of the body changed", { ...good, body: good.body.replace("ringing", "ringinh") }],
    ["a field added", { ...good, body: `${good.body}&X=1` }],
    ["the query reordered", { ...good, path: path.replace("a=1&b=2", "b=2&a=1") }],
    ["another path", { ...good, path: path.replace("x.1", "x.2") }],
    ["another account's token", good, "other-token"],
    ["http in place of https", good, TOKEN, "http://calls.example.com"],
    ["another host", good, TOKEN, "https://evil.example.com"],
    [
      "a body the signature does not cover",
      { ...good, headers: { ...good.headers, "content-type": "application/json" } },
    ],
    ["the form passed off as a query", { ...good, method: "GET" as const }],
  ])("%s is refused", (_name, request, token = TOKEN, url = PUBLIC) => {
    expect(isSigned(token, url, request)).toBe(false);
  });
  test("a JSON body passes by its hash in the signed query", () => {
    const body = '{"a":1}';
    const at = `/x?bodySHA256=${createHash("sha256").update(body).digest("hex")}`;
    const headers = { "content-type": "application/json", "x-twilio-signature": signatureOf(TOKEN, PUBLIC + at, none) };
    expect(isSigned(TOKEN, PUBLIC, { method: "POST", path: at, body, headers })).toBe(true);
    expect(isSigned(TOKEN, PUBLIC, { method: "POST", path: at, body: `${body} `, headers })).toBe(false);
  });
  test("WebSocket upgrades pass with and without the slash, nothing else", () => {
    const ws = "wss://media.example.com";
    const up = (url: string) => ({
      path: "/media/PROVIDER_ONE/abc",
      headers: { "x-twilio-signature": signatureOf(TOKEN, url, none) },
    });
    expect(isUpgradeSigned(TOKEN, ws, up(`${ws}/media/PROVIDER_ONE/abc`))).toBe(true);
    expect(isUpgradeSigned(TOKEN, ws, up(`${ws}/media/PROVIDER_ONE/abc/`))).toBe(true);
    expect(
      isUpgradeSigned(TOKEN, ws, { ...up(`${ws}/media/PROVIDER_ONE/abc`), path: "/media/PROVIDER_ONE/abc/" }),
    ).toBe(true);
    expect(isUpgradeSigned(TOKEN, ws, up(`${ws}/media/PROVIDER_ONE/abd`))).toBe(false);
    expect(isUpgradeSigned(TOKEN, ws, up("https://media.example.com/media/PROVIDER_ONE/abc"))).toBe(false);
    expect(isUpgradeSigned(TOKEN, ws, { path: "/media/PROVIDER_ONE/abc", headers: {} })).toBe(false);
  });
});

describe("dial answers", () => {
  const refused = (status: number, code: number | null, headers: object = {}) =>
    dialAnswerOf(refusalOf(status, code === null ? "<html>" : { code, message: "no: +14155550101" }, headers));
  test.each<[number, number | null, object]>([
    [400, 21211, { kind: "refused", invalid_number: true, carrier_code: "21211", reason: "no: +1415***0101" }],
    [400, 21214, { kind: "refused", invalid_number: true }],
    [400, 21215, { kind: "refused", invalid_number: false, carrier_code: "21215" }],
    [400, 21212, { kind: "refused", invalid_number: false }],
    [401, 20003, { kind: "not_placed", credentials_refused: true }],
    [401, null, { kind: "not_placed", credentials_refused: true }],
    [403, null, { kind: "not_placed", credentials_refused: true, retry_after_seconds: null }],
    [403, 20006, { kind: "not_placed", credentials_refused: true }],
    [403, 21215, { kind: "refused", carrier_code: "21215" }],
    [404, 20404, { kind: "refused" }],
    [429, 20429, { kind: "not_placed", retry_after_seconds: null }],
    [400, 20429, { kind: "not_placed" }],
    [408, null, { kind: "uncertain" }],
    [500, 20500, { kind: "uncertain" }],
    [502, null, { kind: "uncertain" }],
    [503, null, { kind: "uncertain" }],
  ])("HTTP %s, code %s", (status, code, answer) => {
    expect(refused(status, code)).toMatchObject(answer);
  });
  test("Retry-After is obeyed as seconds and as a date, within an hour", () => {
    const now = new Date("2026-11-21T10:00:00Z");
    expect(refused(429, 20429, { "retry-after": "7" })).toMatchObject({ retry_after_seconds: 7 });
    const [date, after] = ["Sat, 21 Nov 2026 10:00:00 GMT", "Sat, 21 Nov 2026 10:00:30 GMT"];
    expect(refused(429, 20429, { "retry-after": after, date })).toMatchObject({ retry_after_seconds: 30 });
    expect(retryAfter(after, answeredAt(null))).toBeNull();
    expect([
      retryAfter("Sat, 21 Nov 2026 10:00:30 GMT", now),
      retryAfter("Sat, 21 Nov 2026 09:00:00 GMT", now),
      retryAfter("999999", now),
      retryAfter("soon", now),
      retryAfter(undefined, now),
    ]).toEqual([30, 0, 3600, null, null]);
  });
  test.each<[string, unknown, string]>([
    ["refused connection", Object.assign(new Error("x"), { code: "ECONNREFUSED", syscall: "connect" }), "not_placed"],
    [
      "no such host",
      Object.assign(new Error("x"), {
        cause: Object.assign(new Error("y"), { code: "ENOTFOUND", syscall: "getaddrinfo" }),
      }),
      "not_placed",
    ],
    [
      "every address refused",
      Object.assign(new AggregateError([Object.assign(new Error("x"), { code: "ECONNREFUSED", syscall: "connect" })]), {
        code: "ECONNREFUSED",
      }),
      "not_placed",
    ],
    ["connecting timed out", Object.assign(new Error("x"), { code: "ETIMEDOUT", syscall: "connect" }), "not_placed"],
    ["reset while reading", Object.assign(new Error("x"), { code: "ECONNRESET", syscall: "read" }), "uncertain"],
    ["socket hang up", Object.assign(new Error("socket hang up"), { code: "ECONNRESET" }), "uncertain"],
    ["timed out", Object.assign(new Error("timeout of 15000ms exceeded"), { code: "ECONNABORTED" }), "uncertain"],
    ["an answer nobody can read", new SyntaxError("Unexpected token"), "uncertain"],
    ["anything else", "boom", "uncertain"],
  ])("%s", (_name, error, kind) => {
    expect(dialAnswerOf(error).kind).toBe(kind);
  });
  test("numbers in a carrier's sentence are masked", () => {
    expect(withoutNumbers("from +14155550101 to +441632960123.")).toBe("from +1415***0101 to +4416***0123.");
  });
});

describe("callbacks in our words", () => {
  const sid = `CA${"0".repeat(32)}`;
  const of = (kind: "status" | "amd" | "relay-end", fields: Record<string, string>) =>
    translate(kind, {
      method: "POST",
      path: "/x",
      headers: {},
      body: new URLSearchParams({ CallSid: sid, ...fields }).toString(),
    });
  test.each<[Record<string, string>, object[]]>([
    [{ CallStatus: "queued" }, [{ type: "queued" }]],
    [{ CallStatus: "initiated" }, [{ type: "queued" }]],
    [{ CallStatus: "ringing" }, [{ type: "ringing" }]],
    [{ CallStatus: "in-progress" }, [{ type: "answered" }]],
    [{ CallStatus: "completed", CallDuration: "12" }, [{ type: "ended", end: "completed", seconds: 12, cause: null }]],
    [{ CallStatus: "busy", SipResponseCode: "486" }, [{ type: "ended", end: "busy", cause: "sip 486" }]],
    [{ CallStatus: "busy", SipResponseCode: "603" }, [{ type: "ended", end: "rejected" }]],
    [{ CallStatus: "no-answer" }, [{ type: "ended", end: "no_answer" }]],
    [
      { CallStatus: "failed", SipResponseCode: "503", ErrorCode: "32011", ErrorMessage: "SIP: No response" },
      [
        {
          type: "ended",
          end: "failed",
          cause: "sip 503",
          said: { sip_code: 503, carrier_code: "32011", carrier_message: "SIP: No response" },
        },
      ],
    ],
    [{ CallStatus: "canceled" }, [{ type: "ended", end: "canceled" }]],
    [{ CallStatus: "something-new" }, []],
    [{}, []],
  ])("%j", (fields, progress) => {
    expect(of("status", { ...fields, SequenceNumber: "2" })).toEqual({
      call_id: sid,
      leg_id: null,
      turn: null,
      recording: null,
      cost: null,
      sequence: "2",
      progress: progress.map((p) => expect.objectContaining({ ...p, call_id: sid })),
    });
  });
  test.each([
    ["human", "human"],
    ["machine_start", "machine"],
    ["machine_end_beep", "machine"],
    ["machine_end_silence", "machine"],
    ["machine_end_other", "machine"],
    ["fax", "machine"],
    ["unknown", "unknown"],
    ["", null],
    [null, null],
  ])("answered by %s is %s", (word, verdict) => {
    expect(answeredBy(word)).toBe(verdict);
  });
  test("times are UTC ISO text", () => {
    expect(of("status", { CallStatus: "ringing", Timestamp: "Sat, 21 Nov 2026 10:00:05 +0000" }).progress[0]?.at).toBe(
      "2026-11-21T10:00:05.000Z",
    );
    expect(of("status", { CallStatus: "ringing", Timestamp: "yesterday" }).progress[0]?.at).toBeNull();
  });
  test.each(["", "CA1", "../../etc", `XX${"0".repeat(32)}`])(
    "a callback that names no call (%s) is refused",
    (CallSid) => {
      expect(() => of("status", { CallSid })).toThrow(/CallSid/);
    },
  );
});

describe("documents", () => {
  test("whatever is in the values, the document reads back as it was meant", () => {
    fc.assert(
      fc.property(
        fc.webUrl({ withQueryParameters: true }),
        fc.string({ maxLength: 60, unit: "grapheme" }),
        (url, voice) => {
          const xml = relayDocument({ url, action: `${url}&x=1`, language: "en-US", voice });
          const relay = parseXml(xml.replace(/^<\?.*?\?>/, "")).children[0] as {
            attributes: Record<string, string>;
            children: { attributes: Record<string, string> }[];
          };
          expect(relay.attributes["action"]).toBe(`${url}&x=1`);
          expect(relay.children[0]?.attributes).toMatchObject({
            url,
            // oxlint-disable-next-line no-control-regex -- XML can't hold them
            voice: voice.replace(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/g, ""),
            dtmfDetection: "true",
            interruptible: "any",
            events: "speaker-events",
          });
        },
      ),
    );
  });
  test("no voice, no attribute; too long is refused", () => {
    expect(relayDocument({ url: "wss://x", action: "https://x", language: "de-DE", voice: null })).not.toContain(
      "voice=",
    );
    expect(() =>
      relayDocument({ url: `wss://x/${"a".repeat(4000)}`, action: "", language: "en", voice: null }),
    ).toThrow(/4000/);
  });
  test("a transfer dials the number with our caller id", () => {
    expect(transferDocument("+14155550101", "+14155550999")).toContain(
      '<Dial callerId="+14155550999"><Number>+14155550101</Number></Dial>',
    );
  });
});

test("the API's origin is replaced, the path and query stay", () => {
  expect(movedTo("http://127.0.0.1:4010", "https://api.twilio.com/2010-04-01/Accounts/AC1/Calls.json?To=%2B1")).toBe(
    "http://127.0.0.1:4010/2010-04-01/Accounts/AC1/Calls.json?To=%2B1",
  );
  expect(movedTo(null, "https://api.twilio.com/x")).toBe("https://api.twilio.com/x");
});
