import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { hasProgram, PROGRAM_ENV } from "../../harness/program.ts";
import { pcmBytes, pcmOf } from "../../speech/wav.ts";
import { BROWSER_RATE } from "./page.ts";

/** The sound of a machine by PulseAudio (Debian: pulseaudio, pulseaudio-utils), with a server of its own: whatever plays and records through it is heard, and spoken to, from outside. */

const SERVER = "pulseaudio";
const CLIENT = "pacat";
const CONTROL = "pactl";
const START_MS = 10_000;
const POLL_MS = 50;
const BYTES_PER_SAMPLE = 2;
const MS_PER_SECOND = 1000;
/** A sample that is no louder is silence. */
const QUIET = 300;
const FORMAT = ["--raw", "--format=s16le", `--rate=${BROWSER_RATE}`, "--channels=1"];
/** What is written is played at once, and what is heard is told at once, ms. */
const LATENCY = "--latency-msec=20";

/** Whether a sound card can be had here. */
export const hasSoundCard = (): boolean => [SERVER, CLIENT, CONTROL].every(hasProgram);

/** A part of a sound card. */
export type SoundCardPart = "loudspeaker" | "microphone";

/** A loudspeaker and a microphone of a machine's own. */
export interface SoundCard {
  /** What programs are started with that use it. */
  env: Readonly<Record<string, string>>;
  /** Connects what was not there. */
  plug(part: SoundCardPart): Promise<void>;
  /** Speaks into the microphone; samples at BROWSER_RATE. Over once all was played into it. */
  say(pcm: Int16Array): Promise<void>;
  /** All that the loudspeaker has sounded since it is there, silence too, at BROWSER_RATE. */
  heard(): Int16Array;
  /** For how long the loudspeaker has been silent, in its own time, ms; null: it has sounded nothing so far. */
  silentMs(): number | null;
  stop(): Promise<void>;
}

const sink = (name: string): string[] => [
  "module-null-sink",
  `sink_name=${name}`,
  `rate=${BROWSER_RATE}`,
  "channels=1",
];
/** A sink that nobody hears stands for the loudspeaker, and the monitor of another one is the microphone. */
const MODULES: Record<SoundCardPart, readonly string[][]> = {
  loudspeaker: [sink("loudspeaker")],
  microphone: [sink("mouth"), ["module-remap-source", "source_name=microphone", "master=mouth.monitor"]],
};

const ended = (child: ChildProcess): Promise<number | null> =>
  child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve(child.exitCode)
    : new Promise((resolve) => child.once("exit", resolve));

class Card implements SoundCard {
  readonly env: Readonly<Record<string, string>>;
  readonly #folder: string;
  readonly #server: ChildProcess;
  readonly #own: NodeJS.ProcessEnv;
  readonly #blocks: Buffer[] = [];
  #ear: ChildProcess | null = null;
  #hasLoudspeaker = false;

  constructor() {
    this.#folder = mkdtempSync(join(tmpdir(), "callagent-sound-"));
    const runtime = join(this.#folder, "runtime");
    mkdirSync(runtime, { mode: 0o700 });
    // by name: the sink that is the microphone's mouth is nobody's loudspeaker
    this.env = { PULSE_SERVER: `unix:${this.#socket}`, PULSE_SINK: "loudspeaker", PULSE_SOURCE: "microphone" };
    const home = { HOME: this.#folder, PULSE_RUNTIME_PATH: runtime };
    this.#own = { ...PROGRAM_ENV, ...this.env, ...home };
    const how = ["-n", "--daemonize=no", "--use-pid-file=no", "--exit-idle-time=-1", "--disable-shm=yes"];
    const door = `module-native-protocol-unix socket=${this.#socket} auth-anonymous=1 auth-cookie-enabled=0`;
    this.#server = spawn(SERVER, [...how, "-L", door], { env: { ...PROGRAM_ENV, ...home }, stdio: "ignore" });
  }

  get #socket(): string {
    return join(this.#folder, "socket");
  }

  async ready(): Promise<void> {
    for (let waited = 0; !existsSync(this.#socket); waited += POLL_MS) {
      if (waited > START_MS || this.#server.exitCode !== null) throw new Error(`${SERVER} did not start`);
      await wait(POLL_MS);
    }
  }

  async plug(part: SoundCardPart): Promise<void> {
    for (const module of MODULES[part]) await this.#control(["load-module", ...module]);
    if (part === "loudspeaker") this.#hasLoudspeaker = true;
    if (this.#hasLoudspeaker) await this.#listen();
  }

  async say(pcm: Int16Array): Promise<void> {
    const mouth = spawn(CLIENT, ["--playback", "--device=mouth", LATENCY, ...FORMAT], {
      env: this.#own,
      stdio: ["pipe", "ignore", "ignore"],
    });
    mouth.stdin.end(pcmBytes(pcm));
    await ended(mouth);
  }

  heard(): Int16Array {
    const all = Buffer.concat(this.#blocks);
    return pcmOf(all.subarray(0, all.length - (all.length % BYTES_PER_SAMPLE)));
  }

  silentMs(): number | null {
    const pcm = this.heard();
    const last = pcm.findLastIndex((sample) => Math.abs(sample) > QUIET);
    return last < 0 ? null : ((pcm.length - last) * MS_PER_SECOND) / BROWSER_RATE;
  }

  async stop(): Promise<void> {
    for (const child of [this.#ear, this.#server]) {
      child?.kill("SIGKILL");
      if (child) await ended(child);
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** From anew with each part: a new source takes streams of the one that was the default until then. */
  async #listen(): Promise<void> {
    this.#ear?.kill("SIGKILL");
    if (this.#ear) await ended(this.#ear);
    const ear = spawn(CLIENT, ["--record", "--device=loudspeaker.monitor", LATENCY, ...FORMAT], {
      env: this.#own,
      stdio: ["ignore", "pipe", "ignore"],
    });
    ear.stdout.on("data", (block: Buffer) => this.#blocks.push(block));
    this.#ear = ear;
  }

  async #control(args: readonly string[]): Promise<void> {
    const status = await ended(spawn(CONTROL, args, { env: this.#own, stdio: "ignore" }));
    if (status !== 0) throw new Error(`${CONTROL} ${args.join(" ")} ended with status ${status}`);
  }
}

/** Starts one with these parts; it lives until it is stopped. */
export async function startSoundCard(
  parts: readonly SoundCardPart[] = ["loudspeaker", "microphone"],
): Promise<SoundCard> {
  const card = new Card();
  try {
    await card.ready();
    for (const part of parts) await card.plug(part);
    return card;
  } catch (error) {
    await card.stop();
    throw error;
  }
}
