/** Sound grows by pieces of this. */
const GROWTH_SAMPLES = 16_384;

/** Sound that grows at one end and is cut off at the other. */
export class SampleBuffer {
  #kept = new Int16Array(GROWTH_SAMPLES);
  length = 0;
  add(pcm: Int16Array): void {
    if (this.length + pcm.length > this.#kept.length) {
      const larger = new Int16Array(this.length + pcm.length + Math.max(GROWTH_SAMPLES, this.length >> 1));
      larger.set(this.#kept.subarray(0, this.length));
      this.#kept = larger;
    }
    this.#kept.set(pcm, this.length);
    this.length += pcm.length;
  }
  /** A copy of all of it. */
  all(): Int16Array {
    return this.#kept.slice(0, this.length);
  }
  /** Takes the oldest samples out. */
  cut(samples: number): Int16Array {
    const part = this.#kept.slice(0, samples);
    this.#kept.copyWithin(0, samples, this.length);
    this.length -= samples;
    return part;
  }
}
