import { propertiesOf, type Schema } from "../api/action-schema.ts";
import { pathNames, type Row } from "../routes/row.ts";
import { responseSchemaOf } from "./row-schemas.ts";

const VERBS: Record<Row["method"], string> = { GET: "read", PUT: "change", DELETE: "delete", POST: "ask" };

/** Where the answer to a POST has the id of what was made. */
const idIn = (row: Row): string | null =>
  row.action === "leads.push"
    ? "lead_call_tracker_id"
    : row.method === "POST" && row.success === 201 && "id" in propertiesOf(responseSchemaOf(row) ?? {})
      ? "id"
      : null;

/** Paths of one thing: the collection's, then the thing's id, and for a lead what is asked about it. */
const isOfThing = (row: Row, of: Row): boolean => {
  const rest = of.path.slice(row.path.length);
  return (
    of.path.startsWith(`${row.path}/{`) &&
    pathNames(of.path).length === 1 &&
    (rest.endsWith("}") || of.method === "GET")
  );
};

/** What can be asked of a thing that a POST has made: operations that take its id from the answer. */
export function linksOf(row: Row, rows: readonly Row[]): Schema {
  const id = idIn(row);
  if (id === null) return {};
  const found = rows.filter((of) => isOfThing(row, of));
  if (found.length === 0) return {};
  const links = found.map((of): [string, Schema] => [
    of.action.replace(".", "_"),
    {
      operationId: of.action,
      description: of.path.endsWith("}") ? `To ${VERBS[of.method]} it.` : of.summary,
      parameters: { [pathNames(of.path)[0] ?? ""]: `$response.body#/${id}` },
    },
  ]);
  return { links: Object.fromEntries(links) };
}
