import { generateKeyPairSync, randomBytes } from "node:crypto";
import type { Folder } from "./data-folder.ts";

/** What a laptop installation made up for itself at its first start. */
export interface LocalSecrets {
  admin_email: string;
  admin_password: string;
  jwt_private_key: string;
  secrets_key: string;
  erasure_key: string;
  twilio_account_sid: string;
  twilio_auth_token: string;
  model_key: string;
  plivo_auth_id: string;
  plivo_auth_token: string;
  telnyx_connection_id: string;
  telnyx_api_key: string;
  /** The key pair that signs the simulated Telnyx's callbacks comes from it. */
  telnyx_key_seed: string;
}

const make = (): LocalSecrets => ({
  admin_email: "admin@callagent.local",
  admin_password: randomBytes(12).toString("base64url"),
  jwt_private_key: generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  secrets_key: randomBytes(32).toString("base64"),
  erasure_key: randomBytes(32).toString("base64"),
  twilio_account_sid: `AC${randomBytes(16).toString("hex")}`,
  twilio_auth_token: randomBytes(16).toString("hex"),
  plivo_auth_id: `MA${randomBytes(9).toString("hex").toUpperCase()}`,
  plivo_auth_token: randomBytes(20).toString("hex"),
  telnyx_connection_id: String(randomBytes(6).readUIntBE(0, 6)),
  telnyx_api_key: `KEY${randomBytes(16).toString("hex").toUpperCase()}`,
  telnyx_key_seed: randomBytes(32).toString("hex"),
  model_key: `sk-local-${randomBytes(12).toString("hex")}`,
});

/** The installation's own secrets, made once and kept in its folder; an older installation gets what it lacks. */
export function localSecrets(folder: Folder): LocalSecrets {
  const known = folder.readJson<Partial<LocalSecrets>>("secrets.json");
  const all = { ...make(), ...known };
  if (Object.keys(known ?? {}).length < Object.keys(all).length) folder.writeJson("secrets.json", all);
  return all;
}
