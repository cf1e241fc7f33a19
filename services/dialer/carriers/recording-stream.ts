import { Readable } from "node:stream";
import type { RecordingStream } from "./carrier-port.ts";
import { wholeOf } from "./json.ts";

/** What `ask` gets within `ms`, by the signal it is given: the heads of answers, for a file's body may take as long as its reader does. */
export async function headWithin<T>(ms: number, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const patience = new AbortController();
  const timer = setTimeout(() => {
    patience.abort(new Error("no answer in time"));
  }, ms);
  try {
    return await ask(patience.signal);
  } finally {
    clearTimeout(timer);
  }
}

/** The answer's body as a recording; `unsaid` is its content type where the answer names none. */
export const streamOf = ({ body, headers }: Response, unsaid = "application/octet-stream"): RecordingStream => ({
  body: body === null ? Readable.from([]) : Readable.fromWeb(body),
  content_type: headers.get("content-type") ?? unsaid,
  bytes: wholeOf(headers.get("content-length")),
});
