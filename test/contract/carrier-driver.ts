import type { Carrier } from "../../deploy/local/carrier/server.ts";
import type { CallbackKind, CarrierPort, DialRequest, SignedRequest } from "../../services/dialer/carriers/port.ts";
import type { CarrierEnd } from "../../shared/contracts/attempt.ts";

/** How the adapter under test reaches its carrier, and how the carrier reaches us. */
export interface Addresses {
  api_base: string;
  public_http_url: string;
  public_ws_url: string;
}

/** The names of a call as callbacks carry them. */
export interface CallNames {
  call_ref: string;
  call_id: string;
  leg_id: string | null;
}

/** A callback before it is signed. It goes to `/carriers/PROVIDER_ONE/<kind>/<call_ref>`, `query` (without "?") behind it. */
export interface Unsigned {
  kind: CallbackKind;
  query?: string;
  content_type: string;
  body: string;
}

/** What is signed: as a carrier would send it, `path` with query. */
export interface Sent {
  method: "GET" | "POST";
  path: string;
  content_type: string;
  body: string;
}

/** A request of the adapter as it must look. A form or JSON body as an object (a form's repeated field as a list), null for none. `path`: with query, decoded. */
export interface Golden {
  method: string;
  path: string;
  authorization: string;
  body: Record<string, unknown> | null;
}

/** Steps that are told by callbacks; `ended` has words of its own. */
export type ToldStep = "queued" | "ringing" | "answered" | "human" | "machine" | "beep";

/**
 * What the suite needs to know of one carrier. The simulator runs and is closed by the suite; everything else is the carrier's own words: how its callbacks look, how they
 * are signed, and how our requests must look to it.
 */
export interface CarrierDriver {
  /** The word in the simulator's own pages: `POST /inbound {"carrier": …}`. */
  carrier: string;
  simulator: Carrier;
  /** A header that carries the signature of a callback, in small letters. */
  signature_header: string;
  /** The signature covers the time, so that an old callback is refused. */
  signs_time: boolean;
  /** Where this carrier's settings send calls to our numbers, and their status (null: it has no such setting). */
  inbound_path: string;
  inbound_status_path: string | null;
  /** The adapter over the simulator's account; `wrong`: with a secret the simulator does not know. */
  adapter(at: Addresses, credentials?: "wrong"): CarrierPort;
  /** Signs as the carrier does, with the account's own key or another one. */
  sign(sent: Sent, public_http_url: string, now: Date, key?: "wrong"): SignedRequest;
  /** Names of a call that never was, in the carrier's own form, another for each n. */
  names(n: number): Omit<CallNames, "call_ref">;
  /** A step's callback; null where the carrier tells nothing of the kind. */
  told(step: ToldStep, call: CallNames): Unsigned | null;
  /** Every word (or cause) the carrier has for the end of a call, and ours. "completed" in ours must be among them. */
  endings: Readonly<Record<string, CarrierEnd>>;
  ended(word: string, call: CallNames): Unsigned;
  /** A recording's callback; url null: there is none (absent, failed). */
  recorded(call: CallNames, recording: { recording_id: string; url: string | null; seconds: number }): Unsigned | null;
  /** A recording's id and address in the carrier's own form: of this account, and the same at another host. */
  recording_url(n: number): { recording_id: string; url: string; elsewhere: string };
  /** How our requests must look. Several: they are sent one after the other. null: the capability is not had. */
  golden: {
    dial(request: DialRequest): Golden;
    hangUp(call: CallNames, answered: boolean): Golden[];
    transfer(call: CallNames, to: string, from: string, base: string): Golden;
    digits(call: CallNames, digits: string): Golden | null;
    record(call: CallNames, how: { callback_base: string; limit_seconds: number }): Golden | null;
  };
}
