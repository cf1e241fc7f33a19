import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { resampled, trimmed } from "../../speech/utterances.ts";
import { readWav } from "../../speech/wav.ts";
import { atLevel, telephoneBand } from "./levels.ts";

/** Voices of flite and espeak-ng (Debian's packages), as a telephone carries them. */

/** The voices of callers: the recogniser understands each of them on a quiet line. */
export const CALLERS = ["slt", "rms", "awb", "kal16"] as const;
/** The voices of others. */
export const BYSTANDERS = ["en-us+m3", "en-us+f3", "en-us+m1", "en-us+f2", "rms", "awb"] as const;
/** The agent's voice. */
export const AGENT = "slt";

const RATE = 8000;
/** The rate of models, in terms of it. */
const MODEL_TIMES = 3;
const FLITE = new Set<string>(["slt", "rms", "awb", "kal16", "kal", "awb_time"]);
const LIMIT_MS = 60_000;

/** Speech by its voice and text, made once. */
export interface Spoken {
  /** At 8 kHz, within the telephone's band, without silence around it, at -22 dBFS while it is loud. */
  telephone(voice: string, text: string): Promise<Int16Array>;
  /** As a speech model answers it, at 24 kHz. */
  model(voice: string, text: string): Promise<Int16Array>;
}

const run = (program: string, args: readonly string[]): Promise<void> =>
  new Promise((resolve, reject) => {
    execFile(program, args, { timeout: LIMIT_MS }, (error) => {
      if (error === null) resolve();
      else
        reject(
          new Error(
            `${program} could not speak: ${error.message.split("\n")[0]} (Debian: apt-get install flite espeak-ng)`,
          ),
        );
    });
  });

async function render(voice: string, text: string): Promise<{ pcm: Int16Array; rate: number }> {
  const folder = await mkdtemp(join(tmpdir(), "callagent-spoken-"));
  const file = join(folder, "said.wav");
  try {
    if (FLITE.has(voice)) await run("flite", ["-voice", voice, "-o", file, "-t", text]);
    else await run("espeak-ng", ["-v", voice, "-w", file, text]);
    const sound = readWav(await readFile(file));
    const [pcm] = sound?.channels ?? [];
    if (sound === null || pcm === undefined) throw new Error(`the sound of ${voice} can't be read`);
    return { pcm: trimmed(pcm), rate: sound.rate };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Speaks by the programs of this machine. */
export function spokenByPrograms(): Spoken {
  const made = new Map<string, Promise<Int16Array>>();
  const once = (key: string, make: () => Promise<Int16Array>): Promise<Int16Array> => {
    const known = made.get(key) ?? make();
    made.set(key, known);
    return known;
  };
  const at = async (voice: string, text: string, rate: number): Promise<Int16Array> => {
    const { pcm, rate: given } = await render(voice, text);
    return resampled(pcm, Math.round((pcm.length * rate) / given));
  };
  return {
    telephone: (voice, text) =>
      once(`8 ${voice} ${text}`, async () => atLevel(telephoneBand(await at(voice, text, RATE)), -22)),
    model: (voice, text) => once(`24 ${voice} ${text}`, () => at(voice, text, MODEL_TIMES * RATE)),
  };
}

/** What the agent says at 8 kHz, to be compared with what a line carried of it: as crude as that allows. */
export async function agentOnLine(spoken: Spoken, text: string): Promise<Int16Array> {
  const pcm = await spoken.model(AGENT, text);
  return Int16Array.from({ length: Math.floor(pcm.length / MODEL_TIMES) }, (_, n) => pcm[n * MODEL_TIMES] ?? 0);
}
