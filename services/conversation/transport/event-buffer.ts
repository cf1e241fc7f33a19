import type { MediaEnd } from "../../../shared/hangup-source.ts";

/** An event of a leg, as the call that delivers it. */
export type LegEvent<Events> = (events: Events) => void;

/** Delivers the events of a leg in order; keeps those that come before the receiver does. */
export interface EventBuffer<Events> {
  /** Sets the receiver and delivers what was kept. Once only. */
  listen(events: Events): void;
  /** Delivers an event, or keeps it; nothing after `close`. */
  emit(event: LegEvent<Events>): void;
  /** Delivers `closed`, once and last. */
  close(how: MediaEnd): void;
  isOpen(): boolean;
}

/** Events kept before there is a receiver, `closed` included; further ones are dropped. */
const MAX_KEPT_EVENTS = 100;

/** A buffer without a receiver. One for each leg. */
export function eventBuffer<Events extends { closed(how: MediaEnd): void }>(): EventBuffer<Events> {
  let receiver: Events | null = null;
  let kept: LegEvent<Events>[] = [];
  let isOpen = true;
  const deliver = (event: LegEvent<Events>, most: number): void => {
    if (receiver) event(receiver);
    else if (kept.length < most) kept.push(event);
  };
  return {
    listen(events) {
      receiver = events;
      const early = kept;
      kept = [];
      for (const event of early) event(events);
    },
    emit: (event) => {
      if (isOpen) deliver(event, MAX_KEPT_EVENTS - 1);
    },
    close(how) {
      if (!isOpen) return;
      isOpen = false;
      deliver((events) => events.closed(how), MAX_KEPT_EVENTS);
    },
    isOpen: () => isOpen,
  };
}
