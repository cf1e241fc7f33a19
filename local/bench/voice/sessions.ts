import type { AskedBench } from "../../commands.ts";
import { median, quantile } from "../figures.ts";
import { benchLoad } from "./concurrent-calls.ts";
import { lineOfRow, type Row } from "./result-rows.ts";
import { measureTurns } from "./turn-latency.ts";

const COUNT = 20;
const SECONDS = 30;
const TURNS = { calls: 5, turns: 4 } as const;
const ADDED_MS = 60;
const LAG_MS = 50;
const ROOM_ADDED_MS = 120;
/** Rooms at once: their clients share this process, and LiveKit's library bears ten in one. */
const ROOMS = 10;
const LIVEKIT = ["LIVEKIT_URL", "LIVEKIT_API_KEY", "LIVEKIT_API_SECRET"];

/** The variables of the LiveKit server that an environment names; null: it names none. */
function livekitOf(env: NodeJS.ProcessEnv): Record<string, string> | null {
  const named = LIVEKIT.map((name) => [name, env[name] ?? ""] as const);
  return named.every(([, value]) => value !== "") ? Object.fromEntries(named) : null;
}

/** The same for sessions in LiveKit rooms, whose clients are in this process, with LiveKit's own library. */
async function rowsOfRooms(env: Record<string, string>, calls_p50: number): Promise<Row[]> {
  // else the library logs everything
  process.env["NODE_ENV"] ??= "production";
  const turns = await measureTurns({ delays: null, preemptive: true, ...TURNS, sessions: true, env });
  const added = median(turns) - calls_p50;
  const { measureRooms } = await import("./sessions/room-load.ts");
  const load = await measureRooms(env, ROOMS, SECONDS);
  const lag = Math.max(...load.workers, load.lag_p99_ms);
  const row = (name: string, unit: string, values: number[], asked = "", met = true): Row => ({
    name,
    unit,
    values,
    asked,
    met,
  });
  return [
    row("end of speech -> the ear, in a LiveKit room", "ms", turns),
    row("added for a room, of the medians", "ms", [added], `<= ${ROOM_ADDED_MS}`, added <= ROOM_ADDED_MS),
    row(
      `loop lag p99 with ${ROOMS} rooms, each process`,
      "ms",
      [...load.workers, load.lag_p99_ms],
      `<= ${LAG_MS}`,
      lag <= LAG_MS,
    ),
    row("CPU of the processes of rooms, a session", "% of a core", [load.cpu_percent / ROOMS]),
    row("CPU of the conversation process, a session", "% of a core", [load.service_cpu_percent / ROOMS]),
    row("memory of a process of rooms", "MB", [load.rss_mb]),
    row(`end of speech -> the ear, ${ROOMS} rooms at once`, "ms", load.answers),
  ];
}

/**
 * `npm run bench -- sessions [--json]`: sessions of browsers beside calls. Their answers are counted when the page would play them, which waits for 40 ms of sound; a browser's own
 * loudspeaker and microphone are not measured here.
 */
export async function benchSessions({ values: { json } }: AskedBench): Promise<void> {
  const say = (text: string): void => {
    if (!json) console.log(text);
  };
  const asked = { delays: null, preemptive: true, ...TURNS };
  const calls = await measureTurns(asked);
  const sessions = await measureTurns({ ...asked, sessions: true });
  const added = median(sessions) - median(calls);
  const [step] = await benchLoad({ seconds: SECONDS, counts: [COUNT], profile: false, v8: [], say, sessions: true });
  const lag = step?.lag_p99_ms ?? Infinity;
  const rows: Row[] = [
    { name: "end of speech -> a carrier's stream", unit: "ms", values: calls, asked: "", met: true },
    { name: "end of speech -> a session's loudspeaker", unit: "ms", values: sessions, asked: "", met: true },
    {
      name: "added for a session, of the medians",
      unit: "ms",
      values: [added],
      asked: `<= ${ADDED_MS}`,
      met: added <= ADDED_MS,
    },
    {
      name: `loop lag p99 with ${COUNT} sessions`,
      unit: "ms",
      values: [lag],
      asked: `<= ${LAG_MS}`,
      met: lag <= LAG_MS,
    },
  ];
  const livekit = livekitOf(process.env);
  if (livekit) rows.push(...(await rowsOfRooms(livekit, median(calls))));
  for (const row of rows) say(lineOfRow(row));
  if (json)
    console.log(
      JSON.stringify(
        { calls_p95: quantile(calls, 0.95), sessions_p95: quantile(sessions, 0.95), added, load: step },
        null,
        2,
      ),
    );
  if (rows.some(({ met }) => !met)) process.exitCode = 1;
}
