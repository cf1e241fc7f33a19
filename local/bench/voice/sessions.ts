import { median, quantile } from "../figures.ts";
import { benchLoad } from "./concurrent-calls.ts";
import { lineOfRow, type Row } from "./result-rows.ts";
import { measureTurns } from "./turn-latency.ts";

const COUNT = 20;
const SECONDS = 30;
const TURNS = { calls: 5, turns: 4 } as const;
const ADDED_MS = 60;
const LAG_MS = 50;

/**
 * `npm run bench -- sessions [--json]`: sessions of browsers beside calls. Their answers are counted when the page would play them, which waits for 40 ms of sound; a browser's own
 * loudspeaker and microphone are not measured here.
 */
export async function benchSessions(): Promise<void> {
  const json = process.argv.includes("--json");
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
