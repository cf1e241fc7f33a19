import { mkdir, open, readdir, rename, rm, stat, unlink, type FileHandle } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Clock } from "../time/clock.ts";
import { Failure } from "../errors.ts";
import type { Ids } from "../ids.ts";
import { checkKey, type Storage } from "./port.ts";

/** Dependencies of a folder of objects. */
export interface LocalFolderOptions {
  dir: string;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "uuid">;
}

/** Folder of incomplete objects; no key begins with a dot. */
const INCOMING = ".incoming";
/** Incomplete objects of crashed processes are removed after this long. */
const ABANDONED_MS = 24 * 3_600_000;

const wordOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error ? String(error.code) : "a fault";
const isGone = (error: unknown): boolean => ["ENOENT", "ENOTDIR"].includes(wordOf(error));

/** Reports an error of the disk by its code (ENOSPC, EACCES), without the path. */
function broken(what: string, error: unknown): never {
  if (error instanceof Failure) throw error;
  throw new Failure("DEPENDENCY_DOWN", `The recordings folder could not be ${what}: ${wordOf(error)}.`);
}

/** A rename is durable only once its folder is synced. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function clearAbandoned(folder: string, now: Date): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const found = await stat(path).catch(() => null);
    if (found && found.mtimeMs < now.getTime() - ABANDONED_MS) await rm(path, { force: true });
  }
}

/** Writes the whole stream; syncs the file before closing it, and closes it on errors too. */
async function fill(file: FileHandle, body: Readable): Promise<number> {
  const sink = file.createWriteStream({ flush: true });
  await pipeline(body, sink);
  return sink.bytesWritten;
}

/** Objects as files of a folder; only complete ones, each moved into place by a rename. */
export function localFolder({ dir, clock, ids }: LocalFolderOptions): Storage {
  const root = resolve(dir);
  const pathOf = (key: string): string => join(root, ...checkKey(key).split("/"));
  const incoming = join(root, INCOMING);
  let cleared = false;
  const prepare = async (): Promise<void> => {
    await mkdir(incoming, { recursive: true });
    if (!cleared) await clearAbandoned(incoming, clock.now());
    cleared = true;
  };

  return {
    async put(key, body, _content_type, bytes) {
      const path = pathOf(key);
      const half = join(incoming, ids.uuid());
      try {
        await prepare();
        const written = await fill(await open(half, "wx"), body);
        if (bytes !== null && written !== bytes)
          throw new Failure("DEPENDENCY_DOWN", `Of ${bytes} bytes ${written} came.`);
        await mkdir(dirname(path), { recursive: true });
        await rename(half, path);
        await syncFolder(dirname(path));
        return written;
      } catch (error) {
        body.destroy();
        await unlink(half).catch(() => undefined);
        return broken("written", error);
      }
    },
    async open(key, range) {
      const path = pathOf(key);
      try {
        const file = await open(path, "r");
        const found = await file.stat();
        if (!found.isFile()) {
          await file.close();
          return null;
        }
        return { bytes: found.size, body: file.createReadStream({ ...range }) };
      } catch (error) {
        return isGone(error) ? null : broken("read", error);
      }
    },
    async remove(key) {
      const path = pathOf(key);
      await unlink(path).catch((error: unknown) => {
        if (!isGone(error)) broken("changed", error);
      });
    },
  };
}
