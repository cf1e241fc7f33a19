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

/** Up to here a tone passes from one rate to another, of what the lower one has room for, and at most of the wire's 8 kHz. */
const CUTOFF = 0.9;
/** Places between two samples that a filter is known for: each that 44.1 kHz needs. */
const PLACES = 320;

/** From one rate to another: a windowed sinc of 1.3 ms on each side. */
class Filter {
  constructor(from, to) {
    this.side = Math.ceil(from / 750);
    this.width = (CUTOFF * Math.min(from, to)) / from;
    this.known = [];
  }
  /** What each sample counts for one that lies so far behind the middle of them. */
  weightsAt(place) {
    const weights = new Float32Array(2 * this.side + 1);
    let sum = 0;
    for (let k = 0; k < weights.length; k++) {
      const away = k - this.side - place / PLACES;
      const turn = (Math.PI * away) / (this.side + 1);
      const blackman = 0.42 + 0.5 * Math.cos(turn) + 0.08 * Math.cos(2 * turn);
      const angle = Math.PI * this.width * away;
      weights[k] = blackman * (angle === 0 ? 1 : Math.sin(angle) / angle);
      sum += weights[k];
    }
    return weights.map((weight) => weight / sum);
  }
  /** The sample so far behind the middle of those that begin here, less than one. */
  at(samples, first, away) {
    const place = Math.floor(away * PLACES);
    const weights = (this.known[place] ??= this.weightsAt(place));
    let sum = 0;
    for (let k = 0; k < weights.length; k++) sum += samples[first + k] * weights[k];
    return sum;
  }
}

class Microphone extends AudioWorkletProcessor {
  constructor() {
    super();
    this.step = sampleRate / WIRE_RATE;
    this.filter = new Filter(sampleRate, WIRE_RATE);
    /** The last samples, and where the next one of the wire lies in those that come. */
    this.past = new Float32Array(2 * this.filter.side);
    this.at = 0;
    this.frame = new Int16Array(FRAME);
    this.filled = 0;
    this.peak = 0;
  }
  process([input]) {
    const samples = (input && input[0]) || new Float32Array(128);
    const all = new Float32Array(this.past.length + samples.length);
    all.set(this.past);
    all.set(samples, this.past.length);
    for (const sample of samples) this.peak = Math.max(this.peak, Math.abs(sample));
    for (; this.at < samples.length; this.at += this.step) {
      const first = Math.floor(this.at);
      this.take(this.filter.at(all, first, this.at - first));
    }
    this.at -= samples.length;
    this.past = all.subarray(samples.length);
    return true;
  }
  /** The next sample of the wire. */
  take(sample) {
    this.frame[this.filled++] = Math.max(-1, Math.min(1, sample)) * 32767;
    if (this.filled === FRAME) this.send();
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
    this.filter = new Filter(WIRE_RATE, sampleRate);
    /** The samples of the wire that sound now, and how far behind the middle of them what is played next lies. */
    this.sounding = new Float32Array(2 * this.filter.side + 1);
    this.away = 0;
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
    for (let i = 0; i < samples.length; i++) {
      for (this.away += this.step; this.away >= 1; this.away -= 1) {
        this.sounding.copyWithin(0, 1);
        this.sounding[this.sounding.length - 1] = this.playing ? this.next(samples.length - i) : 0;
      }
      samples[i] = this.filter.at(this.sounding, 0, this.away) / 32768;
    }
    this.marks();
    return true;
  }
  /** The next sample of the wire; where there is none, silence: it has been dry since as many samples as are left of those that are asked for. */
  next(left) {
    this.marks();
    const head = this.queue[0];
    if (head === undefined) {
      this.playing = false;
      this.dry = this.whole ? null : left * this.step;
      return 0;
    }
    const sample = head.pcm[this.offset++] || 0;
    if (this.offset >= head.pcm.length) {
      this.offset = 0;
      this.waiting -= head.pcm.length;
      this.queue.shift();
      this.whole = false;
      this.played(head.pcm.length);
    }
    return sample;
  }
}

registerProcessor("microphone", Microphone);
registerProcessor("loudspeaker", Loudspeaker);
