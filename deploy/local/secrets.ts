import { generateKeyPairSync, randomBytes } from "node:crypto";
import type { Folder } from "./folder.ts";

/** What a laptop installation made up for itself at its first start. */
export interface LocalSecrets { admin_email: string; admin_password: string; jwt_private_key: string; twilio_account_sid: string; twilio_auth_token: string; model_key: string }

const make = (): LocalSecrets => ({
  admin_email: "admin@callagent.local",
  admin_password: randomBytes(12).toString("base64url"),
  jwt_private_key: generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  twilio_account_sid: `AC${randomBytes(16).toString("hex")}`,
  twilio_auth_token: randomBytes(16).toString("hex"),
  model_key: `sk-local-${randomBytes(12).toString("hex")}`,
});

/** The installation's own secrets, made once and kept in its folder. */
export function localSecrets(folder: Folder): LocalSecrets {
  const known = folder.readJson<LocalSecrets>("secrets.json");
  if (known) return known;
  const made = make();
  folder.writeJson("secrets.json", made);
  return made;
}
