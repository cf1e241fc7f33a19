import type { TextLeg, TextLegEvents } from "../../../services/conversation/transport/port.ts";
import type { Carrier } from "./carrier.ts";
import type { SimCall } from "./carrier-records.ts";
import type { SimLife, Stage } from "../engine/process.ts";

const SOCKET_MS = 2;
const READY_MS = 60;
/** A customer says something every now and then. */
const SAYS_MIN_MS = 2000;
const SAYS_MAX_MS = 9000;
const CLOSES_MS = 150;

/** The media socket of one call, with the customer at its other end; it lives in one conversation process. */
export class SimLeg implements TextLeg {
  readonly #stage: Stage;
  readonly #carrier: Carrier;
  readonly #call: SimCall;
  readonly #life: SimLife;
  #events: TextLegEvents | null = null;
  #open = true;

  constructor(stage: Stage, carrier: Carrier, call: SimCall, life: SimLife) {
    this.#stage = stage;
    this.#carrier = carrier;
    this.#call = call;
    this.#life = life;
  }

  get process(): string {
    return this.#life.process.name;
  }

  get alive(): boolean {
    return this.#life.alive && this.#life.process.life === this.#life;
  }

  listen(events: TextLegEvents): void {
    if (!this.#life.alive) return;
    this.#events = events;
    if (!this.#open) {
      this.#toService((e) => e.closed());
      return;
    }
    this.#toService((e) => e.ready(this.#call.id), READY_MS);
    this.#speakOn();
  }

  #speakOn(): void {
    const { random } = this.#stage.world;
    this.#stage.world.after(random.between(SAYS_MIN_MS, SAYS_MAX_MS), null, () => {
      if (!this.#open) return;
      this.#toService((e) => e.prompt("Yes, that is fine.", true));
      this.#speakOn();
    });
  }

  #toService(what: (events: TextLegEvents) => void, ms = SOCKET_MS): void {
    this.#stage.world.after(ms, this.#life, () => {
      if (this.#events) what(this.#events);
    });
  }

  say(): void {
    if (this.#open && this.#life.alive && this.#call.talked === null) this.#carrier.talkBegins(this.#call);
  }

  /** The service ends the session: the carrier closes the leg and the call. */
  end(): void {
    if (this.#life.alive) this.#stage.world.after(CLOSES_MS, null, () => this.#gone(false));
  }

  close(): void {
    if (this.#life.alive) this.#stage.world.after(SOCKET_MS, null, () => this.#gone(false));
  }

  /** The process of the service died. */
  died(): void {
    this.#gone(true);
  }

  closedByCarrier(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#toService((e) => e.closed());
  }

  #gone(died: boolean): void {
    if (!this.#open) return;
    this.#open = false;
    this.#carrier.legClosed(this.#call, died);
    if (!died) this.#toService((e) => e.closed());
  }
}
