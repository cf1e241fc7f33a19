/** Types of the web SDK that the gateway serves at /r/assets/call.js. */
import type { Session, StateDetail } from "./session.js";

/** Calls through a door, by its key, when a person has pressed a button; a page that was loaded again goes on. `variables`: what the template is to know, as its payload_schema has it. SessionError. */
export function call(
  door: string,
  how?: { variables?: Record<string, unknown>; onState?: (detail: StateDetail) => void },
): Promise<Session>;
