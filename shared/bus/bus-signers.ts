import { readFileSync } from "node:fs";
import type { KeyObject } from "node:crypto";
import type { ServiceName } from "../contracts/index.ts";
import { ownKeyOf, publicKeyOf, publicKeysIn } from "./bus-keys.ts";

/** What of the environment says who signs on the bus. */
export interface SignerFiles {
  BUS_TRUST: "open" | "signed";
  BUS_KEY_FILE?: string | undefined;
  BUS_KEYS_FILE?: string | undefined;
  NATS_NKEY_FILE?: string | undefined;
}

/** Who this process is on the bus, its key, and the keys by which it knows the others. */
export interface Signers {
  name: ServiceName;
  key: KeyObject;
  keys: ReadonlyMap<ServiceName, KeyObject>;
}

function textOf(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
}

/** The signers of an environment, and what is wrong with its files; without BUS_KEYS_FILE there are none, and calls are not signed. */
export function busSigners(env: SignerFiles): { signers: Signers | null; issues: string[] } {
  const keysFile = env.BUS_KEYS_FILE;
  const [variable, keyFile] =
    env.BUS_KEY_FILE === undefined ? ["NATS_NKEY_FILE", env.NATS_NKEY_FILE] : ["BUS_KEY_FILE", env.BUS_KEY_FILE];
  const none = (...issues: string[]) => ({ signers: null, issues });
  if (env.BUS_TRUST === "open" && keysFile === undefined) return none();
  if (keysFile === undefined || keyFile === undefined)
    return none(
      "signed calls need BUS_KEYS_FILE, the services' public keys, and BUS_KEY_FILE or NATS_NKEY_FILE, this service's own; npm run nats:users makes them",
    );
  const own = ownKeyOf(textOf(keyFile) ?? "");
  if (own === null) return none(`${variable} names ${keyFile}, which holds no seed of a NATS user (SU…)`);
  const nkeys = publicKeysIn(textOf(keysFile) ?? "");
  if (nkeys === null) return none(`BUS_KEYS_FILE names ${keysFile}, which holds no public keys of services`);
  const [name] = [...nkeys].find(([, nkey]) => nkey === own.nkey) ?? [];
  if (name === undefined)
    return none(`the key of ${variable} is none of those in ${keysFile}: make both with npm run nats:users`);
  const keys = new Map<ServiceName, KeyObject>();
  for (const [service, nkey] of nkeys) {
    const key = publicKeyOf(nkey);
    if (key !== null) keys.set(service, key);
  }
  return { signers: { name, key: own.key, keys }, issues: [] };
}
