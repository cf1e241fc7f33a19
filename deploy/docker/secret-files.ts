import { generateKeyPairSync, randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { VARIABLES, type Variable } from "../../shared/process/variables.ts";

/** The secrets that docker-compose.yml gives to containers as files, one file each in a folder. */
const FOLDER_MODE = 0o700;
/** The folder is closed to others; a container that gets one file of it runs as another user. */
const FILE_MODE = 0o644;
const PASSWORD_BYTES = 24;
const KEY_BYTES = 32;

/** Secrets that are no files there: the bus's address holds none, and the room server takes its keys from its environment alone. */
const NO_FILES: ReadonlySet<string> = new Set(["TRANSPORTER", "LIVEKIT_API_SECRET"]);

/** The names of the files: of each variable that is secret, and of the password by which people log in at the database. */
export const SECRET_FILES: readonly string[] = [
  "MONGODB_ROOT_PASSWORD",
  ...Object.entries<Variable>(VARIABLES).flatMap(([name, v]) => (v.secret && !NO_FILES.has(name) ? [name] : [])),
];

type Environment = Readonly<Record<string, string | undefined>>;

const password = (): string => randomBytes(PASSWORD_BYTES).toString("base64url");
const databaseUri = (): string =>
  `mongodb://callagent:${password()}@mongo:27017/callagent?${new URLSearchParams({ replicaSet: "rs0", authSource: "admin" }).toString()}`;
const signingKey = (): string =>
  generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString().trim();

const newKey = (): string => randomBytes(KEY_BYTES).toString("base64");

/** What is made, for this environment. A deployment that went without SECRETS_KEY gets none: it is introduced in steps (docs/operations.md). ERASURE_KEY has one reader and nothing from before, so it comes at any time. */
const makersFor = (env: Environment): Readonly<Record<string, () => string>> => ({
  MONGODB_ROOT_PASSWORD: password,
  MONGODB_URI: databaseUri,
  JWT_PRIVATE_KEY: signingKey,
  ...(env["JWT_PRIVATE_KEY"] ? {} : { SECRETS_KEY: newKey }),
  ERASURE_KEY: newKey,
  ...(env["ADMIN_EMAIL"] ? { ADMIN_PASSWORD: password } : {}),
});

/** Names of the files that were written from the environment, made, or left empty. */
export type SecretsDone = Readonly<Record<"taken" | "made" | "empty", string[]>>;

/**
 * Makes a file for each secret in a folder: what the environment has is written to it, keys and passwords of our own are made, what is left, keys of carriers
 * and models, is empty until somebody fills it in. A file that holds something stays as it is.
 */
export function makeSecretFiles(folder: string, env: Environment): SecretsDone {
  mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
  chmodSync(folder, FOLDER_MODE);
  const makers = makersFor(env);
  const done: SecretsDone = { taken: [], made: [], empty: [] };
  for (const name of SECRET_FILES) {
    const path = join(folder, name);
    if (existsSync(path) && readFileSync(path, "utf8").trim() !== "") continue;
    const [given, make] = [env[name]?.trim(), makers[name]];
    const text = given || make?.() || "";
    writeFileSync(path, text === "" ? "" : `${text}\n`, { mode: FILE_MODE });
    done[given ? "taken" : make ? "made" : "empty"].push(name);
  }
  return done;
}
