import { createReadStream } from "node:fs";
import { readdir, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import type { Storage } from "../../../shared/storage/port.ts";
import { ownRecordingKey, recordingStores, type RecordingStoresDeps } from "../../../shared/storage/recordings.ts";
import { FRAME_BYTES, stereoRecorder, type Recorder, type RecordingSink } from "./stereo-recorder.ts";
import { repairWavFile, wavFileSink, WAV_HEADER_BYTES } from "./wav-file.ts";

/** Dependencies of session recordings. */
export interface SessionRecordingsDeps extends Pick<ServiceDeps, "clock" | "log"> {
  env: RecordingStoresDeps["env"];
  ids: Pick<ServiceDeps["ids"], "uuid">;
  bus: Pick<ServiceDeps["bus"], "call">;
}

/** Folder of unfinished recordings; no storage key begins with a dot. */
const UNFINISHED = ".talks";
const CONTENT_TYPE = "audio/wav";
/** A file untouched for this long is left over. Silence is not written, so each pass touches the files of its own process. */
const LEFTOVER_AFTER_MS = 300_000;
/** Recovered in one pass; further files wait for the next. */
const MAX_RECOVERED = 20;
const DAY_CHARS = 10;
const NAME = /^(\d{4}-\d{2}-\d{2})_([0-9a-fA-F-]{36}\.[1-9]\d*)\.wav$/;

const isGone = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "code" in error && error.code === "ENOENT";

class Recordings {
  readonly #deps: SessionRecordingsDeps;
  readonly #dir: string;
  /** Where finished recordings go: the bucket, or the folder that the dialer sees too. */
  readonly #store: Storage;
  readonly #handOver: "dialer.recordedInCloud" | "dialer.recorded";
  /** Files that this process records or stores. */
  readonly #inUse = new Set<string>();
  /** Finished files that could not be handed over at the last try. */
  readonly #waiting = new Set<string>();

  constructor(deps: SessionRecordingsDeps) {
    this.#deps = deps;
    this.#dir = join(resolve(deps.env.RECORDINGS_DIR), UNFINISHED);
    const { local, cloud, upload } = recordingStores(deps);
    const inCloud = upload && cloud !== null;
    this.#store = inCloud ? cloud : local;
    this.#handOver = inCloud ? "dialer.recordedInCloud" : "dialer.recorded";
  }

  /** Starts a recording. Neither it nor its recorder throws: failures are logged. */
  record(call_ref: string, rate: 8000 | 16_000): Recorder {
    const { clock, log } = this.#deps;
    const name = `${clock.now().toISOString().slice(0, DAY_CHARS)}_${call_ref}.wav`;
    const file = wavFileSink(join(this.#dir, name), rate);
    this.#inUse.add(name);
    const sink: RecordingSink = {
      ...file,
      finish: async (bytes) => {
        await file.finish(bytes);
        await this.#keep(name, rate);
      },
    };
    const recorder = stereoRecorder({
      rate,
      clock,
      open: () => sink,
      onFault: (error) =>
        log.warn(
          { event: "recording.not_made", call_ref, error: errorForLog(error) },
          "A conversation could not be recorded completely.",
        ),
    });
    return {
      ...recorder,
      end: async () => {
        await recorder.end();
        this.#inUse.delete(name);
      },
    };
  }

  /** Recovers recordings of crashed processes and of conversations whose dialer could not be reached; to be called at the start and periodically. What this process could not hand over itself is tried each time. Resolves with the number that was kept. */
  async recoverLeftovers(): Promise<number> {
    await this.#touchInUse();
    let recovered = await this.handOverRest();
    for (const name of (await this.#leftovers()).slice(0, MAX_RECOVERED)) {
      if (await this.#recover(name)) recovered += 1;
    }
    return recovered;
  }

  /** Recordings that are complete and wait to be handed over, as far as this process has tried. */
  waiting(): number {
    return this.#waiting.size;
  }

  /** Tries once more what waits, up to the first that still can't be handed over; to be called when the process ends too, as its folder may go with it. Resolves with the number that was kept. */
  async handOverRest(): Promise<number> {
    let kept = 0;
    const names = [...this.#waiting];
    for (const name of names) {
      if (this.#inUse.has(name)) continue;
      if (await this.#recover(name)) kept += 1;
      // what is away for one is away for all, and each try may take its time
      else if (this.#waiting.has(name)) break;
    }
    return kept;
  }

  /** Marks the files of this process for other processes that share the folder. */
  async #touchInUse(): Promise<void> {
    if (this.#inUse.size === 0) return;
    const now = await this.#folderTime();
    // a file that is not on the disk yet needs no touch
    for (const name of this.#inUse) await utimes(join(this.#dir, name), now, now).catch(() => undefined);
  }

  /** The time by which files of the folder are dated: that of its machine, which may be another's or was set. */
  async #folderTime(): Promise<Date> {
    const probe = join(this.#dir, `.time-${this.#deps.ids.uuid()}`);
    await writeFile(probe, "");
    try {
      return (await stat(probe)).mtime;
    } finally {
      await rm(probe, { force: true });
    }
  }

  /** Files that no process writes any more, oldest first. */
  async #leftovers(): Promise<string[]> {
    const names = await readdir(this.#dir).catch((error: unknown) => {
      if (isGone(error)) return [];
      throw error;
    });
    if (names.every((name) => !NAME.test(name) || this.#inUse.has(name))) return [];
    const before = (await this.#folderTime()).getTime() - LEFTOVER_AFTER_MS;
    const leftovers: string[] = [];
    for (const name of names.toSorted()) {
      if (!NAME.test(name) || this.#inUse.has(name) || this.#waiting.has(name)) continue;
      const found = await stat(join(this.#dir, name)).catch(() => null);
      if (found && found.mtimeMs < before) leftovers.push(name);
    }
    return leftovers;
  }

  async #recover(name: string): Promise<boolean> {
    const path = join(this.#dir, name);
    this.#inUse.add(name);
    try {
      const rate = await repairWavFile(path);
      if (rate !== null) return await this.#keep(name, rate);
      await rm(path, { force: true });
      this.#waiting.delete(name);
    } catch (error) {
      if (isGone(error)) {
        // another process that shares the folder has handed it over
        this.#waiting.delete(name);
        return false;
      }
      this.#deps.log.warn(
        { event: "recording.left", error: errorForLog(error) },
        "A leftover recording could not be read; it is tried again.",
      );
    } finally {
      this.#inUse.delete(name);
    }
    return false;
  }

  /** Brings a finished file to the store and reports it to the dialer. Idempotent; `recoverLeftovers` repeats what failed. True: the recording was kept. */
  async #keep(name: string, rate: number): Promise<boolean> {
    const [, day = "", call_ref = ""] = NAME.exec(name) ?? [];
    const { bus, log } = this.#deps;
    const path = join(this.#dir, name);
    try {
      const key = ownRecordingKey(call_ref, new Date(day));
      const { size } = await stat(path);
      const bytes = await this.#store.put(key, createReadStream(path), CONTENT_TYPE, size);
      const { wanted } = await bus.call(this.#handOver, {
        call_ref,
        key,
        bytes,
        content_type: CONTENT_TYPE,
        seconds: Math.round((bytes - WAV_HEADER_BYTES) / FRAME_BYTES / rate),
      });
      if (!wanted) await this.#store.remove(key);
      await rm(path, { force: true });
      this.#waiting.delete(name);
      return wanted;
    } catch (error) {
      this.#waiting.add(name);
      log.warn(
        { event: "recording.waits", call_ref, error: errorForLog(error) },
        "A recording could not be handed over; it is tried again.",
      );
      return false;
    }
  }
}

/** Recordings of conversations that this process makes itself. */
export type SessionRecordings = Pick<Recordings, "record" | "recoverLeftovers" | "waiting" | "handOverRest">;

/** Records into a folder; what is complete goes to the bucket where recordings are uploaded, else to the folder of all recordings. */
export const sessionRecordings = (deps: SessionRecordingsDeps): SessionRecordings => new Recordings(deps);
