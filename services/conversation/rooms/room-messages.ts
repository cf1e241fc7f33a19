/** The name of the client in its room; whoever joins under it again takes the place of the one before. */
export const CLIENT_IDENTITY = "client";
/** The name of our side in every room. */
export const AGENT_IDENTITY = "agent";
/** Topic of the data messages between client and agent; participants' remote procedure for utterances. */
export const DATA_TOPIC = "callagent";
export const SPEAK_METHOD = "speak";

/** What a process of rooms is told. `id`: the room's, of one stay in it. */
export type RoomOrder =
  | { kind: "open"; id: string; url: string; token: string }
  | { kind: "audio"; id: string; pcm: Uint8Array }
  | { kind: "mark"; id: string; name: string }
  | { kind: "clear"; id: string }
  | { kind: "text"; id: string; text: string }
  | { kind: "close"; id: string };

type WithoutId<T> = T extends unknown ? Omit<T, "id"> : never;
/** An order to one stay in a room. */
export type StayOrder = WithoutId<Exclude<RoomOrder, { kind: "open" | "close" }>>;
/** What is told of one stay in a room. */
export type StayNews = WithoutId<Exclude<RoomNews, { kind: "ready" | "closed" }>>;

/** What a process of rooms tells. `here`: the client is in the room and hears us; `left`: it is gone, `inOrder` by its own wish; `away`: the server is, and we try to come back; `lost`: we are out of the room for good. */
export type RoomNews =
  | { kind: "ready" }
  | { kind: "here"; id: string }
  | { kind: "left"; id: string; inOrder: boolean }
  | { kind: "audio"; id: string; pcm: Uint8Array }
  | { kind: "mark"; id: string; name: string }
  | { kind: "text"; id: string; text: string }
  | { kind: "away"; id: string }
  | { kind: "lost"; id: string; replaced: boolean; why: string }
  | { kind: "closed"; id: string };
