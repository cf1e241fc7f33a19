import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { promisify } from "node:util";
import { constants, zstdCompress } from "node:zlib";
import pLimit from "p-limit";
import type { ParamsOf, ResultOf } from "../../../shared/bus/bus.ts";
import type { ArchiveEntry, ArchiveOrder } from "../../../shared/contracts/requests/archive.ts";
import { fail } from "../../../shared/errors.ts";
import type { Bucket } from "../../../shared/storage/port.ts";
import { toCallHistory } from "../call/call-history.ts";
import type { CallDoc } from "../call/calls.model.ts";
import type { DialerParts } from "../deps.ts";

/** Folder of the archive in the bucket. */
const ROOT = "archive";
/** Objects written or deleted at the same time. */
const AT_ONCE = 8;
/** Characters of a file's digest in its name: no two files of a lead share it by chance. */
const DIGEST_CHARS = 16;
const CONTENT_TYPE = "application/zstd";

type Deps = Pick<DialerParts, "clock" | "stores">;
const compressed = promisify(zstdCompress);
/** So that a reader notices a file that was damaged. */
const WITH_CHECKSUM = { params: { [constants.ZSTD_c_checksumFlag]: 1 } };

const bucketOf = ({ stores: { cloud } }: Deps): Bucket =>
  cloud ?? fail("NOT_AVAILABLE", "Nothing can be archived: S3_BUCKET is not set in this deployment.");

/** Milliseconds in which something may still be written. DEPENDENCY_DOWN: none are left; whoever asked asks again. */
function leftMs({ clock }: Deps, until: string): number {
  const left = Date.parse(until) - clock.now().getTime();
  return left > 0 ? left : fail("DEPENDENCY_DOWN", "The object storage was too slow for the archive.");
}

/** Lines of one file. The name has a digest of them: what is written again after a part of it has ended already doesn't take the place of the whole. */
async function keepFile(deps: Deps, folder: string, records: readonly unknown[], until: string): Promise<void> {
  const lines = Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(""));
  const digest = createHash("sha256").update(lines).digest("hex").slice(0, DIGEST_CHARS);
  const body = await compressed(lines, WITH_CHECKSUM);
  const key = `${ROOT}/${folder}-${digest}.ndjson.zst`;
  await bucketOf(deps).put(key, Readable.from([body]), CONTENT_TYPE, body.length, leftMs(deps, until));
}

/** Writes lines into the archive, a file for each place and kind. NOT_AVAILABLE without a bucket, DEPENDENCY_DOWN: not all of them are there. */
export async function keepInArchive(
  deps: Deps,
  { until, entries }: ParamsOf<"dialer.archive">,
): Promise<ResultOf<"dialer.archive">> {
  bucketOf(deps);
  const files = Map.groupBy(entries, ({ place, file }) => `${place}/${file}`);
  const limit = pLimit(AT_ONCE);
  const written = [...files].map(([folder, of]) =>
    limit(() =>
      keepFile(
        deps,
        folder,
        of.map(({ record }) => record),
        until,
      ),
    ),
  );
  await Promise.all(written);
  return { written: files.size };
}

/** The name of a call's recording in the archive, beside the lines of its lead; null: it has none. */
const fileOf = ({ _id, recording }: CallDoc): string | null =>
  recording?.key === undefined ? null : `${_id}${recording.key.slice(recording.key.lastIndexOf("."))}`;

/** What the archive says of a call: what its lead's timeline does, its numbers, and its recording. */
const callEntry = (call: CallDoc, place: string): ArchiveEntry => ({
  place,
  file: "calls",
  record: {
    record: "call",
    lead_id: call.lead_id,
    ...toCallHistory(call),
    to: call.order?.to ?? null,
    from: call.order?.from ?? null,
    recording: fileOf(call),
  },
});

/** Copies a recording into the archive, from the folder or the bucket; false: it has none, or it is lost. */
async function keepRecording(deps: Deps, call: CallDoc, place: string, until: string): Promise<boolean> {
  const [file, key] = [fileOf(call), call.recording?.key];
  if (file === null || key === undefined) return false;
  const bucket = bucketOf(deps);
  const opened = (await deps.stores.local.open(key)) ?? (await bucket.open(key));
  if (opened === null) return false;
  const type = call.recording?.content_type ?? "application/octet-stream";
  await bucket.put(`${ROOT}/${place}/${file}`, opened.body, type, opened.bytes, leftMs(deps, until));
  return true;
}

/** Writes the calls of leads that are about to end, or their recordings alone, into the archive; how many files. */
export async function archiveCalls(
  deps: Deps,
  kind: "recordings" | "leads",
  calls: readonly CallDoc[],
  { until, places }: ArchiveOrder,
): Promise<number> {
  const of = new Map(places.map(({ lead_id, place }) => [lead_id, place]));
  const placed = calls.flatMap((call) => {
    const place = of.get(call.lead_id);
    return place === undefined ? [] : [{ call, place }];
  });
  if (placed.length < calls.length) fail("VALIDATION_FAILED", "A lead has no place in the archive.");
  const limit = pLimit(AT_ONCE);
  const kept = await Promise.all(placed.map(({ call, place }) => limit(() => keepRecording(deps, call, place, until))));
  const recordings = kept.filter(Boolean).length;
  if (kind === "recordings") return recordings;
  const { written } = await keepInArchive(deps, {
    until,
    entries: placed.map(({ call, place }) => callEntry(call, place)),
  });
  return recordings + written;
}

/** Deletes what the archive has of a number in a scope; how many files. NOT_AVAILABLE where something was archived, and this process does not know the bucket. */
export async function eraseArchive(
  deps: Deps,
  { reseller_id, merchant_id }: { reseller_id: string | null; merchant_id: string | null },
  folders: readonly string[],
): Promise<number> {
  const bucket = bucketOf(deps);
  const resellers = reseller_id === null ? await bucket.folders(`${ROOT}/`) : [`${ROOT}/${reseller_id}/`];
  const below = merchant_id === null ? "" : `${merchant_id}/`;
  let erased = 0;
  const limit = pLimit(AT_ONCE);
  for (const reseller of resellers)
    for (const folder of folders) {
      const keys = await bucket.keys(`${reseller}${folder}/${below}`);
      await Promise.all(keys.map((key) => limit(() => bucket.remove(key))));
      erased += keys.length;
    }
  return erased;
}
