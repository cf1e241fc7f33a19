import { fail } from "../../../../shared/errors.ts";
import { errorCodeOf, Refusal } from "../carrier-errors.ts";
import type { CallHandle } from "../carrier-port.ts";
import type { Lookup } from "./lookup.ts";
import { isMissing } from "./rest.ts";

const TOO_MANY_STATUS = 429;

/** Throws DEPENDENCY_DOWN for a carrier that could not be asked. */
export const unreachable = (error: unknown): never =>
  fail(
    "DEPENDENCY_DOWN",
    `The carrier does not answer (${error instanceof Refusal ? `HTTP ${error.status}` : errorCodeOf(error)}); it will be asked again.`,
  );

/** A command that Plivo refused (CALL_REFUSED), or that never reached it (DEPENDENCY_DOWN). */
export function refused(what: string, error: unknown): never {
  if (error instanceof Refusal && error.status < 500 && error.status !== TOO_MANY_STATUS)
    fail("CALL_REFUSED", `The carrier refused ${what} (HTTP ${error.status}): ${error.message}`);
  return unreachable(error);
}

/** Acts on a call's leg. Plivo gives requests and legs the same name as a rule; where it does not, the leg is searched among the calls under way. */
export async function onLeg(
  lookup: Lookup,
  { call_id, leg_id }: CallHandle,
  act: (leg: string) => Promise<unknown>,
): Promise<void> {
  try {
    await act(leg_id ?? call_id);
  } catch (error) {
    if (leg_id !== null || !isMissing(error)) throw error;
    const leg = await lookup.legOf(call_id);
    if (leg === null) throw error;
    await act(leg);
  }
}
