import { FieldName, Id, IsoTime, Nullable, Type, type Static } from "../define.ts";

/** Longest value of a secret. */
export const MAX_SECRET_CHARS = 4000;
/** Different secrets that one request may use. */
export const MAX_SECRETS_OF_REQUEST = 16;

/** A secret of a merchant, or of a reseller (merchant null), as it is shown: never its value. */
export const SecretRecord = Type.Object({
  name: FieldName,
  reseller_id: Id,
  merchant_id: Nullable(Id),
  created_at: IsoTime,
  /** When its value was written last. */
  updated_at: IsoTime,
});
export type SecretRecord = Static<typeof SecretRecord>;
