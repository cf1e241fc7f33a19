import { documentdb } from "./documentdb/documentdb.ts";
import type { Part } from "./part.ts";

/** Every real server there is. */
export const PARTS: readonly Part[] = [documentdb];

/** What a part misses on this machine. */
export const missingFor = (part: Part): string[] =>
  part.needs.filter((need) => !need.isThere()).map((need) => need.missing);
