import { createHash, createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";
import { decodeProtectedHeader, errors, jwtVerify, SignJWT, type JWTPayload, type JWTVerifyOptions } from "jose";
import { MS_PER_SECOND, type Clock } from "../../../shared/time/clock.ts";
import type { Env } from "../../../shared/process/env.ts";
import type { Role } from "../../../shared/contracts/records/identity.ts";
import type { Ids } from "../../../shared/ids.ts";

const ALGORITHM = "EdDSA";
const ISSUER = "callagent";
const AUDIENCE = "callagent-api";
/** RFC 9068: keeps other JWTs signed with the same key from passing as access tokens. */
const TYPE = "at+jwt";

/** Longest subject, which is the id of a user, and longest id of a token. */
const MAX_ID_CHARS = 64;
/** How far apart the clocks of two auth processes may be. */
const CLOCK_DIFFERENCE_SECONDS = 60;

const S2S_PREFIX = "cag_s2s_";
const S2S_SECRET_BYTES = 32;
const S2S = /^cag_s2s_[A-Za-z0-9_-]{43}$/;
/** Letters of a token by which a person recognises it in a list. */
const S2S_SHOWN = S2S_PREFIX.length + 6;

/** The claims of an access token about its bearer. */
export interface Bearer {
  id: string;
  role: Role;
  reseller_id: string | null;
  merchant_id: string | null;
  /** The user's token_version at log-in. */ version: number;
}

/** What a valid access token says of its session. */
export interface SessionClaims extends Pick<Bearer, "id" | "version"> {
  /** The id of the token, and so of the session. */ jti: string;
  until: Date;
}

/** Login tokens: JWTs with a fixed algorithm, issuer, audience and type (RFC 8725). */
export interface AccessTokens {
  sign(bearer: Bearer): Promise<string>;
  /** The session whose token it is, or null for anything that is not a valid token of ours at this moment. */
  verify(token: string): Promise<SessionClaims | null>;
}

/** The keys of access tokens: one signs, and each that is accepted has a name, which the tokens' header holds. */
export interface TokenKeys {
  signing: KeyObject;
  /** Public keys by `kid`, the signing one's first. */
  accepted: ReadonlyMap<string, KeyObject>;
}

const how = "make one with: openssl genpkey -algorithm ed25519";
const isEd25519 = (key: KeyObject): boolean => key.asymmetricKeyType === "ed25519";
const pemOf = (text: string) => ({ key: text.replaceAll("\\n", "\n"), format: "pem" }) as const;

/** The name of a key: its thumbprint (RFC 7638, with the members of RFC 8037), so that nobody has to give it one. */
function kidOf(key: KeyObject): string {
  const { crv, kty, x } = key.export({ format: "jwk" });
  return createHash("sha256").update(JSON.stringify({ crv, kty, x })).digest("base64url");
}

/** JWT_OTHER_KEY, private or public. Throws one sentence; never any of the key. */
function otherKey(pem: string): KeyObject {
  try {
    const key = createPublicKey(pemOf(pem));
    if (isEd25519(key)) return key;
  } catch {
    // said below, without the parser's words
  }
  throw new Error(`auth can't start: JWT_OTHER_KEY is not an Ed25519 key as PEM, private or public (${how})`);
}

/**
 * The keys from the environment: JWT_PRIVATE_KEY signs, and what JWT_OTHER_KEY signed is accepted too. Throws one sentence that says what is missing
 * and how to make it; never any of a key.
 */
export function tokenKeys(env: Pick<Env, "JWT_PRIVATE_KEY" | "JWT_OTHER_KEY">): TokenKeys {
  const signing = signingKey(env.JWT_PRIVATE_KEY);
  const keys = [createPublicKey(signing), ...(env.JWT_OTHER_KEY === undefined ? [] : [otherKey(env.JWT_OTHER_KEY)])];
  return { signing, accepted: new Map(keys.map((key) => [kidOf(key), key])) };
}

function signingKey(pem: string | undefined): KeyObject {
  if (pem === undefined)
    throw new Error(
      `auth can't start: JWT_PRIVATE_KEY is not set; it is an Ed25519 private key as PKCS #8 PEM (${how})`,
    );
  try {
    const key = createPrivateKey(pemOf(pem));
    if (isEd25519(key)) return key;
  } catch {
    // said below, without the parser's words
  }
  throw new Error(`auth can't start: JWT_PRIVATE_KEY is not an Ed25519 private key as PKCS #8 PEM (${how})`);
}

const isId = (claim: unknown): claim is string => typeof claim === "string" && claim.length <= MAX_ID_CHARS;

/**
 * What the claims say: jose checks that they are there, and not that they are texts and numbers. null: they are not, or the token was made at a time
 * that has not come yet.
 */
function sessionOf({ sub, ver, iat, exp, jti }: JWTPayload, now: Date): SessionClaims | null {
  if (!isId(sub) || !isId(jti) || typeof ver !== "number" || !Number.isSafeInteger(ver)) return null;
  if (typeof iat !== "number" || typeof exp !== "number") return null;
  if (iat > now.getTime() / MS_PER_SECOND + CLOCK_DIFFERENCE_SECONDS) return null;
  return { id: sub, version: ver, jti, until: new Date(exp * MS_PER_SECOND) };
}

/** The public keys that may have signed a token: the one its header names, or all where it names none, as those of 0.2.0 do. */
function keysFor(token: string, accepted: TokenKeys["accepted"]): KeyObject[] {
  const { kid } = decodeProtectedHeader(token);
  if (kid === undefined) return [...accepted.values()];
  const named = typeof kid === "string" ? accepted.get(kid) : undefined;
  return named ? [named] : [];
}

/** The claims of a token that one of the keys signed; null where none did. Throws what jose throws for one whose claims are not right. */
async function verified(
  token: string,
  keys: readonly KeyObject[],
  options: JWTVerifyOptions,
): Promise<JWTPayload | null> {
  for (const key of keys) {
    try {
      return (await jwtVerify(token, key, options)).payload;
    } catch (error) {
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
    }
  }
  return null;
}

/** Signs and checks access tokens. A token's header chooses among our own keys, and never the algorithm. */
export function accessTokens(
  { signing, accepted }: TokenKeys,
  ttlSeconds: number,
  clock: Pick<Clock, "now">,
  ids: Ids,
): AccessTokens {
  const [kid = ""] = accepted.keys();
  return {
    sign(bearer) {
      const now = Math.floor(clock.now().getTime() / MS_PER_SECOND);
      return new SignJWT({
        role: bearer.role,
        reseller_id: bearer.reseller_id,
        merchant_id: bearer.merchant_id,
        ver: bearer.version,
      })
        .setProtectedHeader({ alg: ALGORITHM, typ: TYPE, kid })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setSubject(bearer.id)
        .setJti(ids.uuid())
        .setIssuedAt(now)
        .setExpirationTime(now + ttlSeconds)
        .sign(signing);
    },
    async verify(token) {
      try {
        const now = clock.now();
        const payload = await verified(token, keysFor(token, accepted), {
          algorithms: [ALGORITHM],
          issuer: ISSUER,
          audience: AUDIENCE,
          typ: TYPE,
          requiredClaims: ["sub", "jti", "iat", "exp", "ver"],
          currentDate: now,
          clockTolerance: 0,
        });
        return payload && sessionOf(payload, now);
      } catch (error) {
        if (error instanceof errors.JOSEError || error instanceof TypeError) return null;
        throw error;
      }
    },
  };
}

/** A fresh server-to-server token: 256 random bits with a prefix that secret scanners know. `shown` is the part that may be kept in clear. */
export function newS2sToken(ids: Ids): { token: string; shown: string } {
  const token = `${S2S_PREFIX}${ids.base64url(S2S_SECRET_BYTES)}`;
  return { token, shown: token.slice(0, S2S_SHOWN) };
}

/** True for what is written like a server-to-server token. */
export const isS2sToken = (token: string): boolean => S2S.test(token);
