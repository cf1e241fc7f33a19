/** The buffer grows by at least this many samples. */
const GROWTH_SAMPLES = 16_384;

/** Audio that grows at its end and is cut at its beginning. */
export class SampleBuffer {
  #samples = new Int16Array(GROWTH_SAMPLES);
  length = 0;
  add(pcm: Int16Array): void {
    if (this.length + pcm.length > this.#samples.length) {
      const larger = new Int16Array(this.length + pcm.length + Math.max(GROWTH_SAMPLES, this.length >> 1));
      larger.set(this.#samples.subarray(0, this.length));
      this.#samples = larger;
    }
    this.#samples.set(pcm, this.length);
    this.length += pcm.length;
  }
  /** A copy of all samples. */
  all(): Int16Array {
    return this.#samples.slice(0, this.length);
  }
  /** Takes the oldest samples out. */
  cut(samples: number): Int16Array {
    const part = this.#samples.slice(0, samples);
    this.#samples.copyWithin(0, samples, this.length);
    this.length -= samples;
    return part;
  }
}
