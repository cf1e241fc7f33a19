import {
  described,
  describedAs,
  IsoTime,
  Json,
  named,
  Nullable,
  Strict,
  Text,
  Type,
  UpTo,
  upToBytes,
  Uuid,
  valued,
  type Static,
} from "../define.ts";
import { PROVIDERS } from "./configuration.ts";
import { Owner, Warnings } from "./identity.ts";
import { ExecutionModeEnum } from "./lead.ts";
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
  execution_mode: ExecutionModeEnum,
  payload: Json,
  ...Via,
  ...PlanFields,
});
export type SessionOrder = Static<typeof SessionOrder>;

/** How the media of sessions travel: in a LiveKit room, or over our own WebSocket. */
export const TRANSPORTS = ["livekit", "websocket"] as const;
export type Transport = (typeof TRANSPORTS)[number];
const TransportEnum = valued(TRANSPORTS, {
  livekit: "A LiveKit room: url is its server's, token its access token.",
  websocket: "Our own WebSocket at url, opened with the subprotocols callagent.session and the token.",
});
/** Where media are connected. `transport` absent: websocket. */
export const MediaAccess = Type.Object({
  media_url: UpTo(2000),
  token: UpTo(2000),
  transport: Type.Optional(TransportEnum),
});
export type MediaAccess = Static<typeof MediaAccess>;

/** How a client joins a session. */
const AccessFields = {
  url: described("Where the client connects.", UpTo(2000)),
  token: described("What it connects with, for one use.", UpTo(2000)),
  room_name: described("Name of the session's room: the lead's call_id.", UpTo(200)),
  expires_at: described("Until when the token can be used.", IsoTime),
};
/** How a client joins a session. `transport` absent: websocket. */
export const SessionAccess = Type.Object({ transport: Type.Optional(TransportEnum), ...AccessFields });
export type SessionAccess = Static<typeof SessionAccess>;
/** The same for clients, with how the media travel. */
export const JoinedSession = named(
  "JoinedSession",
  "How a client joins the session of a lead.",
  Type.Object({ transport: described("How the media travel.", TransportEnum), ...AccessFields }),
);
export type JoinedSession = Static<typeof JoinedSession>;

/** A page on which a person joins a session, and until when. */
export const JoinLink = named(
  "JoinLink",
  "A page on which a person joins a session.",
  Type.Object({
    url: described("Address of the page; whoever has it can join.", UpTo(2000)),
    expires_at: described("Until when the session can be joined.", IsoTime),
  }),
);

/** Most characters of one utterance. */
export const MAX_UTTERANCE_CHARS = 2000;
/** Longest name of a voice. */
export const MAX_VOICE_CHARS = 100;
/** What a client has spoken. */
export const SpeakFields = {
  text: described("What is spoken.", Text(MAX_UTTERANCE_CHARS), { example: "One moment, please." }),
  utterance_id: Type.Optional(
    described(
      "Your name for it, by which the session's socket says what became of it. Left out: one is given.",
      Type.String({ pattern: "^[A-Za-z0-9._-]{1,64}$", maxLength: 64 }),
    ),
  ),
  interrupt: Type.Optional(
    described("true: what is being spoken gives way, and what waits.", Type.Boolean(), { default: false }),
  ),
  voice: Type.Optional(
    described("A voice that the speech model knows. Left out: the template's.", Text(MAX_VOICE_CHARS)),
  ),
};
/** What became of a request to speak. */
export const SpokenStatus = named(
  "SpokenStatus",
  "What became of a request to speak.",
  Type.Object({
    status: valued(["queued"], { queued: "It is spoken after what was queued before, or at once with interrupt." }),
    utterance_id: described("Its name on the session's socket.", UpTo(64)),
    at: described("When it was queued.", IsoTime),
  }),
);
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

const limits = {
  calls_per_address_hour: described("Tries of one client address in an hour.", PerHour, {
    default: DOOR_DEFAULTS.calls_per_address_hour,
  }),
  calls_per_origin_hour: described("Sessions of one website in an hour.", PerHour, {
    default: DOOR_DEFAULTS.calls_per_origin_hour,
  }),
  calls_per_day: described(
    "Sessions of all websites in a day (UTC); null: as many as the other limits allow.",
    Nullable(Type.Integer({ minimum: 1, maximum: MAX_DOOR_CALLS_PER_DAY })),
  ),
};
const ORIGINS = "The websites on which it works, by their origin: https, or http on localhost.";
const LED_BY = "Id of the template that leads its sessions.";

/** A door that is to be made. */
export const DoorInput = named(
  "DoorInput",
  "A door to make: a button on websites by which visitors call.",
  Strict({
    template_id: described(LED_BY, Text(64)),
    merchant_id: Type.Optional(
      described("A merchant of the reseller whose template it is. Left out: the template's owner.", Text(64)),
    ),
    origins: described(ORIGINS, Type.Array(Origin, { minItems: 1, maxItems: MAX_ORIGINS, uniqueItems: true }), {
      example: ["https://shop.example.com"],
    }),
    ...Type.Partial(Type.Object(limits)).properties,
  }),
);
export type DoorInput = Static<typeof DoorInput>;

/** The name of a door in a page: public, and no right to anything but what the door allows. */
export const DoorKey = Type.String({ pattern: "^[A-Za-z0-9_-]{24}$", maxLength: 24 });

/** A door as it is shown. */
export const DoorRecord = named(
  "Door",
  "A public key by which visitors of websites call.",
  Type.Object(
    describedAs(limits, {
      id: described("Id of the door.", Uuid),
      key: described("The key that stands in the pages; it is public.", UpTo(24)),
      ...Owner,
      template_id: described(LED_BY, Uuid),
      origins: described(ORIGINS, Type.Array(UpTo(300), { maxItems: MAX_ORIGINS })),
      calls_per_address_hour: Type.Integer(),
      calls_per_origin_hour: Type.Integer(),
      calls_per_day: Nullable(Type.Integer()),
      created_at: described("When it was made.", IsoTime),
      warnings: Type.Optional(described("What its pages must know, told when it is made. Absent: nothing.", Warnings)),
    }),
  ),
);
export type DoorRecord = Static<typeof DoorRecord>;

/** Largest JSON of the variables that a page gives. */
export const MAX_DOOR_VARIABLES_BYTES = 8192;
/** Variables that a page gives: untrusted, and held against the template's payload_schema. */
export const DoorVariables = Type.Record(Type.String(), Type.Unknown(), upToBytes(MAX_DOOR_VARIABLES_BYTES));

/** What the page behind a link is told before its button is pressed: the codes with which joining is refused. */
export const linkLook = [
  Strict({ link: Text(64) }),
  Type.Object({
    refused: Nullable(Type.Enum(["LEAD_NOT_FOUND", "SESSION_TAKEN", "SESSION_OVER"])),
    name: Nullable(UpTo(200)),
  }),
] as const;
