/** Longest recording that is taken: two hours and more of uncompressed stereo speech. */
export const MAX_RECORDING_BYTES = 500_000_000;

const AUDIO = /^audio\/[a-z0-9.+-]{1,60}$/;
/** What storages say of files whose kind nobody told them. */
const UNTOLD: readonly string[] = ["application/octet-stream", "binary/octet-stream", ""];
const SAME: Record<string, string> = {
  "audio/x-wav": "audio/wav",
  "audio/wave": "audio/wav",
  "audio/vnd.wave": "audio/wav",
  "audio/mp3": "audio/mpeg",
  "audio/x-mpeg": "audio/mpeg",
};

const bare = (content_type: string): string => (content_type.split(";")[0] ?? "").trim().toLowerCase();

/** What its first bytes say a file is. */
function known(head: Buffer): string | null {
  if (head.toString("latin1", 0, 4) === "RIFF" && head.toString("latin1", 8, 12) === "WAVE") return "audio/wav";
  const isMp3 = head.toString("latin1", 0, 3) === "ID3" || (head[0] === 0xff && ((head[1] ?? 0) & 0xe0) === 0xe0);
  return isMp3 ? "audio/mpeg" : null;
}

/** The content type a recording is kept with; null for what is no audio: an error page, a log-in form. */
export function audioType(content_type: string, head: Buffer): string | null {
  const said = bare(content_type);
  if (AUDIO.test(said)) return SAME[said] ?? said;
  return UNTOLD.includes(said) ? known(head) : null;
}
