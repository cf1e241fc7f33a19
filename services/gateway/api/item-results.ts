import { fail, type ValidationIssue } from "../../../shared/errors.ts";
import { isRecord } from "../../../shared/json.ts";
import { parseJson, readBytes } from "../http/body.ts";
import { answerJson, type Handler } from "../http/exchange.ts";
import type { Row } from "../routes/row.ts";
import { itemSchemaOf, type ItemSchema } from "./action-schema.ts";
import { ask, givenWithoutBody, identifyAsker, type EndpointParts } from "./endpoint.ts";
import { paramsReader } from "./params.ts";

/** The answer to one item. */
type Result = Record<string, unknown>;

/** Characters of an item's id that its result repeats. */
const ID_CHARS = 64;

function idOf(item: unknown, field: string): string {
  const id = isRecord(item) ? item[field] : undefined;
  return typeof id === "string" || typeof id === "number" ? String(id).slice(0, ID_CHARS) : "";
}

const sentence = (issues: readonly ValidationIssue[]): string =>
  issues.map(({ path, message }) => `${path === "" ? "the item" : path} ${message}`).join("; ");

/** Why an item never reaches the action; null: it does. */
function refusalOf(item: unknown, index: number, { maxItems, issuesOf }: ItemSchema): string | null {
  if (index >= maxItems) return `only the first ${maxItems} of a request are taken; send this one in another request`;
  const issues = issuesOf(item);
  return issues.length === 0 ? null : `nothing was done: ${sentence(issues)}`;
}

/** The list in the body; whatever else the body has is passed over. VALIDATION_FAILED where there is no such array. */
function listIn(body: unknown, list: string): unknown[] {
  const items = isRecord(body) ? body[list] : undefined;
  if (Array.isArray(items)) return items;
  return fail("VALIDATION_FAILED", `The body has no array ${list}.`, {
    errors: [{ path: list, message: items === undefined ? "is required" : "must be array" }],
  });
}

/**
 * A row whose answer is 200 with a result per item, whatever the items are: those that fit the action's contract go to it together, each
 * other one, and each past the contract's `maxItems`, is answered with `error` in its place.
 */
export function itemResultsEndpoint(
  row: Row,
  { list, id }: NonNullable<Row["perItem"]>,
  parts: EndpointParts,
): Handler {
  const reader = paramsReader(row);
  const schema = itemSchemaOf(row.action, list);
  return async (exchange) => {
    try {
      const by = await identifyAsker(row, exchange, parts);
      const items = listIn(parseJson(await readBytes(exchange.req), exchange.req.headers), list);
      const refusals = items.map((item, index) => refusalOf(item, index, schema));
      const good = items.filter((_, index) => refusals[index] === null);
      const params = { ...reader.withoutBody(givenWithoutBody(exchange), by), [list]: good };
      const answered = good.length === 0 ? null : await ask(exchange.bus, row.action, params);
      const found = isRecord(answered) && Array.isArray(answered[list]) ? answered[list].values() : [].values();
      const results = items.map((item, index): Result => {
        const refusal = refusals[index];
        if (refusal !== null) return { id: idOf(item, id), status: "error", message: refusal };
        return found.next().value as Result;
      });
      answerJson(exchange.res, row.success, { [list]: results });
    } catch (error) {
      parts.refused(exchange, error, { answers: row.answers, body: row.body });
    }
  };
}
