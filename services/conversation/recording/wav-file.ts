import { mkdir, open, rm, type FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import { HEADER_BYTES, RATE_AT, wavHeaderOf } from "../audio/wav.ts";
import { FRAME_BYTES, type RecordingSink } from "./stereo-recorder.ts";

/** Bytes before the audio of a WAV file. */
export const WAV_HEADER_BYTES = HEADER_BYTES;
const CHANNELS = 2;

/** The header of a stereo WAV file with so many bytes of audio. */
export const wavHeader = (rate: number, bytes: number): Buffer => wavHeaderOf(rate, CHANNELS, bytes);

async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;)
    done += (await file.write(bytes, done, bytes.length - done, position + done)).bytesWritten;
}

/** Writes the final length into the header; what was never written is silence. */
async function complete(file: FileHandle, rate: number, bytes: number): Promise<void> {
  await file.truncate(WAV_HEADER_BYTES + bytes);
  await writeAll(file, wavHeader(rate, bytes), 0);
  await file.sync();
}

/** A WAV file that grows during the conversation. It must not exist. Its header says that it is empty until it is finished. */
export function wavFileSink(path: string, rate: number): RecordingSink {
  let opened: Promise<FileHandle> | null = null;
  let isCreated = false;
  const create = async (): Promise<FileHandle> => {
    await mkdir(dirname(path), { recursive: true });
    const file = await open(path, "wx");
    isCreated = true;
    await writeAll(file, wavHeader(rate, 0), 0);
    return file;
  };
  const file = (): Promise<FileHandle> => (opened ??= create());
  const closeFile = async (): Promise<void> => {
    if (opened) await (await opened).close();
    opened = null;
  };
  return {
    async write(bytes, at_byte) {
      await writeAll(await file(), bytes, WAV_HEADER_BYTES + at_byte);
    },
    async finish(bytes) {
      await complete(await file(), rate, bytes);
      await closeFile();
    },
    async abandon() {
      await closeFile().catch(() => undefined);
      if (isCreated) await rm(path, { force: true });
    },
  };
}

/** Completes the file of a crashed process with the audio that reached the disk. Returns its rate, samples a second; null: there is no audio. */
export async function repairWavFile(path: string): Promise<number | null> {
  const file = await open(path, "r+");
  try {
    const header = Buffer.alloc(WAV_HEADER_BYTES);
    const { bytesRead } = await file.read(header, 0, WAV_HEADER_BYTES, 0);
    const { size } = await file.stat();
    const bytes = size - WAV_HEADER_BYTES - ((size - WAV_HEADER_BYTES) % FRAME_BYTES);
    if (bytesRead < WAV_HEADER_BYTES || header.toString("latin1", 0, 4) !== "RIFF" || bytes <= 0) return null;
    const rate = header.readUInt32LE(RATE_AT);
    if (rate === 0) return null;
    await complete(file, rate, bytes);
    return rate;
  } finally {
    await file.close();
  }
}
