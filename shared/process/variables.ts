import { CALLING_VARIABLES, EVENT_VARIABLES } from "./calling-variables.ts";
import { GATEWAY_VARIABLES } from "./gateway-variables.ts";
import { KEY_VARIABLES } from "./key-variables.ts";
import { ROOM_VARIABLES } from "./room-variables.ts";
import { TRACE_VARIABLES } from "../tracing/trace-variables.ts";

/** How one environment variable is read. */
export interface Variable {
  kind: "text" | "integer" | "boolean" | "url" | "enum";
  /** Absent: the variable is optional and its value may be undefined. */
  default?: string | number | boolean;
  /** Bounds of an integer, inclusive. */
  min?: number;
  max?: number;
  /** Allowed values of kind `enum`. */
  values?: readonly string[];
  /** True for what must not appear in logs or on screens. */
  secret?: boolean;
  doc: string;
}

const SECRET = { kind: "text", secret: true } as const;
const PORT = { kind: "integer", min: 0, max: 65_535 } as const;
/** Twilio grants 1 call a second to a new account, and queues what is more for up to a day: past our calling window. */
const CALLS_PER_SECOND = { kind: "integer", min: 0, max: 200, default: 1 } as const;
/** Carriers there are adapters for. */
const CARRIERS = ["twilio", "plivo", "telnyx", "none"] as const;
/** How a conversation is run: a cascaded pipeline around a language model, the carrier's text relay, or one realtime model. */
export const ENGINES = ["cascade", "relay", "realtime"] as const;
/** Points at which a process can be made to kill itself, in the order of a lead's path (shared/process/crash.ts). */
export const CRASH_POINTS = ["K0", "K1", "K2", "K3", "K4", "K5", "K6", "K7", "K8", "K9", "K10", "K11"] as const;

/** Every environment variable there is. The table in docs/configuration.md, env.example and docker-compose.yml are checked against it. */
export const VARIABLES = {
  NODE_ENV: {
    kind: "enum",
    values: ["development", "test", "production"],
    default: "development",
    doc: "production refuses test switches",
  },
  LOG_LEVEL: {
    kind: "enum",
    values: ["fatal", "error", "warn", "info", "debug", "trace", "silent"],
    default: "info",
    doc: "lowest level that is logged",
  },
  NAMESPACE: { kind: "text", default: "callagent", doc: "bus namespace; no spaces, * or >" },
  NODE_ID: {
    kind: "text",
    doc: "id of this process on the bus, unique; the service's name goes before it (leads.web-1); default host and pid",
  },
  TRANSPORTER: {
    ...SECRET,
    doc: "bus address, nats://user:password@host:4222, of a cluster several separated by commas; tls:// in place of nats:// insists on TLS; empty: all services in this process",
  },
  NATS_CA_FILE: { kind: "text", doc: "PEM file of the authority that signed the NATS servers' certificates" },
  NATS_CERT_FILE: { kind: "text", doc: "PEM file of our certificate, where the NATS servers ask for one" },
  NATS_KEY_FILE: { kind: "text", doc: "PEM file of its private key" },
  NATS_NKEY_FILE: { kind: "text", doc: "file of an nkey seed (SU…), in place of a user and password in TRANSPORTER" },
  NATS_CREDS_FILE: { kind: "text", doc: "NATS credentials file (JWT and seed), in place of a user and password" },
  BUS_TRUST: {
    kind: "enum",
    values: ["open", "signed"],
    default: "open",
    doc: "who is believed on the bus; signed: each call's caller, and whoever it asks for, by a signature; open: everybody",
  },
  BUS_KEYS_FILE: {
    kind: "text",
    doc: "file with the services' public keys (npm run nats:users); required where BUS_TRUST is signed",
  },
  BUS_KEY_FILE: {
    kind: "text",
    doc: "file of an nkey seed (SU…) by which this service signs its calls; default NATS_NKEY_FILE",
  },
  MONGODB_URI: {
    kind: "text",
    default: "mongodb://127.0.0.1:27017/callagent",
    secret: true,
    doc: "database; a replica set in production",
  },
  MIGRATE_AT_START: {
    kind: "boolean",
    default: false,
    doc: "a process makes the collections and indexes it lacks itself, for a laptop; else it only checks, and npm run migrate makes them",
  },
  HTTP_HOST: { kind: "text", default: "0.0.0.0", doc: "address the gateway listens on" },
  HTTP_PORT: { ...PORT, default: 3000, doc: "port the gateway listens on" },
  PUBLIC_HTTP_URL: {
    kind: "url",
    default: "http://127.0.0.1:3000",
    doc: "how carriers reach the gateway; signatures are checked against it",
  },
  MEDIA_HOST: {
    kind: "text",
    default: "0.0.0.0",
    doc: "address the conversation service's WebSocket server listens on",
  },
  MEDIA_PORT: { ...PORT, default: 3001, doc: "port of the conversation service's WebSocket server" },
  PUBLIC_WS_URL: { kind: "url", default: "ws://127.0.0.1:3001", doc: "how carriers reach the WebSocket server" },
  METRICS_PORT: { ...PORT, doc: "port for probes and metrics (/live, /ready, /metrics); empty: none; 0: a free one" },
  METRICS_HOST: { kind: "text", default: "127.0.0.1", doc: "address that it listens on; it asks nobody who they are" },
  ...TRACE_VARIABLES,
  ...ROOM_VARIABLES,
  ...GATEWAY_VARIABLES,
  ADMIN_EMAIL: { kind: "text", doc: "e-mail of the first admin, created at first start" },
  ADMIN_PASSWORD: { ...SECRET, doc: "password of the first admin; at least 12 characters" },
  ...KEY_VARIABLES,
  ACCESS_TOKEN_TTL_SECONDS: { kind: "integer", min: 60, max: 86_400, default: 3600, doc: "life of a login token" },
  S2S_TOKEN_TTL_DAYS: { kind: "integer", min: 1, max: 3650, default: 365, doc: "life of a server-to-server token" },
  AUDIT_RETENTION_DAYS: {
    kind: "integer",
    min: 90,
    max: 3650,
    doc: "days for which entries of the audit log are kept; empty: for good. What has ended can't be brought back",
  },
  DEFAULT_TIMEZONE: { kind: "text", default: "UTC", doc: "zone of calling windows that name none: UTC or a place" },
  ...CALLING_VARIABLES,
  PROVIDER_ONE: { kind: "enum", values: CARRIERS, default: "twilio", doc: "carrier behind PROVIDER_ONE" },
  PROVIDER_TWO: { kind: "enum", values: CARRIERS, default: "none", doc: "carrier behind PROVIDER_TWO" },
  PROVIDER_THREE: { kind: "enum", values: CARRIERS, default: "none", doc: "carrier behind PROVIDER_THREE" },
  PROVIDER_ONE_CALLS_PER_SECOND: {
    ...CALLS_PER_SECOND,
    doc: "calls a second placed through PROVIDER_ONE's account by all replicas together; stay below what the carrier grants; 0: no limit",
  },
  PROVIDER_TWO_CALLS_PER_SECOND: { ...CALLS_PER_SECOND, doc: "the same for PROVIDER_TWO" },
  PROVIDER_THREE_CALLS_PER_SECOND: { ...CALLS_PER_SECOND, doc: "the same for PROVIDER_THREE" },
  TWILIO_ACCOUNT_SID: { kind: "text", doc: "Twilio account (AC…)" },
  TWILIO_AUTH_TOKEN: { ...SECRET, doc: "Twilio auth token; also checks callback signatures" },
  TWILIO_API_BASE: { kind: "url", doc: "other origin for Twilio's API, for a proxy or a simulator" },
  PLIVO_AUTH_ID: { kind: "text", doc: "Plivo account (MA…)" },
  PLIVO_AUTH_TOKEN: { ...SECRET, doc: "Plivo auth token; also checks callback signatures" },
  PLIVO_API_BASE: { kind: "url", doc: "other origin for Plivo's API, for a proxy or a simulator" },
  TELNYX_API_KEY: { ...SECRET, doc: "Telnyx API key (KEY…)" },
  TELNYX_CONNECTION_ID: { kind: "text", doc: "Telnyx call control application that calls are placed with" },
  TELNYX_PUBLIC_KEY: { kind: "text", doc: "Telnyx public key (base64) that checks callback signatures" },
  TELNYX_API_BASE: { kind: "url", doc: "other origin for Telnyx's API, for a proxy or a simulator" },
  PROVIDER_ONE_ACCOUNT: {
    kind: "text",
    doc: "PROVIDER_ONE's own account where several of one carrier are used: Twilio account, Plivo auth id, Telnyx connection; default that carrier's variable",
  },
  PROVIDER_ONE_SECRET: { ...SECRET, doc: "that account's auth token or API key" },
  PROVIDER_ONE_PUBLIC_KEY: { kind: "text", doc: "that account's public key (Telnyx)" },
  PROVIDER_TWO_ACCOUNT: { kind: "text", doc: "the same for PROVIDER_TWO" },
  PROVIDER_TWO_SECRET: { ...SECRET, doc: "the same for PROVIDER_TWO" },
  PROVIDER_TWO_PUBLIC_KEY: { kind: "text", doc: "the same for PROVIDER_TWO" },
  PROVIDER_THREE_ACCOUNT: { kind: "text", doc: "the same for PROVIDER_THREE" },
  PROVIDER_THREE_SECRET: { ...SECRET, doc: "the same for PROVIDER_THREE" },
  PROVIDER_THREE_PUBLIC_KEY: { kind: "text", doc: "the same for PROVIDER_THREE" },
  CALL_PRICES: {
    kind: "text",
    doc: "price of a call minute by country called, where the carrier sends no price, in COST_CURRENCY: US=0.014,GB=0.02,*=0.05",
  },
  RECORDINGS_DIR: {
    kind: "text",
    default: ".callagent/recordings",
    doc: "folder for recordings; without a bucket gateway, dialer and, where it records, conversation must share it",
  },
  RECORDING_SOURCE: {
    kind: "enum",
    values: ["carrier", "own"],
    default: "carrier",
    doc: "who records conversations over audio: the carrier, or the conversation service itself",
  },
  UPLOAD_CALL_RECORDINGS_TO_CLOUD: {
    kind: "boolean",
    default: false,
    doc: "recordings also go to S3-compatible storage and are served from there",
  },
  S3_BUCKET: { kind: "text", doc: "bucket for recordings and the archive; required with the upload" },
  S3_REGION: { kind: "text", default: "us-east-1", doc: "region of the bucket" },
  S3_ENDPOINT: { kind: "url", doc: "other S3-compatible endpoint (MinIO and the like)" },
  S3_ACCESS_KEY_ID: { kind: "text", doc: "access key; empty: the SDK's own chain (instance role, shared file)" },
  S3_SECRET_ACCESS_KEY: { ...SECRET, doc: "its secret" },
  RING_TIMEOUT_SECONDS: { kind: "integer", min: 5, max: 600, default: 40, doc: "how long a phone may ring" },
  PLACEMENT_GRACE_SECONDS: {
    kind: "integer",
    min: 5,
    max: 600,
    default: 90,
    doc: "how long a carrier is asked for a call whose request was never answered before it counts as never placed",
  },
  ANSWER_LIMIT_MS: {
    kind: "integer",
    min: 1000,
    max: 30_000,
    default: 2000,
    doc: "who answered hears something within this long, or the call ends politely, also while database or bus are away",
  },
  OPENAI_API_KEY: { ...SECRET, doc: "key of the language model endpoint" },
  OPENAI_BASE_URL: { kind: "url", doc: "OpenAI-compatible endpoint; default OpenAI's own" },
  OPENAI_MODEL: { kind: "text", doc: "model name; required by the conversation service" },
  ENGINE_DEFAULT: {
    kind: "enum",
    values: ENGINES,
    doc: "pipeline of conversations where template and configuration name no engine; default cascade where STT_BASE_URL and TTS_BASE_URL are set, else relay",
  },
  VOICE_DETECTION: {
    kind: "enum",
    values: ["silero", "pitch"],
    default: "silero",
    doc: "how a caller's voice is told from noises: `silero`, a small network, where the optional package @ricky0123/vad-web is installed; else, and with `pitch`, by the pitch of a voice",
  },
  PREEMPTIVE_GENERATION: {
    kind: "boolean",
    default: true,
    doc: "ask the model before the caller's turn is certainly over: faster answers, some requests cancelled",
  },
  OPENAI_FALLBACK_BASE_URL: {
    kind: "url",
    doc: "second endpoint for the language model, asked when the first one fails",
  },
  OPENAI_FALLBACK_API_KEY: { ...SECRET, doc: "its key" },
  OPENAI_FALLBACK_MODEL: { kind: "text", doc: "its model; default OPENAI_MODEL" },
  STT_BASE_URL: { kind: "url", doc: "OpenAI-compatible endpoint for transcription (/audio/transcriptions)" },
  STT_API_KEY: { ...SECRET, doc: "its key; empty: none" },
  STT_MODEL: {
    kind: "text",
    doc: "its model; required with STT_BASE_URL: hosted models are retired, so there is no default",
  },
  STT_STREAMING: {
    kind: "boolean",
    default: false,
    doc: "the endpoint transcribes while the caller speaks (a realtime transcription session); else speech is sent in segments",
  },
  STT_FALLBACK_BASE_URL: { kind: "url", doc: "second endpoint for transcription" },
  STT_FALLBACK_API_KEY: { ...SECRET, doc: "its key" },
  STT_FALLBACK_MODEL: { kind: "text", doc: "its model; default STT_MODEL" },
  TTS_BASE_URL: { kind: "url", doc: "OpenAI-compatible endpoint for speech (/audio/speech)" },
  TTS_API_KEY: { ...SECRET, doc: "its key; empty: none" },
  TTS_MODEL: { kind: "text", doc: "its model; required with TTS_BASE_URL" },
  TTS_VOICE: { kind: "text", default: "alloy", doc: "voice of templates that name none" },
  TTS_SAMPLE_RATE: {
    kind: "integer",
    min: 8000,
    max: 48_000,
    default: 24_000,
    doc: "samples a second of the endpoint's pcm: 8000, 16000, 24000 or 48000",
  },
  TTS_FALLBACK_BASE_URL: { kind: "url", doc: "second endpoint for speech" },
  TTS_FALLBACK_API_KEY: { ...SECRET, doc: "its key" },
  TTS_FALLBACK_MODEL: { kind: "text", doc: "its model; default TTS_MODEL" },
  TTS_FALLBACK_VOICE: { kind: "text", doc: "its voice; default the template's" },
  REALTIME_BASE_URL: {
    kind: "url",
    doc: "endpoint that speaks OpenAI's Realtime protocol (/realtime), http(s) or ws(s)",
  },
  REALTIME_API_KEY: { ...SECRET, doc: "its key; empty: none" },
  REALTIME_MODEL: { kind: "text", doc: "its model; required with REALTIME_BASE_URL" },
  REALTIME_VOICE: { kind: "text", default: "alloy", doc: "voice of the realtime model where the template names none" },
  REALTIME_DIALECT: {
    kind: "enum",
    values: ["ga", "beta"],
    default: "ga",
    doc: "event names sent to the endpoint; both are understood",
  },
  MODEL_ENDPOINTS: {
    ...SECRET,
    doc: 'further endpoints that templates may name, as JSON: {"name": {"base_url": "https://…/v1", "key": "…", "model": "…"}}',
  },
  WEBHOOK_ALLOW_HTTP: { kind: "boolean", default: false, doc: "allow http webhook addresses" },
  WEBHOOK_ALLOW_PRIVATE: { kind: "boolean", default: false, doc: "allow private and loopback webhook addresses" },
  SCHEDULER_INTERVAL_MS: {
    kind: "integer",
    min: 50,
    max: 60_000,
    default: 1000,
    doc: "pause between scheduler passes",
  },
  SCHEDULER_BATCH: { kind: "integer", min: 1, max: 500, default: 100, doc: "leads looked at in one pass" },
  LEASE_SECONDS: {
    kind: "integer",
    min: 5,
    max: 300,
    default: 30,
    doc: "lease of a lead: its owner renews it; without renewal for this long, a sweep recovers the lead",
  },
  SWEEP_INTERVAL_MS: {
    kind: "integer",
    min: 100,
    max: 60_000,
    default: 2000,
    doc: "pause between sweeps for lost leads, calls and webhook events",
  },
  ...EVENT_VARIABLES,
  CRASH_AT: {
    kind: "enum",
    values: CRASH_POINTS,
    doc: "test switch: the process kills itself at this point of a lead's road; refused in production",
  },
  SHUTDOWN_GRACE_SECONDS: {
    kind: "integer",
    min: 0,
    max: 86_400,
    default: 15_300,
    doc: "how long live calls may go on after SIGTERM, the last 5 s for goodbyes; the default is longer than any call can ring and last",
  },
} as const satisfies Record<string, Variable>;
