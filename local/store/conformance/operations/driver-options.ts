/** Options as test files write them → options as the driver takes them. */
import { type Document, ReadConcern, ReadPreference, type ReadPreferenceMode, WriteConcern } from "mongodb";
import type { Doc } from "../expectations/bson-values.ts";
import { RunnerError } from "../runner-errors.ts";
import { documentAt, onlyKeys, optionalDocumentsAt, stringAt } from "../field-readers.ts";

function readConcern(value: unknown): ReadConcern | undefined {
  const given = documentAt("readConcern", value);
  onlyKeys("readConcern", given, ["level"]);
  const settings: Document = given;
  return ReadConcern.fromOptions(settings);
}

const MODES: Readonly<Record<string, ReadPreferenceMode>> = {
  primary: "primary",
  primarypreferred: "primaryPreferred",
  secondary: "secondary",
  secondarypreferred: "secondaryPreferred",
  nearest: "nearest",
};

function readPreference(value: unknown): ReadPreference {
  const given = documentAt("readPreference", value);
  onlyKeys("readPreference", given, ["mode", "tagSets", "maxStalenessSeconds", "hedge"]);
  const name = given["mode"] === undefined ? "primary" : stringAt("readPreference.mode", given["mode"]);
  const mode = MODES[name.toLowerCase()];
  if (mode === undefined) throw new RunnerError(`unknown read preference mode "${name}"`);
  const tags = optionalDocumentsAt("readPreference.tagSets", given["tagSets"]).map((set) =>
    Object.fromEntries(Object.entries(set).map(([tag, content]) => [tag, stringAt(`tag ${tag}`, content)])),
  );
  const { maxStalenessSeconds, hedge } = given;
  const staleness: Document = {
    ...(maxStalenessSeconds === undefined ? {} : { maxStalenessSeconds }),
    ...(hedge === undefined ? {} : { hedge }),
  };
  return new ReadPreference(mode, tags.length === 0 ? undefined : tags, staleness);
}

function writeConcern(value: unknown): WriteConcern | undefined {
  const given = documentAt("writeConcern", value);
  onlyKeys("writeConcern", given, ["journal", "w", "wtimeoutMS"]);
  const settings: Document = given;
  return WriteConcern.fromOptions({ writeConcern: settings });
}

function returnDocument(value: unknown): string {
  const wanted = stringAt("returnDocument", value).toLowerCase();
  if (wanted !== "before" && wanted !== "after")
    throw new RunnerError(`returnDocument must be Before or After, not "${wanted}"`);
  return wanted;
}

function converted(name: string, value: unknown): unknown {
  switch (name) {
    case "readConcern":
      return readConcern(value);
    case "readPreference":
      return readPreference(value);
    case "writeConcern":
      return writeConcern(value);
    case "returnDocument":
      return returnDocument(value);
    case "defaultTransactionOptions":
      return driverOptions(name, value, ["readConcern", "readPreference", "writeConcern", "maxCommitTimeMS"]);
    default:
      return value;
  }
}

/** The driver's options for a document of options; RunnerFault on one that is not in `allowed` or malformed. */
export function driverOptions(where: string, value: unknown, allowed: readonly string[]): Document {
  if (value === undefined) return {};
  const given: Doc = documentAt(where, value);
  onlyKeys(where, given, allowed);
  return Object.fromEntries(Object.entries(given).map(([name, content]) => [name, converted(name, content)]));
}
