import { E164, IsoTime, Strict, Text, Type, UpTo, Uuid, type Static } from "../define.ts";

/** Leads whose things one request puts into the archive, at most. */
const LEADS_PER_REQUEST = 50;
/** Lines that one request puts into the archive, at most; the message's size bounds them sooner. */
export const ARCHIVE_ENTRIES = 2000;

/** A folder of the archive: `<reseller>/<name of the key>/<hash of the number>/<merchant>/<lead>`. Only the dialer, which has the bucket, knows what it is below. */
const Place = Text(300);

/** What is about to end goes to the archive first: where what belongs to each lead goes, and until when; after that nothing may be written, since an erasure of the number looks for it then. */
export const ArchiveOrder = Strict({
  until: IsoTime,
  places: Type.Array(Strict({ lead_id: Uuid, place: Place }), { maxItems: LEADS_PER_REQUEST }),
});
export type ArchiveOrder = Static<typeof ArchiveOrder>;

/** What a file of the archive holds: its name begins so. */
export const ARCHIVE_FILES = ["lead", "transcript", "deliveries", "calls"] as const;
/** A line of the archive, and the file of which place it is for. */
export const ArchiveEntry = Strict({
  place: Place,
  file: Type.Enum([...ARCHIVE_FILES]),
  record: Type.Record(Type.String(), Type.Unknown()),
});
export type ArchiveEntry = Static<typeof ArchiveEntry>;

/** Things that are about to end. The same things again are the same files again. */
export const archived = [
  Strict({ until: IsoTime, entries: Type.Array(ArchiveEntry, { maxItems: ARCHIVE_ENTRIES }) }),
  Type.Object({ written: Type.Integer({ minimum: 0 }) }),
] as const;

/** Most folders of one number: its phone may have three spellings, and there may be two keys. */
const MOST_FOLDERS = 6;

/** Folders by which an erasure finds a number in the archive, without the number in them: for each number that under the key of today, that under the key before, and those of other spellings of its phone. */
export const archiveFolders = [
  Strict({ phone_numbers: Type.Array(E164, { maxItems: LEADS_PER_REQUEST }) }),
  Type.Object({
    folders: Type.Array(Type.Array(UpTo(100), { maxItems: MOST_FOLDERS }), { maxItems: LEADS_PER_REQUEST }),
  }),
] as const;

/** The folders of one number, in an order to erase it; absent: nothing of the scope was ever archived. */
export const ErasedFolders = Type.Optional(Type.Array(Text(100), { maxItems: MOST_FOLDERS }));
/** The folder of what has no number. */
export const NO_NUMBER = "none";
/** The folder of what belongs to no merchant, but to the reseller itself. */
export const OWN = "own";
/** The parts of a place. */
export const placeOf = (lead: {
  reseller_id: string;
  merchant_id: string | null;
  lead_id: string;
  folder: string | null;
}): string => [lead.reseller_id, lead.folder ?? NO_NUMBER, lead.merchant_id ?? OWN, lead.lead_id].join("/");
