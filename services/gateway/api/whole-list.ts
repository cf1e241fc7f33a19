import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createGzip } from "node:zlib";
import { isRecord } from "../../../shared/json.ts";
import { takesGzip } from "../http/compression.ts";
import { answerJson, type Exchange, type Handler } from "../http/exchange.ts";
import type { Row } from "../routes/row.ts";
import { ask, givenWithoutBody, identifyAsker, type EndpointParts } from "./endpoint.ts";
import { paramsReader } from "./params.ts";

/** Items asked for at once; a page ends earlier where a message on the bus is full. */
const PAGE_ITEMS = 500;
/** A connection on which nothing moves for this long is cut. */
const IDLE_MS = 60_000;
/** Fast rather than tight, as for other answers. */
const LEVEL = 4;

/** One page of the list, and what else the action says of it. */
interface Part {
  beside: Record<string, unknown>;
  items: unknown[];
  next: string | null;
}

function partOf(list: string, answer: unknown): Part {
  const { [list]: items, next_cursor: next, count: _count, ...beside } = isRecord(answer) ? answer : {};
  return { beside, items: Array.isArray(items) ? items : [], next: typeof next === "string" ? next : null };
}

/** The answer as JSON text, page by page; `count` comes last, when it is known. */
async function* textOf(list: string, first: Part, more: (cursor: string) => Promise<Part>): AsyncGenerator<string> {
  const beside = JSON.stringify(first.beside).slice(1, -1);
  yield `{${beside}${beside === "" ? "" : ","}${JSON.stringify(list)}:[`;
  let count = 0;
  for (let part: Part | null = first; part !== null; part = part.next === null ? null : await more(part.next)) {
    if (part.items.length === 0) continue;
    yield `${count === 0 ? "" : ","}${part.items.map((item) => JSON.stringify(item)).join(",")}`;
    count += part.items.length;
  }
  yield `],"count":${count}}`;
}

/** Sends the text as fast as the client takes it; what breaks off cuts the connection, so that no client takes a part for the whole. */
async function stream({ req, res }: Exchange, status: number, text: AsyncGenerator<string>): Promise<void> {
  const packed = takesGzip(req.headers["accept-encoding"]);
  res.appendHeader("Vary", "Accept-Encoding");
  res.writeHead(status, {
    "Content-Type": "application/json; charset=utf-8",
    ...(packed ? { "Content-Encoding": "gzip" } : {}),
  });
  if (req.method === "HEAD") {
    res.end();
    return;
  }
  res.setTimeout(IDLE_MS, () => res.destroy());
  const source = Readable.from(text);
  await (packed
    ? pipeline(source, createGzip({ level: LEVEL, flush: constants.Z_SYNC_FLUSH }), res)
    : pipeline(source, res));
}

/**
 * A row whose action answers in pages and whose client gets the list whole: it is read page by page and sent meanwhile, so that neither the
 * bus nor this process holds more than a page. A list of one page is an answer like any other.
 */
export function wholeListEndpoint(row: Row, list: string, parts: EndpointParts): Handler {
  const reader = paramsReader(row);
  const serve = async (exchange: Exchange): Promise<void> => {
    const { bus, res } = exchange;
    const by = await identifyAsker(row, exchange, parts);
    const params = { ...reader.withoutBody(givenWithoutBody(exchange), by), limit: PAGE_ITEMS };
    const page = async (cursor?: string): Promise<Part> =>
      partOf(list, await ask(bus, row.action, { ...params, ...(cursor === undefined ? {} : { cursor }) }));
    const first = await page();
    if (first.next !== null) return stream(exchange, row.success, textOf(list, first, page));
    answerJson(res, row.success, { ...first.beside, count: first.items.length, [list]: first.items });
  };
  return async (exchange) => {
    try {
      await serve(exchange);
    } catch (error) {
      if (exchange.req.socket.destroyed && exchange.res.headersSent) return; // the client went away, or was cut off for its silence
      parts.refused(exchange, error, { answers: row.answers }); // once the first page is sent it can only log
      if (exchange.res.headersSent) exchange.res.destroy();
    }
  };
}
