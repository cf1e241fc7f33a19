import { Readable } from "node:stream";
import type { ListObjectsV2CommandOutput, S3Client } from "@aws-sdk/client-s3";
import { Failure, fail } from "../errors.ts";
import { checkKey, type Bucket, type ByteRange } from "./port.ts";

/** A bucket and how to reach it. Without `endpoint`: AWS; without keys: the SDK finds them (instance role, shared file). */
export interface S3Options {
  bucket: string;
  region: string;
  endpoint?: string | undefined;
  access_key_id?: string | undefined;
  secret_access_key?: string | undefined;
}

const CONNECT_MS = 5_000;
/** Time-out of an idle connection. */
const IDLE_MS = 30_000;
/** Time-out of a whole upload. */
const PUT_MS = 5 * 60_000;
/** Tries of a small request; an upload is tried once, for its bytes can be read only once. */
const TRIES = 3;

/** The SDK does not log: its errors say enough. */
const SILENT = {
  trace: () => undefined,
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

const nameOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "name" in error ? String(error.name) : "a fault";
const isGone = (error: unknown): boolean => ["NoSuchKey", "NotFound"].includes(nameOf(error));

/** Reports an error of the bucket by its name, without address or key. */
function broken(what: string, error: unknown): never {
  if (error instanceof Failure) throw error;
  throw new Failure("DEPENDENCY_DOWN", `The object storage did not ${what}: ${nameOf(error)}.`);
}

const rangeOf = (range: ByteRange | undefined) =>
  range === undefined ? {} : { Range: `bytes=${range.start}-${range.end}` };

/** Size of the whole object; of a partial answer the number after the slash. */
function wholeBytes(contentRange: string | undefined, length: number | undefined): number {
  const total = contentRange === undefined ? length : Number(contentRange.split("/")[1]);
  return total !== undefined && Number.isSafeInteger(total)
    ? total
    : fail("DEPENDENCY_DOWN", "The object storage did not say how long the object is.");
}

async function connect({ region, endpoint, access_key_id, secret_access_key }: S3Options) {
  const sdk = await import("@aws-sdk/client-s3");
  const keys =
    access_key_id === undefined || secret_access_key === undefined
      ? {}
      : { credentials: { accessKeyId: access_key_id, secretAccessKey: secret_access_key } };
  const client: S3Client = new sdk.S3Client({
    region,
    ...keys,
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
    maxAttempts: TRIES,
    // not every compatible storage understands optional checksums
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    logger: SILENT,
    requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: IDLE_MS },
  });
  return { sdk, client };
}

/** What is found by how its key begins, page by page. */
function listing(bucket: string, at: () => ReturnType<typeof connect>): Pick<Bucket, "keys" | "folders"> {
  type Page = Pick<ListObjectsV2CommandOutput, "Contents" | "CommonPrefixes">;
  const all = async (asked: { Prefix: string; Delimiter?: string }, of: (page: Page) => (string | undefined)[]) => {
    const found: string[] = [];
    try {
      const { sdk, client } = await at();
      for await (const page of sdk.paginateListObjectsV2({ client }, { Bucket: bucket, ...asked }))
        found.push(...of(page).filter((text) => text !== undefined));
      return found;
    } catch (error) {
      return broken("list objects", error);
    }
  };
  return {
    keys: (Prefix) => all({ Prefix }, ({ Contents = [] }) => Contents.map(({ Key }) => Key)),
    folders: (Prefix) =>
      all({ Prefix, Delimiter: "/" }, ({ CommonPrefixes = [] }) => CommonPrefixes.map((folder) => folder.Prefix)),
  };
}

/** Objects in a bucket. The SDK, which is slow to load, is loaded at first use. */
export function s3(options: S3Options): Bucket {
  const { bucket: Bucket } = options;
  let connected: ReturnType<typeof connect> | null = null;
  const at = (): ReturnType<typeof connect> => (connected ??= connect(options));

  return {
    ...listing(Bucket, at),
    async put(key, body, content_type, bytes, within_ms = PUT_MS) {
      const Key = checkKey(key);
      if (bytes === null) fail("VALIDATION_FAILED", "An upload needs to know its length beforehand.");
      try {
        const { sdk, client } = await at();
        // the SDK does not handle errors of its source, which would end the process
        const broke = new AbortController();
        body.once("error", () => broke.abort());
        const abortSignal = AbortSignal.any([broke.signal, AbortSignal.timeout(Math.min(within_ms, PUT_MS))]);
        await client.send(
          new sdk.PutObjectCommand({ Bucket, Key, Body: body, ContentLength: bytes, ContentType: content_type }),
          { abortSignal },
        );
        const { ContentLength: stored } = await client.send(new sdk.HeadObjectCommand({ Bucket, Key }));
        if (stored !== bytes) fail("DEPENDENCY_DOWN", `Of ${bytes} bytes the object storage kept ${stored ?? "none"}.`);
        return bytes;
      } catch (error) {
        body.destroy();
        return broken("take an object", error);
      }
    },
    async open(key, range) {
      const Key = checkKey(key);
      try {
        const { sdk, client } = await at();
        const { Body, ContentLength, ContentRange } = await client.send(
          new sdk.GetObjectCommand({ Bucket, Key, ...rangeOf(range) }),
        );
        if (!(Body instanceof Readable)) fail("DEPENDENCY_DOWN", "The object storage sent nothing to read.");
        return { body: Body, bytes: wholeBytes(ContentRange, ContentLength) };
      } catch (error) {
        return isGone(error) ? null : broken("give an object", error);
      }
    },
    async remove(key) {
      const Key = checkKey(key);
      try {
        const { sdk, client } = await at();
        await client.send(new sdk.DeleteObjectCommand({ Bucket, Key }));
      } catch (error) {
        broken("forget an object", error);
      }
    },
  };
}
