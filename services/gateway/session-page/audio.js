/* Runs beside the page, in the browser's audio thread: the microphone to 16 kHz frames, and what comes to the loudspeaker. */
const WIRE_RATE = 16000;
const FRAME = 320;
/** Sound is played once so much of it is there, so that a late packet makes no gap: 40 ms, and up to 120 ms while packets are later than that. */
const LEAST = 640;
const MOST = 1920;
/** What is added after a gap at least, and taken away after so much sound without one: 20 ms, 5 s. */
const STEP = 320;
const CALM = 80000;
/** A longer gap is a pause of who speaks: no buffer would have filled it; 500 ms. */
const LONGEST_GAP = 8000;

class Microphone extends AudioWorkletProcessor {
  constructor() {
    super();
    this.step = sampleRate / WIRE_RATE;
    this.sum = 0;
    this.count = 0;
    this.at = 0;
    this.frame = new Int16Array(FRAME);
    this.filled = 0;
    this.peak = 0;
  }
  process([input]) {
    // the mean of the samples that make one of the wire keeps what is above its band out of it
    for (const sample of (input && input[0]) || new Float32Array(128)) {
      this.sum += sample;
      this.count += 1;
      this.peak = Math.max(this.peak, Math.abs(sample));
      this.at += 1;
      while (this.at >= this.step) {
        this.at -= this.step;
        const mean = this.count > 0 ? this.sum / this.count : 0;
        this.frame[this.filled++] = Math.max(-1, Math.min(1, mean)) * 32767;
        this.sum = 0;
        this.count = 0;
        if (this.filled === FRAME) this.send();
      }
    }
    return true;
  }
  send() {
    this.port.postMessage({ frame: this.frame, peak: this.peak }, [this.frame.buffer]);
    this.frame = new Int16Array(FRAME);
    this.filled = 0;
    this.peak = 0;
  }
}

class Loudspeaker extends AudioWorkletProcessor {
  constructor() {
    super();
    this.step = WIRE_RATE / sampleRate;
    this.queue = [];
    this.waiting = 0;
    this.offset = 0;
    this.playing = false;
    this.prebuffer = LEAST;
    /** Played since the last gap, or since the buffer shrank. */
    this.calm = 0;
    /** For how long there has been nothing to play though more is to come; null: there is, or all was played. */
    this.dry = null;
    /** A mark stood behind the sound that was played last: it was whole. */
    this.whole = true;
    this.port.addEventListener("message", ({ data }) => {
      if (data.type === "clear") {
        this.queue = [];
        this.waiting = 0;
        this.offset = 0;
        this.playing = false;
      } else {
        this.queue.push(data);
        if (data.type === "sound") this.take(data.pcm.length);
        if (data.type === "mark") this.marks();
      }
      this.dry = null;
    });
    this.port.start();
  }
  /** Sound has come. If it had to be waited for, more of it is kept from now on. */
  take(samples) {
    this.waiting += samples;
    if (this.dry === null || this.dry > LONGEST_GAP) return;
    this.prebuffer = Math.min(MOST, this.prebuffer + Math.max(STEP, this.dry));
    this.calm = 0;
  }
  /** So much was played without a gap. It is noticed where sound begins the next time. */
  played(samples) {
    this.calm += samples;
    if (this.calm < CALM) return;
    this.calm = 0;
    this.prebuffer = Math.max(LEAST, this.prebuffer - STEP);
  }
  /** Marks at the head of the queue were reached. */
  marks() {
    while (this.queue.length > 0 && this.queue[0].type === "mark") {
      this.port.postMessage(this.queue.shift().name, []);
      this.whole = true;
    }
  }
  process(_inputs, [output]) {
    const hasEnd = this.queue.some((item) => item.type === "mark");
    if (!this.playing && (this.waiting >= this.prebuffer || (hasEnd && this.waiting > 0))) this.playing = true;
    const samples = output[0];
    if (this.dry !== null) this.dry += samples.length * this.step;
    for (let i = 0; this.playing && i < samples.length; i++) {
      this.marks();
      const head = this.queue[0];
      if (head === undefined) {
        this.playing = false;
        this.dry = this.whole ? null : (samples.length - i) * this.step;
        break;
      }
      const at = Math.floor(this.offset);
      const next = at + 1 < head.pcm.length ? head.pcm[at + 1] : head.pcm[at];
      samples[i] = (head.pcm[at] + (next - head.pcm[at]) * (this.offset - at)) / 32768;
      this.offset += this.step;
      if (this.offset >= head.pcm.length) {
        this.offset -= head.pcm.length;
        this.waiting -= head.pcm.length;
        this.queue.shift();
        this.whole = false;
        this.played(head.pcm.length);
      }
    }
    this.marks();
    return true;
  }
}

registerProcessor("microphone", Microphone);
registerProcessor("loudspeaker", Loudspeaker);
