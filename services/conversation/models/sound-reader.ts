import { linear16 } from "../speech/g711.ts";
import type { Resampler } from "../speech/port.ts";
import { resampler } from "../speech/resampler.ts";
import { ModelFault } from "./port.ts";

/** Turns the bytes of a speech model into samples of the rate that was asked for. */
export interface SoundReader { push(bytes: Uint8Array): Int16Array; end(): Int16Array }

/** Files with so much before their sound are none we know. */
const MAX_HEADER_BYTES = 4096;
const RIFF_HEAD_BYTES = 12;
const CHUNK_HEAD_BYTES = 8;
const FORMAT_BYTES = 16;
const MAGIC_BYTES = 4;
const LINEAR = 1;
/** Says only that another field holds the format. */
const EXTENSIBLE = 0xfffe;
const SAMPLE_BITS = 16;
const FILES = ["ID3", "OggS", "fLaC"];
const NOTHING = new Int16Array(0);

const strange = (what: string): never => { throw new ModelFault("MODEL_REFUSED", `the speech model answers ${what}; it has to give raw 16 bit samples ("pcm") or such a WAV`, false); };

interface Wav { readonly at: number; readonly rate: number; readonly channels: number; /** Bytes of sound; a stream does not know. */ readonly length: number }

/** Reads a WAV's header; null: it has not come whole yet. */
function wavOf(head: Buffer): Wav | null {
  let format: Pick<Wav, "rate" | "channels"> | null = null;
  for (let at = RIFF_HEAD_BYTES; at + CHUNK_HEAD_BYTES <= head.length;) {
    const name = head.toString("latin1", at, at + MAGIC_BYTES);
    const size = head.readUInt32LE(at + MAGIC_BYTES);
    const body = at + CHUNK_HEAD_BYTES;
    if (name === "data") {
      if (format === null) return strange("a WAV without a format");
      // what streams writes 0 or the largest number there is, for it can't know
      return { ...format, at: body, length: size === 0 || size >= 0x7fff_0000 ? Infinity : size };
    }
    if (name === "fmt " && body + FORMAT_BYTES <= head.length) {
      const coding = head.readUInt16LE(body);
      if ((coding !== LINEAR && coding !== EXTENSIBLE) || head.readUInt16LE(body + 14) !== SAMPLE_BITS) strange("a WAV of another coding");
      format = { channels: Math.max(1, head.readUInt16LE(body + 2)), rate: head.readUInt32LE(body + 4) };
    }
    at = body + size + (size % 2);
  }
  return head.length > MAX_HEADER_BYTES ? strange("a WAV without sound") : null;
}

const firstChannel = (pcm: Int16Array, channels: number): Int16Array => channels === 1 ? pcm : Int16Array.from({ length: Math.floor(pcm.length / channels) }, (_, i) => pcm[i * channels] ?? 0);

/** A reader for one answer. `rate`: that of raw samples, and of what comes out; where a WAV says another, its header is believed and the sound resampled. */
export function soundReader(rate: number): SoundReader {
  let head: Buffer | null = Buffer.alloc(0);
  let rest: Buffer = Buffer.alloc(0);
  let channels = 1;
  let left = Infinity;
  let change: Resampler | null = null;

  const samples = (bytes: Buffer): Int16Array => {
    const taken = bytes.subarray(0, left);
    left -= taken.length;
    const whole = rest.length === 0 ? taken : Buffer.concat([rest, taken]);
    const step = 2 * channels;
    const cut = whole.length - (whole.length % step);
    rest = Buffer.from(whole.subarray(cut));
    const pcm = firstChannel(linear16.decode(whole.subarray(0, cut)), channels);
    return change === null ? pcm : change.push(pcm);
  };

  const begin = (known: Buffer, last: boolean): Int16Array => {
    if (FILES.some((magic) => known.toString("latin1", 0, MAGIC_BYTES).startsWith(magic))) strange("a packed file");
    if (known.toString("latin1", 0, MAGIC_BYTES) !== "RIFF") { head = null; return samples(known); }
    const wav = wavOf(known);
    if (wav === null) return last ? strange("a WAV without sound") : NOTHING;
    head = null;
    ({ channels, length: left } = wav);
    if (wav.rate !== rate) change = resampled(wav.rate, rate);
    return samples(known.subarray(wav.at));
  };

  return {
    push(bytes) {
      if (head === null) return samples(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
      head = Buffer.concat([head, bytes]);
      return head.length < MAGIC_BYTES ? NOTHING : begin(head, false);
    },
    end() {
      const first = head === null ? NOTHING : begin(head, true);
      const last = change === null ? NOTHING : change.end();
      return first.length === 0 ? last : Int16Array.from([...first, ...last]);
    },
  };
}

function resampled(from: number, to: number): Resampler {
  try {
    return resampler(from, to);
  } catch {
    return strange(`a WAV of ${from} samples a second`);
  }
}
