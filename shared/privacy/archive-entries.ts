import type { Bus } from "../bus/bus.ts";
import { chunks } from "../batching.ts";
import { ARCHIVE_ENTRIES, type ArchiveEntry, type ArchiveOrder } from "../contracts/requests/archive.ts";
import { fail } from "../errors.ts";
import { jsonBytes } from "../json.ts";

/** The place in the archive of what belongs to a lead. VALIDATION_FAILED: the order names none. */
export function placeIn({ places }: ArchiveOrder, lead_id: string): string {
  const found = places.find((of) => of.lead_id === lead_id);
  return found?.place ?? fail("VALIDATION_FAILED", "A lead has no place in the archive.");
}

const bytesOf = (entries: readonly ArchiveEntry[]): number => entries.reduce((sum, of) => sum + jsonBytes(of) + 1, 0);

/** Has entries written into the archive, those of one file in one message where they fit; how many files. Throws where not all of them are there: whatever they are about must not end then. */
export async function sendToArchive(bus: Bus, until: string, entries: readonly ArchiveEntry[]): Promise<number> {
  const files = [...Map.groupBy(entries, ({ place, file }) => `${place}/${file}`).values()];
  const fitting = files.flatMap((file) =>
    chunks(file, { maxItems: ARCHIVE_ENTRIES, bytesOf: (entry) => jsonBytes(entry) + 1 }),
  );
  let written = 0;
  for (const part of chunks(fitting, { maxItems: ARCHIVE_ENTRIES / 10, bytesOf }))
    for (const some of chunks(part.flat(), { maxItems: ARCHIVE_ENTRIES }))
      written += (await bus.call("dialer.archive", { until, entries: some })).written;
  return written;
}
