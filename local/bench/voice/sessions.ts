import type { AskedBench } from "../../commands.ts";
import { median } from "../figures.ts";
import { PERIOD_MS } from "./concurrent-calls.ts";
import { busy, factsOf, lineOfRow, type Row } from "./result-rows.ts";
import { measureDelays, type Delays } from "./sessions/session-delays.ts";
import type { Stages } from "./sessions/sound-stages.ts";
import { measureSessions, type SessionLoad } from "./sessions/session-load.ts";

const SECONDS = 20;
const TURNS = { calls: 5, turns: 4 } as const;
const ROUNDS = 2;
const LAG_MS = 50;
/** Sessions at once, where no others are asked for. */
const COUNTS = [10, 20];
/** Rooms in a process: the default of LIVEKIT_ROOMS_PER_WORKER. */
const ROOMS_EACH = 10;
const LIVEKIT = ["LIVEKIT_URL", "LIVEKIT_API_KEY", "LIVEKIT_API_SECRET"];

/** A way by which conversations come. `added_ms`: what it may add to the delay of a phone call's answer. */
interface Way {
  name: string;
  sessions: boolean;
  env: Record<string, string>;
  added_ms: number;
}

/** The variables of the LiveKit server that an environment names; null: it names none. */
function livekitOf(env: NodeJS.ProcessEnv): Record<string, string> | null {
  const named = LIVEKIT.map((name) => [name, env[name] ?? ""] as const);
  return named.every(([, value]) => value !== "") ? Object.fromEntries(named) : null;
}

/** The ways of sessions: by WebSocket, and in rooms where there is a LiveKit server. */
function waysOf(env: NodeJS.ProcessEnv): Way[] {
  const livekit = livekitOf(env);
  const socket = { name: "by WebSocket", sessions: true, env: {}, added_ms: 60 };
  return livekit === null
    ? [socket]
    : [socket, { name: "in LiveKit rooms", sessions: true, env: livekit, added_ms: 120 }];
}

/** A way's figures of a turn's places, which are the same for all. */
const STAGES: readonly { of: keyof Stages; name: string; inRoomsAlone: boolean }[] = [
  { of: "to_us", name: "end of speech -> callagent (library, server, half a frame)", inRoomsAlone: false },
  { of: "to_leg", name: "process of rooms -> conversation", inRoomsAlone: true },
  { of: "thought", name: "conversation: question heard -> answer written", inRoomsAlone: false },
  { of: "from_leg", name: "conversation -> given to LiveKit's library", inRoomsAlone: true },
  { of: "from_us", name: "callagent -> the ear (library, server, buffer)", inRoomsAlone: false },
];

/** Where the time of a way's turns went, and what it comes to without the network's way: end of speech known to us until the answer leaves us. */
function stageRows({ name, env }: Way, stages: readonly Stages[]): Row[] {
  const inRoom = env["LIVEKIT_URL"] !== undefined;
  const row = (what: string, values: number[]): Row => ({
    name: `  ${name}: ${what}`,
    unit: "ms",
    values,
    asked: "",
    met: true,
  });
  const each = STAGES.filter(({ inRoomsAlone }) => inRoom || !inRoomsAlone).map((stage) =>
    row(
      stage.name,
      stages.map((turn) => turn[stage.of]),
    ),
  );
  const ours = stages.map(({ to_leg, thought, from_leg }) => to_leg + thought + from_leg);
  return [...each, row("of it callagent's, both ways", ours)];
}

/** The delays of answers, the ways in turn, so that each meets the same machine. */
async function delayRows(ways: readonly Way[]): Promise<Row[]> {
  const all = [{ name: "a phone call", sessions: false, env: {}, added_ms: 0 }, ...ways];
  const measured = all.map((): Delays => ({ delays: [], stages: [] }));
  for (let round = 0; round < ROUNDS; round++)
    for (const [at, { sessions, env }] of all.entries()) {
      const { delays, stages } = await measureDelays({ ...TURNS, sessions, env });
      measured[at]?.delays.push(...delays);
      measured[at]?.stages.push(...stages);
    }
  const phone = median(measured[0]?.delays ?? []);
  return all.flatMap((way, at) => {
    const { delays: values, stages } = measured[at] ?? { delays: [], stages: [] };
    const { name, sessions, added_ms } = way;
    const added = median(values) - phone;
    const ear = sessions ? "the ear" : "the carrier's stream";
    const total: Row = { name: `end of speech -> ${ear}, ${name}`, unit: "ms", values, asked: "", met: true };
    if (!sessions) return [total];
    const asked = `<= ${added_ms}`;
    return [
      total,
      { name: `added ${name}, of the medians`, unit: "ms", values: [added], asked, met: added <= added_ms },
      ...stageRows(way, stages),
    ];
  });
}

/** What sessions at once came to, as rows. */
function rowsOfLoad(what: string, count: number, load: SessionLoad): Row[] {
  const lags = [load.service, ...load.rooms].map(({ lag_p99_ms }) => lag_p99_ms);
  const each = (values: number[]): number => values.reduce((sum, v) => sum + v, 0) / count;
  const cpu = (of: readonly { cpu_percent: number }[]): number => each(of.map(({ cpu_percent }) => cpu_percent));
  const row = (name: string, unit: string, values: number[]): Row => ({
    name: `${what}: ${name}`,
    unit,
    values,
    asked: "",
    met: true,
  });
  const rooms = load.rooms.length > 0;
  const unanswered = load.answers.filter((ms) => ms >= PERIOD_MS).length;
  return [
    {
      ...row(`loop lag p99, ${rooms ? "each process" : "conversation process"}`, "ms", lags),
      asked: `<= ${LAG_MS}`,
      met: Math.max(...lags) <= LAG_MS,
    },
    row("conversation process, a session", "% of a core", [cpu([load.service])]),
    row("conversation process, a session", "MB", [load.service_mb_each]),
    ...(rooms
      ? [
          row("processes of rooms, a session", "% of a core", [cpu(load.rooms)]),
          row("process of rooms, a session", "MB", [load.rooms_mb_each]),
          row(
            "process of rooms, each",
            "MB",
            load.rooms.map(({ rss_mb }) => rss_mb),
          ),
        ]
      : []),
    ...(load.server_cpu_percent === null
      ? []
      : [row("LiveKit server, a session", "% of a core", [each([load.server_cpu_percent])])]),
    row("clients, a session", "% of a core", [cpu(load.clients)]),
    row(
      "clients late with their own frames, p99 of each process",
      "ms",
      load.clients.map((c) => c.behind_p99_ms),
    ),
    row("all processors of the machine", "%", [load.machine_percent]),
    row("end of speech -> first sound", "ms", load.answers),
    { ...row(`turns without an answer`, "", [unanswered]), asked: "0", met: unanswered === 0 },
  ];
}

/** So many at once, by each way; where they can't be held, the row says so. */
async function loadRows(ways: readonly Way[], counts: readonly number[], say: (text: string) => void): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { name, env } of ways)
    for (const count of counts) {
      const what = `${count} ${name}`;
      try {
        rows.push(
          ...rowsOfLoad(what, count, await measureSessions({ count, rooms_each: ROOMS_EACH, seconds: SECONDS, env })),
        );
      } catch (error) {
        say(`${what}: ${String(error)}`);
        rows.push({ name: `${what}: could not be held`, unit: "ms", values: [], asked: `<= ${LAG_MS}`, met: false });
      }
    }
  return rows;
}

/**
 * `npm run bench -- sessions [delay] [load] [--calls=10,20] [--json]`: sessions of browsers beside calls. Their answers are counted when the page would play them, which waits for 40 ms of
 * sound, or when LiveKit's library hands them over for the loudspeaker; a browser's own loudspeaker and microphone are not measured here.
 */
export async function benchSessions({ values: { json, calls }, parts }: AskedBench): Promise<void> {
  const say = (text: string): void => {
    if (!json) console.log(text);
  };
  const ways = waysOf(process.env);
  const asks = (part: string): boolean => parts.length === 0 || parts.includes(part);
  const counts = calls === undefined ? COUNTS : calls.split(",").map(Number);
  say(`sessions, clients and models in processes of their own on the same machine; ${busy()}`);
  const rows: Row[] = [];
  if (asks("delay")) rows.push(...(await delayRows(ways)));
  if (asks("load")) rows.push(...(await loadRows(ways, counts, say)));
  for (const row of rows) say(lineOfRow(row));
  if (json) console.log(JSON.stringify(rows.map(factsOf), null, 2));
  else say(busy());
  if (rows.some(({ met }) => !met)) process.exitCode = 1;
}
