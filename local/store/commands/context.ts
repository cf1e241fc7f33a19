import { Binary } from "bson";
import type { Reply } from "../bson/bson-writer.ts";
import type { Catalog } from "../storage/catalog.ts";
import type { Cursors } from "./cursors.ts";
import { isDoc } from "../bson/values.ts";
import type { Storage } from "../storage/storage.ts";
import type { Doc } from "../bson/values.ts";

/** What every command works on. */
export interface Engine {
  storage: Storage;
  catalog: Catalog;
  cursors: Cursors;
  /** host:port the server listens on. */
  address: string;
  startedAt: Date;
  /** Failures asked for by configureFailPoint, by command name. */
  failures: Map<string, Failure>;
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
}

/** Answers a command; throws StoreError. */
export type Handler = (call: Call) => Reply;

/** The session id of a command as text, if it has one. */
export function sessionOf(command: Doc): string | undefined {
  const lsid = command["lsid"];
  const id = isDoc(lsid) ? lsid["id"] : undefined;
  return id instanceof Binary ? id.toString("hex") : undefined;
}
