import { systemClock } from "../../../shared/time/clock.ts";
import { createCarriers } from "../../../services/dialer/carriers/carrier-registry.ts";
import { readEnv } from "../../../shared/process/env.ts";

const TWILIO = { TWILIO_ACCOUNT_SID: `AC${"1".repeat(32)}`, TWILIO_AUTH_TOKEN: "token-1" };
const PLIVO = { PROVIDER_TWO: "plivo", PLIVO_AUTH_ID: "MAXXXXXXXXXXXXXXXXXX", PLIVO_AUTH_TOKEN: "token-2" };
const TELNYX = {
  PROVIDER_THREE: "telnyx",
  TELNYX_API_KEY: "KEY1",
  TELNYX_CONNECTION_ID: "17",
  TELNYX_PUBLIC_KEY: Buffer.alloc(32, 1).toString("base64"),
};
const carriers = (env: Record<string, string>) => createCarriers(readEnv(env), systemClock);

test("three words, three carriers", () => {
  const all = carriers({ ...TWILIO, ...PLIVO, ...TELNYX });
  expect([all.of("PROVIDER_ONE").id, all.of("PROVIDER_TWO").id, all.of("PROVIDER_THREE").id]).toEqual([
    "twilio",
    "plivo",
    "telnyx",
  ]);
  expect(all.all()).toHaveLength(3);
});
test("the same account behind two words is one adapter; another account of the same carrier is another", () => {
  const same = carriers({ ...TWILIO, PROVIDER_TWO: "twilio" });
  expect([same.of("PROVIDER_TWO") === same.of("PROVIDER_ONE"), same.all().length]).toEqual([true, 1]);
  const other = carriers({
    ...TWILIO,
    PROVIDER_TWO: "twilio",
    PROVIDER_TWO_ACCOUNT: `AC${"2".repeat(32)}`,
    PROVIDER_TWO_SECRET: "token-2",
  });
  expect([other.of("PROVIDER_TWO") === other.of("PROVIDER_ONE"), other.all().length]).toEqual([false, 2]);
  const only = carriers({ PROVIDER_ONE_ACCOUNT: TWILIO.TWILIO_ACCOUNT_SID, PROVIDER_ONE_SECRET: "token-3" });
  expect(only.of("PROVIDER_ONE").id).toBe("twilio");
});
test.each<[Record<string, string>, string, RegExp]>([
  [
    {},
    "PROVIDER_ONE",
    /set PROVIDER_ONE_ACCOUNT \(or TWILIO_ACCOUNT_SID\) and PROVIDER_ONE_SECRET \(or TWILIO_AUTH_TOKEN\)/,
  ],
  [{ TWILIO_ACCOUNT_SID: "AC1" }, "PROVIDER_ONE", /: set PROVIDER_ONE_SECRET \(or TWILIO_AUTH_TOKEN\) in/],
  [TWILIO, "PROVIDER_TWO", /set PROVIDER_TWO to a carrier \(twilio, plivo, telnyx\)/],
  [{ ...TELNYX, TELNYX_PUBLIC_KEY: "" }, "PROVIDER_THREE", /set PROVIDER_THREE_PUBLIC_KEY \(or TELNYX_PUBLIC_KEY\)/],
])("what is missing is named (%#)", (env, provider, said) => {
  expect(() => carriers(env).of(provider as "PROVIDER_ONE")).toThrow(
    expect.objectContaining({ type: "PROVIDER_UNCONFIGURED", message: expect.stringMatching(said) }),
  );
});
test("where an account's credentials are read from", () => {
  expect(carriers({ ...TWILIO, ...TELNYX }).variables("PROVIDER_THREE")).toEqual([
    "PROVIDER_THREE_ACCOUNT",
    "PROVIDER_THREE_SECRET",
    "PROVIDER_THREE_PUBLIC_KEY",
    "TELNYX_CONNECTION_ID",
    "TELNYX_API_KEY",
    "TELNYX_PUBLIC_KEY",
  ]);
  expect(carriers(TWILIO).variables("PROVIDER_TWO")).toEqual(["PROVIDER_TWO"]);
});
