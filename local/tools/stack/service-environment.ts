import type { Engine } from "../../../shared/contracts/records/models.ts";
import { VARIABLES } from "../../../shared/process/variables.ts";
import { createSigner } from "../../carriers/telnyx/signature.ts";
import { modelVariables } from "./model-choice.ts";
import type { LocalSecrets } from "./secrets.ts";

/** What the simulated carrier's account may place. */
export const LAPTOP_CALLS_PER_SECOND = 50;
/** Variables of a real account of Twilio's, with the public addresses that it calls back. */
export type RealAccount = Readonly<Record<string, string>>;
/** The simulated carriers: Twilio, Plivo and Telnyx, each with an account. */
function carrierEnv(url: string, secrets: LocalSecrets, twilio: RealAccount | null): Record<string, string> {
  const carriers = { PROVIDER_ONE: "twilio", PROVIDER_TWO: "plivo", PROVIDER_THREE: "telnyx" };
  return {
    ...carriers,
    ...Object.fromEntries(
      Object.keys(carriers).map((provider) => [`${provider}_CALLS_PER_SECOND`, String(LAPTOP_CALLS_PER_SECOND)]),
    ),
    ...(twilio === null
      ? {
          TWILIO_ACCOUNT_SID: secrets.twilio_account_sid,
          TWILIO_AUTH_TOKEN: secrets.twilio_auth_token,
          TWILIO_API_BASE: url,
        }
      : { PROVIDER_ONE_CALLS_PER_SECOND: String(VARIABLES.PROVIDER_ONE_CALLS_PER_SECOND.default), ...twilio }),
    PLIVO_AUTH_ID: secrets.plivo_auth_id,
    PLIVO_AUTH_TOKEN: secrets.plivo_auth_token,
    PLIVO_API_BASE: url,
    TELNYX_CONNECTION_ID: secrets.telnyx_connection_id,
    TELNYX_API_KEY: secrets.telnyx_api_key,
    TELNYX_PUBLIC_KEY: createSigner(secrets.telnyx_key_seed).publicKey,
    TELNYX_API_BASE: url,
  };
}

/** The same accounts for the simulator's environment. */
export const accountsOf = (secrets: LocalSecrets): Record<string, string> => ({
  TWILIO_ACCOUNT_SID: secrets.twilio_account_sid,
  TWILIO_AUTH_TOKEN: secrets.twilio_auth_token,
  PLIVO_AUTH_ID: secrets.plivo_auth_id,
  PLIVO_AUTH_TOKEN: secrets.plivo_auth_token,
  TELNYX_CONNECTION_ID: secrets.telnyx_connection_id,
  TELNYX_API_KEY: secrets.telnyx_api_key,
  TELNYX_KEY_SEED: secrets.telnyx_key_seed,
});

/** The environment the services run in: the laptop's defaults under whatever the person set. */
export function serviceEnv(o: {
  http: number;
  media: number;
  carrier: string;
  models: string;
  mongo: string;
  recordings: string;
  secrets: LocalSecrets;
  engine: Engine;
  /** Variables of the models that stand in place of the simulated ones. */
  real: Readonly<Record<string, string>>;
  /** A real account in place of the simulated Twilio; null: none. */
  twilio: RealAccount | null;
  extra: Record<string, string>;
}): Record<string, string> {
  return {
    LOG_LEVEL: process.env["LOG_LEVEL"] ?? "info",
    HTTP_HOST: "127.0.0.1",
    HTTP_PORT: String(o.http),
    PUBLIC_HTTP_URL: `http://127.0.0.1:${o.http}`,
    MEDIA_HOST: "127.0.0.1",
    MEDIA_PORT: String(o.media),
    PUBLIC_WS_URL: `ws://127.0.0.1:${o.media}`,
    MONGODB_URI: o.mongo,
    ADMIN_EMAIL: o.secrets.admin_email,
    ADMIN_PASSWORD: o.secrets.admin_password,
    JWT_PRIVATE_KEY: o.secrets.jwt_private_key,
    SECRETS_KEY: o.secrets.secrets_key,
    ERASURE_KEY: o.secrets.erasure_key,
    RECORDINGS_DIR: o.recordings,
    ...carrierEnv(o.carrier, o.secrets, o.twilio),
    WEBHOOK_ALLOW_HTTP: "true",
    WEBHOOK_ALLOW_PRIVATE: "true",
    SHUTDOWN_GRACE_SECONDS: "2",
    ...modelVariables(o.models, o.secrets.model_key, o.real),
    // real people have voices
    ...(o.twilio === null ? {} : { VOICE_DETECTION: "silero" }),
    ENGINE_DEFAULT: o.engine,
    ...o.extra,
  };
}
