import { randomUUID } from "node:crypto";
import type { Call } from "../exchange/call.ts";
import type { CallbackDelivery } from "../http/callback-reporter.ts";
import type { Signer } from "./signature.ts";
import type { TelnyxCall, TelnyxEvent } from "./telnyx-call.ts";

/** Tells what happens on calls. */
export interface Events {
  /** Writes an event down and sends it to the call's address. */
  send(telnyxCall: TelnyxCall, type: string, more?: Record<string, unknown>): void;
}

/** What a caller who withholds the number is shown as. */
const WITHHELD = "anonymous";

/** The caller as Telnyx shows it. */
export const shownFrom = ({ order }: Pick<Call, "order">): string => (order.withheld ? WITHHELD : order.from);

/** A moment as Telnyx writes it, with microseconds. */
export const moment = (at: Date): string => at.toISOString().replace(/Z$/, "000Z");

/** An event about a call. */
export function eventOf(telnyxCall: TelnyxCall, type: string, more: Record<string, unknown>, now: Date): TelnyxEvent {
  const { call, account, legId, sessionId, settings } = telnyxCall;
  return {
    record_type: "event",
    event_type: type,
    id: randomUUID(),
    occurred_at: moment(now),
    payload: {
      call_control_id: call.order.sid,
      call_leg_id: legId,
      call_session_id: sessionId,
      connection_id: account.connectionId,
      client_state: settings.clientState,
      from: shownFrom(call),
      to: call.order.to,
      ...more,
    },
  };
}

/** Ready to tell. `address`: where events of a call go that has no address of its own; null: nowhere. */
export function createEvents({
  reporter,
  signer,
  address,
}: {
  reporter: CallbackDelivery;
  signer: Signer;
  address(telnyxCall: TelnyxCall): string | null;
}): Events {
  return {
    send(telnyxCall, type, more = {}) {
      const event = eventOf(telnyxCall, type, more, telnyxCall.call.leg.time.clock.now());
      telnyxCall.events.push(event);
      const url = telnyxCall.settings.webhookUrl ?? address(telnyxCall);
      if (url === null) return;
      const body = JSON.stringify({ data: event, meta: { attempt: 1, delivered_to: url } });
      reporter.deliver(telnyxCall.call, {
        what: type,
        status: type,
        sequence: event.id,
        url,
        sign: (forged) => ({
          url,
          method: "POST",
          body,
          headers: {
            "content-type": "application/json",
            "user-agent": "telnyx-webhooks",
            accept: "*/*",
            ...signer.headers(body, new Date(), forged),
          },
        }),
      });
    },
  };
}
