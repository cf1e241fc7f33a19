import type { Engine } from "../../../shared/contracts/records/models.ts";
import { createSigner } from "../../carriers/telnyx/signature.ts";
import type { LocalSecrets } from "./secrets.ts";

/** What the simulated carrier's account may place. */
export const LAPTOP_CALLS_PER_SECOND = 50;
/** The hosted model that a person with a key of their own gets, where they name none. */
export const LAPTOP_MODEL = "gpt-5.4-mini";
/** The simulated carriers: Twilio, Plivo and Telnyx, each with an account. */
function carrierEnv(url: string, secrets: LocalSecrets): Record<string, string> {
  const carriers = { PROVIDER_ONE: "twilio", PROVIDER_TWO: "plivo", PROVIDER_THREE: "telnyx" };
  return {
    ...carriers,
    ...Object.fromEntries(
      Object.keys(carriers).map((provider) => [`${provider}_CALLS_PER_SECOND`, String(LAPTOP_CALLS_PER_SECOND)]),
    ),
    TWILIO_ACCOUNT_SID: secrets.twilio_account_sid,
    TWILIO_AUTH_TOKEN: secrets.twilio_auth_token,
    TWILIO_API_BASE: url,
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

/** The simulator's models of speech, unless a person has named some of their own. */
function speechEnv(url: string, key: string): Record<string, string> {
  const model = "callagent-sim";
  return Object.fromEntries(
    ["STT", "TTS", "REALTIME"].flatMap((kind): [string, string][] =>
      process.env[`${kind}_BASE_URL`] === undefined
        ? [
            [`${kind}_BASE_URL`, url],
            [`${kind}_API_KEY`, key],
            [`${kind}_MODEL`, model],
          ]
        : Object.entries(process.env).flatMap(([name, value]): [string, string][] =>
            name.startsWith(`${kind}_`) && value !== undefined ? [[name, value]] : [],
          ),
    ),
  );
}

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
  extra: Record<string, string>;
}): Record<string, string> {
  const own = process.env["OPENAI_API_KEY"];
  const model: Record<string, string> = own
    ? {
        OPENAI_API_KEY: own,
        OPENAI_MODEL: process.env["OPENAI_MODEL"] ?? LAPTOP_MODEL,
        ...(process.env["OPENAI_BASE_URL"] ? { OPENAI_BASE_URL: process.env["OPENAI_BASE_URL"] } : {}),
      }
    : { OPENAI_API_KEY: o.secrets.model_key, OPENAI_BASE_URL: o.models, OPENAI_MODEL: "callagent-sim" };
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
    RECORDINGS_DIR: o.recordings,
    // simulated people speak in tones, which are no voice
    VOICE_DETECTION: "pitch",
    ...carrierEnv(o.carrier, o.secrets),
    WEBHOOK_ALLOW_HTTP: "true",
    WEBHOOK_ALLOW_PRIVATE: "true",
    SHUTDOWN_GRACE_SECONDS: "2",
    ...model,
    ...speechEnv(o.models, o.secrets.model_key),
    ENGINE_DEFAULT: o.engine,
    ...o.extra,
  };
}
