import type { ParamsOf, ResultOf } from "../../../shared/bus/bus.ts";
import { fail } from "../../../shared/errors.ts";
import type { DialerParts } from "../deps.ts";
import { CredentialsRefused, credentialsRefused } from "./carrier-errors.ts";

/** Whether a provider's account holds a number, as the carrier says. PROVIDER_UNCONFIGURED; DEPENDENCY_DOWN: the carrier can't be asked. */
export async function numberHeld(
  { carriers, breakers }: Pick<DialerParts, "carriers" | "breakers">,
  { provider, phone_number }: ParamsOf<"dialer.holdsNumber">,
): Promise<ResultOf<"dialer.holdsNumber">> {
  const carrier = carriers.find(provider);
  if (!carrier) fail("PROVIDER_UNCONFIGURED", `${provider} has no carrier account in this deployment.`);
  try {
    return { held: await carrier.holds(phone_number) };
  } catch (error) {
    if (!(error instanceof CredentialsRefused)) throw error;
    const answer = credentialsRefused(error.status);
    return { held: false, credentials_refused: breakers.reasonOf(provider, answer.reason, answer) };
  }
}
