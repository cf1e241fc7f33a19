const SECRET = { kind: "text", secret: true } as const;

/** Environment variables of LiveKit rooms (variables.ts): the first three together, or none. */
export const ROOM_VARIABLES = {
  LIVEKIT_URL: {
    kind: "url",
    doc: "LiveKit server whose rooms the sessions of browsers and apps are in (ws:// or wss://); empty: their media come by WebSocket to the media port",
  },
  LIVEKIT_API_KEY: { kind: "text", doc: "its API key; required with LIVEKIT_URL" },
  LIVEKIT_API_SECRET: { ...SECRET, doc: "its API secret; required with LIVEKIT_URL" },
  LIVEKIT_PUBLIC_URL: { kind: "url", doc: "how clients reach the LiveKit server; default LIVEKIT_URL" },
  LIVEKIT_WORKERS: {
    kind: "integer",
    min: 1,
    max: 40,
    default: 2,
    doc: "processes of rooms of one conversation process; one more stands by",
  },
  LIVEKIT_ROOMS_PER_WORKER: {
    kind: "integer",
    min: 1,
    max: 15,
    default: 10,
    doc: "rooms in one such process at once; above ten, sound comes late",
  },
  LIVEKIT_SESSIONS_PER_WORKER: {
    kind: "integer",
    min: 1,
    max: 10_000,
    default: 100,
    doc: "rooms that such a process has had when another takes its place: each leaves about 1 MB behind",
  },
} as const;

/** What tells the LiveKit server and its key. */
export interface RoomEnv {
  LIVEKIT_URL?: string | undefined;
  LIVEKIT_API_KEY?: string | undefined;
  LIVEKIT_API_SECRET?: string | undefined;
  LIVEKIT_PUBLIC_URL?: string | undefined;
}

const TOGETHER = ["LIVEKIT_URL", "LIVEKIT_API_KEY", "LIVEKIT_API_SECRET"] as const;
const ADDRESSES = ["LIVEKIT_URL", "LIVEKIT_PUBLIC_URL"] as const;

/** What is wrong with the variables of LiveKit. */
export function roomIssues(env: RoomEnv): string[] {
  const missing = TOGETHER.filter((name) => env[name] === undefined);
  const issues = ADDRESSES.filter((name) => !/^(?:wss?:\/\/.*)?$/.test(env[name] ?? "")).map(
    (name) => `${name} must begin with ws:// or wss://`,
  );
  if (missing.length > 0 && missing.length < TOGETHER.length)
    issues.push(`${TOGETHER.join(", ")} go together: ${missing.join(" and ")} missing`);
  if (env.LIVEKIT_PUBLIC_URL !== undefined && env.LIVEKIT_URL === undefined)
    issues.push("LIVEKIT_PUBLIC_URL needs LIVEKIT_URL");
  return issues;
}
