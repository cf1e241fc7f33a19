import type { Provider } from "../../../shared/contracts/configuration.ts";
import type { Env } from "../../../shared/env.ts";
import { fail } from "../../../shared/errors.ts";
import type { CarrierPort } from "./port.ts";
import { twilioCarrier } from "./twilio/carrier.ts";

/** The carriers of this deployment. */
export interface Carriers {
  /** The carrier behind a provider word. PROVIDER_UNCONFIGURED when there is none. */
  of(provider: Provider): CarrierPort;
  /** Every carrier that is configured, each once. */
  all(): CarrierPort[];
}

function twilioFrom(env: Env): CarrierPort | null {
  const { TWILIO_ACCOUNT_SID: account_sid, TWILIO_AUTH_TOKEN: auth_token } = env;
  if (account_sid === undefined || auth_token === undefined) return null;
  return twilioCarrier({
    account_sid, auth_token, api_base: env.TWILIO_API_BASE ?? null, public_http_url: env.PUBLIC_HTTP_URL, public_ws_url: env.PUBLIC_WS_URL,
  });
}

/** Puts the carriers named in the environment behind the provider words. A carrier named twice is one adapter. */
export function createCarriers(env: Env): Carriers {
  const twilio = twilioFrom(env);
  const adapters = { twilio, none: null };
  const byProvider: Record<Provider, CarrierPort | null> = {
    PROVIDER_ONE: adapters[env.PROVIDER_ONE], PROVIDER_TWO: adapters[env.PROVIDER_TWO], PROVIDER_THREE: adapters[env.PROVIDER_THREE],
  };
  return {
    of: (provider) => byProvider[provider]
      ?? fail("PROVIDER_UNCONFIGURED", `${provider} has no carrier account: set ${provider} and that carrier's credentials in the dialer's environment.`),
    all: () => [...new Set(Object.values(byProvider).filter((c) => c !== null))],
  };
}
