import { UsageError } from "../../../shared/process/command-line.ts";
import type { Client } from "../client.ts";
import { ApiFailure } from "../failures.ts";
import { each } from "../pages.ts";
import type { AnswerOf } from "../shapes.ts";

/** A template as the API answers it. */
export type Template = AnswerOf<"GET", "/templates/{id}">;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** Names that an error lists. */
const MOST_NAMED = 5;

/** A template by its id; null: there is none that the token may see. ApiFailure. */
export const templateById = (client: Client, id: string): Promise<Template | null> =>
  client.ask("GET", "/templates/{id}", { path: { id } }).catch((error: unknown) => {
    if (error instanceof ApiFailure && error.code === "TEMPLATE_NOT_FOUND") return null;
    throw error;
  });

/** Templates of exactly this name. `seen`: those whose name begins so. */
async function named(client: Client, name: string): Promise<{ exact: Template[]; seen: string[] }> {
  const found: Template[] = [];
  for await (const template of each(client, "/templates", { name })) found.push(template);
  return { exact: found.filter((t) => t.name === name), seen: found.map((t) => t.name) };
}

/** The one template of this name; null: there is none. UsageError where there are several. */
export async function templateByName(client: Client, name: string): Promise<Template | null> {
  const { exact } = await named(client, name);
  if (exact.length > 1)
    throw new UsageError(
      `${exact.length} templates have the name "${name}"; give the id of one: ${exact
        .slice(0, MOST_NAMED)
        .map(({ id }) => id)
        .join(", ")}.`,
    );
  return exact[0] ?? null;
}

/** A template by its id or its name. UsageError. */
export async function templateOf(client: Client, asked: string): Promise<Template> {
  const found = UUID.test(asked)
    ? await templateById(client, asked.toLowerCase())
    : await templateByName(client, asked);
  if (found !== null) return found;
  const { seen } = await named(client, "");
  const there =
    seen.length === 0
      ? ""
      : `; there is ${seen
          .slice(0, MOST_NAMED)
          .map((name) => `"${name}"`)
          .join(", ")}`;
  throw new UsageError(`There is no template "${asked}", or the token may not see it${there}.`);
}
