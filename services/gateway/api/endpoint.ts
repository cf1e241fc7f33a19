import type { ServerResponse } from "node:http";
import { Errors } from "moleculer";
import type { ActionName, Bus, ParamsOf } from "../../../shared/bus/bus.ts";
import type { By } from "../../../shared/contracts/records/identity.ts";
import { fail } from "../../../shared/errors.ts";
import { bearerOf, type Identifier } from "./bearer.ts";
import { parseJson, readBytes } from "../http/body.ts";
import { isRecord } from "../../../shared/json.ts";
import { notePushed } from "../http/answer-watch.ts";
import { answer, answerJson, type Exchange, type Handler, type Refuser } from "../http/exchange.ts";
import type { Limits } from "../http/request-limits.ts";
import { paramsChecker } from "./action-schema.ts";
import { toldApart } from "./record-fields.ts";
import { paramsReader, type Given } from "./params.ts";
import { refuse, type Row } from "../routes/row.ts";

/** The query of a request target, exactly as sent. */
const queryOf = (target: string): URLSearchParams => {
  const at = target.indexOf("?");
  return new URLSearchParams(at < 0 ? "" : target.slice(at + 1));
};

/**
 * Calls an action with parameters from outside, checked to the letter of its contract: the services themselves pass over fields that they do not know.
 * VALIDATION_FAILED with every issue.
 */
export async function ask(bus: Bus, action: ActionName, params: Record<string, unknown>): Promise<unknown> {
  const issues = paramsChecker(action)(params).map((issue) => toldApart(action, issue));
  if (issues.length > 0) throw new Errors.ValidationError("Parameters validation error!", "VALIDATION_ERROR", issues);
  return bus.call(action, params as ParamsOf<ActionName>);
}

/** What a request gives without its body. */
export const givenWithoutBody = ({ path, target, req }: Exchange): Omit<Given, "body"> => ({
  path,
  query: queryOf(target),
  headers: req.headers,
});

/** What endpoints share. */
export interface EndpointParts {
  identifier: Identifier;
  limits: Limits;
  refused: Refuser;
}

/** The asker, if the row admits it; null where no token is needed. UNAUTHENTICATED, FORBIDDEN, RATE_LIMITED. */
export async function identifyAsker(
  row: Row,
  exchange: Exchange,
  { identifier, limits }: EndpointParts,
): Promise<By | null> {
  if (row.roles === "public") return null;
  const by = await identifier.identify(exchange.bus, exchange.req.headers.authorization, () =>
    limits.checkBadTokens(exchange.req),
  );
  limits.countRequest(exchange.res, by, row.cost ?? 1);
  const why = refuse(row, by);
  if (why !== null) fail("FORBIDDEN", why);
  return by;
}

const isReplay = (result: unknown): result is { replayed: boolean } =>
  typeof result === "object" && result !== null && "replayed" in result && typeof result.replayed === "boolean";

/** Sends the action's result in the row's format. A header marks a repeated answer, so that its body equals the first one. */
function answerRow(row: Row, res: ServerResponse, result: unknown): void {
  if (row.success === 204) return answer(res, row.success, {}, "");
  if (!isReplay(result)) return answerJson(res, row.success, result);
  const { replayed, ...body } = result;
  if (replayed && !res.headersSent) res.setHeader("Idempotency-Replayed", "true");
  answerJson(res, row.success, body);
}

/** A row of the table as a handler, in this order: identify, authorize, read the parameters, guard, the action itself. */
export function endpoint(row: Row, parts: EndpointParts): Handler {
  const reader = paramsReader(row);
  return async (exchange) => {
    try {
      const succeeded = row.roles === "public" ? parts.limits.countAttempt(exchange.req, exchange.res) : null;
      const by = await identifyAsker(row, exchange, parts);
      const body = row.body === undefined ? undefined : parseJson(await readBytes(exchange.req), exchange.req.headers);
      const given = { body, ...givenWithoutBody(exchange) };
      const params = reader.read(given, by);
      const token = row.bearer === undefined ? null : bearerOf(exchange.req.headers.authorization);
      if (row.clientAddress !== undefined) params[row.clientAddress] = parts.limits.addressOf(exchange.req);
      if (row.bearer !== undefined) params[row.bearer] = token;
      if (row.guard) await ask(exchange.bus, row.guard, reader.forGuard(given, by));
      const result = await ask(exchange.bus, row.action, params);
      succeeded?.();
      if (isRecord(result) && "lead_call_tracker_id" in result) notePushed(exchange.res, [result]);
      if (token !== null) parts.identifier.end(token);
      answerRow(row, exchange.res, result);
    } catch (error) {
      parts.refused(exchange, error, { answers: row.answers, body: row.body });
    }
  };
}
