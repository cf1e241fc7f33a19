import type { WebhookRequest, WebhookClient } from "../../../services/webhook/deliveries/webhook-request.ts";
import type { TryResult } from "../../../services/webhook/rules/delivery-verdict.ts";
import type { SimLife, Stage } from "../engine/process.ts";

/** What the receiver of reports has got for one webhook-id. */
export interface Received {
  id: string;
  url: string;
  bodies: Set<string>;
  taken: number;
  tries: number;
}

const HANG_MS = 15_000;
/** A report fails this often at most: the pauses between its tries grow to hours. */
const MAX_BAD_TRIES = 3;
const RETRY_AFTER_S = 20;

/** The endpoint that clients have named for reports. */
export class Receiver {
  readonly received = new Map<string, Received>();
  readonly #stage: Stage;
  /** Hears of each event as it is sent: by how much the time that it is signed with is ahead of the true one, ms. */
  onSent: (id: string, ahead_ms: number) => void = () => undefined;
  constructor(stage: Stage) {
    this.#stage = stage;
  }

  #note({ id, url, body }: WebhookRequest, taken: boolean): void {
    const known = this.received.get(id) ?? { id, url, bodies: new Set<string>(), taken: 0, tries: 0 };
    known.bodies.add(body);
    known.tries++;
    if (taken) known.taken++;
    this.received.set(id, known);
    this.#stage.world.tell("receiver", `${id} ${taken ? "taken" : "not taken"}`);
  }

  /** How one process sends reports. */
  sender(life: SimLife): WebhookClient {
    const stage = this.#stage;
    const { random } = stage.world;
    const how = () => ({ outMs: random.between(5, 60), backMs: random.between(5, 60) });
    const answer = (outgoing: WebhookRequest, status: number, retry_after_seconds: number | null): Promise<TryResult> =>
      stage.step(
        life,
        "report",
        () => {
          this.#note(outgoing, status < 300);
          return { status, retry_after_seconds };
        },
        how(),
      );
    return {
      send: (outgoing) => {
        this.onSent(outgoing.id, outgoing.timestampSeconds * 1000 - stage.world.now);
        const { faults } = stage;
        const bad = (this.received.get(outgoing.id)?.tries ?? 0) < MAX_BAD_TRIES;
        if (bad && stage.strikes("receiver fails", faults.receiverFails))
          return answer(outgoing, random.pick([500, 503, 429, 302]), random.chance(0.3) ? RETRY_AFTER_S : null);
        if (bad && stage.strikes("receiver hangs", faults.receiverHangs)) {
          const taken = random.chance(0.5);
          return stage.step(
            life,
            "report",
            (): TryResult => {
              this.#note(outgoing, taken);
              return { status: null, error: "no answer within 15 s", refused: false };
            },
            { outMs: 20, backMs: HANG_MS },
          );
        }
        return answer(outgoing, 200, null);
      },
      close: () => Promise.resolve(),
    };
  }
}
