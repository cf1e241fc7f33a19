import { describe, expect, test } from "@jest/globals";
import Telnyx from "telnyx";
import { createSigner } from "../../../../local/carriers/telnyx/signature.ts";
import { isSigned, publicKeyOf } from "../../../../services/dialer/carriers/telnyx/signature.ts";

const sdk = new Telnyx({ apiKey: "KEY0123" });

describe("signatures", () => {
  const signer = createSigner("a run");
  const other = createSigner("another run");
  const body = JSON.stringify({
    data: { event_type: "call.answered", id: "1", payload: { call_control_id: "v3:abc", to: "Zoë ✆" } },
  });
  const now = new Date();
  const headers = signer.headers(body, now);
  const verdictOfSdk = async (text: string, given: Record<string, string>, key = signer.publicKey): Promise<boolean> =>
    sdk.webhooks.unwrap(text, { headers: given, key }).then(
      () => true,
      () => false,
    );

  test("the SDK accepts what the simulator signs, and so do we", async () => {
    expect(await verdictOfSdk(body, headers)).toBe(true);
    expect(isSigned(publicKeyOf(signer.publicKey), { body, headers }, now)).toBe(true);
    expect(
      isSigned(
        publicKeyOf(signer.publicKey),
        { body, headers: Object.fromEntries(Object.entries(headers).map(([k, v]) => [k.toUpperCase(), v])) },
        now,
      ),
    ).toBe(true);
  });

  const HOUR_MS = 3_600_000;
  test.each<[string, string, Record<string, string>, string?]>([
    ["a byte changed", body.replace("answered", "answeree"), headers],
    ["a byte added", `${body} `, headers],
    ["another key", body, headers, other.publicKey],
    ["signed by somebody else", body, other.headers(body, now)],
    ["forged by the simulator", body, signer.headers(body, now, true)],
    ["an hour old", body, signer.headers(body, new Date(now.getTime() - HOUR_MS))],
    ["an hour ahead", body, signer.headers(body, new Date(now.getTime() + HOUR_MS))],
    [
      "a newer time put on",
      body,
      {
        ...signer.headers(body, new Date(now.getTime() - HOUR_MS)),
        "telnyx-timestamp": headers["telnyx-timestamp"] ?? "",
      },
    ],
    ["no signature", body, { "telnyx-timestamp": headers["telnyx-timestamp"] ?? "" }],
    ["no time", body, { "telnyx-signature-ed25519": headers["telnyx-signature-ed25519"] ?? "" }],
    ["a time that is none", body, { ...headers, "telnyx-timestamp": "soon" }],
    [
      "half a signature",
      body,
      { ...headers, "telnyx-signature-ed25519": (headers["telnyx-signature-ed25519"] ?? "").slice(0, 44) },
    ],
  ])("%s is refused by both", async (_name, text, given, key = signer.publicKey) => {
    expect(await verdictOfSdk(text, given, key)).toBe(false);
    expect(isSigned(publicKeyOf(key), { body: text, headers: given }, now)).toBe(false);
  });

  test("five minutes are the limit for both", async () => {
    const at = (seconds: number) => signer.headers(body, new Date(now.getTime() + seconds * 1000));
    for (const [seconds, good] of [
      [-295, true],
      [295, true],
      [-320, false],
      [320, false],
    ] as const) {
      expect([
        await verdictOfSdk(body, at(seconds)),
        isSigned(publicKeyOf(signer.publicKey), { body, headers: at(seconds) }, new Date()),
      ]).toEqual([good, good]);
    }
  });
  test("the same seed, the same key", () => {
    expect([createSigner("a run").publicKey, signer.publicKey === other.publicKey]).toEqual([signer.publicKey, false]);
  });
  test.each(["", "short", "a".repeat(44), `${signer.publicKey}=`, "-----BEGIN PUBLIC KEY-----"])(
    "a public key %j is refused at the start",
    (key) => {
      expect(() => publicKeyOf(key)).toThrow(/TELNYX_PUBLIC_KEY/);
    },
  );
});
