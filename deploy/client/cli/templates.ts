import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { UserError, UsageError, type ValuesOf } from "../../../shared/process/command-line.ts";
import type { Client } from "../client.ts";
import { ApiFailure } from "../failures.ts";
import { each } from "../pages.ts";
import type { Given } from "../shapes.ts";
import type { TEMPLATES, TEMPLATES_PULL, TEMPLATES_PUSH, TEMPLATES_TEST } from "./commands.ts";
import { objectIn, printList, type Shell } from "./shell.ts";
import { templateById, templateByName, templateOf, type Template } from "./template-store.ts";

type Body = Given<"POST", "/templates">["body"];
type Fields = Readonly<Record<string, unknown>>;

/** What the server alone writes. `id` and `version` stay in the file: they say what was pulled. */
const SERVERS: ReadonlySet<string> = new Set(["created_at", "updated_at", "warnings"]);
/** Fields of a file that are no content of the template. */
const WHOSE: ReadonlySet<string> = new Set(["id", "version", "reseller_id", "merchant_id"]);

const without = (fields: Fields, names: ReadonlySet<string>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.has(name)));
/** A template as it stands in a file. */
const asFile = (template: Template): string => `${JSON.stringify(without(template, SERVERS), null, 2)}\n`;
/** What of a file or a template is its content. */
const contentOf = (fields: Fields): Record<string, unknown> => without(without(fields, SERVERS), WHOSE);
/** What a new template is made of: null stands for a default, which the service gives where nothing is said. */
const saidIn = (fields: Fields): Record<string, unknown> =>
  Object.fromEntries(Object.entries(contentOf(fields)).filter(([, value]) => value !== null));
/** What a stored template becomes: fields that the file has no more get their defaults back, which null asks for; being active is no content. */
const changeTo = (fields: Fields, stored: Template): Record<string, unknown> => ({
  ...Object.fromEntries(
    Object.keys(contentOf(stored))
      .filter((name) => name !== "is_active")
      .map((name) => [name, null]),
  ),
  ...contentOf(fields),
});
const textIn = (fields: Fields, name: string): string | undefined => {
  const value = fields[name];
  return typeof value === "string" && value !== "" ? value : undefined;
};

/** A name as part of a file's name. */
const slug = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, "-")
    .replaceAll(/^-+|-+$/g, "") || "template";

/** Lists templates; the exit status. */
export const listTemplates = (shell: Shell, client: Client, asked: ValuesOf<typeof TEMPLATES>): Promise<number> =>
  printList(
    shell.screen,
    each(client, "/templates"),
    asked,
    ["id", "name", "version", "active", "updated"],
    ({ id, name, version, is_active, updated_at }) => [id, name, String(version), is_active ? "yes" : "no", updated_at],
  );

/** The file of a template in a folder: named after it, or, where another template has that file, after its id too. */
function fileFor(folder: string, { id, name }: Template): string {
  const plain = join(folder, `${slug(name)}.json`);
  if (!existsSync(plain) || textIn(objectIn(plain), "id") === id) return plain;
  return join(folder, `${slug(name)}-${id}.json`);
}

/** Writes templates into files; the exit status. */
export async function pull(
  shell: Shell,
  client: Client,
  names: readonly string[],
  asked: ValuesOf<typeof TEMPLATES_PULL>,
): Promise<number> {
  const wanted: Template[] = [];
  if (names.length === 0) for await (const template of each(client, "/templates")) wanted.push(template);
  else for (const name of names) wanted.push(await templateOf(client, name));
  mkdirSync(asked.folder, { recursive: true });
  let status = 0;
  for (const template of wanted) {
    const file = fileFor(asked.folder, template);
    const text = asFile(template);
    if (existsSync(file) && readFileSync(file, "utf8") !== text && !asked.force) {
      shell.screen.err(`${file} differs from what is stored: see callagent templates diff; --force writes over it.`);
      status = 1;
      continue;
    }
    writeFileSync(file, text);
    shell.screen.out(`${file}  version ${template.version}`);
  }
  return status;
}

/** The stored template that a file is of; null: none yet. UsageError. */
async function storedOf(client: Client, file: string, fields: Fields, byName: boolean): Promise<Template | null> {
  const [id, name] = [textIn(fields, "id"), textIn(fields, "name")];
  if (name === undefined) throw new UsageError(`${file}: name is missing.`);
  if (id === undefined || byName) return templateByName(client, name);
  const found = await templateById(client, id);
  if (found === null)
    throw new UsageError(
      `${file}: there is no template ${id} here. Of another deployment: --by-name. To make it anew: delete id and version in the file.`,
    );
  return found;
}

/** A refusal of the service with the file it is about. */
export const inFile = (file: string, error: unknown): unknown =>
  error instanceof ApiFailure
    ? new UserError(
        [`${file}: ${error.errors.length === 0 ? error.message : error.code}`]
          .concat(error.errors.map(({ path, message }) => `  ${path} ${message}`))
          .join("\n"),
      )
    : error;

/** Whose a new template is to be; what is undefined the file says. */
interface Whose {
  reseller?: string | undefined;
  merchant?: string | undefined;
}

/** What a log-in knows of itself by the merchants that it sees: the reseller where there is one alone, and the merchant where there is one alone. */
async function ownOf(client: Client): Promise<Whose> {
  const [resellers, merchants] = [new Set<string>(), new Set<string>()];
  for await (const { id, reseller_id } of each(client, "/merchants")) {
    resellers.add(reseller_id);
    merchants.add(id);
    if (resellers.size > 1) return {};
  }
  const [reseller] = resellers;
  const [merchant, ...others] = merchants;
  return { reseller, merchant: others.length === 0 ? merchant : undefined };
}

/** The body that makes the template of a file. UsageError. */
function newBody(file: string, fields: Fields, asked: Whose): Body {
  const reseller_id = asked.reseller ?? textIn(fields, "reseller_id");
  if (reseller_id === undefined)
    throw new UsageError(`${file}: whose is the new template? Give --reseller ID, or reseller_id in the file.`);
  const merchant_id = asked.merchant ?? textIn(fields, "merchant_id");
  // the service checks each field and names what is wrong by its path
  return { ...saidIn(fields), reseller_id, ...(merchant_id === undefined ? {} : { merchant_id }) } as Body;
}

function sayWarnings(shell: Shell, file: string, { warnings = [] }: Template): void {
  for (const { path, message } of warnings) shell.screen.err(`${file}: warning: ${path} ${message}`);
}

async function pushFile(
  shell: Shell,
  client: Client,
  file: string,
  asked: ValuesOf<typeof TEMPLATES_PUSH>,
): Promise<void> {
  const fields = objectIn(file);
  const byName = asked["by-name"];
  const stored = await storedOf(client, file, fields, byName);
  if (stored !== null && isDeepStrictEqual(contentOf(stored), contentOf(fields))) {
    shell.screen.out(`${file}  version ${stored.version}, unchanged`);
    return;
  }
  if (stored !== null && !byName && !asked.force && fields["version"] !== stored.version)
    throw new UserError(
      `${file}: version ${stored.version} is stored, the file is of ${String(fields["version"] ?? "none")}: somebody changed it since. See callagent templates diff; --force stores it all the same.`,
    );
  const made = await (
    stored === null
      ? client.ask("POST", "/templates", { body: newBody(file, fields, asked) })
      : // the service checks each field and names what is wrong by its path
        client.ask("PUT", "/templates/{id}", {
          path: { id: stored.id },
          body: changeTo(fields, stored) as Partial<Body>,
        })
  ).catch((error: unknown) => {
    throw inFile(file, error);
  });
  if (!byName) writeFileSync(file, asFile(made));
  sayWarnings(shell, file, made);
  shell.screen.out(`${file}  version ${made.version}, ${stored === null ? `made as ${made.id}` : "stored"}`);
  if (stored === null)
    shell.screen.err(
      `${file}: nobody is called with it before callagent configuration push says when and how: see callagent configuration --help.`,
    );
}

/** Does something with each file in turn; what fails with one is said, the others go on. The exit status. */
async function withEach(shell: Shell, files: readonly string[], work: (file: string) => Promise<number | void>) {
  let status = 0;
  for (const file of files)
    try {
      status = Math.max(status, (await work(file)) ?? 0);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      shell.screen.err(error.message);
      status = Math.max(status, error.status);
    }
  return status;
}

/** Stores templates from files; the exit status. */
export const pushFiles = (
  shell: Shell,
  client: Client,
  files: readonly string[],
  asked: ValuesOf<typeof TEMPLATES_PUSH>,
): Promise<number> => withEach(shell, files, (file) => pushFile(shell, client, file, asked));

/** Paths at which two values differ, written as the API writes them (`nodes.0.prompt`), each with both sides. */
export function differences(
  stored: unknown,
  here: unknown,
  path = "",
): [path: string, stored: unknown, here: unknown][] {
  if (isDeepStrictEqual(stored, here)) return [];
  const isTree = (value: unknown): value is object => typeof value === "object" && value !== null;
  if (!isTree(stored) || !isTree(here) || Array.isArray(stored) !== Array.isArray(here)) return [[path, stored, here]];
  const [a, b] = [new Map(Object.entries(stored)), new Map(Object.entries(here))];
  return [...new Set([...a.keys(), ...b.keys()])].flatMap((key) =>
    differences(a.get(key), b.get(key), path === "" ? key : `${path}.${key}`),
  );
}

const shown = (sign: string, value: unknown): string[] =>
  value === undefined ? [] : [`  ${sign} ${JSON.stringify(value)}`];

/** Says in what files differ from what is stored; the exit status. */
export const diff = (shell: Shell, client: Client, files: readonly string[], byName: boolean): Promise<number> =>
  withEach(shell, files, async (file) => {
    const fields = objectIn(file);
    const stored = await storedOf(client, file, fields, byName);
    if (stored === null) {
      shell.screen.out(`${file}: not stored yet`);
      return 1;
    }
    const found = differences(contentOf(stored), contentOf(fields));
    for (const [path, there, here] of found)
      for (const line of [`${file} ${path}`, ...shown("-", there), ...shown("+", here)]) shell.screen.out(line);
    return found.length === 0 ? 0 : 1;
  });

/** Has the service check files; the exit status. */
export const check = (
  shell: Shell,
  client: Client,
  files: readonly string[],
  asked: ValuesOf<typeof TEMPLATES_TEST>,
): Promise<number> =>
  withEach(shell, files, async (file) => {
    const fields = objectIn(file);
    const id = textIn(fields, "id");
    const stored = id === undefined ? null : await templateById(client, id);
    const isTold = asked.reseller !== undefined || stored !== null || textIn(fields, "reseller_id") !== undefined;
    // nothing stays of it, so that it may be checked as anybody's whom the log-in knows
    const own: Whose = isTold ? {} : await ownOf(client);
    const whose = {
      reseller: asked.reseller ?? stored?.reseller_id ?? own.reseller,
      merchant: asked.merchant ?? stored?.merchant_id ?? own.merchant,
    };
    const body = { ...newBody(file, fields, whose), is_active: false };
    const made = await client.ask("POST", "/templates", { body }).catch((error: unknown) => {
      throw inFile(file, error);
    });
    await client.ask("DELETE", "/templates/{id}", { path: { id: made.id } });
    sayWarnings(shell, file, made);
    shell.screen.out(`${file}  holds`);
  });
