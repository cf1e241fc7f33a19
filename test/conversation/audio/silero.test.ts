import { readFileSync } from "node:fs";
import { join } from "node:path";
import { noiseOf } from "../../../local/bench/speech/noise-corpus.ts";
import { muLaw } from "../../../services/conversation/audio/g711.ts";
import type { VoiceModel } from "../../../services/conversation/audio/port.ts";
import { weightsIn } from "../../../services/conversation/audio/silero/model-file.ts";
import { SileroNetwork, SileroState, WINDOW } from "../../../services/conversation/audio/silero/network.ts";
import { energyVad } from "../../../services/conversation/audio/vad.ts";
import { babble, framesOf, inTurn, noise, silence, together, tone } from "../fixtures/sound.ts";

const MODEL = readFileSync(
  join(import.meta.dirname, "../../../node_modules/@ricky0123/vad-web/dist/silero_vad_v6.onnx"),
);
const network = new SileroNetwork(weightsIn(MODEL));
/** "Friday would be better for me.", spoken by flite's slt over a telephone at -22 dBFS. */
const SAID = muLaw.decode(readFileSync(join(import.meta.dirname, "fixtures/said.ulaw")));
const SAID_MS = SAID.length / 8;

const windowsOf = (pcm: Int16Array): Int16Array[] =>
  Array.from({ length: Math.floor(pcm.length / WINDOW) }, (_, n) => pcm.subarray(n * WINDOW, (n + 1) * WINDOW));
const alone = (pcm: Int16Array): number[] => {
  const state = new SileroState();
  return windowsOf(pcm).map((window) => network.judge([{ pcm: window, state }])[0]!);
};
const spoken = {
  telephone: () => Promise.reject(new Error("no voice")),
  model: () => Promise.reject(new Error("none")),
};
const noises = (name: string, db: number, seconds: number): Promise<Int16Array> =>
  noiseOf(name, db, seconds, { spoken, seed: 3 });

describe("the network", () => {
  test("answers what the model's own runtime answers", () => {
    // onnxruntime-web 1.30.0 on the same windows
    const known = [0.01605, 0.03571, 0.6975, 0.96809, 0.97969, 0.99203, 0.993, 0.99728];
    const sound = together(inTurn(SAID.subarray(0, 8 * WINDOW)), noise({ ms: 256, db: -30 }));
    alone(sound).forEach((p, n) => expect(Math.abs(p - known[n]!)).toBeLessThan(1e-4));
  });

  test("answers each call as if it were alone, whatever its neighbours say", () => {
    const sounds = [
      SAID,
      noise({ ms: 900, db: -20 }),
      inTurn(silence(300), SAID),
      tone({ ms: 900 }),
      SAID.map((v) => v / 4),
    ];
    const states = sounds.map(() => new SileroState());
    const together_ = windowsOf(SAID.subarray(0, 7000)).map((_, n) =>
      network.judge(sounds.map((sound, k) => ({ pcm: windowsOf(sound)[n]!, state: states[k]! }))),
    );
    for (const [k, sound] of sounds.entries())
      alone(sound)
        .slice(0, together_.length)
        .forEach((p, n) => expect(Math.abs(together_[n]![k]! - p)).toBeLessThan(1e-6));
  });

  test("begins anew with a state that was reset", () => {
    const state = new SileroState();
    const first = network.judge([{ pcm: SAID.subarray(2000, 2000 + WINDOW), state }]);
    network.judge([{ pcm: SAID.subarray(0, WINDOW), state }]);
    state.reset();
    expect(network.judge([{ pcm: SAID.subarray(2000, 2000 + WINDOW), state }])).toEqual(first);
  });

  test.each([
    ["nothing", new Uint8Array(0)],
    ["another file", new TextEncoder().encode("no model at all")],
    ["a part of it", MODEL.subarray(0, MODEL.length / 10)],
  ])("is not made of %s", (_, file) => {
    expect(() => new SileroNetwork(weightsIn(file))).toThrow(RangeError);
  });
});

/** The network as a model that answers so many frames later, and what it was asked. */
function modelOf(answered: (p: number) => number | null = (p) => p, late = 1) {
  const due: (() => void)[][] = [];
  let asked = 0;
  const model: VoiceModel = {
    open(answer) {
      const state = new SileroState();
      return {
        ready: true,
        ask(pcm) {
          asked++;
          const p = answered(network.judge([{ pcm, state }])[0]!);
          (due[late] ??= []).push(() => answer(p));
        },
        forget: () => state.reset(),
      };
    },
  };
  return { model, asked: () => asked, frame: (): void => due.shift()?.forEach((tell) => tell()) };
}

/** What a detector knows after each frame. */
function heard(sound: Int16Array, by: ReturnType<typeof modelOf>) {
  const vad = energyVad({ rate: 8000, model: by.model });
  return framesOf(sound).map((frame) => {
    const activity = vad.push(frame);
    by.frame();
    return activity;
  });
}

describe("a detector with the model", () => {
  const line = (ms: number): Int16Array => noise({ ms, db: -60 });

  test("hears speech within 200 ms, and its end", () => {
    const all = heard(together(line(3000 + SAID_MS), inTurn(silence(1500), SAID, silence(1500))), modelOf());
    const began = all.findIndex((h) => h.speaking);
    expect(Math.abs(began * 20 - 1500)).toBeLessThanOrEqual(200);
    const ended = all.findIndex((h, n) => n > began && !h.speaking);
    expect(Math.abs(ended * 20 - 1500 - SAID_MS - 300)).toBeLessThanOrEqual(60);
    expect(all.slice(ended).some((h) => h.speaking)).toBe(false);
  });

  test.each(["music", "dog", "ringing", "siren", "cough", "street"])("takes no %s for a voice", async (name) => {
    expect(heard(await noises(name, -20, 12), modelOf()).some((h) => h.speaking)).toBe(false);
  });

  test("asks nothing on a quiet line, and from before the first sound on", () => {
    const quiet = modelOf();
    heard(noise({ ms: 4000, db: -50 }), quiet);
    expect(quiet.asked()).toBe(0);
    const one = modelOf();
    heard(together(line(2500 + SAID_MS), inTurn(silence(1500), SAID, silence(1000))), one);
    expect(one.asked() * 32).toBeGreaterThan(SAID_MS / 2 + 100);
    expect(one.asked() * 32).toBeLessThan(SAID_MS);
  });

  test.each([
    ["does not answer", modelOf(undefined, 1000)],
    ["can't judge", modelOf(() => null)],
  ])("tells a voice by its pitch where the model %s", (_, by) => {
    const all = heard(inTurn(silence(500), babble(1500), silence(800)), by);
    expect(all.findIndex((h) => h.speaking) * 20).toBeLessThan(1000);
    expect(all.at(-1)!.speaking).toBe(false);
  });

  test.each([16_000, 24_000, 48_000])("hears speech at %d Hz too", (rate) => {
    const by = modelOf();
    const vad = energyVad({ rate, model: by.model });
    const times = rate / 8000;
    const sound = inTurn(silence(1000), SAID);
    const fast = Int16Array.from({ length: sound.length * times }, (_, n) => sound[Math.floor(n / times)]!);
    const said = framesOf(fast, 20, rate).map((frame) => {
      const activity = vad.push(frame);
      by.frame();
      return activity.speaking;
    });
    expect(Math.abs(said.indexOf(true) * 20 - 1000)).toBeLessThanOrEqual(200);
  });
});
