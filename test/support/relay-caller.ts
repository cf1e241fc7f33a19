import { WebSocket } from "ws";
import { until } from "./stage.ts";

interface Frame {
  type: string;
  token?: string;
  last?: boolean;
  interruptible?: boolean;
}

/** The carrier's end of a ConversationRelay socket: it reports speech as heard the moment it is complete, and closes on `end`. */
export class RelayCaller {
  readonly frames: Frame[] = [];
  closed = false;
  readonly #socket: WebSocket;
  #utterances: string[] = [];
  #open = "";
  /** False: speech is not reported, as by a carrier without speaker events. */
  reports = true;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("message", (data) => this.#take(JSON.parse(String(data)) as Frame));
    socket.on("close", () => {
      this.closed = true;
    });
    socket.on("error", () => undefined);
  }

  /** Connects; rejects with the HTTP status the upgrade was answered with. */
  static async connect(
    url: string,
    headers: Record<string, string> = { "x-twilio-signature": "good" },
  ): Promise<RelayCaller> {
    const socket = new WebSocket(url, { headers, perMessageDeflate: false });
    const caller = new RelayCaller(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once("open", resolve);
      socket.once("unexpected-response", (_request, response) => {
        reject(new Error(`answered ${response.statusCode}`));
        socket.terminate();
      });
      socket.once("error", reject);
    });
    return caller;
  }

  send(frame: Record<string, unknown>): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(frame));
  }
  raw(data: string | Buffer): void {
    this.#socket.send(data);
  }
  setup(): void {
    this.send({ type: "setup", sessionId: "VX1", callSid: "CA0123456789", from: "+1", to: "+2", customParameters: {} });
  }
  speak(voicePrompt: string): void {
    this.send({ type: "prompt", voicePrompt, lang: "en-US", last: true });
  }
  press(digit: string): void {
    this.send({ type: "dtmf", digit });
  }
  interrupt(utteranceUntilInterrupt: string): void {
    this.send({ type: "interrupt", utteranceUntilInterrupt, durationUntilInterruptMs: "460" });
  }
  hangUp(): void {
    this.#socket.close(1000);
  }

  /** All complete utterances of the agent so far. */
  get heard(): readonly string[] {
    return this.#utterances;
  }

  /** Resolves with the first utterance that holds the words, among those since the last question of this kind. */
  async hears(words: string | RegExp): Promise<string> {
    return until(`the agent to say ${String(words)}; it said ${JSON.stringify(this.#utterances)}`, () => {
      const at = this.#utterances.findIndex((u) => (typeof words === "string" ? u.includes(words) : words.test(u)));
      return at < 0 ? undefined : this.#utterances[at];
    });
  }

  async over(): Promise<void> {
    await until("the socket to close", () => this.closed || undefined);
  }

  #take(frame: Frame): void {
    this.frames.push(frame);
    if (frame.type === "end") {
      this.#socket.close(1000);
      return;
    }
    if (frame.type !== "text") return;
    this.#open += frame.token ?? "";
    if (!frame.last) return;
    if (this.#open !== "") this.#utterances.push(this.#open);
    this.#open = "";
    if (!this.reports) return;
    this.send({ type: "info", name: "agentSpeaking", value: "on" });
    this.send({ type: "info", name: "agentSpeaking", value: "off" });
  }
}
