import { pipeline } from "node:stream/promises";
import type { ServerResponse } from "node:http";
import type { ResultOf } from "../../shared/bus/bus.ts";
import { fail } from "../../shared/errors.ts";
import type { ProcessDeps } from "../../shared/process/process-deps.ts";
import { sha256 } from "../../shared/ids.ts";
import { errorForLog } from "../../shared/process/log.ts";
import type { ByteRange, Opened } from "../../shared/storage/port.ts";
import type { RecordingStores } from "../../shared/storage/recordings.ts";
import { givenWithoutBody, identifyAsker, type EndpointParts } from "./api/endpoint.ts";
import type { Exchange, Handler } from "./http/exchange.ts";
import { paramsReader } from "./api/params.ts";
import type { Row } from "./routes/row.ts";

type StoredRecording = ResultOf<"leads.recording">;

/** Downloads that one gateway serves at once: each keeps a file or a connection open. */
const MAX_DOWNLOADS = 200;
/** A connection on which nothing moves for this long is cut. */
const IDLE_MS = 60_000;
const ETAG_CHARS = 32;

/** What is requested of a file: all of it, a part, or a part beyond its end. */
type RequestedRange = { kind: "whole" } | { kind: "part"; range: ByteRange } | { kind: "beyond" };

const WHOLE: RequestedRange = { kind: "whole" };
/** Digits beyond this are no length of anything. */
const RANGE = /^bytes=[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/i;

/**
 * Reads `Range` (RFC 9110, 14) for a thing of so many bytes. One range is served; several, other units and what is malformed are ignored, as the standard allows.
 * `same` false: the client has a part of another thing (`If-Range`), so it gets all of this one.
 */
export function requestedRange(header: string | undefined, bytes: number, same: boolean): RequestedRange {
  const [, first = "", last = ""] = RANGE.exec(header ?? "") ?? [];
  if (!same || (first === "" && last === "")) return WHOLE;
  if (first === "") {
    const length = Math.min(Number(last), bytes);
    return length === 0 ? { kind: "beyond" } : { kind: "part", range: { start: bytes - length, end: bytes - 1 } };
  }
  const start = Number(first);
  if (last !== "" && Number(last) < start) return WHOLE;
  if (start >= bytes) return { kind: "beyond" };
  return { kind: "part", range: { start, end: last === "" ? bytes - 1 : Math.min(Number(last), bytes - 1) } };
}

/** Opens it where it is said to be, else where it may have moved to meanwhile. RECORDING_FAILED. */
async function open(
  { local, cloud }: RecordingStores,
  { key, bytes, where }: StoredRecording,
  range: ByteRange | undefined,
  log: ProcessDeps["log"],
): Promise<Opened> {
  for (const store of where === "local" ? [local, cloud] : [cloud, local]) {
    const opened =
      (await store?.open(key, range).catch((error: unknown) => {
        log.warn({ key, error: errorForLog(error) }, "a recording could not be opened");
        return null;
      })) ?? null;
    if (opened?.bytes === bytes) return opened;
    opened?.body.destroy();
  }
  return fail("RECORDING_FAILED", "The recording could not be read where it is kept; try again later.");
}

/** The file's name as the client saves it: the call's, in characters that need no quoting. */
const fileName = (call_sid: string, key: string): string =>
  `${call_sid.replaceAll(/[^A-Za-z0-9._-]/g, "_")}.${key.split(".").at(-1) ?? "audio"}`;

const etagOf = ({ key, bytes }: StoredRecording): string => `"${sha256(`${key}\n${bytes}`).slice(0, ETAG_CHARS)}"`;

const headersOf = (kept: StoredRecording, call_sid: string) => ({
  "Content-Type": kept.content_type,
  "Content-Disposition": `attachment; filename="${fileName(call_sid, kept.key)}"`,
  "Accept-Ranges": "bytes",
  ETag: etagOf(kept),
});

/** Sends the bytes as fast as the client takes them; a client that goes closes the source, a source that breaks cuts the client off. */
async function send(res: ServerResponse, { body }: Opened, log: ProcessDeps["log"], request_id: string): Promise<void> {
  res.setTimeout(IDLE_MS, () => res.destroy());
  try {
    await pipeline(body, res);
  } catch (error) {
    log.info({ event: "recording.cut", request_id, error: errorForLog(error) }, "a download ended early");
  }
}

/** Streams a recording to whoever may have it, whole or in part, straight from where it is kept: streams over the bus have no back-pressure. RECORDING_FAILED, RANGE_NOT_SATISFIABLE, BUSY. */
export type RecordingSender = (
  exchange: Pick<Exchange, "req" | "res" | "request_id">,
  kept: StoredRecording,
  call_id: string,
) => Promise<void>;

/** The sender of a gateway, which counts what it sends at once. */
export function recordingSender({
  stores,
  log,
}: {
  stores: RecordingStores;
  log: ProcessDeps["log"];
}): RecordingSender {
  let downloads = 0;
  return async ({ req, res, request_id }, kept, call_id) => {
    const headers = headersOf(kept, call_id);
    if (req.method === "HEAD") {
      res.writeHead(200, { ...headers, "Content-Length": kept.bytes }).end();
      return;
    }
    const asked = requestedRange(
      req.headers.range,
      kept.bytes,
      req.headers["if-range"] === undefined || req.headers["if-range"] === headers.ETag,
    );
    if (asked.kind === "beyond") {
      res.setHeader("Content-Range", `bytes */${kept.bytes}`);
      fail("RANGE_NOT_SATISFIABLE", `The recording has ${kept.bytes} bytes; none of them is in the range asked for.`);
    }
    if (downloads >= MAX_DOWNLOADS) fail("BUSY", "Too many recordings are being downloaded at the moment.");
    downloads += 1;
    try {
      const opened = await open(stores, kept, asked.kind === "part" ? asked.range : undefined, log);
      const { start, end } = asked.kind === "part" ? asked.range : { start: 0, end: kept.bytes - 1 };
      res.writeHead(asked.kind === "part" ? 206 : 200, {
        ...headers,
        "Content-Length": end - start + 1,
        ...(asked.kind === "part" ? { "Content-Range": `bytes ${start}-${end}/${kept.bytes}` } : {}),
      });
      await send(res, opened, log, request_id);
    } finally {
      downloads -= 1;
    }
  };
}

/** The recording of a call, after leads have said that it is the asker's. */
export function recordingEndpoint(row: Row, parts: EndpointParts, send: RecordingSender): Handler {
  const reader = paramsReader(row);
  return async (exchange) => {
    try {
      const by = (await identifyAsker(row, exchange, parts)) ?? fail("UNAUTHENTICATED", "A recording needs a token.");
      const call_sid = String(reader.withoutBody(givenWithoutBody(exchange), by)["call_sid"]);
      await send(exchange, await exchange.bus.call("leads.recording", { by, call_sid }), call_sid);
    } catch (error) {
      parts.refused(exchange, error, { answers: row.answers });
    }
  };
}
