import type { Doc, Value } from "../bson/values.ts";
import type { Index } from "../storage/index-table.ts";
import type { Bounds } from "./index-bounds.ts";

/** What is asked of the planner. */
export interface Query {
  filter: Doc;
  sort?: Doc;
  /** Name or key of an index, or {$natural: ±1}. */
  hint?: Value;
  /** How many documents are wanted, skip included; absent means all. */
  wanted?: number;
}

/** How a query will be run. */
export interface Plan {
  /** Absent: the whole collection in order of insertion. */
  index?: Index;
  bounds: Bounds;
  reverse: boolean;
  /** True when documents come out in the order asked for. */
  sorted: boolean;
  /** True when every document that comes out meets the filter, so that none needs to be read for it. */
  exact: boolean;
}
