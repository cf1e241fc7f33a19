import { createDecoder, encodeSpeech, speechMs } from "../../deploy/local/speech/modem.ts";
import { readEvent, type Dialect } from "../../services/conversation/engines/realtime/dialect.ts";
import type {
  RealtimeAddress,
  RealtimeEvents,
  RealtimeLink,
} from "../../services/conversation/engines/realtime/link.ts";
import { realtimeMind, type RealtimeParts } from "../../services/conversation/engines/realtime/realtime-mind.ts";
import type { MindGround } from "../../services/conversation/engines/sound/mind.ts";
import { muLaw } from "../../services/conversation/speech/g711.ts";
import type { SimReply } from "./sound-call.ts";

const RATE = 8000;
const FRAME_MS = 20;
const PIECE_MS = 100;
/** Louder than this a frame is somebody's voice. */
const LOUD = 1000;

type Fields = Readonly<Record<string, unknown>>;
/** An item of the server's conversation. */
export interface ServerItem {
  readonly id: string;
  readonly kind: "user" | "spoken" | "keyed" | "call" | "output";
  text: string;
  made_ms: number;
  heard_ms: number | null;
}
/** What the server does: its answers by the number of the customer's turns, and how long it takes. `silent`: answers (counted) that it never gives. */
export interface RealtimeScript {
  reply(turns: number): SimReply & { items?: string[] };
  dialect?: Dialect;
  stt_ms?: number;
  created_ms?: number;
  first_ms?: number;
  cancel_ms?: number;
  piece_every_ms?: number;
  silent?: number[];
  fails?: number[];
  deaf?: boolean;
  preemptive?: boolean;
}
interface Running {
  readonly id: string;
  readonly items: string[];
  named: boolean;
}

/** A realtime model in the time of the sound it is sent. It refuses what real ones refuse. */
export class ScriptedRealtime {
  readonly sent: Fields[] = [];
  readonly refused: string[] = [];
  items: ServerItem[] = [];
  now = 0;
  closed = false;
  /** When the caller's turns were over by this server's ear. */
  readonly stops: number[] = [];
  readonly #o: RealtimeScript;
  readonly #dialect: Dialect;
  #events: RealtimeEvents | null = null;
  #due: { at: number; of: Running | null; run: () => void }[] = [];
  #running: Running | null = null;
  #counts = 0;
  #answers = 0;
  #words: string[] = [];
  #loud_ms = 0;
  #silent_ms = 0;
  #speaking = false;
  #ear = createDecoder(RATE, { heard: (word) => this.#words.push(word) });

  constructor(o: RealtimeScript) {
    this.#o = o;
    this.#dialect = o.dialect ?? "ga";
  }

  readonly connect = (_address: RealtimeAddress, events: RealtimeEvents): RealtimeLink => {
    this.#events = events;
    return {
      send: (event) => this.#take(JSON.parse(JSON.stringify(event)) as Fields),
      close: () => {
        this.closed = true;
      },
    };
  };

  /** The mind of a call with this server. */
  readonly mind = (ground: MindGround): ReturnType<typeof realtimeMind> => {
    const address = { base_url: "http://nowhere", key: "secret-key", model: "m", voice: "v", dialect: this.#dialect };
    const parts: RealtimeParts = {
      address,
      transcription_model: "t",
      preemptive: this.#o.preemptive ?? true,
      connect: this.connect,
    };
    return realtimeMind(parts, ground);
  };

  lose(): void {
    this.#events?.lost();
  }
  tell(event: Fields): void {
    queueMicrotask(() => {
      const read = readEvent(JSON.stringify(event));
      if (read && !this.closed) this.#events?.event(read);
    });
  }
  sentOf(type: string): Fields[] {
    return this.sent.filter((e) => e["type"] === type);
  }
  texts(): string[] {
    return this.items.map((i) => `${i.kind}: ${i.text}`);
  }

  #later(ms: number, of: Running | null, run: () => void): void {
    this.#due.push({ at: this.now + ms, of, run });
  }

  #take(event: Fields): void {
    if (event["type"] === "input_audio_buffer.append") {
      this.#hear(Buffer.from(String(event["audio"]), "base64"));
      return;
    }
    this.sent.push(event);
    switch (event["type"]) {
      case "session.update":
        this.tell({ type: "session.updated" });
        return;
      case "response.create":
        this.#create(event);
        return;
      case "response.cancel":
        this.#cancel(event);
        return;
      case "conversation.item.create":
        this.#add(event["item"] as Fields);
        return;
      case "conversation.item.delete":
        if (this.#item(event)) this.items = this.items.filter((i) => i.id !== event["item_id"]);
        return;
      case "conversation.item.truncate": {
        const item = this.#item(event);
        const end = Number(event["audio_end_ms"]);
        if (item && end > item.made_ms) this.#refuse(event, "audio_too_short");
        else if (item) item.heard_ms = end;
        return;
      }
      default:
        this.#refuse(event, "unknown_event");
    }
  }

  #refuse(event: Fields, code: string): void {
    this.refused.push(code);
    this.tell({
      type: "error",
      error: {
        type: "invalid_request_error",
        code,
        event_id: event["event_id"] ?? null,
        message: "what was said: secret",
      },
    });
  }

  #item(event: Fields): ServerItem | undefined {
    const item = this.items.find((i) => i.id === event["item_id"]);
    if (!item) this.#refuse(event, "item_not_found");
    return item;
  }

  #put(kind: ServerItem["kind"], text: string, id = `item_${++this.#counts}`): ServerItem {
    const item: ServerItem = { id, kind, text, made_ms: 0, heard_ms: null };
    this.items.push(item);
    return item;
  }

  #add(item: Fields): void {
    if (item["type"] === "function_call_output") this.#put("output", String(item["call_id"]));
    else this.#put("keyed", String((item["content"] as Fields[])[0]?.["text"]));
  }

  #create(event: Fields): void {
    if (this.#running) {
      this.#refuse(event, "conversation_already_has_active_response");
      return;
    }
    const running: Running = { id: `resp_${++this.#counts}`, items: [], named: false };
    this.#running = running;
    const order = (event["response"] ?? {}) as Fields;
    const said = /^Say exactly this and nothing else: (".*")$/su.exec(String(order["instructions"] ?? ""))?.[1];
    const answer = ++this.#answers;
    this.#later(this.#o.created_ms ?? 0, running, () => {
      running.named = true;
      this.tell({
        type: "response.created",
        response: { id: running.id, ...(this.#dialect === "ga" ? { metadata: order["metadata"] } : {}) },
      });
    });
    if (this.#o.silent?.includes(answer)) return;
    const first = (this.#o.created_ms ?? 0) + (this.#o.first_ms ?? 0);
    if (this.#o.fails?.includes(answer)) {
      this.#later(first, running, () => this.#done(running, "failed"));
      return;
    }
    const reply =
      said === undefined
        ? this.#o.reply(this.items.filter((i) => i.kind === "user" || i.kind === "keyed").length)
        : { text: String(JSON.parse(said)) };
    this.#make(running, reply, first);
  }

  #make(running: Running, reply: ReturnType<RealtimeScript["reply"]>, first: number): void {
    const { text, calls = [] } = reply;
    let at = first;
    for (const words of reply.items ?? (text === undefined ? [] : [text])) at = this.#speak(running, words, at);
    for (const { id, name, arguments: args } of calls) {
      this.#later(at, running, () => {
        const item = this.#put("call", name);
        running.items.push(item.id);
        this.tell({
          type: "response.output_item.done",
          response_id: running.id,
          item: { id: item.id, type: "function_call", call_id: id, name, arguments: args },
        });
      });
    }
    this.#later(at, running, () => this.#done(running, reply.fail ? "failed" : "completed"));
  }

  /** Words go before the sound they begin in; sound is made faster than it is heard. */
  #speak(running: Running, text: string, from: number): number {
    const [audio, transcript] =
      this.#dialect === "ga"
        ? ["response.output_audio.delta", "response.output_audio_transcript.delta"]
        : ["response.audio.delta", "response.audio_transcript.delta"];
    const item = { id: `item_${++this.#counts}`, put: false };
    const sound = muLaw.encode(encodeSpeech(text, RATE));
    const words = text.match(/\s*\S+/g) ?? [];
    let told = 0;
    let at = from;
    for (
      let byte = 0;
      byte < sound.length;
      byte += (PIECE_MS * RATE) / 1000, at += this.#o.piece_every_ms ?? FRAME_MS
    ) {
      const piece = sound.subarray(byte, byte + (PIECE_MS * RATE) / 1000);
      const until_ms = (byte + piece.length) / (RATE / 1000);
      const before = told;
      while (told < words.length && speechMs(words.slice(0, told).join("")) < until_ms) told++;
      const fresh = words.slice(before, told);
      this.#later(at, running, () => {
        if (!item.put) {
          this.#put("spoken", "", item.id);
          running.items.push(item.id);
          item.put = true;
        }
        const kept = this.items.find((i) => i.id === item.id);
        if (kept) {
          kept.made_ms = until_ms;
          kept.text += fresh.join("");
        }
        for (const word of fresh)
          this.tell({ type: transcript, response_id: running.id, item_id: item.id, delta: word });
        this.tell({
          type: audio,
          response_id: running.id,
          item_id: item.id,
          delta: Buffer.from(piece).toString("base64"),
        });
      });
    }
    return at;
  }

  #cancel(event: Fields): void {
    const running = this.#running;
    if (!running?.named || event["response_id"] !== running.id) {
      this.#refuse(event, "response_cancel_not_active");
      return;
    }
    this.#due = this.#due.filter((d) => d.of !== running);
    this.#later(this.#o.cancel_ms ?? 0, running, () => this.#done(running, "cancelled"));
  }

  #done(running: Running, status: string): void {
    this.#running = null;
    this.tell({
      type: "response.done",
      response: {
        id: running.id,
        status,
        output: running.items.map((id) => ({ id })),
        usage: { input_tokens: 3, output_tokens: 4 },
      },
    });
  }

  #hear(bytes: Uint8Array): void {
    const pcm = muLaw.decode(bytes);
    this.now += (pcm.length * 1000) / RATE;
    this.#ear.push(pcm);
    const loud = pcm.some((v) => Math.abs(v) > LOUD);
    this.#loud_ms = loud ? this.#loud_ms + FRAME_MS : 0;
    this.#silent_ms = loud ? 0 : this.#silent_ms + FRAME_MS;
    if (this.#loud_ms >= 60) this.#speaking = true;
    if (this.#speaking && this.#silent_ms >= 300) this.#commit();
    const due = this.#due.filter((d) => d.at <= this.now);
    this.#due = this.#due.filter((d) => d.at > this.now);
    for (const { run } of due.toSorted((a, b) => a.at - b.at)) run();
  }

  #commit(): void {
    this.#speaking = false;
    this.stops.push(this.now);
    this.#ear.end();
    const words = this.#words.splice(0);
    this.#ear = createDecoder(RATE, { heard: (word) => this.#words.push(word) });
    const { id } = this.#put("user", words.join(" "));
    this.tell({ type: "input_audio_buffer.committed", item_id: id });
    const told = "conversation.item.input_audio_transcription";
    this.#later(this.#o.stt_ms ?? 0, null, () => {
      if (this.#o.deaf) {
        this.tell({ type: `${told}.failed`, item_id: id, error: {} });
        return;
      }
      for (const [i, word] of words.entries())
        this.tell({ type: `${told}.delta`, item_id: id, delta: i === 0 ? word : ` ${word}` });
      this.tell({ type: `${told}.completed`, item_id: id, transcript: words.join(" ") });
    });
  }
}
