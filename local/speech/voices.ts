import { execFile } from "node:child_process";
import { access, constants, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { UserError } from "../../shared/process/command-line.ts";
import { resampled, trimmed } from "./utterances.ts";
import { readWav } from "./wav.ts";

/** Real speech by a program of the machine: espeak-ng or flite. */

/** What a program is asked to say. `speed` 1 is its own; `voice` 0 or 1. */
export type VoiceRequest = Readonly<{ text: string; voice: 0 | 1; speed: number; language: string; file: string }>;
type Engine = Readonly<{
  name: "espeak" | "flite";
  programs: readonly string[];
  install: string;
  args(wish: VoiceRequest): string[];
  stdin(wish: VoiceRequest): string;
}>;

const WORDS_A_MINUTE = 165;
const FASTEST_WORDS_A_MINUTE = 400;
const SLOWEST = 0.75;
const TIME_LIMIT_MS = 30_000;

/** The programs that can speak, the better one first. */
export const ENGINES: readonly Engine[] = [
  {
    name: "espeak",
    programs: ["espeak-ng", "espeak"],
    install: "apt install espeak-ng",
    args: ({ voice, speed, language, file }) => [
      "-v",
      `${language}+${voice === 0 ? "f3" : "m3"}`,
      "-s",
      String(Math.min(FASTEST_WORDS_A_MINUTE, Math.round(WORDS_A_MINUTE * speed))),
      "-w",
      file,
      "--stdin",
    ],
    stdin: ({ text }) => text,
  },
  {
    name: "flite",
    programs: ["flite"],
    install: "apt install flite",
    args: ({ text, voice, speed, file }) => [
      "-voice",
      voice === 0 ? "slt" : "rms",
      "--setf",
      `duration_stretch=${(1 / speed).toFixed(3)}`,
      "-o",
      file,
      "-t",
      text,
    ],
    stdin: () => "",
  },
];

/** A program that was found, ready to speak. */
export interface Speaker {
  readonly program: string;
  /** Speech of a length in milliseconds, as near as it can be had, in samples of a rate. */
  say(wish: Pick<VoiceRequest, "text" | "voice" | "language">, fit_ms: number, rate: number): Promise<Int16Array>;
  close(): Promise<void>;
}

/** What is missing on this machine, said so that it can be mended. */
export class SpeechMissing extends UserError {}

/** Looks for a program on the path; `wanted` names one ("espeak" or "flite"). Throws SpeechMissing. */
export async function findSpeaker(path: string, wanted?: string): Promise<Speaker> {
  const engines = wanted === undefined || wanted === "" ? ENGINES : ENGINES.filter(({ name }) => name === wanted);
  if (engines.length === 0) throw new SpeechMissing(`SPEECH must be espeak or flite, not "${wanted ?? ""}".`);
  for (const engine of engines) {
    for (const program of engine.programs) {
      const found = await onPath(program, path);
      if (found !== null) return await speaker(engine, found);
    }
  }
  const needed = engines.map(({ programs, install }) => `${programs[0] ?? ""} (Debian: ${install})`).join(" or ");
  throw new SpeechMissing(`There is no program here that speaks: ${needed} is needed on the PATH.`);
}

async function onPath(program: string, path: string): Promise<string | null> {
  for (const folder of path.split(delimiter).filter((one) => one !== "")) {
    const candidate = join(folder, program);
    if (
      await access(candidate, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return candidate;
  }
  return null;
}

async function speaker(engine: Engine, program: string): Promise<Speaker> {
  const folder = await mkdtemp(join(tmpdir(), "callagent-speech-"));
  const file = join(folder, "said.wav");
  const render = async (wish: Omit<VoiceRequest, "file">): Promise<{ pcm: Int16Array; rate: number }> => {
    const whole = { ...wish, file };
    await run(program, engine.args(whole), engine.stdin(whole));
    const sound = readWav(await readFile(file));
    const [pcm] = sound?.channels ?? [];
    if (sound === null || pcm === undefined) throw new Error(`${program} gave no sound that can be read.`);
    return { pcm: trimmed(pcm), rate: sound.rate };
  };
  return {
    program,
    async say(wish, fit_ms, rate) {
      const first = await render({ ...wish, speed: 1 });
      const speed = Math.max(SLOWEST, (first.pcm.length * 1000) / first.rate / fit_ms);
      const { pcm, rate: given } = await render({ ...wish, speed });
      // What is still too long is pressed together, its pitch a little higher.
      return resampled(pcm, Math.round(Math.min((pcm.length * rate) / given, (fit_ms * rate) / 1000)));
    },
    close: async () => rm(folder, { recursive: true, force: true }),
  };
}

async function run(program: string, args: readonly string[], stdin: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const child = execFile(program, args, { timeout: TIME_LIMIT_MS }, (error) =>
      error === null ? resolve() : reject(error),
    );
    child.stdin?.on("error", () => undefined); // A program that does not read its input closes it.
    child.stdin?.end(stdin);
  });
}
