import type { EndedBy } from "../ledger/entries.ts";
import type { Call } from "./call.ts";

/** What a carrier's protocol does with a call. */
export interface Protocol {
  onPhase(call: Call): void;
  /** Leads the answered call; when it resolves the carrier hangs up on behalf of the one named. */
  runAnsweredCall(call: Call): Promise<EndedBy>;
}

/** A protocol that is called by people, too. */
export interface InboundProtocol extends Protocol {
  /** Our number rings: asks the service what to do, and by its word answers (Exchange.answer) or ends the call, then or later. A rejection ends the call as failed. */
  onInbound(call: Call): Promise<void>;
}
