import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";

/** How long a client that has sent everything may leave its answers unread. */
const STALL_MS = 30_000;
/** The same while it still sends. Some clients read nothing before they have sent all: then what was answered gathers here, bounded by the rows of one body. */
const SENDING_STALL_MS = 500;

/** A bulk body comes as newline-delimited JSON or as one array, and is answered in kind. */
export type BulkForm = "lines" | "array";

/** Answers row by row. */
export interface BulkAnswer {
  /** Sends the outcomes of the next rows; resolves when the client has room for more. Adds the row's position in the body as `index`. */
  write(outcomes: readonly object[]): Promise<void>;
  end(): void;
}

/** An answer of 200 that is sent while it comes into being. Nothing is sent before the first row's is there. */
export function bulkAnswer(req: IncomingMessage, res: ServerResponse, form: BulkForm): BulkAnswer {
  let index = 0;
  let reads = true; // whether the client reads while it sends
  const begin = (): void => {
    if (!res.headersSent)
      res.writeHead(200, {
        "Content-Type": form === "lines" ? "application/x-ndjson" : "application/json; charset=utf-8",
      });
  };
  const line = (outcome: object): string => {
    const text = `${form === "lines" ? "" : index === 0 ? "[" : ","}${JSON.stringify({ index, ...outcome })}\n`;
    index++;
    return text;
  };
  const drained = async (): Promise<void> => {
    if (!req.complete && !reads) return;
    const sending = !req.complete;
    try {
      await once(res, "drain", { signal: AbortSignal.timeout(sending ? SENDING_STALL_MS : STALL_MS) });
    } catch {
      if (sending) reads = false;
      else res.destroy();
    }
  };
  return {
    async write(outcomes) {
      if (outcomes.length === 0 || res.destroyed) return;
      begin();
      if (!res.write(outcomes.map(line).join(""))) await drained();
    },
    end() {
      begin();
      res.end(form === "lines" ? "" : index === 0 ? "[]\n" : "]\n");
    },
  };
}
