import { createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { nkeys } from "nats";
import type { ServiceName } from "../contracts/index.ts";
import { isRecord } from "../json.ts";
import { isServiceName } from "../process/node-id.ts";
import { usersFile } from "./nats-permissions.ts";
import { SERVICE_NAMES } from "./rights.ts";

/** What of the library `nkeys` is used: key pairs of NATS users, Ed25519 in NATS's own letters. */
interface KeyPair {
  getPublicKey(): string;
  getSeed(): Uint8Array;
}
const pairs: { createUser(): KeyPair; fromSeed(seed: Uint8Array): KeyPair } = nkeys;

const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const BITS = 5;
const BYTE = 8;
const KEY_BYTES = 32;
const PUBLIC_FORM = /^U[A-Z2-7]{55}$/;
const SEED_FORM = /^SU[A-Z2-7]{56}$/;
/** Bytes before the key in what the letters stand for: of a seed its kind and the kind of its key, of a public key its kind. */
const SEED_PREFIX = 2;
const PUBLIC_PREFIX = 1;
/** What comes before the key of Ed25519 in PKCS #8 and in SPKI (RFC 8410). */
const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");
const SPKI = Buffer.from("302a300506032b6570032100", "hex");

function bytesOf(letters: string): Buffer {
  const out: number[] = [];
  let value = 0;
  let bits = 0;
  for (const letter of letters) {
    value = (value << BITS) | BASE32.indexOf(letter);
    bits += BITS;
    if (bits < BYTE) continue;
    bits -= BYTE;
    out.push((value >>> bits) & 0xff);
    value &= (1 << bits) - 1;
  }
  return Buffer.from(out);
}

/** The key of a public nkey (U…), for node:crypto; null: it is none. */
export function publicKeyOf(nkey: string): KeyObject | null {
  if (!PUBLIC_FORM.test(nkey)) return null;
  const key = bytesOf(nkey).subarray(PUBLIC_PREFIX, PUBLIC_PREFIX + KEY_BYTES);
  return createPublicKey({ key: Buffer.concat([SPKI, key]), format: "der", type: "spki" });
}

/** A service's own key: it signs, and its public half as an nkey tells whose it is. */
export interface OwnKey {
  key: KeyObject;
  nkey: string;
}

/** The key pair of a seed (SU…), for node:crypto; null: it is none. */
export function ownKeyOf(text: string): OwnKey | null {
  const seed = text.trim();
  if (!SEED_FORM.test(seed)) return null;
  const raw = bytesOf(seed).subarray(SEED_PREFIX, SEED_PREFIX + KEY_BYTES);
  const key = createPrivateKey({ key: Buffer.concat([PKCS8, raw]), format: "der", type: "pkcs8" });
  return { key, nkey: pairs.fromSeed(Buffer.from(seed)).getPublicKey() };
}

/** Reads the public keys of the services, `{"auth": "U…"}`; null: it is no such file. */
export function publicKeysIn(text: string): Map<ServiceName, string> | null {
  try {
    const given: unknown = JSON.parse(text);
    if (!isRecord(given)) return null;
    const keys = new Map<ServiceName, string>();
    for (const [name, key] of Object.entries(given)) {
      if (!isServiceName(name) || typeof key !== "string" || !PUBLIC_FORM.test(key)) return null;
      keys.set(name, key);
    }
    return keys;
  } catch {
    return null;
  }
}

/** Names of the files of a bus's users, in one folder. */
export const USERS_FILE = "users.conf";
export const KEYS_FILE = "keys.json";
/** The file with the seed of a service. */
export const seedFile = (service: ServiceName): string => `${service}.nk`;

/** The file with the seed of a reader of the stream of events. */
export const readerSeedFile = (name: string): string => `reader-${name}.nk`;
const READER_FILE = /^reader-(.+)\.nk$/;

const FOLDER_MODE = 0o700;
/** The folder is closed to others; a container that gets one file of it runs as another user. */
const FILE_MODE = 0o644;

function write(path: string, text: string): void {
  writeFileSync(`${path}.new`, text, { mode: FILE_MODE });
  renameSync(`${path}.new`, path);
}

/** The public key of the seed in a file, which is made where it is not there. Throws where it can't be read. */
function keyIn(path: string): { nkey: string; made: boolean } {
  const made = !existsSync(path);
  if (made) write(path, `${Buffer.from(pairs.createUser().getSeed()).toString("ascii")}\n`);
  const own = ownKeyOf(readFileSync(path, "utf8"));
  if (own === null) throw new Error(`${path} holds no seed of a NATS user (SU…): remove it to get another`);
  return { nkey: own.nkey, made };
}

/**
 * Makes the users of a bus in a folder: a seed for each service and each of the readers that has none there, `users.conf` for the NATS server, the public keys
 * for the services. A seed that is there stays, and is a user. Names those that got a new one; throws where a seed can't be read.
 */
export function makeBusUsers(folder: string, namespace: string, newReaders: readonly string[] = []): string[] {
  mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
  chmodSync(folder, FOLDER_MODE);
  const made: string[] = [];
  const take = (name: string, file: string): string => {
    const key = keyIn(join(folder, file));
    if (key.made) made.push(name);
    return key.nkey;
  };
  const keys = new Map(SERVICE_NAMES.map((name) => [name, take(name, seedFile(name))]));
  const there = readdirSync(folder).flatMap((file) => READER_FILE.exec(file)?.[1] ?? []);
  const names = [...new Set([...there, ...newReaders])].toSorted();
  const readers = new Map(names.map((name) => [name, take(`reader ${name}`, readerSeedFile(name))]));
  write(join(folder, USERS_FILE), usersFile(namespace, keys, readers));
  write(join(folder, KEYS_FILE), `${JSON.stringify(Object.fromEntries(keys), null, 2)}\n`);
  return made;
}
