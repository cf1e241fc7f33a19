import type { Cut, PartSink, AudioPlayout } from "../../transport/audio-playout.ts";
import type { Pcm } from "../../audio/port.ts";
import type { AudioDecoder } from "../../providers/tts/audio-decoder.ts";
import type { ModelResponse } from "./model-response.ts";

/** What the caller heard of an item that was truncated; 0: nothing. */
export interface TruncatedItem {
  readonly id: string;
  readonly heard_ms: number;
}

interface Item {
  readonly id: string;
  readonly sink: PartSink;
  readonly decoder: AudioDecoder;
  bytes: number;
  ended: boolean;
}
interface Group {
  readonly number: number;
  readonly response: ModelResponse;
  readonly items: Item[];
}

/** Responses kept for an interruption; older ones have been heard long since. */
const MAX_GROUPS = 20;

/** The items of the model's responses on their way through the playout. The items of one response are one utterance. */
export class ResponseAudio {
  readonly #o: { playout: AudioPlayout; bytesPerMs: number; decoder(): AudioDecoder };
  #groups: Group[] = [];
  /** Words of items whose sound has not come: without it they are not said. */
  readonly #early = new Map<string, string>();
  #numbers = 0;

  constructor(o: { playout: AudioPlayout; bytesPerMs: number; decoder(): AudioDecoder }) {
    this.#o = o;
  }

  audio(response: ModelResponse, id: string, audio: Uint8Array, interruptible: boolean): void {
    const item = this.#itemOf(response, id, interruptible);
    const early = this.#early.get(id);
    this.#early.delete(id);
    if (early !== undefined) item.sink.addText(early);
    item.bytes += audio.length;
    item.sink.push(item.decoder.push(audio));
  }

  text(response: ModelResponse, id: string, text: string, interruptible: boolean): void {
    if (this.#groups.some((g) => g.response === response && g.items.some((item) => item.id === id)))
      this.#itemOf(response, id, interruptible).sink.addText(text);
    else this.#early.set(id, (this.#early.get(id) ?? "") + text);
  }

  /** Nothing more comes of the response; what has come is played. */
  end(response: ModelResponse): void {
    for (const id of response.items) this.#early.delete(id);
    for (const group of this.#groups) if (group.response === response) for (const item of group.items) this.#end(item);
  }

  /** The same, and what has come stays said: it will be heard. */
  keep(response: ModelResponse): void {
    this.end(response);
    for (const group of this.#groups)
      if (group.response === response) for (const { id } of group.items) response.heard_items.add(id);
  }

  /** Audio that is no speech. */
  aside(pcm: Pcm): void {
    const sink = this.#o.playout.add({ text: "", group: ++this.#numbers, interruptible: false, aside: true });
    sink.push(pcm);
    sink.end();
  }

  /** The playout was flushed: what that means for the items. */
  truncate(unfinished: Cut["unfinished"]): (TruncatedItem & { readonly response: ModelResponse })[] {
    const made = this.#groups.flatMap(({ number, response, items }) => {
      const parts = unfinished.filter((u) => u.group === number);
      // parts leave the playout in their order: what is left of a group are its last ones
      const left = parts.length === 0 ? [] : items.slice(-parts.length);
      return left.map(({ id, bytes }, i) => ({
        id,
        response,
        heard_ms: Math.min(parts[i]?.heard_ms ?? 0, Math.floor(bytes / this.#o.bytesPerMs)),
      }));
    });
    for (const { response } of this.#groups) this.end(response);
    for (const { items, response } of this.#groups)
      for (const { id } of items) if (!made.some((m) => m.id === id && m.heard_ms === 0)) response.heard_items.add(id);
    this.#groups = [];
    return made;
  }

  #end(item: Item): void {
    if (item.ended) return;
    item.ended = true;
    item.sink.push(item.decoder.end());
    item.sink.end();
  }

  #itemOf(response: ModelResponse, id: string, interruptible: boolean): Item {
    const group = this.#groupOf(response);
    const known = group.items.find((item) => item.id === id);
    if (known) return known;
    for (const item of group.items) this.#end(item);
    const sink = this.#o.playout.add({ text: "", group: group.number, interruptible, aside: false });
    const item: Item = { id, sink, decoder: this.#o.decoder(), bytes: 0, ended: false };
    group.items.push(item);
    return item;
  }

  #groupOf(response: ModelResponse): Group {
    const known = this.#groups.find((group) => group.response === response);
    if (known) return known;
    const group: Group = { number: ++this.#numbers, response, items: [] };
    this.#groups = [...this.#groups, group].slice(-MAX_GROUPS);
    return group;
  }
}
