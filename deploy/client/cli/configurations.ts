import { UsageError } from "../../../shared/process/command-line.ts";
import type { Client } from "../client.ts";
import type { AnswerOf, Given } from "../shapes.ts";
import { objectIn, type Shell } from "./shell.ts";
import { inFile } from "./templates.ts";
import { templateOf } from "./template-store.ts";

type Configuration = AnswerOf<"GET", "/configurations/{config_id}">;
type Body = Given<"POST", "/configurations">["body"];

/** What says which configuration it is, and what the service alone writes. */
const OF_THE_RECORD: ReadonlySet<string> = new Set([
  "id",
  "reseller_id",
  "merchant_id",
  "template_id",
  "template",
  "rate_window_id",
  "created_at",
  "updated_at",
]);
const settingsIn = (fields: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !OF_THE_RECORD.has(name)));

/** A template's configuration; null: it has none, and is not called. */
export async function configurationOf(client: Client, template_id: string): Promise<Configuration | null> {
  const { configurations } = await client.ask("GET", "/configurations", { query: { template_id } });
  return configurations[0] ?? null;
}

/** Prints when and how a template's leads are called, as `configuration push` takes it; the exit status. */
export async function showConfiguration(shell: Shell, client: Client, asked: string): Promise<number> {
  const template = await templateOf(client, asked);
  const found = await configurationOf(client, template.id);
  if (found === null)
    throw new UsageError(
      `The template "${template.name}" has no configuration: its leads wait until callagent configuration push gives it one.`,
    );
  shell.screen.out(JSON.stringify(settingsIn(found), null, 2));
  return 0;
}

/** Stores when and how a template's leads are called, from a file; the exit status. */
export async function pushConfiguration(
  shell: Shell,
  client: Client,
  [asked = "", file = ""]: readonly string[],
): Promise<number> {
  const settings = settingsIn(objectIn(file));
  const template = await templateOf(client, asked);
  const found = await configurationOf(client, template.id);
  const said = Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null));
  // the service checks each field and names what is wrong by its path
  const body = { ...said, template_id: template.id } as Body;
  const stored = await (
    found === null
      ? client.ask("POST", "/configurations", { body })
      : client.ask("PUT", "/configurations/{config_id}", { path: { config_id: found.id }, body: settings })
  ).catch((error: unknown) => {
    throw inFile(file, error);
  });
  shell.screen.out(`${stored.id}  ${found === null ? "made" : "changed"} for "${template.name}"`);
  return 0;
}
