/** Tells by its first bytes what a speech server sends: some pack their sound, or send words, whatever was asked for and whatever they call it. Pure. */

/** What a sound is; "more": more bytes have to tell. `refused`: what it is instead of samples. */
export type SoundKind = "raw" | "wav" | "au" | "aiff" | "more" | { readonly refused: string };

/** Bytes that a file of this kind begins with, at `at`; "?" is any byte. Longer than what a sound would begin with by chance. */
const MAGIC: readonly { readonly bytes: string; readonly at?: number; readonly kind: Exclude<SoundKind, "more"> }[] = [
  { bytes: "RIFF????WAVE", kind: "wav" },
  { bytes: "RF64????WAVE", kind: "wav" },
  { bytes: "BW64????WAVE", kind: "wav" },
  { bytes: "RIFF", kind: { refused: "a RIFF file that is no WAV" } },
  { bytes: "RIFX", kind: { refused: "a big-endian WAV" } },
  { bytes: "riff.\u0091\u00CF\u0011", kind: { refused: "a Wave64 file" } },
  { bytes: "FORM????AIFF", kind: "aiff" },
  { bytes: "FORM????AIFC", kind: "aiff" },
  { bytes: ".snd\0\0", kind: "au" },
  { bytes: "ID3\u0002", kind: { refused: "MP3" } },
  { bytes: "ID3\u0003", kind: { refused: "MP3" } },
  { bytes: "ID3\u0004", kind: { refused: "MP3" } },
  { bytes: "TAG\0", kind: { refused: "MP3" } },
  { bytes: "OggS", kind: { refused: "Ogg" } },
  { bytes: "OpusHead", kind: { refused: "Opus" } },
  { bytes: "fLaC", kind: { refused: "FLAC" } },
  { bytes: "\u001A\u0045\u00DF\u00A3", kind: { refused: "WebM" } },
  { bytes: "ftyp", at: 4, kind: { refused: "MP4" } },
  { bytes: "styp", at: 4, kind: { refused: "MP4" } },
  { bytes: "moov", at: 4, kind: { refused: "MP4" } },
  { bytes: "moof", at: 4, kind: { refused: "MP4" } },
  { bytes: "mdat", at: 4, kind: { refused: "MP4" } },
  { bytes: "ADIF", kind: { refused: "AAC" } },
  { bytes: "caff\0\u0001", kind: { refused: "a CAF file" } },
  { bytes: "#!AMR", kind: { refused: "AMR" } },
  { bytes: "#!SILK", kind: { refused: "SILK" } },
  { bytes: "\u0002#!SILK", kind: { refused: "SILK" } },
  { bytes: "qoaf", kind: { refused: "QOA" } },
  { bytes: "wvpk", kind: { refused: "WavPack" } },
  { bytes: "MAC ", kind: { refused: "Monkey's Audio" } },
  { bytes: "FLV\u0001", kind: { refused: "FLV" } },
  { bytes: "\u0030\u0026\u00B2\u0075", kind: { refused: "WMA" } },
  { bytes: "NIST_1A", kind: { refused: "a SPHERE file" } },
  { bytes: "PK\u0003\u0004", kind: { refused: "a ZIP" } },
  { bytes: "\u001F\u008B\u0008\0", kind: { refused: "gzip" } },
  { bytes: "\u0028\u00B5\u002F\u00FD", kind: { refused: "Zstandard" } },
  { bytes: "%PDF", kind: { refused: "a PDF" } },
];

type Fit = "fits" | "may fit" | "no";
function fit(head: Buffer, { bytes, at = 0 }: (typeof MAGIC)[number]): Fit {
  // of a box of MP4 the size comes first: it is small
  if (at > 0 && head.length > 1 && head.readUInt16BE(0) > 0xff) return "no";
  for (let i = 0; i < bytes.length; i++) {
    if (at + i >= head.length) return "may fit";
    if (bytes[i] !== "?" && bytes.charCodeAt(i) !== head[at + i]) return "no";
  }
  return "fits";
}

/** Whether all of so many bytes are words shows that they are no sound: samples of a voice are near 0 as often as not. */
const TEXT_BYTES = 64;
const MIN_TEXT_BYTES = 6;
const NO_TEXT = /(?!\s)\p{Cc}|\uFFFD/u;

function isText(head: Buffer, last: boolean): Fit {
  const text = new TextDecoder("utf-8").decode(head.subarray(0, TEXT_BYTES), { stream: true });
  if (NO_TEXT.test(text)) return "no";
  // the first bytes may be a mark or half a character
  if (!/[\x20-\x7E]/.test(text)) return head.length < 4 && !last ? "may fit" : "no";
  if (head.length < TEXT_BYTES && !last) return "may fit";
  return head.length >= MIN_TEXT_BYTES ? "fits" : "no";
}

const KBPS_1_3 = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const KBPS_1_2 = [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384];
const KBPS_2 = [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
const RATES = [44_100, 48_000, 32_000];
/** Version bits of MPEG audio: 2.5, none, 2, 1. */
const SLOWER = [4, 0, 2, 1];
const SYNC = 0xff;
/** Bytes of a frame's head that tell its length. */
const FRAME_HEAD_BYTES = 6;

interface PackedFrame {
  readonly name: string;
  readonly bytes: number;
}

/** A frame of MPEG audio layer 2 or 3 (ISO 11172-3, 2.4.1.3), or of AAC in ADTS (ISO 13818-7, 6.2); null: none begins here. */
function frameAt(bytes: Buffer, at: number): PackedFrame | null {
  if (at + FRAME_HEAD_BYTES > bytes.length) return null;
  const [first = 0, second = 0, third = 0, fourth = 0, fifth = 0, sixth = 0] = bytes.subarray(
    at,
    at + FRAME_HEAD_BYTES,
  );
  if (first !== SYNC) return null;
  if ((second & 0xf6) === 0xf0) {
    const length = ((fourth & 3) << 11) | (fifth << 3) | (sixth >> 5);
    return ((third >> 2) & 15) <= 12 && length > 7 ? { name: "AAC", bytes: length } : null;
  }
  const slower = SLOWER[(second >> 3) & 3] ?? 0;
  const layer = 4 - ((second >> 1) & 3);
  const rate = RATES[(third >> 2) & 3];
  if (second < 0xe0 || slower === 0 || layer < 2 || layer > 3 || rate === undefined || (fourth & 3) === 2) return null;
  const kbps = (slower > 1 ? KBPS_2 : layer === 3 ? KBPS_1_3 : KBPS_1_2)[(third >> 4) - 1];
  if (kbps === undefined) return null;
  const samples = slower > 1 && layer === 3 ? 576 : 1152;
  return { name: "MP3", bytes: Math.floor((samples / 8) * ((kbps * 1000 * slower) / rate)) + ((third >> 1) & 1) };
}

/** Packed sound is noise at full scale where it is read as samples; no voice is. */
const NOISE = { least_samples: 256, level: 0.3 * 32_768, likeness: 0.3 } as const;
/** A whole answer is not as short. */
const MIN_ANSWER_BYTES = 128;

function isNoise(bytes: Buffer): boolean {
  const count = bytes.length >> 1;
  let [power, product] = [0, 0];
  for (let i = 0, before = 0; i < count; i++) {
    const sample = bytes.readInt16LE(2 * i);
    power += sample * sample;
    product += sample * before;
    before = sample;
  }
  return Math.sqrt(power / Math.max(1, count)) > NOISE.level && Math.abs(product) < NOISE.likeness * power;
}

/** A frame's head is short enough to stand at the beginning of a voice by chance: what follows decides. */
function packedFrames(head: Buffer, last: boolean): SoundKind | null {
  if (head[0] !== SYNC || (head.length > 1 && (head[1] ?? 0) < 0xe0)) return null;
  if (head.length < FRAME_HEAD_BYTES) return last ? null : "more";
  const frame = frameAt(head, 0);
  if (frame === null) return null;
  const whole = Math.max(frame.bytes + FRAME_HEAD_BYTES, 2 * NOISE.least_samples);
  if (head.length < whole && !last) return "more";
  const next = frameAt(head, frame.bytes);
  const isPacked = next?.name === frame.name || head.length < MIN_ANSWER_BYTES || isNoise(head);
  return isPacked ? { refused: frame.name } : null;
}

/** What begins with these bytes. `last`: there are no more. */
export function kindOf(head: Buffer, last: boolean): SoundKind {
  if (head.length === 0) return last ? "raw" : "more";
  let more = false;
  for (const magic of MAGIC) {
    const found = fit(head, magic);
    // a longer one that stands before it may fit still
    if (found === "fits" && (!more || last)) return magic.kind;
    more ||= found === "may fit";
  }
  if (more && !last) return "more";
  const frames = packedFrames(head, last);
  if (frames !== null) return frames;
  const text = isText(head, last);
  if (text === "fits") return { refused: "words" };
  return text === "may fit" && !last ? "more" : "raw";
}
