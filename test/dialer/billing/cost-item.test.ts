import { describe, expect, test } from "@jest/globals";
import { carrierItem, tableItem, conversationSeconds } from "../../../services/dialer/billing/cost-item.ts";
import { parseCallPrices, pricePerMinute } from "../../../shared/call-prices.ts";
import { readEnv } from "../../../shared/process/env.ts";

const TABLE = "US=0.014,GB=0.02,*=0.05";
const at = (seconds: number): Date => new Date(Date.parse("2026-11-21T12:00:00Z") + seconds * 1000);

describe("the price table", () => {
  test("is read as written", () => {
    expect([...parseCallPrices(` US=0.014 , GB = 0.02,*=1 ,`).prices]).toEqual([
      ["US", 0.014],
      ["GB", 0.02],
      ["*", 1],
    ]);
    for (const nothing of [undefined, "", " , "])
      expect(parseCallPrices(nothing)).toEqual({ prices: new Map(), faults: [] });
  });
  test.each([
    ["UK=0.02", "UK"],
    ["us=0.01", "us"],
    ["USA=0.01", "USA"],
    ["US", "COUNTRY=AMOUNT"],
    ["US=", "COUNTRY=AMOUNT"],
    ["US=1=2", "COUNTRY=AMOUNT"],
    ["US=-1", "-1"],
    ["US=0,014", "014"],
    ["US=1e3", "1e3"],
    ["US=0.0000001", "0.0000001"],
    ["US=.5", ".5"],
    ["US=1,US=2", "twice"],
    ["=1", "no ISO country"],
    ["US=99999", "99999"],
  ])("%s is refused at the start, saying what is wrong", (text, said) => {
    expect(parseCallPrices(text).faults.join(" ")).toContain(said);
    expect(() => readEnv({ CALL_PRICES: text })).toThrow(said);
  });
  test.each([
    ["US", 0.014],
    ["GB", 0.02],
    ["DE", 0.05],
    [null, 0.05],
  ])("%s", (country, price) => expect(pricePerMinute(parseCallPrices(TABLE).prices, country)).toBe(price));
  test("without a price for all others there is none for them", () =>
    expect(pricePerMinute(parseCallPrices("US=1").prices, "DE")).toBeNull());
});

describe("storage in the environment", () => {
  test.each([
    [{ UPLOAD_CALL_RECORDINGS_TO_CLOUD: "true" }, "S3_BUCKET"],
    [{ S3_ACCESS_KEY_ID: "a" }, "S3_SECRET_ACCESS_KEY"],
    [{ S3_SECRET_ACCESS_KEY: "a" }, "S3_ACCESS_KEY_ID"],
  ])("%p is refused", (env, said) => {
    expect(() => readEnv(env as Record<string, string>)).toThrow(said);
  });
});

describe("what a call cost", () => {
  const prices = parseCallPrices(TABLE).prices;
  test.each<[string, number, object | null]>([
    ["+14155550100", 1, { minutes: 1, amount: 0.014 }],
    ["+14155550100", 60, { minutes: 1, amount: 0.014 }],
    ["+14155550100", 61, { minutes: 2, amount: 0.028 }],
    ["+442079460000", 150, { minutes: 3, amount: 0.06 }],
    ["+4930123456", 59.4, { minutes: 1, amount: 0.05 }],
    ["+14155550100", 0, null],
    ["not a number", 10, { minutes: 1, amount: 0.05 }],
  ])("%s for %d s", (to, seconds, item) => {
    const made = tableItem(prices, to, seconds, "USD");
    if (item === null) expect(made).toBeNull();
    else expect(made).toMatchObject({ what: "price_table", currency: "USD", ...item });
  });
  test("no price, no item", () =>
    expect(tableItem(parseCallPrices("US=1").prices, "+4930123456", 60, "USD")).toBeNull());
  test("the carrier's own figure is taken as it is", () => {
    expect(carrierItem({ amount: 0.0123456789, currency: "EUR" }, 61)).toEqual({
      what: "carrier",
      minutes: 2,
      price_per_minute: null,
      amount: 0.012346,
      currency: "EUR",
    });
  });
  test("the talk's length: the carrier's, else from answer to end", () => {
    expect([
      conversationSeconds({ talk_seconds: 7, answered_at: at(0), ended_at: at(60) }),
      conversationSeconds({ answered_at: at(0), ended_at: at(60) }),
      conversationSeconds({ ended_at: at(60) }),
      conversationSeconds({ answered_at: at(9), ended_at: at(5) }),
    ]).toEqual([7, 60, 0, 0]);
  });
});
