import { createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";
import { errors, jwtVerify, SignJWT } from "jose";
import { MS_PER_SECOND, type Clock } from "../../../shared/time/clock.ts";
import type { Role } from "../../../shared/contracts/records/identity.ts";
import type { Ids } from "../../../shared/ids.ts";

const ALGORITHM = "EdDSA";
const ISSUER = "callagent";
const AUDIENCE = "callagent-api";
/** RFC 9068: keeps other JWTs signed with the same key from passing as access tokens. */
const TYPE = "at+jwt";

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

/** Login tokens: JWTs with a fixed algorithm, issuer, audience and type (RFC 8725). */
export interface AccessTokens {
  sign(bearer: Bearer): Promise<string>;
  /** Whose token it is and of which version, or null for anything that is not a valid token of ours at this moment. */
  verify(token: string): Promise<Pick<Bearer, "id" | "version"> | null>;
}

/** The signing key from the environment. Throws one sentence that says what is missing and how to make it; never any of the key. */
export function signingKey(pem: string | undefined): KeyObject {
  const how = "make one with: openssl genpkey -algorithm ed25519";
  if (pem === undefined)
    throw new Error(
      `auth can't start: JWT_PRIVATE_KEY is not set; it is an Ed25519 private key as PKCS #8 PEM (${how})`,
    );
  try {
    const key = createPrivateKey({ key: pem.replaceAll("\\n", "\n"), format: "pem" });
    if (key.asymmetricKeyType === "ed25519") return key;
  } catch {
    // said below, without the parser's words
  }
  throw new Error(`auth can't start: JWT_PRIVATE_KEY is not an Ed25519 private key as PKCS #8 PEM (${how})`);
}

/** Signs and checks access tokens with one key. Nothing in a token's header chooses the key or the algorithm. */
export function accessTokens(key: KeyObject, ttlSeconds: number, clock: Clock, ids: Ids): AccessTokens {
  const publicKey = createPublicKey(key);
  return {
    sign(bearer) {
      const now = Math.floor(clock.now().getTime() / MS_PER_SECOND);
      return new SignJWT({
        role: bearer.role,
        reseller_id: bearer.reseller_id,
        merchant_id: bearer.merchant_id,
        ver: bearer.version,
      })
        .setProtectedHeader({ alg: ALGORITHM, typ: TYPE })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setSubject(bearer.id)
        .setJti(ids.uuid())
        .setIssuedAt(now)
        .setExpirationTime(now + ttlSeconds)
        .sign(key);
    },
    async verify(token) {
      try {
        const { payload } = await jwtVerify(token, publicKey, {
          algorithms: [ALGORITHM],
          issuer: ISSUER,
          audience: AUDIENCE,
          typ: TYPE,
          requiredClaims: ["sub", "iat", "exp", "ver"],
          currentDate: clock.now(),
          clockTolerance: 0,
        });
        const { sub, ver } = payload;
        return sub !== undefined && Number.isSafeInteger(ver) ? { id: sub, version: Number(ver) } : null;
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
