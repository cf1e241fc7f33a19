import { execFile } from "node:child_process";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { g711Encode } from "../../../local/speech/g711.ts";
import { decodeSpeech, encodeSpeech, speechMs } from "../../../local/speech/modem.ts";
import { beepPcm, noisePcm } from "../../../local/speech/noises.ts";
import { tonePcm } from "../../../local/speech/tones.ts";
import { resampled, utterancesIn } from "../../../local/speech/utterances.ts";
import { readWav, writeWav } from "../../../local/speech/wav.ts";

const LISTEN = new URL("../../../local/tools/listen.ts", import.meta.url).pathname;
const RATE = 8000;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "listen-test-"));
});
afterEach(async () => rm(folder, { recursive: true, force: true }));

/** A program in espeak's place: its "speech" is a tone of 300 Hz as long as the text asks for at this speed; it writes down how it was called. */
async function fakeEspeak(name = "espeak-ng"): Promise<void> {
  await writeFile(
    join(folder, "tone.wav"),
    writeWav({ rate: 16_000, channels: [tonePcm([300], { rate: 16_000, silence_ms: 50, tone_ms: 3000, level: 0.2 })] }),
  );
  await writeFile(
    join(folder, name),
    `#!/bin/sh\ntext=$(/bin/cat)\necho "$@ | $text" >> "${folder}/calls"\nwhile [ "$1" != "-w" ]; do shift; done\n/bin/cp "${folder}/tone.wav" "$2"\n`,
  );
  await chmod(join(folder, name), 0o755);
}

async function listen(
  args: string[],
  env: Record<string, string> = {},
): Promise<{ code: number; out: string; err: string }> {
  return await new Promise((resolve) => {
    execFile(process.execPath, [LISTEN, ...args], { env: { PATH: folder, ...env } }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    );
  });
}

/** A talk of two: who says what and when, with a beep on the left at the end. */
async function recording(): Promise<string> {
  const [left, right] = [new Int16Array(RATE * 8), new Int16Array(RATE * 8)];
  right.set(encodeSpeech("Does Monday suit you?", RATE), RATE / 2);
  left.set(encodeSpeech("Yes, thank you.", RATE), RATE * 3);
  left.set(beepPcm(300, RATE), RATE * 6);
  const file = join(folder, "talk.wav");
  await writeFile(file, writeWav({ rate: RATE, channels: [left, right] }));
  return file;
}

describe("npm run listen", () => {
  test("puts speech where the words were, in two voices, and leaves the rest", async () => {
    await fakeEspeak();
    const file = await recording();
    const { code, out, err } = await listen([file, join(folder, "out.wav")]);
    expect([code, err]).toEqual([0, ""]);
    expect(out.split("\n").slice(0, 2)).toEqual([
      "    0.5 s  agent     Does Monday suit you?",
      "    3.0 s  customer  Yes, thank you.",
    ]);
    const sound = readWav(await readFile(join(folder, "out.wav")))!;
    expect([sound.rate, sound.channels.length, sound.channels[0]!.length]).toEqual([RATE, 2, RATE * 8]);
    expect(sound.channels.map((channel) => decodeSpeech(channel, RATE))).toEqual(["", ""]);
    const loud = (channel: number, from_ms: number, to_ms: number): boolean =>
      sound.channels[channel]!.subarray(from_ms * 8, to_ms * 8).some((value) => Math.abs(value) > 2000);
    const end = 500 + speechMs("Does Monday suit you?");
    expect([loud(1, 0, 500), loud(1, 520, 700), loud(1, end - 200, end - 100), loud(1, end, 8000)]).toEqual([
      false,
      true,
      true,
      false,
    ]);
    expect([loud(0, 0, 2900), loud(0, 3020, 3200), loud(0, 6010, 6290)]).toEqual([false, true, true]);
    const calls = (await readFile(join(folder, "calls"), "utf8")).split("\n");
    expect(calls[0]).toMatch(/^-v en\+f3 -s 165 -w \S+ --stdin \| Yes, thank you\.$/);
    expect(calls[2]).toMatch(/^-v en\+m3 -s 165 .*Does Monday suit you\?$/);
    // The fake's speech is 3 s long: the second time it is asked for faster speech.
    expect(Number(/-s (\d+)/.exec(calls[1]!)![1])).toBeGreaterThan(400 - 1);
  });

  test("speaks another language, beside the recording unless told where", async () => {
    await fakeEspeak("espeak");
    const file = await recording();
    expect(await listen([file, "--language", "de"])).toMatchObject({ code: 0 });
    expect(readWav(await readFile(join(folder, "talk.speech.wav")))).not.toBeNull();
    expect(await readFile(join(folder, "calls"), "utf8")).toContain("-v de+f3");
  });

  test("says what is missing", async () => {
    const file = await recording();
    const nothing = await listen([file]);
    expect([nothing.code, nothing.err]).toEqual([
      1,
      "There is no program here that speaks: espeak-ng (Debian: apt install espeak-ng) or flite (Debian: apt install flite) is needed on the PATH.\n",
    ]);
    expect(nothing.out).toContain("Yes, thank you.");
    await fakeEspeak();
    expect((await listen([file], { SPEECH: "flite" })).err).toContain("flite (Debian: apt install flite) is needed");
    expect((await listen([file], { SPEECH: "me" })).err).toContain("SPEECH must be espeak or flite");
    expect((await listen([])).err).toContain("<recording.wav> is missing");
    expect((await listen([join(folder, "none.wav")])).code).toBe(1);
    await writeFile(join(folder, "text.wav"), "hello");
    expect((await listen([join(folder, "text.wav")])).err).toContain("no WAV file");
    await writeFile(join(folder, "noise.wav"), writeWav({ rate: RATE, channels: [noisePcm(1000, RATE, -20, 1)] }));
    expect((await listen([join(folder, "noise.wav")])).err).toContain("holds no words");
  });
});

test("a G.711 recording is read like a linear one", () => {
  const bytes = g711Encode("pcmu", encodeSpeech("Hello", RATE));
  const header = writeWav({ rate: RATE, channels: [new Int16Array(0)] });
  header.writeUInt16LE(7, 20);
  header.writeUInt16LE(8, 34);
  header.writeUInt32LE(bytes.length, 40);
  const sound = readWav(Buffer.concat([header, bytes]))!;
  expect(utterancesIn(sound.channels[0]!, RATE).map(({ text }) => text)).toEqual(["Hello"]);
});

test("words after a pause are another utterance", () => {
  const [one, two] = [encodeSpeech("Hello there", RATE), encodeSpeech("Yes", RATE)];
  const pcm = new Int16Array(one.length + 800 * 8 + two.length);
  pcm.set(one);
  pcm.set(two, one.length + 800 * 8);
  expect(utterancesIn(pcm, RATE).map(({ text }) => text)).toEqual(["Hello there", "Yes"]);
});

test("resampling keeps a tone and drops what the fewer samples cannot hold", () => {
  const energy = (hz: number): number =>
    resampled(tonePcm([hz], { rate: 48_000, silence_ms: 0, tone_ms: 100, level: 0.2 }), 800).reduce(
      (sum, value) => sum + (value / 32_768) ** 2,
      0,
    ) / 800;
  expect(energy(1000)).toBeGreaterThan(0.03);
  expect(energy(6500)).toBeLessThan(0.001);
});
