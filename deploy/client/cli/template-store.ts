import { isUuid } from "../../../shared/ids.ts";
import { UsageError } from "../../../shared/process/command-line.ts";
import type { Client } from "../client.ts";
import { ApiFailure } from "../failures.ts";
import { each } from "../pages.ts";
import type { AnswerOf } from "../shapes.ts";

/** A template as the API answers it. */
export type Template = AnswerOf<"GET", "/templates/{id}">;

/** Names that an error lists. */
const MOST_NAMED = 5;

/** A template by its id; null: there is none that the token may see. ApiFailure. */
export const templateById = (client: Client, id: string): Promise<Template | null> =>
  client.ask("GET", "/templates/{id}", { path: { id } }).catch((error: unknown) => {
    if (error instanceof ApiFailure && error.code === "TEMPLATE_NOT_FOUND") return null;
    throw error;
  });

const listed = (words: readonly string[]): string => words.slice(0, MOST_NAMED).join(", ");

/** Templates whose name begins so: those of exactly this name, and all. UsageError where several have it. */
async function named(client: Client, name: string): Promise<{ one: Template | null; seen: Template[] }> {
  const seen: Template[] = [];
  for await (const template of each(client, "/templates", { name })) seen.push(template);
  const exact = seen.filter((t) => t.name === name);
  if (exact.length > 1)
    throw new UsageError(
      `${exact.length} templates have the name "${name}"; give the id of one: ${listed(exact.map(({ id }) => id))}.`,
    );
  return { one: exact[0] ?? null, seen };
}

/** The one template of this name; null: there is none. UsageError where there are several. */
export const templateByName = async (client: Client, name: string): Promise<Template | null> =>
  (await named(client, name)).one;

/** A template by its id or its name. UsageError. */
export async function templateOf(client: Client, asked: string): Promise<Template> {
  if (isUuid(asked)) {
    const found = await templateById(client, asked.toLowerCase());
    if (found !== null) return found;
    throw new UsageError(`There is no template ${asked}, or the token may not see it.`);
  }
  const { one, seen } = await named(client, asked);
  if (one !== null) return one;
  const there = seen.length === 0 ? "" : `; there is ${listed(seen.map(({ name }) => `"${name}"`))}`;
  throw new UsageError(`There is no template of the name "${asked}"${there}.`);
}
