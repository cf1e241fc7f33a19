import { argon2, randomBytes, timingSafeEqual, type Argon2Parameters } from "node:crypto";
import pLimit from "p-limit";
import { fail } from "../../../shared/errors.ts";

/** Shortest password that is taken, in characters. */
export const MIN_PASSWORD = 12;

/** Cost of a hash: OWASP's argon2id profile of 19 MiB, 2 passes, 1 lane (18 ms of one core). */
const MEMORY_KIB = 19_456;
const PASSES = 2;
const LANES = 1;
const SALT_BYTES = 16;
const HASH_BYTES = 32;

/** Hashes at work at once: more would fill libuv's pool and use 19 MiB each. */
const AT_ONCE = 2;
/** Hashes that may wait, about a second of work; past it the answer is BUSY. */
const MAX_WAITING = 64;
const BUSY_RETRY_SECONDS = 2;

const PHC = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/;

/** Hashing off the event loop, a few at a time. Both throw BUSY when too many wait. */
export interface Passwords {
  /** A password as a PHC string, `$argon2id$v=19$m=…,t=…,p=…$salt$hash`. */
  hash(password: string): Promise<string>;
  /** Whether the password fits. With null (no user has this e-mail) the same work is done and the answer is false. */
  verify(password: string, stored: string | null): Promise<boolean>;
}

/** Runs a few jobs at a time, the others in order of arrival; BUSY when too many wait. */
function boundedQueue(): <T>(job: () => Promise<T>) => Promise<T> {
  const limit = pLimit(AT_ONCE);
  return async (job) => {
    if (limit.activeCount + limit.pendingCount >= AT_ONCE + MAX_WAITING)
      fail("BUSY", "Too many log-ins at this moment; try again in a few seconds.", {
        retry_after_seconds: BUSY_RETRY_SECONDS,
      });
    return limit(job);
  };
}

const derive = (parameters: Argon2Parameters): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    argon2("argon2id", parameters, (error, key) => {
      if (error) reject(error);
      else resolve(key);
    });
  });

const unpadded = (bytes: Buffer): string => bytes.toString("base64").replaceAll("=", "");
/** One form of what looks the same on every keyboard. */
const normalized = (password: string): string => password.normalize("NFKC");

/** The password hashing of one process. */
export function passwordHashing(): Passwords {
  const enqueue = boundedQueue();
  const hash = (password: string): Promise<string> =>
    enqueue(async () => {
      const nonce = randomBytes(SALT_BYTES);
      const key = await derive({
        message: normalized(password),
        nonce,
        parallelism: LANES,
        tagLength: HASH_BYTES,
        memory: MEMORY_KIB,
        passes: PASSES,
      });
      return `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=${LANES}$${unpadded(nonce)}$${unpadded(key)}`;
    });
  const decoy = `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=${LANES}$${unpadded(randomBytes(SALT_BYTES))}$${unpadded(randomBytes(HASH_BYTES))}`;

  const verify = (password: string, stored: string | null): Promise<boolean> =>
    enqueue(async () => {
      const [, memory, passes, lanes, salt = "", wanted = ""] = PHC.exec(stored ?? decoy) ?? [];
      if (!memory) throw new Error("a stored password hash is not a PHC string of argon2id");
      const expected = Buffer.from(wanted, "base64");
      const key = await derive({
        message: normalized(password),
        nonce: Buffer.from(salt, "base64"),
        parallelism: Number(lanes),
        tagLength: expected.length,
        memory: Number(memory),
        passes: Number(passes),
      });
      return timingSafeEqual(key, expected) && stored !== null;
    });
  return { hash, verify };
}
