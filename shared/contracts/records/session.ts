import { Id, IsoTime, Json, Nullable, Strict, Text, Type, UpTo, upToBytes, Uuid, type Static } from "../define.ts";
import { PROVIDERS } from "./configuration.ts";
import { EXECUTION_MODES } from "./lead.ts";
import { EngineEnum } from "./models.ts";
import { SpendCeilings } from "./spend.ts";

/** Where the media of a conversation come from that no carrier has: a person's browser or app. */
export const BROWSER = "BROWSER";
/** Where media come from: the carrier behind a provider word, or a browser. */
export const MEDIA_SOURCES = [...PROVIDERS, BROWSER] as const;
export type MediaSource = (typeof MEDIA_SOURCES)[number];

/** Life of a media token of a session, seconds: it is used at once, and once. */
export const MEDIA_TOKEN_SECONDS = 120;

const ROOM = "rtc-";
/** The name of a session's room, and the lead's call_id, by the name of its attempt. */
export const roomOf = (call_ref: string): string => `${ROOM}${call_ref}`;
/** The attempt whose session has a room of this name; null: it is the name of no room. */
export const attemptOfRoom = (room: string): string | null => (room.startsWith(ROOM) ? room.slice(ROOM.length) : null);

/** What a session is led with, as the scheduler's gates saw it. */
const PlanFields = {
  template_version: Type.Integer({ minimum: 1 }),
  max_call_seconds: Type.Integer({ minimum: 1 }),
  record: Type.Boolean(),
  /** The configuration's engine; null: the deployment's. The template's own wins. */
  engine: Nullable(EngineEnum),
  /** The merchant's and the reseller's; absent: none. */
  spend_ceilings: Type.Optional(SpendCeilings),
};
/** What a session is led with. */
export const SessionPlan = Type.Object(PlanFields);
export type SessionPlan = Static<typeof SessionPlan>;

/** How a client wants its media to travel, which asks for one of them; absent: as the deployment has it. */
export const Via = { via: Type.Optional(Type.Enum(["websocket"])) };

/** A session that is to wait for its client. */
export const SessionOrder = Strict({
  lead_id: Uuid,
  claim_no: Type.Integer({ minimum: 1 }),
  reseller_id: Text(64),
  merchant_id: Nullable(Text(64)),
  template_id: Uuid,
  execution_mode: Type.Enum([...EXECUTION_MODES]),
  payload: Json,
  ...Via,
  ...PlanFields,
});
export type SessionOrder = Static<typeof SessionOrder>;

/** How the media of sessions travel: in a LiveKit room, or over our own WebSocket. */
export const TRANSPORTS = ["livekit", "websocket"] as const;
export type Transport = (typeof TRANSPORTS)[number];
/** Where media are connected. `transport` absent: websocket. */
export const MediaAccess = Type.Object({
  media_url: UpTo(2000),
  token: UpTo(2000),
  transport: Type.Optional(Type.Enum([...TRANSPORTS])),
});
export type MediaAccess = Static<typeof MediaAccess>;

/** How a client joins a session. `room_name`: the lead's call_id. `token`: for one use until `expires_at`. */
const AccessFields = { url: UpTo(2000), token: UpTo(2000), room_name: UpTo(200), expires_at: IsoTime };
/** How a client joins a session. `transport` absent: websocket. */
export const SessionAccess = Type.Object({ transport: Type.Optional(Type.Enum([...TRANSPORTS])), ...AccessFields });
export type SessionAccess = Static<typeof SessionAccess>;
/** The same for clients, with how the media travel. */
export const JoinedSession = Type.Object({ transport: Type.Enum([...TRANSPORTS]), ...AccessFields });
export type JoinedSession = Static<typeof JoinedSession>;

/** A page on which a person joins a session, and until when. */
export const JoinLink = Type.Object({ url: UpTo(2000), expires_at: IsoTime });

/** Most characters of one utterance. */
export const MAX_UTTERANCE_CHARS = 2000;
/** Longest name of a voice. */
export const MAX_VOICE_CHARS = 100;
/** What a client has spoken: `voice`: a name that the speech model knows; absent: the template's. `interrupt`: what is being spoken gives way, and what waits. `utterance_id`: the client's name for it; absent: we give one. */
export const SpeakFields = {
  text: Text(MAX_UTTERANCE_CHARS),
  utterance_id: Type.Optional(Type.String({ pattern: "^[A-Za-z0-9._-]{1,64}$", maxLength: 64 })),
  interrupt: Type.Optional(Type.Boolean()),
  voice: Type.Optional(Text(MAX_VOICE_CHARS)),
};
/** What became of a request to speak. */
export const SpokenStatus = Type.Object({
  status: Type.Enum(["queued"]),
  utterance_id: UpTo(64),
  at: IsoTime,
});
export type SpokenStatus = Static<typeof SpokenStatus>;

/** Most websites of a door. */
const MAX_ORIGINS = 20;
/** Most calls that a limit of a door may allow in an hour. */
export const MAX_DOOR_CALLS_PER_HOUR = 1000;
const MAX_DOOR_CALLS_PER_DAY = 100_000;
/** What holds where a door names no limit. */
export const DOOR_DEFAULTS = { calls_per_address_hour: 20, calls_per_origin_hour: 100 } as const;

/** The origin of a website as browsers send it: https, or http on the machine itself, for nowhere else browsers give the microphone. */
const Origin = Type.String({
  maxLength: 300,
  pattern:
    "^(?:https://[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|http://localhost|http://127\\.0\\.0\\.1)(?::[1-9][0-9]{0,4})?$",
});
const PerHour = Type.Integer({ minimum: 1, maximum: MAX_DOOR_CALLS_PER_HOUR });

/** A door that is to be made. `merchant_id`: for a merchant of the reseller whose template it is. Calls: tries of one client address in an hour, sessions of one website in an hour, and of all in a day (UTC). */
export const DoorInput = Strict({
  template_id: Text(64),
  merchant_id: Type.Optional(Text(64)),
  origins: Type.Array(Origin, { minItems: 1, maxItems: MAX_ORIGINS, uniqueItems: true }),
  calls_per_address_hour: Type.Optional(PerHour),
  calls_per_origin_hour: Type.Optional(PerHour),
  calls_per_day: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: MAX_DOOR_CALLS_PER_DAY }))),
});
export type DoorInput = Static<typeof DoorInput>;

/** The name of a door in a page: public, and no right to anything but what the door allows. */
export const DoorKey = Type.String({ pattern: "^[A-Za-z0-9_-]{24}$", maxLength: 24 });

/** A door as it is shown. calls_per_day null: as many as the other limits allow. */
export const DoorRecord = Type.Object({
  id: Uuid,
  key: UpTo(24),
  reseller_id: Id,
  merchant_id: Nullable(Id),
  template_id: Uuid,
  origins: Type.Array(UpTo(300), { maxItems: MAX_ORIGINS }),
  calls_per_address_hour: Type.Integer(),
  calls_per_origin_hour: Type.Integer(),
  calls_per_day: Nullable(Type.Integer()),
  created_at: IsoTime,
});
export type DoorRecord = Static<typeof DoorRecord>;

/** Largest JSON of the variables that a page gives. */
export const MAX_DOOR_VARIABLES_BYTES = 8192;
/** Variables that a page gives: untrusted, and held against the template's payload_schema. */
export const DoorVariables = Type.Record(Type.String(), Type.Unknown(), upToBytes(MAX_DOOR_VARIABLES_BYTES));
