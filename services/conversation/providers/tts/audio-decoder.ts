import { aLaw, linear16, muLaw } from "../../audio/g711.ts";
import type { Resampler } from "../../audio/port.ts";
import { resampler } from "../../audio/resampler.ts";
import { aiffFormat, auFormat } from "../../audio/sound-file.ts";
import { wavFormat, type WavFormat } from "../../audio/wav.ts";
import { ModelError } from "../port.ts";
import { kindOf } from "./packed-sound.ts";

/** Decodes the bytes of a speech model into samples; `end` gives what is left. */
export interface AudioDecoder {
  push(bytes: Uint8Array): Int16Array;
  end(): Int16Array;
}

/** Longest header of a supported file. */
const MAX_HEADER_BYTES = 4096;
/** Samples without a header are called by none of these types: other sound is packed. */
const PACKED_TYPES =
  /^(?:audio\/(?!(?:x-)?(?:pcm|l16|lpcm|raw|s16le|wav|wave|vnd\.wave|basic)\s*(?:;|$))|video\/|image\/|multipart\/)/i;
/** Samples of its own: µ-law of 8000 a second (RFC 2046, section 4.3). */
const BASIC = /^audio\/basic\b/i;
const BASIC_RATE = 8000;
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

type Header = Pick<WavFormat, "rate" | "channels" | "codec" | "at" | "end">;
const HEADERS = { wav: wavFormat, au: auFormat, aiff: aiffFormat } as const;

/** Where the samples begin, and how they are coded; null: more bytes have to tell. */
function headerOf(known: Buffer, last: boolean, rate: number, type: string): Header | null {
  const kind = kindOf(known, last);
  if (kind === "more") return null;
  if (typeof kind === "object") return strange(kind.refused);
  if (kind !== "raw") {
    const header = orStrange(`a file of another coding (${kind})`, () => HEADERS[kind](known));
    return header ?? (last || known.length > MAX_HEADER_BYTES ? strange(`a file without sound (${kind})`) : null);
  }
  if (PACKED_TYPES.test(type)) return strange(type.split(";")[0] ?? type);
  return BASIC.test(type)
    ? { rate: BASIC_RATE, channels: 1, codec: muLaw, at: 0, end: null }
    : { rate, channels: 1, codec: linear16, at: 0, end: null };
}

/**
 * A decoder for one answer. `rate`: that of raw samples and of the output; a file with another rate is resampled. `type`: the content type that the server tells; what the
 * bytes tell wins. Throws MODEL_REFUSED for what is no sound or packed.
 */
export function audioDecoder(rate: number, type = ""): AudioDecoder {
  let head: Buffer | null = Buffer.alloc(0);
  let rest: Buffer = Buffer.alloc(0);
  let left = Infinity;
  let format: Pick<Header, "channels" | "codec"> = { channels: 1, codec: linear16 };
  let change: Resampler | null = null;

  const samples = (bytes: Buffer): Int16Array => {
    const taken = bytes.subarray(0, left);
    left -= taken.length;
    const whole = rest.length === 0 ? taken : Buffer.concat([rest, taken]);
    const isBytes = format.codec === muLaw || format.codec === aLaw;
    const cut = whole.length - (whole.length % (format.channels * (isBytes ? 1 : 2)));
    rest = Buffer.from(whole.subarray(cut));
    const pcm = firstChannel(format.codec.decode(whole.subarray(0, cut)), format.channels);
    return change === null ? pcm : change.push(pcm);
  };

  const begin = (known: Buffer, last: boolean): Int16Array => {
    const header = headerOf(known, last, rate, type);
    if (header === null) return NOTHING;
    head = null;
    format = header;
    left = header.end === null ? Infinity : header.end - header.at;
    if (header.rate !== rate)
      change = orStrange(`sound of ${header.rate} samples a second`, () => resampler(header.rate, rate));
    return samples(known.subarray(header.at));
  };

  return {
    push(bytes) {
      if (head === null) return samples(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
      head = Buffer.concat([head, bytes]);
      return begin(head, false);
    },
    end() {
      const first = head === null ? NOTHING : begin(head, true);
      const last = change === null ? NOTHING : change.end();
      return first.length === 0 ? last : Int16Array.from([...first, ...last]);
    },
  };
}
