import { FLOAT_BYTES, LANES, matrixKernel, VECTOR, type MultiplyRows } from "../kernel/matrix-kernel.ts";
import type { Weights } from "./model-file.ts";

/** The model judges windows of so many samples at 8 kHz: 32 ms. */
export const WINDOW = 256;
/** It sees the end of the window before. */
const CONTEXT = 32;
/** Its spectrum: frames of 128 samples, one every 64, of 65 frequencies; the last one sees the window's end mirrored. */
const [FRAME, HOP, FREQUENCIES, FRAMES, MIRRORED] = [128, 64, 65, 4, 32];
const SAMPLES = CONTEXT + WINDOW + MIRRORED;
const HIDDEN = 128;
const GATES = 4;
const FULL_SCALE = 32_768;

/** Convolutions over three frames, in their order; `stride` 2 leaves out every second frame. */
const LAYERS = [
  { from: FREQUENCIES, to: 128, frames: FRAMES, stride: 1 },
  { from: 128, to: 64, frames: FRAMES, stride: 2 },
  { from: 64, to: 64, frames: 2, stride: 2 },
  { from: 64, to: HIDDEN, frames: 1, stride: 1 },
] as const;
const TAPS = 3;

/** What the model remembers of a call. */
export class SileroState {
  /** The end of the window before, and the two memories of the network. */
  readonly context = new Float32Array(CONTEXT);
  readonly hidden = new Float32Array(HIDDEN);
  readonly cell = new Float32Array(HIDDEN);

  /** Nothing was heard yet. */
  reset(): void {
    for (const memory of [this.context, this.hidden, this.cell]) memory.fill(0);
  }
}

/** A window of a call's sound, with what is remembered of the call. */
export interface SileroWindow {
  readonly pcm: Int16Array;
  readonly state: SileroState;
}

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));
const padded = (floats: number): number => Math.ceil(floats / VECTOR) * VECTOR;

/** Takes the values of one name; throws where the model has another number of them. */
const valuesOf =
  (weights: Weights) =>
  (name: string, length: number): Float32Array => {
    const values = weights.get(name);
    if (values?.length !== length) throw new RangeError(`the model has no ${name} of ${length} values`);
    return values;
  };

/** Memory in which vectors lie in lanes: one for each of the windows that are judged at once. Places and distances count floats. */
class Lanes {
  #used = 0;
  #floats = new Float32Array(0);
  #multiply: MultiplyRows = () => undefined;

  /** Room for four vectors of this length; all of it is taken before `begin`. */
  take(length: number): { at: number; lane: number } {
    const lane = padded(length);
    const at = this.matrix(LANES * lane);
    return { at, lane };
  }
  matrix(floats: number): number {
    const at = this.#used;
    this.#used += padded(floats);
    return at;
  }
  begin(): Float32Array {
    const { memory, multiply } = matrixKernel(this.#used * FLOAT_BYTES);
    this.#floats = new Float32Array(memory);
    this.#multiply = multiply;
    return this.#floats;
  }
  /** The products of a matrix and four vectors, with the bias added. */
  product(
    matrix: { at: number; rows: number; columns: number },
    bias: Float32Array,
    from: { at: number; lane: number },
    to: { at: number; lane: number },
  ): void {
    for (let n = 0; n < LANES; n++) this.#floats.set(bias, to.at + n * to.lane);
    const bytes = [matrix.columns, from.lane, to.lane].map((floats) => floats * FLOAT_BYTES);
    const [row = 0, fromLane = 0, toLane = 0] = bytes;
    const [w, x, y] = [matrix.at * FLOAT_BYTES, from.at * FLOAT_BYTES, to.at * FLOAT_BYTES];
    this.#multiply(w, x, y, matrix.rows, row, fromLane, toLane);
  }
}

/** Where everything lies: weights, and what goes from one layer to the next. */
function layout(lanes: Lanes) {
  const layers = LAYERS.map(({ from, to, frames }) => ({
    matrix: { at: lanes.matrix(to * TAPS * padded(from)), rows: to, columns: TAPS * padded(from) },
    // a frame of silence before and after
    input: lanes.take((frames + 2) * padded(from)),
  }));
  return {
    layers,
    spectrum: { at: lanes.matrix(2 * FREQUENCIES * FRAME), rows: 2 * FREQUENCIES, columns: FRAME },
    gates: { at: lanes.matrix(GATES * HIDDEN * 2 * HIDDEN), rows: GATES * HIDDEN, columns: 2 * HIDDEN },
    samples: lanes.take(SAMPLES),
    parts: lanes.take(2 * FREQUENCIES),
    /** What the last layer has found, and what was remembered: both go into the gates. */
    found: lanes.take(2 * HIDDEN),
    sums: lanes.take(GATES * HIDDEN),
  };
}

/** Puts the weights where they are read: those of a convolution by output, frame and input. */
function load(floats: Float32Array, { layers, spectrum, gates }: ReturnType<typeof layout>, weights: Weights): void {
  const of = valuesOf(weights);
  floats.set(of("stft.forward_basis_buffer", 2 * FREQUENCIES * FRAME), spectrum.at);
  for (const [n, { from, to }] of LAYERS.entries()) {
    const values = of(`encoder.${n}.reparam_conv.weight`, to * from * TAPS);
    const at = layers[n]?.matrix.at ?? 0;
    for (const [from_, value] of values.entries()) {
      const [row, column, tap] = [Math.floor(from_ / TAPS / from), Math.floor(from_ / TAPS) % from, from_ % TAPS];
      floats[at + (row * TAPS + tap) * padded(from) + column] = value;
    }
  }
  for (const [n, kind] of ["ih", "hh"].entries()) {
    const values = of(`decoder.rnn.weight_${kind}`, GATES * HIDDEN * HIDDEN);
    for (let row = 0; row < GATES * HIDDEN; row++)
      floats.set(values.subarray(row * HIDDEN, (row + 1) * HIDDEN), gates.at + (2 * row + n) * HIDDEN);
  }
}

/**
 * Silero VAD for 8 kHz: how likely a window holds a voice. Computed here, four calls at a time: a runtime for any network takes a hundred times the memory of this one, and twice its time. Pure.
 */
export class SileroNetwork {
  readonly #lanes = new Lanes();
  readonly #at = layout(this.#lanes);
  readonly #floats = this.#lanes.begin();
  readonly #biases: readonly Float32Array[];
  readonly #gateBias: Float32Array;
  readonly #answer: { weights: Float32Array; bias: number };
  readonly #none = new Float32Array(2 * FREQUENCIES);

  /** Throws where the weights are not those of the model. */
  constructor(weights: Weights) {
    load(this.#floats, this.#at, weights);
    const of = valuesOf(weights);
    this.#biases = LAYERS.map(({ to }, n) => of(`encoder.${n}.reparam_conv.bias`, to));
    const other = of("decoder.rnn.bias_hh", GATES * HIDDEN);
    this.#gateBias = of("decoder.rnn.bias_ih", GATES * HIDDEN).map((value, n) => value + (other[n] ?? 0));
    this.#answer = {
      weights: of("decoder.decoder.2.weight", HIDDEN),
      bias: of("decoder.decoder.2.bias", 1)[0] ?? 0,
    };
  }

  /** The probability of a voice in each window; each call's state is that after it. A call may have one window among them. */
  judge(windows: readonly SileroWindow[]): Float32Array {
    const out = new Float32Array(windows.length);
    for (let from = 0; from < windows.length; from += LANES) {
      const group = windows.slice(from, from + LANES);
      for (const [n, window] of group.entries()) this.#hear(window, n);
      this.#spectrum();
      for (const n of LAYERS.keys()) this.#convolve(n);
      const { gates, found, sums } = this.#at;
      this.#lanes.product(gates, this.#gateBias, found, sums);
      for (const [n, { state }] of group.entries()) out[from + n] = this.#remember(state, sums.at + n * sums.lane);
    }
    return out;
  }

  /** Puts a window between what was before it and its mirrored end, and what is remembered where the gates read it. */
  #hear({ pcm, state }: SileroWindow, n: number): void {
    const floats = this.#floats;
    const { samples, found } = this.#at;
    const at = samples.at + n * samples.lane;
    const end = at + CONTEXT + WINDOW;
    floats.set(state.context, at);
    for (let k = 0; k < WINDOW; k++) floats[at + CONTEXT + k] = (pcm[k] ?? 0) / FULL_SCALE;
    for (let k = 0; k < MIRRORED; k++) floats[end + k] = floats[end - 2 - k] ?? 0;
    state.context.set(floats.subarray(end - CONTEXT, end));
    floats.set(state.hidden, found.at + n * found.lane + HIDDEN);
  }

  /** The magnitudes of each frame, as the first layer reads them. */
  #spectrum(): void {
    const floats = this.#floats;
    const { samples, spectrum, parts, layers } = this.#at;
    const { at = 0, lane = 0 } = layers[0]?.input ?? {};
    for (let frame = 0; frame < FRAMES; frame++) {
      this.#lanes.product(spectrum, this.#none, { ...samples, at: samples.at + frame * HOP }, parts);
      for (let n = 0; n < LANES; n++) {
        const from = parts.at + n * parts.lane;
        const to = at + n * lane + (frame + 1) * padded(FREQUENCIES);
        for (let f = 0; f < FREQUENCIES; f++) {
          const real = floats[from + f] ?? 0;
          const imaginary = floats[from + FREQUENCIES + f] ?? 0;
          floats[to + f] = Math.sqrt(real * real + imaginary * imaginary);
        }
      }
    }
  }

  /** One layer, into the input of the next one, or of the gates. */
  #convolve(n: number): void {
    const floats = this.#floats;
    const [layer, place, bias, next] = [LAYERS[n], this.#at.layers[n], this.#biases[n], this.#at.layers[n + 1]];
    if (!layer || !place || !bias) return;
    const { to, from, frames, stride } = layer;
    const { at, lane } = next ? { ...next.input, at: next.input.at + to } : this.#at.found;
    for (let frame = 0; frame < frames; frame += stride) {
      const out = { at: at + (frame / stride) * to, lane };
      const heard = { ...place.input, at: place.input.at + frame * padded(from) };
      this.#lanes.product(place.matrix, bias, heard, out);
      for (let k = 0; k < LANES; k++) {
        const begin = out.at + k * lane;
        for (let row = begin; row < begin + to; row++) floats[row] = Math.max(0, floats[row] ?? 0);
      }
    }
  }

  /** The call's memory after the gates, and the answer. */
  #remember({ hidden, cell }: SileroState, gates: number): number {
    const floats = this.#floats;
    const { weights, bias } = this.#answer;
    let answer = bias;
    for (let k = 0; k < HIDDEN; k++) {
      const at = gates + k;
      const taken = sigmoid(floats[at] ?? 0);
      const kept = sigmoid(floats[at + HIDDEN] ?? 0);
      const fresh = Math.tanh(floats[at + 2 * HIDDEN] ?? 0);
      const now = kept * (cell[k] ?? 0) + taken * fresh;
      const value = sigmoid(floats[at + 3 * HIDDEN] ?? 0) * Math.tanh(now);
      cell[k] = now;
      hidden[k] = value;
      answer += Math.max(0, value) * (weights[k] ?? 0);
    }
    return sigmoid(answer);
  }
}
