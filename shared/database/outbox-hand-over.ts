import type { Model } from "mongoose";
import { chunks } from "../batching.ts";
import type { ParamsOf, ServiceDeps } from "../bus/bus.ts";
import { MAX_EVENTS_TAKEN, MAX_OBJECTS_TAKEN } from "../contracts/events/event-actions.ts";
import { eventSubject, type EventSubject } from "../contracts/events/event-type.ts";
import { codeOf, isOutOfReach } from "../errors.ts";
import { jsonBytes } from "../json.ts";
import { errorForLog } from "../process/log.ts";
import { startLoop, type Loop } from "../time/loop.ts";
import { OWES_EVENTS, type Outboxed } from "./object-outbox.ts";
import { updateEach } from "./write-batches.ts";

/** How often outboxes are looked for, beside the times that a write of this process asks for it. */
const LOOK_MS = 5000;
/** Documents of one pass. */
const BATCH = 100;

/** What handing over needs. */
export type HandOverDeps = Pick<ServiceDeps, "bus" | "clock" | "log">;
type Taken = ParamsOf<"leads.takeEvents">["objects"][number];
type Owing = Required<Pick<Outboxed, "event_seq" | "outbox">> & { _id: string };

/** Hands over what is in the outboxes of a collection. */
export interface OutboxHandOver {
  /** A write of this process has made an event. */
  nudge(): void;
  /** Hands over what these documents owe, at once: before they are removed. Throws where nobody takes it. */
  now(ids: readonly string[]): Promise<void>;
  start(): void;
  stop(): Promise<void>;
}

/** A document's outbox as it travels: in pieces, each with so many events at most. */
function piecesOf(kind: EventSubject, { _id, event_seq, outbox }: Owing): Taken[] {
  const events = outbox.map(({ at, ...event }, i) => ({
    ...event,
    at: at.toISOString(),
    seq: event_seq - outbox.length + i + 1,
  }));
  return chunks(events, { maxItems: MAX_EVENTS_TAKEN }).map((some) => ({
    subject: eventSubject(kind, _id),
    events: some,
  }));
}

/** Has the pieces taken; the subjects of which some piece was not. What is refused for another reason than that nobody answers is asked for alone, so that one delays no other. */
async function handOver(deps: Pick<HandOverDeps, "bus" | "log">, pieces: readonly Taken[]): Promise<Set<string>> {
  const refused = new Set<string>();
  for (const objects of chunks(pieces, { maxItems: MAX_OBJECTS_TAKEN, bytesOf: jsonBytes })) {
    try {
      await deps.bus.call("leads.takeEvents", { objects });
    } catch (error) {
      const [first, ...others] = objects;
      if (!first || isOutOfReach(codeOf(error))) throw error;
      if (others.length > 0) {
        for (const one of objects) for (const subject of await handOver(deps, [one])) refused.add(subject);
      } else {
        refused.add(first.subject);
        deps.log.error(
          { event: "outbox.refused", subject: first.subject, ...errorForLog(error) },
          "events of an object are refused; they stay in its outbox",
        );
      }
    }
  }
  return refused;
}

/**
 * Hands the events in the outboxes of a collection over to the leads service, until it has taken them: taking is acknowledged and may be repeated, so that none
 * is lost or doubled, whichever process dies. Every process of the owner looks; where two hand the same over, it is taken once.
 * `onEmptied`: these documents owe nothing any more, unless they changed meanwhile.
 */
export function outboxHandOver<D extends Outboxed & { _id: string }>(
  deps: HandOverDeps,
  model: Model<D>,
  kind: EventSubject,
  onEmptied: (ids: readonly string[]) => Promise<unknown> = () => Promise.resolve(),
): OutboxHandOver {
  const owingOf = (filter: Record<string, unknown>): Promise<Owing[]> =>
    model
      .find({ ...filter, ...OWES_EVENTS }, { event_seq: 1, outbox: 1 })
      .sort({ outbox_at: 1 })
      .limit(BATCH)
      .lean<Owing[]>();

  /** How many of them were taken. */
  async function take(owing: readonly Owing[]): Promise<number> {
    if (owing.length === 0) return 0;
    const refused = await handOver(
      deps,
      owing.flatMap((one) => piecesOf(kind, one)),
    );
    const taken = owing.filter(({ _id }) => !refused.has(eventSubject(kind, _id)));
    // one that changed meanwhile keeps its outbox, the beginning of which is taken
    await updateEach(
      model,
      taken.map(({ _id, event_seq }) => ({
        filter: { _id, event_seq },
        update: { $unset: { outbox: 1, outbox_at: 1 } },
      })),
    );
    await onEmptied(taken.map(({ _id }) => _id));
    return taken.length;
  }

  async function pass(): Promise<boolean> {
    const owing = await owingOf({});
    return (await take(owing)) > 0 && owing.length === BATCH;
  }

  let loop: Loop | null = null;
  return {
    nudge: () => loop?.nudge(),
    async now(ids) {
      await take(await owingOf({ _id: { $in: [...ids] } }));
    },
    start() {
      loop = startLoop({
        name: `${kind} events`,
        clock: deps.clock,
        intervalMs: LOOK_MS,
        pass,
        onError: (error) =>
          deps.log.warn(
            { event: "outbox.not_handed_over", kind, ...errorForLog(error) },
            "events could not be handed over to the leads service; they stay owed",
          ),
      });
    },
    async stop() {
      await loop?.stop();
      loop = null;
    },
  };
}
