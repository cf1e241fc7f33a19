import type { Provider } from "../../../shared/contracts/records/configuration.ts";
import type { Env } from "../../../shared/process/env.ts";
import { fail } from "../../../shared/errors.ts";
import type { Clock } from "../../../shared/time/clock.ts";
import type { CarrierPort } from "./carrier-port.ts";
import { plivoCarrier } from "./plivo/carrier.ts";
import { telnyxCarrier } from "./telnyx/carrier.ts";
import { twilioCarrier } from "./twilio/carrier.ts";

/** The carriers of this deployment. */
export interface Carriers {
  /** The carrier behind a provider word. PROVIDER_UNCONFIGURED when there is none. */
  of(provider: Provider): CarrierPort;
  /** The same; undefined where there is none. */
  find(provider: Provider): CarrierPort | undefined;
  /** Every carrier account that is configured, each once. */
  all(): CarrierPort[];
  /** The variables that this provider's account and secrets are read from. */
  variables(provider: Provider): string[];
}

/** An account as the environment names it. */
interface Account {
  account: string | undefined;
  secret: string | undefined;
  public_key: string | undefined;
}
/** The same, complete; `public_key` "" where the carrier has none. */
type Credentials = Record<keyof Account, string>;

/** A carrier there is an adapter for: its own variables, by the part of the account they hold, and how it is made. */
interface Maker {
  /** Names of the carrier's own variables, for people; `public_key` only where the carrier has one. */
  names: { account: string; secret: string; public_key?: string };
  own(env: Env): Account;
  make(credentials: Credentials, env: Env, clock: Pick<Clock, "now">): CarrierPort;
}

/** Where every carrier finds us. */
const publicAddresses = (env: Env) => ({ public_http_url: env.PUBLIC_HTTP_URL, public_ws_url: env.PUBLIC_WS_URL });

/** One entry for each carrier: a further one is a folder and an entry here. */
const MAKERS: Record<Exclude<Env["PROVIDER_ONE"], "none">, Maker> = {
  twilio: {
    names: { account: "TWILIO_ACCOUNT_SID", secret: "TWILIO_AUTH_TOKEN" },
    own: (env) => ({ account: env.TWILIO_ACCOUNT_SID, secret: env.TWILIO_AUTH_TOKEN, public_key: undefined }),
    make: ({ account, secret }, env) =>
      twilioCarrier({
        account_sid: account,
        auth_token: secret,
        api_base: env.TWILIO_API_BASE ?? null,
        ...publicAddresses(env),
      }),
  },
  plivo: {
    names: { account: "PLIVO_AUTH_ID", secret: "PLIVO_AUTH_TOKEN" },
    own: (env) => ({ account: env.PLIVO_AUTH_ID, secret: env.PLIVO_AUTH_TOKEN, public_key: undefined }),
    make: ({ account, secret }, env, clock) =>
      plivoCarrier({
        now: () => clock.now(),
        auth_id: account,
        auth_token: secret,
        api_base: env.PLIVO_API_BASE ?? null,
        ...publicAddresses(env),
      }),
  },
  telnyx: {
    names: { account: "TELNYX_CONNECTION_ID", secret: "TELNYX_API_KEY", public_key: "TELNYX_PUBLIC_KEY" },
    own: (env) => ({
      account: env.TELNYX_CONNECTION_ID,
      secret: env.TELNYX_API_KEY,
      public_key: env.TELNYX_PUBLIC_KEY,
    }),
    make: ({ account, secret, public_key }, env) =>
      telnyxCarrier({
        connection_id: account,
        api_key: secret,
        public_key,
        api_base: env.TELNYX_API_BASE ?? null,
        ...publicAddresses(env),
      }),
  },
};

const PROVIDERS: readonly Provider[] = ["PROVIDER_ONE", "PROVIDER_TWO", "PROVIDER_THREE"];

/** The carrier behind a provider's word, and how it is made; null: none. */
function makerOf(env: Env, provider: Provider): { word: keyof typeof MAKERS; maker: Maker } | null {
  const word = { PROVIDER_ONE: env.PROVIDER_ONE, PROVIDER_TWO: env.PROVIDER_TWO, PROVIDER_THREE: env.PROVIDER_THREE }[
    provider
  ];
  return word === "none" ? null : { word, maker: MAKERS[word] };
}

/** The provider's own account where it names one, else the carrier's. */
function accountOf(env: Env, provider: Provider, maker: Maker): Account {
  const own = maker.own(env);
  return {
    account: env[`${provider}_ACCOUNT`] ?? own.account,
    secret: env[`${provider}_SECRET`] ?? own.secret,
    public_key: env[`${provider}_PUBLIC_KEY`] ?? own.public_key,
  };
}

/** The variables a provider's account is read from: each either as the provider's own or as the carrier's. */
function variablesOf(env: Env, provider: Provider): string[] {
  const names = makerOf(env, provider)?.maker.names;
  return names
    ? [
        `${provider}_ACCOUNT`,
        `${provider}_SECRET`,
        ...(names.public_key === undefined ? [] : [`${provider}_PUBLIC_KEY`]),
        ...Object.values(names),
      ]
    : [provider];
}

/** What is not set, each as "the provider's own variable or the carrier's". */
function missingOf(provider: Provider, { names }: Maker, found: Account): string[] {
  const parts = [
    ["ACCOUNT", names.account, found.account],
    ["SECRET", names.secret, found.secret],
    ["PUBLIC_KEY", names.public_key, found.public_key],
  ] as const;
  return parts.flatMap(([part, name, value]) =>
    name === undefined || value !== undefined ? [] : [`${provider}_${part} (or ${name})`],
  );
}

/** Puts the carriers named in the environment behind the provider words. The same account named twice is one adapter. */
export function createCarriers(env: Env, clock: Pick<Clock, "now">): Carriers {
  const made = new Map<string, CarrierPort>();
  const byProvider = new Map<Provider, CarrierPort>();
  const missing = new Map<Provider, string>();
  for (const provider of PROVIDERS) {
    const behind = makerOf(env, provider);
    if (!behind) {
      missing.set(provider, `set ${provider} to a carrier (${Object.keys(MAKERS).join(", ")})`);
      continue;
    }
    const { word, maker } = behind;
    const found = accountOf(env, provider, maker);
    const lacking = missingOf(provider, maker, found);
    const { account = "", secret = "", public_key = "" } = found;
    const key = JSON.stringify([word, account, secret, public_key]);
    if (lacking.length > 0) {
      missing.set(provider, `set ${lacking.join(" and ")}`);
      continue;
    }
    const carrier = made.get(key) ?? maker.make({ account, secret, public_key }, env, clock);
    made.set(key, carrier);
    byProvider.set(provider, carrier);
  }
  return {
    find: (provider) => byProvider.get(provider),
    of: (provider) =>
      byProvider.get(provider) ??
      fail(
        "PROVIDER_UNCONFIGURED",
        `${provider} has no carrier account: ${missing.get(provider) ?? "none is known"} in the dialer's environment.`,
      ),
    all: () => [...made.values()],
    variables: (provider) => variablesOf(env, provider),
  };
}
