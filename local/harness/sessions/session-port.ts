/** How a client joins a session, as POST /leads/{lead_id}/join answers. `transport` absent: websocket. */
export interface SessionAccess {
  transport?: "livekit" | "websocket";
  url: string;
  token: string;
}

/** A client of a session, as a browser is one: sends sound all the time, plays what comes in real time, returns marks when they were played. */
export interface SessionClient {
  /** Words of the agent that were played so far. */
  heard(): string;
  /** JSON messages that came so far. */
  readonly messages: readonly Record<string, unknown>[];
  /** When the first sound of the agent came, ms after the session was joined; null: none has. */
  firstSoundMs(): number | null;
  /** Says a sentence, after what is being said. */
  say(text: string): void;
  send(message: object): void;
  /** Stops to send sound, as a machine that sleeps does. */
  freeze(): void;
  /** Breaks the socket off, as a lost network does; leaves a room. */
  drop(): void;
  /** Leaves, as a page does that is closed or loaded again. */
  close(): void;
  /** Resolves with the close code, or the room's reason, once the session is left. */
  readonly closed: Promise<number>;
}
