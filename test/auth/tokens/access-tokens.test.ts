import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { SignJWT } from "jose";
import { passwordHashing } from "../../../services/auth/login/passwords.ts";
import { accessTokens, isS2sToken, newS2sToken, tokenKeys } from "../../../services/auth/tokens/access-tokens.ts";
import { randomIds } from "../../../shared/ids.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const { privateKey } = generateKeyPairSync("ed25519");
const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const TTL_SECONDS = 3600;
const clock = virtualClock(new Date("2026-11-21T10:00:00.000Z"));
const NOW = Math.floor(clock.now().getTime() / 1000);
const keys = (JWT_PRIVATE_KEY?: string, JWT_OTHER_KEY?: string) =>
  tokenKeys({ ...(JWT_PRIVATE_KEY && { JWT_PRIVATE_KEY }), ...(JWT_OTHER_KEY && { JWT_OTHER_KEY }) });
const tokens = accessTokens(keys(pem), TTL_SECONDS, clock, randomIds);
const bearer = { id: "u-1", role: "admin", reseller_id: null, merchant_id: null, version: 3 } as const;
const b64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const forged02 = (key: typeof privateKey): Promise<string> =>
  new SignJWT({ ...rightClaims, ver: 3 }).setProtectedHeader({ alg: "EdDSA", typ: "at+jwt" }).sign(key);
const rightClaims = { sub: "u-1", jti: "t-1", iss: "callagent", aud: "callagent-api", iat: NOW, exp: NOW + 60, ver: 0 };

describe("the signing key", () => {
  test("is taken with real line ends and with \\n as two characters", () => {
    expect(keys(pem.replaceAll("\n", "\\n")).signing.asymmetricKeyType).toBe("ed25519");
  });
  test.each([
    ["missing", undefined, /JWT_PRIVATE_KEY is not set/],
    ["no PEM", "hello", /not an Ed25519 private key/],
    [
      "another kind of key",
      generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
      /not an Ed25519 private key/,
    ],
  ])("%s: one clear line", (_, text, sentence) => {
    const say = (): unknown => keys(text);
    expect(say).toThrow(sentence);
    try {
      say();
    } catch (error) {
      expect((error as Error).message).not.toContain("\n");
    }
  });
});

describe("access tokens", () => {
  test("carry the right header and claims, and are good until their last second", async () => {
    const token = await tokens.sign(bearer);
    const [head = "", body = ""] = token.split(".").map((part) => Buffer.from(part, "base64url").toString());
    expect(JSON.parse(head)).toEqual({
      alg: "EdDSA",
      typ: "at+jwt",
      kid: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
    });
    expect(JSON.parse(body)).toMatchObject({
      iss: "callagent",
      aud: "callagent-api",
      sub: "u-1",
      role: "admin",
      ver: 3,
      iat: NOW,
      exp: NOW + TTL_SECONDS,
    });
    const session = { id: "u-1", version: 3, jti: expect.any(String), until: new Date((NOW + TTL_SECONDS) * 1000) };
    expect(await tokens.verify(token)).toEqual(session);
    const later = (seconds: number) =>
      accessTokens(keys(pem), TTL_SECONDS, virtualClock(new Date((NOW + seconds) * 1000)), randomIds);
    expect(await later(TTL_SECONDS - 1).verify(token)).toEqual(session);
    expect(await later(TTL_SECONDS).verify(token)).toBeNull();
  });

  const forged = async (
    header: Record<string, unknown>,
    claims: Record<string, unknown>,
    key = privateKey,
  ): Promise<string> => new SignJWT(claims).setProtectedHeader({ alg: "EdDSA", typ: "at+jwt", ...header }).sign(key);
  const other = generateKeyPairSync("ed25519");
  const refused: [string, () => string | Promise<string>][] = [
    ...["none", "None", "nOnE"].map((alg): [string, () => string] => [
      `alg ${alg} without signature`,
      () => `${b64({ alg, typ: "at+jwt" })}.${b64(rightClaims)}.`,
    ]),
    ["an empty signature", () => `${b64({ alg: "EdDSA", typ: "at+jwt" })}.${b64(rightClaims)}.`],
    [
      "HS256 keyed with the public key's PEM",
      () =>
        new SignJWT(rightClaims)
          .setProtectedHeader({ alg: "HS256", typ: "at+jwt" })
          .sign(Buffer.from(createPublicKey(privateKey).export({ type: "spki", format: "pem" }))),
    ],
    ["another key", () => forged({}, rightClaims, other.privateKey)],
    [
      "another key, offered in jwk, jku, x5u and kid",
      () =>
        forged(
          {
            jwk: other.publicKey.export({ format: "jwk" }),
            jku: "http://127.0.0.1:9/keys",
            x5u: "http://127.0.0.1:9/cert",
            kid: "../../etc/passwd' OR 1=1",
          },
          rightClaims,
          other.privateKey,
        ),
    ],
    ["a wrong issuer", () => forged({}, { ...rightClaims, iss: "evil" })],
    ["a wrong audience", () => forged({}, { ...rightClaims, aud: "other" })],
    ["a wrong typ", () => forged({ typ: "JWT" }, rightClaims)],
    ["no exp", () => forged({}, { ...rightClaims, exp: undefined })],
    ["no version", () => forged({}, { ...rightClaims, ver: undefined })],
    ["no id of its own", () => forged({}, { ...rightClaims, jti: undefined })],
    ["an id of its own that is an operator", () => forged({}, { ...rightClaims, jti: { $gt: "" } })],
    ["a version that is no number", () => forged({}, { ...rightClaims, ver: "0" })],
    ["a sub that is an operator", () => forged({}, { ...rightClaims, sub: { $gt: "" } })],
    ["a sub longer than any id", () => forged({}, { ...rightClaims, sub: "u".repeat(65) })],
    ["a time of issue in an hour", () => forged({}, { ...rightClaims, iat: NOW + 3600, exp: NOW + 7200 })],
    ["our own key under another name", () => forged({ kid: "another" }, rightClaims)],
    ["exp 31 s ago", () => forged({}, { ...rightClaims, exp: NOW - 31 })],
    ["nbf in the future", () => forged({}, { ...rightClaims, nbf: NOW + 31 })],
    ["no sub", () => forged({}, { ...rightClaims, sub: undefined })],
    [
      "a changed claim",
      async () => {
        const [h = "", , s = ""] = (await tokens.sign(bearer)).split(".");
        return `${h}.${b64({ ...rightClaims, sub: "u-2" })}.${s}`;
      },
    ],
    ["no token at all", () => "hello"],
    ["dots", () => ".."],
  ];
  test.each(refused)("%s is refused", async (_, make) => {
    expect(await tokens.verify(await make())).toBeNull();
  });
});

describe("a change of the signing key", () => {
  const next = generateKeyPairSync("ed25519");
  const nextPem = next.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const nextPublic = next.publicKey.export({ type: "spki", format: "pem" }).toString();
  const by = (signing: string, other?: string) => accessTokens(keys(signing, other), TTL_SECONDS, clock, randomIds);
  const known = expect.objectContaining({ id: "u-1", version: 3 });

  test("in its three steps no token that is valid is refused, by whichever process", async () => {
    const steps = [by(pem), by(pem, nextPublic), by(nextPem, pem), by(nextPem)];
    const signed = await Promise.all(steps.map((step) => step.sign(bearer)));
    const accepted = (step: number, of: number) => steps[step]?.verify(signed[of] ?? "");
    for (const [step, of] of [
      [0, 1],
      [1, 0],
      [1, 2],
      [2, 1],
      [2, 3],
      [3, 2],
    ] as const)
      expect({ step, of, who: await accepted(step, of) }).toEqual({ step, of, who: known });
    expect(await accepted(3, 0)).toBeNull();
    expect(await accepted(0, 3)).toBeNull();
  });

  test("a token of 0.2.0, which names no key, is accepted with either", async () => {
    const old = await forged02(privateKey);
    expect(await by(pem).verify(old)).toEqual(known);
    expect(await by(nextPem, pem).verify(old)).toEqual(known);
    expect(await by(nextPem).verify(old)).toBeNull();
  });

  test("a second key that is none is said in one line without any of it", () => {
    expect(() => keys(pem, "hello")).toThrow(/^auth can't start: JWT_OTHER_KEY is not an Ed25519 key as PEM[^\n]*$/);
  });
});

describe("server-to-server tokens", () => {
  test("are prefixed and hold 256 bits; the shown part reveals nothing of the rest", () => {
    const { token, shown } = newS2sToken(randomIds);
    expect(token).toMatch(/^cag_s2s_[A-Za-z0-9_-]{43}$/);
    expect(shown).toHaveLength(14);
    expect(isS2sToken(token)).toBe(true);
    expect(isS2sToken(`${token}x`)).toBe(false);
    expect(newS2sToken(randomIds).token).not.toBe(token);
  });
});

describe("passwords", () => {
  const hashing = passwordHashing();
  test("are kept as salted argon2id of 19 MiB, two passes", async () => {
    const [a, b] = await Promise.all([hashing.hash("correct horse battery"), hashing.hash("correct horse battery")]);
    expect(a).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(a).not.toBe(b);
    expect(await hashing.verify("correct horse battery", a)).toBe(true);
    expect(await hashing.verify("correct horse batterY", a)).toBe(false);
  });
  test("no password fits an unknown user", async () => {
    expect(await hashing.verify("anything", null)).toBe(false);
  });
  test("past the queue's bound the answer is BUSY, and the queue drains", async () => {
    const stored = await hashing.hash("x");
    const answers = await Promise.allSettled(Array.from({ length: 70 }, () => hashing.verify("x", stored)));
    expect(answers.filter((a) => a.status === "fulfilled" && a.value).length).toBe(66);
    expect(
      answers.filter((a) => a.status === "rejected" && (a.reason as { type: string }).type === "BUSY").length,
    ).toBe(4);
    expect(await hashing.verify("x", stored)).toBe(true);
  });
});
