import type { IncomingMessage } from "node:http";
import * as fc from "fast-check";
import { addressForm, clientAddress } from "../../../services/gateway/http/request-limits.ts";
import { takesGzip } from "../../../services/gateway/http/compression.ts";
import { corsHeaders, originsOf, preflightHeaders } from "../../../services/gateway/http/cors.ts";
import { fixedWindowLimiter } from "../../../services/gateway/http/rate-limiter.ts";

describe("who is at the other end", () => {
  const from = (remoteAddress: string, forwarded?: string) =>
    ({ headers: { "x-forwarded-for": forwarded }, socket: { remoteAddress } }) as unknown as IncomingMessage;
  test.each([
    ["192.0.2.1", undefined, false, "192.0.2.1"],
    ["192.0.2.1", "198.51.100.7", false, "192.0.2.1"],
    ["192.0.2.1", "198.51.100.7", true, "198.51.100.7"],
    ["192.0.2.1", "forged, 203.0.113.9, 198.51.100.7", true, "198.51.100.7"],
    ["192.0.2.1", "", true, "192.0.2.1"],
    ["192.0.2.1", "x, ", true, "192.0.2.1"],
    ["::ffff:192.0.2.1", undefined, true, "192.0.2.1"],
    ["::1", "198.51.100.7:4711", true, "198.51.100.7"],
    ["::1", "[2001:db8:1:2:3::4]:99", true, "2001:db8:1:2::/64"],
  ] as const)("socket %s, X-Forwarded-For %j, trusted %s: %s", (remote, forwarded, trusted, expected) => {
    expect(clientAddress(from(remote, forwarded), trusted)).toBe(expected);
  });
  test("an IPv6 customer can't multiply", () => {
    expect(addressForm("2001:db8:0:1::1")).toBe(addressForm("2001:db8:0:1:ffff::2"));
  });
  test("no text is too odd, and what is kept is short", () => {
    fc.assert(fc.property(fc.string({ maxLength: 500 }), (text) => addressForm(text).length <= 64));
  });
});

describe("counting", () => {
  test("no more than the limit in a window, whoever else asks; then a new window", () => {
    const limiter = fixedWindowLimiter(2, 60_000, 10);
    expect([0, 10, 20].map((at) => limiter.acquirePermit("a", at))).toEqual([
      { allowed: true, limit: 2, remaining: 1, reset_seconds: 60 },
      { allowed: true, limit: 2, remaining: 0, reset_seconds: 60 },
      { allowed: false, limit: 2, remaining: 0, reset_seconds: 60 },
    ]);
    expect(limiter.acquirePermit("b", 30).allowed).toBe(true);
    expect(limiter.acquirePermit("a", 59_999)).toMatchObject({ allowed: false, reset_seconds: 1 });
    expect(limiter.acquirePermit("a", 60_000)).toMatchObject({ allowed: true, remaining: 1, reset_seconds: 60 });
  });
  test("what is given back counts no more, and never below nothing", () => {
    const limiter = fixedWindowLimiter(1, 1000, 10);
    limiter.refund("a");
    expect(limiter.acquirePermit("a", 0).allowed).toBe(true);
    limiter.refund("a");
    limiter.refund("a");
    expect([limiter.acquirePermit("a", 1).allowed, limiter.acquirePermit("a", 2).allowed]).toEqual([true, false]);
  });
  test("it remembers no more keys than it may: the oldest window goes", () => {
    const limiter = fixedWindowLimiter(1, 1000, 2);
    for (const key of ["a", "b", "c"]) limiter.acquirePermit(key, 0);
    expect(["b", "c", "a"].map((key) => limiter.acquirePermit(key, 1).allowed)).toEqual([false, false, true]);
  });
});

test.each([
  ["gzip", true],
  ["br, gzip;q=0.5", true],
  ["GZIP", true],
  ["*", true],
  ["*;q=0", false],
  ["gzip;q=0, *", false],
  ["gzip; q=0.000", false],
  ["br, deflate", false],
  ["identity", false],
  ["", false],
  [undefined, false],
  ["gzippy", false],
])("Accept-Encoding: %s takes gzip: %s", (header, takes) => {
  expect(takesGzip(header)).toBe(takes);
});

describe("other origins", () => {
  const allowed = originsOf(" https://app.example.com, https://b.example.com:8443 ,");
  test.each([
    "https://app.example.com.evil.example",
    "https://evil-app.example.com",
    "http://app.example.com",
    "https://app.example.com:443",
    "https://APP.example.com",
    "https://b.example.com",
    "null",
    "",
    "*",
    "https://app.example.com/",
  ])("%s is none of them", (origin) => {
    expect(corsHeaders(origin, allowed)).toEqual({ Vary: "Origin" });
    expect(preflightHeaders(origin, allowed, ["GET"])).toEqual({});
  });
  test("one of them may read, without credentials; nobody may where none are named", () => {
    expect(corsHeaders("https://app.example.com", allowed)).toMatchObject({
      "Access-Control-Allow-Origin": "https://app.example.com",
      Vary: "Origin",
    });
    expect(
      Object.keys({
        ...corsHeaders("https://app.example.com", allowed),
        ...preflightHeaders("https://app.example.com", allowed, ["GET"]),
      }),
    ).not.toContain("Access-Control-Allow-Credentials");
    expect(corsHeaders("https://app.example.com", originsOf(undefined))).toEqual({});
  });
});
