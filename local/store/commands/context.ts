import type { Budget, Held, Slices } from "../budget.ts";
import type { Reply } from "../bson/bson-writer.ts";
import type { Catalog } from "../storage/catalog.ts";
import type { Cursors } from "./cursors.ts";
import type { Storage } from "../storage/storage.ts";
import type { Doc } from "../bson/values.ts";

/** What every command works on. */
export interface Engine {
  storage: Storage;
  catalog: Catalog;
  cursors: Cursors;
  /** host:port the server listens on. */
  address: string;
  /** The time of the commands. */
  now: () => Date;
  startedAt: Date;
  /** Failures asked for by configureFailPoint, by command name. */
  failures: Map<string, Failure>;
  /** Retryable writes at work: a second sending waits for the first. */
  retrying: Set<string>;
  /** What all running commands and open cursors keep in memory. */
  held: Held;
}

/** A failure to be staged for the next calls of a command (MongoDB's failCommand fail point). */
export interface Failure {
  times: number;
  errorCode: number | undefined;
  closeConnection: boolean;
}

/** One command being answered. */
export interface Call {
  engine: Engine;
  command: Doc;
  /** Database the command is for. */
  db: string;
  /** Documents that came as they are (insert, bulkWrite). */
  sequences: Map<string, Buffer[]>;
  /** The command's time: $$NOW, $currentDate. */
  now: Date;
  connectionId: number;
  /** What the command may still do. */
  budget: Budget;
  /** A retryable write whose first sending did not come to its end: what that has done. */
  progress?: Doc | undefined;
  /** Keeps what a retryable write has done before it rests: that is committed with it. */
  keepProgress?: (progress: Doc) => void;
}

/** Answers a command, in several slices if need be; throws StoreError. */
export type Handler = (call: Call) => Reply | Slices<Reply>;
