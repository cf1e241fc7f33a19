import { codeOf, type ValidationIssue } from "../../../shared/errors.ts";
import { bulkAnswer, type BulkAnswer } from "./row-answers.ts";
import { batchesOf, formOf, type BulkRow } from "./row-batches.ts";
import { ask, givenWithoutBody, identifyAsker, type EndpointParts } from "../api/endpoint.ts";
import { notePushed } from "../http/answer-watch.ts";
import type { Exchange, Handler } from "../http/exchange.ts";
import { problemOf, statusOf } from "../http/http-errors.ts";
import { allowSlowBody } from "../http/server.ts";
import { paramsReader } from "../api/params.ts";
import type { Row } from "../routes/row.ts";
import { isRecord } from "../../../shared/json.ts";

/** Batches pushed at once; their answers go out in order. */
const IN_FLIGHT = 3;
/** After this many failed batches in a row the service counts as unreachable: the other rows are refused without a call. */
const GIVE_UP_AFTER = 3;
/** A connection on which nothing moves for this long is cut. */
const IDLE_MS = 60_000;
/** Rows that cost one unit of the tenant's allowance. */
const ROWS_PER_UNIT = 10;
/** Longest name of a push that is said again. */
const MAX_NAME_CHARS = 200;
/** How long a client that was answered early may go on sending before its connection is closed. */
const LINGER_MS = 5000;

/** The outcome of a row, as the service answers it; `http_status` is added here. */
type Outcome = Record<string, unknown>;
const isIssueList = (v: unknown): v is ValidationIssue[] => Array.isArray(v);

/** Pushes one request's batches. */
interface Pusher {
  push(rows: readonly BulkRow[]): Promise<Outcome[]>;
}

/** A row by the client's own name for it, where it has one: results are joined with what was sent. */
const namedIn = (value: unknown): { order_id?: string } => {
  const request_id = isRecord(value) ? value["request_id"] : undefined;
  return typeof request_id === "string" && request_id.length <= MAX_NAME_CHARS ? { order_id: request_id } : {};
};

function refusal(row: Row, exchange: Exchange, error: unknown, of: BulkRow | null = null): Outcome {
  const { body, status, code } = problemOf(error, { answers: row.answers, request_id: exchange.request_id, docs: "" });
  return {
    status: "refused",
    ...(of && "value" in of ? namedIn(of.value) : {}),
    code,
    http_status: status,
    message: body.detail,
    ...(body.errors ? { errors: body.errors } : {}),
  };
}

function withStatus(row: Row, { index: _index, ...outcome }: Outcome): Outcome {
  const { code, errors } = outcome;
  return typeof code === "string"
    ? { ...outcome, http_status: statusOf(codeOf({ type: code }), row.answers, isIssueList(errors) ? errors : []) }
    : outcome;
}

/** Hands batches to the row's action. It never rejects: where the action fails as a whole, each row of the batch is refused with the reason. */
function pusher(
  row: Row,
  exchange: Exchange,
  shared: Record<string, unknown>,
  charge: (rows: number) => void,
  onReplay: () => void,
): Pusher {
  const keyName = row.headers?.["idempotency-key"];
  const key = keyName === undefined ? undefined : shared[keyName];
  let batches = 0,
    failed = 0;
  const call = async (values: unknown[]): Promise<Outcome[]> => {
    const index = batches++;
    const own = keyName !== undefined && key !== undefined ? { [keyName]: `${String(key)}.${index}` } : {}; // each batch is a request of its own to the service
    const result = await ask(exchange.bus, row.action, { ...shared, ...own, [String(row.body)]: values });
    const outcomes = isRecord(result) && Array.isArray(result["results"]) ? result["results"].filter(isRecord) : [];
    if (outcomes.length !== values.length)
      throw new Error(`${row.action} answered ${outcomes.length} of ${values.length} rows`);
    if (index === 0 && isRecord(result) && result["replayed"] === true) onReplay(); // the header goes out before the other batches are known
    return outcomes.map((outcome) => withStatus(row, outcome));
  };
  let lastFailure: unknown = null;
  return {
    async push(rows) {
      const values = rows.flatMap((r) => ("value" in r ? [r.value] : []));
      let outcomes: Outcome[] = [];
      try {
        charge(rows.length);
      } catch (error) {
        return rows.map((r) => refusal(row, exchange, "value" in r ? error : r.error, r));
      }
      if (values.length > 0 && failed < GIVE_UP_AFTER) {
        try {
          outcomes = await call(values);
          failed = 0;
        } catch (error) {
          failed++;
          lastFailure = error;
        }
      }
      let next = 0;
      return rows.map((r) =>
        "value" in r ? (outcomes[next++] ?? refusal(row, exchange, lastFailure, r)) : refusal(row, exchange, r.error),
      );
    },
  };
}

async function inOrder(
  res: Exchange["res"],
  before: Promise<void>,
  outcomes: Promise<Outcome[]>,
  out: BulkAnswer,
): Promise<void> {
  await before;
  const known = await outcomes;
  notePushed(res, known);
  await out.write(known);
}

/** Lets the process attend to others. */
const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

async function run(
  exchange: Exchange,
  batches: AsyncIterable<BulkRow[]>,
  { push }: Pusher,
  out: BulkAnswer,
): Promise<void> {
  const written: Promise<void>[] = [];
  let last = Promise.resolve();
  try {
    for await (const rows of batches) {
      const [before, outcomes] = [last, push(rows)];
      last = inOrder(exchange.res, before, outcomes, out);
      last.catch(() => undefined); // handled below
      written.push(last);
      if (written.length >= IN_FLIGHT) await written.shift();
      await nextTurn(); // rows that are refused at once wait for nothing: without it a whole body would go before others are answered
      if (exchange.res.destroyed) return; // the client has disconnected: the rest is not pushed
    }
  } finally {
    await last;
  }
}

/** Discards the rest of a body whose answer is complete, for a limited time. */
function drainRequest({ req }: Exchange): void {
  if (req.complete || req.destroyed) return;
  req.resume();
  const late = setTimeout(() => {
    req.destroy();
  }, LINGER_MS);
  late.unref();
  req.once("close", () => {
    clearTimeout(late);
  });
}

/** A row of the table whose body is many rows: read, pushed and answered piece by piece, never kept as a whole. */
export function bulkEndpoint(row: Row, parts: EndpointParts): Handler {
  const reader = paramsReader(row);
  return async (exchange) => {
    const { req, res } = exchange;
    let out: BulkAnswer | null = null;
    try {
      const by = await identifyAsker(row, exchange, parts);
      const form = formOf(req.headers);
      const shared = reader.withoutBody(givenWithoutBody(exchange), by);
      allowSlowBody(req);
      req.setTimeout(IDLE_MS, () => {
        req.destroy();
      });
      out = bulkAnswer(req, res, form);
      const replayed = (): void => {
        if (!res.headersSent) res.setHeader("Idempotency-Replayed", "true");
      };
      const charge = (rows: number): void => {
        if (by !== null) parts.limits.countRequest(res, by, Math.ceil(rows / ROWS_PER_UNIT));
      };
      await run(exchange, batchesOf(req, form), pusher(row, exchange, shared, charge, replayed), out);
      out.end();
    } catch (error) {
      if (res.destroyed || req.socket.destroyed) return; // the client went away
      parts.refused(exchange, error, { answers: row.answers, body: row.body }); // once rows are answered it can only log
      if (out === null || res.writableEnded) return;
      await out.write([refusal(row, exchange, error)]);
      out.end();
    } finally {
      drainRequest(exchange);
    }
  };
}
