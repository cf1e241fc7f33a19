import { sign, verify } from "node:crypto";
import type { By } from "../contracts/records/identity.ts";
import type { ServiceName } from "../contracts/index.ts";
import { recencyCache } from "../cache.ts";
import { isServiceName } from "../process/node-id.ts";
import { MS_PER_SECOND, type Clock } from "../time/clock.ts";
import type { Signers } from "./bus-signers.ts";

/** What a caller's token is for: a service that is called, or events. */
export type Audience = ServiceName | "events";

/** How long a caller's token is valid, in seconds; a new one is made at half of it. */
const TOKEN_SECONDS = 600;
/** How long the proof of who asks is valid, in seconds: longer than a bulk push that goes on with it takes. */
export const PROOF_SECONDS = 3600;
const MAX_TOKENS = 1000;
const MAX_PROOFS = 10_000;
const MAX_TOKEN_CHARS = 300;
const EXPIRY = /^[1-9][0-9]{9,11}$/;

/** Signs for this service, and verifies what others signed. What was verified is kept, so that a request costs a look-up. */
export interface Signatures {
  /** This service's token for an audience: it is of no use to its receiver at another one. */
  tokenFor(audience: Audience): string;
  /** The service that signed the token for this audience; null: none, or it has expired. */
  callerOf(token: string, audience: Audience): ServiceName | null;
  /** Of auth alone: that these are the role and scope of who asks. */
  proofOf(by: By): string;
  /** True where auth signed that, and it has not expired. */
  isProven(by: By): boolean;
}

/** The words that are signed; the first says what they are, so that no signature of one kind passes for another. */
const words = (...of: readonly (string | null)[]): Buffer => Buffer.from(JSON.stringify(["callagent-bus", ...of]));

const tokenWords = (namespace: string, caller: string, audience: string, expiry: string): Buffer =>
  words("caller", namespace, caller, audience, expiry);
const byWords = (namespace: string, by: By, expiry: string): Buffer =>
  words("by", namespace, by.kind, by.id, by.role, by.reseller_id, by.merchant_id, expiry);

/** Signatures with the keys of a deployment; those of another namespace are worth nothing. */
export function signatures(signers: Signers, namespace: string, clock: Pick<Clock, "now">): Signatures {
  const own = new Map<Audience, { token: string; renew_s: number }>();
  const callers = recencyCache<{ caller: ServiceName; expires_s: number }>({ max: MAX_TOKENS });
  const proofs = recencyCache<{ words: string }>({ max: MAX_PROOFS });
  const now = (): number => Math.floor(clock.now().getTime() / MS_PER_SECOND);
  const signed = (text: Buffer): string => sign(null, text, signers.key).toString("base64url");
  const holds = (service: ServiceName, text: Buffer, signature: string): boolean => {
    const key = signers.keys.get(service);
    return key !== undefined && verify(null, text, key, Buffer.from(signature, "base64url"));
  };

  return {
    tokenFor(audience) {
      const at = now();
      const known = own.get(audience);
      if (known !== undefined && at < known.renew_s) return known.token;
      const expiry = String(at + TOKEN_SECONDS);
      const token = `${signers.name}.${expiry}.${signed(tokenWords(namespace, signers.name, audience, expiry))}`;
      own.set(audience, { token, renew_s: at + TOKEN_SECONDS / 2 });
      return token;
    },
    callerOf(token, audience) {
      const known = callers.get(`${audience} ${token}`);
      if (known !== undefined) return now() < known.expires_s ? known.caller : null;
      if (token.length > MAX_TOKEN_CHARS) return null;
      const [caller = "", expiry = "", signature = ""] = token.split(".");
      if (!isServiceName(caller) || !EXPIRY.test(expiry) || now() >= Number(expiry)) return null;
      if (!holds(caller, tokenWords(namespace, caller, audience, expiry), signature)) return null;
      callers.set(`${audience} ${token}`, { caller, expires_s: Number(expiry) });
      return caller;
    },
    proofOf(by) {
      const expiry = String(now() + PROOF_SECONDS);
      return `${expiry}.${signed(byWords(namespace, by, expiry))}`;
    },
    isProven(by) {
      const { proof = "" } = by;
      const [expiry = "", signature = ""] = proof.split(".");
      if (proof.length > MAX_TOKEN_CHARS || !EXPIRY.test(expiry) || now() >= Number(expiry)) return false;
      const text = byWords(namespace, by, expiry);
      const known = proofs.get(proof);
      if (known !== undefined) return known.words === text.toString("utf8");
      if (!holds("auth", text, signature)) return false;
      proofs.set(proof, { words: text.toString("utf8") });
      return true;
    },
  };
}
