import type { DtmfCollection } from "../../../services/conversation/dialogue/flow.ts";

/** The entries that keys pressed one after the other make, as the engines gather them: each key by itself, or up to the end key, the length or the last key. */
export function entriesOf(keys: string, collection: DtmfCollection | null): string[] {
  if (!collection) return [...keys];
  const entries: string[] = [];
  let entry = "";
  for (const key of keys) {
    const ends = key === collection.end_key;
    // an end key alone is an entry: there is nothing it could end
    if (!ends || entry === "") entry += key;
    if (ends || entry.length >= collection.max_digits) {
      entries.push(entry);
      entry = "";
    }
  }
  return entry === "" ? entries : [...entries, entry];
}
