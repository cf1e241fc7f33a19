import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { UsageError } from "../../shared/process/command-line.ts";
import { ApiFailure, login, NoAnswer } from "./api-client.ts";
import type { LocalSecrets } from "./stack/secrets.ts";

const fault = (sentence: string): never => {
  throw new UsageError(sentence);
};

/** The stack that npm start runs with this folder, as its first admin. UsageError. */
export async function laptop(folder: string): Promise<{ url: string; token: string }> {
  const none = `No callagent runs with the data folder ${folder}: start one with npm start, or name a deployment with --url and --token.`;
  const [sample, secrets] = ["sample.env", "secrets.json"].map((name) => join(folder, name)) as [string, string];
  if (!existsSync(sample) || !existsSync(secrets)) throw new UsageError(none);
  const url = /^BASE=(\S+)$/m.exec(readFileSync(sample, "utf8"))?.[1] ?? "";
  const { admin_email, admin_password } = JSON.parse(readFileSync(secrets, "utf8")) as LocalSecrets;
  const token = await login(url, admin_email, admin_password).catch((error: unknown) => {
    throw error instanceof NoAnswer ? new UsageError(none) : error;
  });
  return { url, token };
}

/** What was asked of a deployment. UsageError where nothing answers there, or another program, or it refuses. */
export const withinReach = <T>(url: string, asked: Promise<T>): Promise<T> =>
  asked.catch((error: unknown) => {
    if (error instanceof ApiFailure) return fault(error.message);
    if (error instanceof NoAnswer)
      return fault(
        error.answered ? error.message : `Nothing answers at ${url}; is the address right, and does it run?`,
      );
    throw error;
  });
