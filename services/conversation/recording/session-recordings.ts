import { createReadStream } from "node:fs";
import { readdir, rm, stat, utimes } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Bus } from "../../../shared/bus.ts";
import type { Clock } from "../../../shared/clock.ts";
import type { Env } from "../../../shared/env.ts";
import type { Ids } from "../../../shared/ids.ts";
import { errorForLog, type Log } from "../../../shared/log.ts";
import { localFolder } from "../../../shared/storage/local-folder.ts";
import type { Storage } from "../../../shared/storage/port.ts";
import { recordingKey } from "../../../shared/storage/recordings.ts";
import { FRAME_BYTES, stereoRecorder, type Recorder, type RecordingSink } from "./stereo-recorder.ts";
import { repairWavFile, wavFileSink, WAV_HEADER_BYTES } from "./wav-file.ts";

/** What recordings of our own are made with. */
export interface SessionRecordingsDeps {
  env: Pick<Env, "RECORDINGS_DIR">;
  ids: Pick<Ids, "uuid">;
  bus: Pick<Bus, "call">;
  clock: Clock;
  log: Log;
}

/** The talks that are recorded here. */
export interface SessionRecordings {
  /** Records a talk from now on. Never throws, and its recorder neither: what can't be recorded is logged. */
  record(call_ref: string, rate: 8000 | 16_000): Recorder;
  /** One pass, to be made at the start and every minute: finishes and keeps what processes that died, or talks whose dialer could not be told, have left. Gives how many were kept. */
  recoverLeftovers(): Promise<number>;
}

/** Where talks grow while they last; no key begins with a dot. */
const GROWING = ".talks";
const CONTENT_TYPE = "audio/wav";
/** A file that nobody has touched for so long is left over; silence is not written, so each pass touches those of its own process. */
const LEFT_MS = 300_000;
/** Taken up in one pass; more wait for the next. */
const MAX_ADOPTED = 20;
const DAY_CHARS = 10;
const NAME = /^(\d{4}-\d{2}-\d{2})_([0-9a-fA-F-]{36}\.[1-9]\d*)\.wav$/;

const isGone = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "code" in error && error.code === "ENOENT";

class Recordings implements SessionRecordings {
  readonly #parts: SessionRecordingsDeps;
  readonly #dir: string;
  readonly #local: Storage;
  /** Files of talks that are being recorded or kept by this process. */
  readonly #busy = new Set<string>();

  constructor(parts: SessionRecordingsDeps) {
    this.#parts = parts;
    const { env, clock, ids } = parts;
    this.#dir = join(resolve(env.RECORDINGS_DIR), GROWING);
    this.#local = localFolder({ dir: env.RECORDINGS_DIR, clock, ids });
  }

  record(call_ref: string, rate: 8000 | 16_000): Recorder {
    const { clock, log } = this.#parts;
    const name = `${clock.now().toISOString().slice(0, DAY_CHARS)}_${call_ref}.wav`;
    const file = wavFileSink(join(this.#dir, name), rate);
    this.#busy.add(name);
    const sink: RecordingSink = {
      ...file,
      finish: async (bytes) => {
        await file.finish(bytes);
        await this.#kept(name, rate);
      },
    };
    const recorder = stereoRecorder({
      rate,
      clock,
      open: () => sink,
      fault: (error) =>
        log.warn(
          { event: "recording.not_made", call_ref, error: errorForLog(error) },
          "A talk could not be recorded as it should.",
        ),
    });
    return {
      ...recorder,
      end: async () => {
        await recorder.end();
        this.#busy.delete(name);
      },
    };
  }

  async recoverLeftovers(): Promise<number> {
    let kept = 0;
    await this.#touchOwn();
    for (const name of (await this.#left()).slice(0, MAX_ADOPTED)) {
      if (await this.#adopted(name)) kept += 1;
    }
    return kept;
  }

  /** Other processes that share the folder see that these are not left over. */
  async #touchOwn(): Promise<void> {
    const now = this.#parts.clock.now();
    // one that is not on the disk yet needs no touch
    for (const name of this.#busy) await utimes(join(this.#dir, name), now, now).catch(() => undefined);
  }

  /** Files that nobody writes to any more, oldest first. */
  async #left(): Promise<string[]> {
    const names = await readdir(this.#dir).catch((error: unknown) => {
      if (isGone(error)) return [];
      throw error;
    });
    const before = this.#parts.clock.now().getTime() - LEFT_MS;
    const left: string[] = [];
    for (const name of names.toSorted()) {
      if (!NAME.test(name) || this.#busy.has(name)) continue;
      const found = await stat(join(this.#dir, name)).catch(() => null);
      if (found && found.mtimeMs < before) left.push(name);
    }
    return left;
  }

  async #adopted(name: string): Promise<boolean> {
    const path = join(this.#dir, name);
    this.#busy.add(name);
    try {
      const rate = await repairWavFile(path);
      if (rate !== null) return await this.#kept(name, rate);
      await rm(path, { force: true });
    } catch (error) {
      this.#parts.log.warn(
        { event: "recording.left", error: errorForLog(error) },
        "A recording that was left over could not be read; it is tried again.",
      );
    } finally {
      this.#busy.delete(name);
    }
    return false;
  }

  /** Puts a finished file where recordings are kept, and tells the dialer; what fails is done again by `adopt`. May be repeated. */
  async #kept(name: string, rate: number): Promise<boolean> {
    const [, day = "", call_ref = ""] = NAME.exec(name) ?? [];
    const { bus, log } = this.#parts;
    const path = join(this.#dir, name);
    try {
      const key = recordingKey(call_ref, new Date(day), CONTENT_TYPE);
      const { size } = await stat(path);
      const bytes = await this.#local.put(key, createReadStream(path), CONTENT_TYPE, size);
      const { wanted } = await bus.call("dialer.recorded", {
        call_ref,
        key,
        bytes,
        content_type: CONTENT_TYPE,
        seconds: Math.round((bytes - WAV_HEADER_BYTES) / FRAME_BYTES / rate),
      });
      if (!wanted) await this.#local.remove(key);
      await rm(path, { force: true });
      return wanted;
    } catch (error) {
      log.warn(
        { event: "recording.waits", call_ref, error: errorForLog(error) },
        "A recording could not be handed over; it is tried again.",
      );
      return false;
    }
  }
}

/** Keeps the recordings this process makes, under the folder that all recordings are in. */
export const sessionRecordings = (parts: SessionRecordingsDeps): SessionRecordings => new Recordings(parts);
