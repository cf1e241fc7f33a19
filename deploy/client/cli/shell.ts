import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { decodedText } from "../../../shared/text/encoded-text.ts";
import { inexactNumberIn } from "../../../shared/text/exact-numbers.ts";
import { isRecord } from "../../../shared/json.ts";
import { UsageError, type Screen } from "../../../shared/process/command-line.ts";
import { createClient, type Client } from "../client.ts";

/** What the command line has around it. */
export interface Shell {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The person's folder for what programs keep. */
  readonly configFolder: string;
  readonly screen: Screen;
  /** Asks the person for a password, unseen; null: nobody is there to ask. */
  askPassword(): Promise<string | null>;
  newId(): string;
  /** Ends what waits. */
  readonly signal: AbortSignal;
}

/** What a log-in keeps. */
export interface Session {
  url: string;
  token: string;
}

const OWNER_ONLY = 0o600;
const OWNERS_FOLDER = 0o700;
/** The person's folder for what programs keep, by the environment. */
export const configFolderOf = (env: Readonly<Record<string, string | undefined>>): string =>
  env["XDG_CONFIG_HOME"] || join(homedir(), ".config");
const fileOf = ({ configFolder }: Pick<Shell, "configFolder">): string =>
  join(configFolder, "callagent", "session.json");

/** Keeps a session, readable by its owner alone; its file. */
export function keepSession(shell: Shell, session: Session): string {
  const file = fileOf(shell);
  mkdirSync(dirname(file), { recursive: true, mode: OWNERS_FOLDER });
  writeFileSync(file, `${JSON.stringify(session, null, 2)}\n`, { mode: OWNER_ONLY });
  // a file that was there keeps its mode
  chmodSync(file, OWNER_ONLY);
  return file;
}

function keptSession(shell: Pick<Shell, "configFolder">): Partial<Session> {
  try {
    const kept: unknown = JSON.parse(readFileSync(fileOf(shell), "utf8"));
    if (typeof kept !== "object" || kept === null) return {};
    return {
      ...("url" in kept && typeof kept.url === "string" ? { url: kept.url } : {}),
      ...("token" in kept && typeof kept.token === "string" ? { token: kept.token } : {}),
    };
  } catch {
    return {};
  }
}

/** The token that a log-in at this address has kept; undefined: there is none. It goes to no other address. */
export function keptToken(configFolder: string, url: string): string | undefined {
  const kept = keptSession({ configFolder });
  return kept.url === url.replace(/\/+$/, "") ? kept.token : undefined;
}

/** The address of the API: of the option, the environment, or the log-in. UsageError. */
export function urlOf(shell: Shell, option: string | undefined): string {
  const url = option ?? shell.env["CALLAGENT_URL"] ?? keptSession(shell).url;
  if (url === undefined)
    throw new UsageError("Where is the API? Log in with callagent login --url ADDRESS, or set CALLAGENT_URL.");
  if (!/^https?:\/\/./.test(url) || !URL.canParse(url))
    throw new UsageError(`The address of the API must begin with http:// or https://, not "${url}".`);
  return url.replace(/\/+$/, "");
}

/** A client of the API that was named. A token that was kept goes only to where it is from. UsageError. */
export function clientOf(shell: Shell, option: string | undefined): Client {
  const base = urlOf(shell, option);
  const token = shell.env["CALLAGENT_TOKEN"] ?? keptToken(shell.configFolder, base);
  if (token === undefined)
    throw new UsageError(`Who are you at ${base}? Log in with callagent login, or set CALLAGENT_TOKEN.`);
  return createClient({ base, token, signal: shell.signal });
}

/** A file as a JSON object. UsageError. */
export function objectIn(file: string): Record<string, unknown> {
  let value: unknown;
  try {
    const { text, fault } = decodedText(readFileSync(file));
    if (fault !== null) throw new UsageError(`it ${fault}; write it in UTF-8.`);
    value = JSON.parse(text);
    const inexact = inexactNumberIn(text);
    if (inexact !== null)
      throw new UsageError(`${inexact} is a number with more digits than can be kept; write it as a text, in quotes.`);
  } catch (error) {
    if (isRecord(error) && error["code"] === "ENOENT") throw new UsageError(`${file}: there is no such file.`);
    throw new UsageError(`${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (!isRecord(value)) throw new UsageError(`${file} must hold a JSON object.`);
  return value;
}

/** Prints rows in columns. */
function printTable(screen: Screen, rows: readonly (readonly string[])[]): void {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  for (const row of rows)
    screen.out(
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join("  ")
        .trimEnd(),
    );
}

/** Prints up to `limit` items of a list: as lines of JSON, or in columns below their heads; the exit status. */
export async function printList<I>(
  screen: Screen,
  items: AsyncIterable<I>,
  { limit, json }: { limit: number; json: boolean },
  heads: readonly string[],
  cellsOf: (item: I) => readonly string[],
): Promise<number> {
  const rows = [heads];
  let left = limit;
  for await (const item of items) {
    if (json) screen.out(JSON.stringify(item));
    else rows.push(cellsOf(item));
    if (--left === 0) break;
  }
  if (!json) printTable(screen, rows);
  return 0;
}

/** A number as a console shows it: its first three and its last two signs. */
export const masked = (number: string): string =>
  number.length > 6 ? `${number.slice(0, 3)}${"*".repeat(number.length - 5)}${number.slice(-2)}` : number;
