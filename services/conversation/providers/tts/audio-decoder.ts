import { linear16 } from "../../audio/g711.ts";
import type { Resampler } from "../../audio/port.ts";
import { resampler } from "../../audio/resampler.ts";
import { wavFormat, type WavFormat } from "../../audio/wav.ts";
import { ModelError } from "../port.ts";

/** Decodes the bytes of a speech model into samples; `end` gives what is left. */
export interface AudioDecoder {
  push(bytes: Uint8Array): Int16Array;
  end(): Int16Array;
}

/** Longest header of a supported file. */
const MAX_HEADER_BYTES = 4096;
const MAGIC_BYTES = 4;
const FILES = ["ID3", "OggS", "fLaC"];
const NOTHING = new Int16Array(0);

const strange = (what: string): never => {
  throw new ModelError(
    "MODEL_REFUSED",
    `the speech model answers ${what}; it has to give raw 16 bit samples ("pcm") or such a WAV`,
    false,
  );
};

function orStrange<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch {
    return strange(what);
  }
}

const firstChannel = (pcm: Int16Array, channels: number): Int16Array =>
  channels === 1
    ? pcm
    : Int16Array.from({ length: Math.floor(pcm.length / channels) }, (_, i) => pcm[i * channels] ?? 0);

/** A decoder for one answer. `rate`: that of raw samples and of the output; a WAV with another rate is resampled. */
export function audioDecoder(rate: number): AudioDecoder {
  let head: Buffer | null = Buffer.alloc(0);
  let rest: Buffer = Buffer.alloc(0);
  let left = Infinity;
  let format: Pick<WavFormat, "channels" | "codec"> = { channels: 1, codec: linear16 };
  let change: Resampler | null = null;

  const samples = (bytes: Buffer): Int16Array => {
    const taken = bytes.subarray(0, left);
    left -= taken.length;
    const whole = rest.length === 0 ? taken : Buffer.concat([rest, taken]);
    const cut = whole.length - (whole.length % (format.channels * (format.codec === linear16 ? 2 : 1)));
    rest = Buffer.from(whole.subarray(cut));
    const pcm = firstChannel(format.codec.decode(whole.subarray(0, cut)), format.channels);
    return change === null ? pcm : change.push(pcm);
  };

  const begin = (known: Buffer, last: boolean): Int16Array => {
    const magic = known.toString("latin1", 0, MAGIC_BYTES);
    if (FILES.some((name) => magic.startsWith(name))) strange("a packed file");
    if (magic !== "RIFF") {
      head = null;
      return samples(known);
    }
    const wav = orStrange("a WAV of another coding", () => wavFormat(known));
    if (wav === null) return last || known.length > MAX_HEADER_BYTES ? strange("a WAV without sound") : NOTHING;
    head = null;
    format = wav;
    left = wav.end === null ? Infinity : wav.end - wav.at;
    if (wav.rate !== rate) change = orStrange(`a WAV of ${wav.rate} samples a second`, () => resampler(wav.rate, rate));
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
