import { FLOAT_BYTES, LANES, matrixKernel } from "./matrix-kernel.ts";

/** Memory of the process in which products are made, one after the other. */
export interface Products {
  /** All of it; whoever calls writes into it first. */
  readonly floats: Float32Array;
  /**
   * Multiplies `length` floats (a multiple of four) at one place with as many at each of several others, `every` floats apart, and writes the
   * sums from `to` on. Writes up to three sums more than were asked for, and reads what they would need.
   */
  sums(weights: number, length: number, others: { from: number; every: number; count: number; to: number }): void;
}

/** Memory for so many floats; null: this machine has no WebAssembly with SIMD, and whoever asks computes by itself. */
export function products(size: number): Products | null {
  try {
    const { memory, multiply } = matrixKernel(size * FLOAT_BYTES);
    const floats = new Float32Array(memory);
    return {
      floats,
      sums(weights, length, { from, every, count, to }) {
        floats.fill(0, to, to + count + LANES);
        for (let n = 0; n < count; n += LANES)
          multiply(
            weights * FLOAT_BYTES,
            (from + n * every) * FLOAT_BYTES,
            (to + n) * FLOAT_BYTES,
            1,
            length * FLOAT_BYTES,
            every * FLOAT_BYTES,
            FLOAT_BYTES,
          );
      },
    };
  } catch {
    return null;
  }
}
