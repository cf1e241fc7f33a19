import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import type { CursorOwner } from "../../../shared/database/event-cursor.ts";
import type { EndpointEvent } from "./endpoint-intake.ts";
import type { EndpointDoc } from "./endpoints.model.ts";
import type { EndpointsRepository } from "./endpoints.repository.ts";
import { hearersOf } from "../rules/hearers.ts";

/** Events of one read. */
const BATCH = 200;

/** What following the log needs. */
export interface FollowerDeps extends Pick<ServiceDeps, "bus" | "log"> {
  cursor: CursorOwner;
  endpoints: Pick<EndpointsRepository, "firstPosition" | "ofResellers">;
  /** Hands events over, in their order. */
  accept(events: readonly EndpointEvent[]): Promise<unknown>;
}

/**
 * Hands the events of the log to the endpoints that hear of them. One process at a time does, from the position on that was written down last, which is with each
 * renewal of its lease: where it dies between, the events of those two seconds are handed over again, and make no second delivery. While there is no endpoint at all, nobody asks
 * for events.
 */
export function eventFollower({ bus, log, cursor, endpoints, accept }: FollowerDeps): () => Promise<boolean> {
  /** Somebody heard of the last events, so that it is not asked whether there is an endpoint; where it has gone since, one page is read in vain. */
  let anyHeard = false;

  /** Where to go on: not before the first endpoint that there is was made. */
  function start(first: number): number {
    if (cursor.position() < first) cursor.moveTo(first);
    return cursor.position();
  }

  return async () => {
    const first = anyHeard ? cursor.position() : await endpoints.firstPosition();
    if (first === null || !(await cursor.has())) return false;
    const after = start(first);
    const page = await bus.call("leads.eventsAfter", { after, limit: BATCH });
    if (page.expired)
      log.error(
        { event: "endpoints.events_missed", after },
        "events were no longer kept when endpoints were to hear of them; EVENTS_RETENTION_DAYS is too short for this pause",
      );
    const resellers = [...new Set(page.events.flatMap(({ event }) => event.reseller ?? []))];
    const hearing: EndpointDoc[] = resellers.length === 0 ? [] : await endpoints.ofResellers(resellers);
    if (page.events.length > 0) anyHeard = hearing.length > 0;
    const told = page.events.flatMap(({ position, event }) =>
      hearersOf(event, position, hearing).map((endpoint) => ({ endpoint, event, isOfLog: true })),
    );
    if (told.length > 0) await accept(told);
    if (page.next > after) cursor.moveTo(page.next);
    return page.more;
  };
}
