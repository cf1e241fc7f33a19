import { described, FieldName, IsoTime, named, Type, type Static } from "../define.ts";
import { Owner } from "./identity.ts";

/** Longest value of a secret. */
export const MAX_SECRET_CHARS = 4000;
/** Different secrets that one request may use. */
export const MAX_SECRETS_OF_REQUEST = 16;

/** The name by which a template or configuration uses a secret. */
export const SecretName = described("Its name: it is used as {{secrets.NAME}}.", FieldName, { example: "CRM_TOKEN" });

/** A secret of a merchant, or of a reseller (merchant null), as it is shown: never its value. */
export const SecretRecord = named(
  "Secret",
  "A credential of a merchant, or of a reseller; its value is never shown.",
  Type.Object({
    name: SecretName,
    ...Owner,
    created_at: described("When it was written first.", IsoTime),
    updated_at: described("When its value was written last.", IsoTime),
  }),
);
export type SecretRecord = Static<typeof SecretRecord>;
