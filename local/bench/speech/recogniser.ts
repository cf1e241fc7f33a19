import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pcmBytes } from "../../speech/wav.ts";
import { resampled } from "../../speech/utterances.ts";
import { bigramModel, wordsIn } from "./language-model.ts";

/** Offline recognition by Debian's pocketsphinx (packages pocketsphinx and pocketsphinx-en-us). */

const PROGRAM = "pocketsphinx_batch";
/** Where Debian puts the model; CALLAGENT_SPEECH_MODEL names another folder. */
const MODELS = process.env["CALLAGENT_SPEECH_MODEL"] ?? "/usr/share/pocketsphinx/model/en-us";
const MODEL = `${MODELS}/en-us`;
const DICTIONARY = `${MODELS}/cmudict-en-us.dict`;
const TELEPHONE_RATE = 8000;
/** The acoustic model is of this rate. */
const MODEL_RATE = 16_000;
const SOUNDS = ".raw";
/** "yes please (u3 -6490)", and a line of its own once the utterance is done. */
const HYPOTHESIS = /^(.*?) ?\((u\d+) -?\d+\)$/;
const DONE = /^(u\d+) done -/;

/** Recognises telephone sound. */
export interface Recogniser {
  /** The words of the sound (8 kHz), "" where it hears none. */
  words(pcm: Int16Array): Promise<string>;
  stop(): void;
}

/** The pronunciations of the words; throws and names a word that has none. */
function pronunciations(words: ReadonlySet<string>): string {
  const kept = readFileSync(DICTIONARY, "utf8")
    .split("\n")
    .filter((line) => words.has((line.split(" ")[0] ?? "").replace(/\(\d+\)$/, "")));
  const known = new Set(kept.map((line) => line.split(" ")[0]));
  const strange = [...words].find((word) => !known.has(word));
  if (strange !== undefined) throw new Error(`the recogniser has no pronunciation of "${strange}"`);
  return `${kept.join("\n")}\n`;
}

function startProgram(folder: string, sentences: readonly string[]): ChildProcess {
  const [model, dictionary] = [join(folder, "sentences.lm"), join(folder, "words.dict")];
  writeFileSync(model, bigramModel(sentences));
  writeFileSync(dictionary, pronunciations(new Set(sentences.flatMap(wordsIn))));
  const sound = ["-adcin", "yes", "-adchdr", "0", "-cepdir", folder, "-cepext", SOUNDS];
  const asked = ["-hmm", MODEL, "-lm", model, "-dict", dictionary, ...sound, "-ctl", "/dev/stdin", "-backtrace", "yes"];
  // its list of sounds must be a file or a pipe that it can open by name; ours is a socket
  return spawn("sh", ["-c", 'cat | exec "$@"', "sh", PROGRAM, ...asked], { stdio: ["pipe", "ignore", "pipe"] });
}

/** Starts the recogniser for a language of these sentences: so many processes, each hears one sound after the other. */
export function startRecogniser(sentences: readonly string[], processes: number): Recogniser {
  const all = Array.from({ length: processes }, () => ({ underWay: 0, one: startOne(sentences) }));
  return {
    async words(pcm) {
      const idlest = all.toSorted((a, b) => a.underWay - b.underWay)[0];
      if (!idlest) return "";
      idlest.underWay++;
      try {
        return await idlest.one.words(pcm);
      } finally {
        idlest.underWay--;
      }
    },
    stop() {
      for (const { one } of all) one.stop();
    },
  };
}

function startOne(sentences: readonly string[]): Recogniser {
  const folder = mkdtempSync(join(tmpdir(), "callagent-recogniser-"));
  const child = startProgram(folder, sentences);
  const waiting = new Map<string, { done(text: string): void; failed(error: Error): void }>();
  const texts = new Map<string, string>();
  let asked = 0;
  const ended = (reason: string): void => {
    for (const { failed } of waiting.values()) failed(new Error(`${PROGRAM}: ${reason}`));
    waiting.clear();
  };
  child.once("error", (error) => ended(`${error.message} (Debian: apt-get install pocketsphinx pocketsphinx-en-us)`));
  child.once("exit", (status) => ended(`it ended with status ${status}`));
  if (child.stderr)
    createInterface({ input: child.stderr }).on("line", (line) => {
      const [, text = "", utterance = ""] = HYPOTHESIS.exec(line) ?? [];
      if (utterance !== "") texts.set(utterance, text);
      const [, done = ""] = DONE.exec(line) ?? [];
      waiting.get(done)?.done(texts.get(done) ?? "");
      waiting.delete(done);
    });
  return {
    async words(pcm) {
      const name = `u${++asked}`;
      const file = join(folder, name + SOUNDS);
      writeFileSync(file, pcmBytes(resampled(pcm, (pcm.length * MODEL_RATE) / TELEPHONE_RATE)));
      try {
        return await new Promise<string>((done, failed) => {
          waiting.set(name, { done, failed });
          child.stdin?.write(`${name}\n`);
        });
      } finally {
        rmSync(file, { force: true });
      }
    },
    stop() {
      child.removeAllListeners("exit");
      child.stdin?.end();
      child.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
