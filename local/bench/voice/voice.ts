import { resolve } from "node:path";
import { cpus } from "node:os";
import { UsageError } from "../../../shared/process/command-line.ts";
import type { AskedBench } from "../../commands.ts";
import { median, quantile } from "../figures.ts";
import { measureInterruptions } from "./barge-in.ts";
import { benchLoad } from "./concurrent-calls.ts";
import { busy, factsOf, lineOfRow, type Row } from "./result-rows.ts";
import { measureTurns } from "./turn-latency.ts";

const DELAYS = { stt_ms: 100, first_token_ms: 250, first_audio_ms: 120 };
const ENDPOINTING_MS = 300;
const ALL_DELAYS_MS = DELAYS.stt_ms + DELAYS.first_token_ms + DELAYS.first_audio_ms;
const ROOM_MS = 100;
const PREEMPTIVE_GAIN_MS = 80;
const OWN_MS = 30;
const CLEAR_MS = 450;
const WORDS_APART = 1;

interface Size {
  calls: number;
  turns: number;
  interrupted: number;
  load_seconds: number;
}
const FULL: Size = { calls: 10, turns: 5, interrupted: 20, load_seconds: 60 };
const QUICK: Size = { calls: 5, turns: 4, interrupted: 8, load_seconds: 10 };

async function turnRows({ calls, turns }: Size): Promise<Row[]> {
  const slow = await measureTurns({ delays: DELAYS, preemptive: false, calls, turns });
  const fast = await measureTurns({ delays: DELAYS, preemptive: true, calls, turns });
  const own = (await measureTurns({ delays: null, preemptive: true, calls, turns })).map((ms) => ms - ENDPOINTING_MS);
  const bound = ENDPOINTING_MS + ALL_DELAYS_MS + ROOM_MS;
  const gain = median(slow) - median(fast);
  return [
    {
      name: "1 end of speech -> first frame, models 100/250/120, waits",
      unit: "ms",
      values: slow,
      asked: `p95 <= ${bound}`,
      met: quantile(slow, 0.95) <= bound,
    },
    {
      name: "1 the same, thinks ahead (the default)",
      unit: "ms",
      values: fast,
      asked: `p95 <= ${bound}`,
      met: quantile(fast, 0.95) <= bound,
    },
    {
      name: "1 gained by thinking ahead, of the medians",
      unit: "ms",
      values: [gain],
      asked: `>= ${PREEMPTIVE_GAIN_MS}`,
      met: gain >= PREEMPTIVE_GAIN_MS,
    },
    {
      name: "2 added by our code: models at once, less the 300 ms",
      unit: "ms",
      values: own,
      asked: `p95 <= ${OWN_MS}`,
      met: quantile(own, 0.95) <= OWN_MS,
    },
  ];
}

async function interruptionRows({ interrupted }: Size): Promise<Row[]> {
  const { bargeIns, coughs } = await measureInterruptions(interrupted);
  const apart = bargeIns.apart.map(Math.abs);
  return [
    {
      name: "3 onset of speech over ours -> clear at the carrier",
      unit: "ms",
      values: bargeIns.clear_ms,
      asked: `all <= ${CLEAR_MS}`,
      met: Math.max(...bargeIns.clear_ms) <= CLEAR_MS,
    },
    {
      name: "3 transcript against what the carrier played",
      unit: "words",
      values: apart,
      asked: `within ${WORDS_APART}`,
      met: Math.max(...apart) <= WORDS_APART,
    },
    {
      name: "4 end of a cough of 350 ms -> playback goes on",
      unit: "ms",
      values: coughs.resumed_ms,
      asked: "it goes on",
      met: coughs.resumed_ms.length + coughs.unmoved === coughs.of,
    },
    {
      name: "4 of so many coughs, the sentence was heard to its end",
      unit: "of all",
      values: [coughs.complete / coughs.of],
      asked: "all",
      met: coughs.complete === coughs.of,
    },
  ];
}

/**
 * `npm run bench -- voice [rows|load] [--quick] [--json] [--profile] [--calls 50,100] [--v8=--v8-pool-size=1,…]`: what a caller waits for,
 * and how many calls a core carries. The conversation service is a process of its own behind real sockets; the services it asks are
 * stand-ins in it, the carrier is a light client of the stream in this process. `--tree` runs the service of another version under the same load.
 */
export async function benchVoice({ values, parts: [only] }: AskedBench): Promise<void> {
  if (only !== undefined && only !== "rows" && only !== "load")
    throw new UsageError(`There is no part ${only}; there is rows, load.`);
  const { json, profile } = values;
  const size = values.quick ? QUICK : FULL;
  const say = (text: string): void => {
    if (!json) console.log(text);
  };
  say(
    `voice: node ${process.versions.node}, ${cpus().length} processors, ${busy()}; the models are the simulator in a process of its own, all of it shares this machine`,
  );
  const rows: Row[] = [];
  if (only !== "load") {
    for (const part of [turnRows, interruptionRows]) {
      const made = await part(size);
      rows.push(...made);
      for (const row of made) say(lineOfRow(row));
    }
  }
  const counts = values.calls?.split(",").map(Number);
  const v8 = values.v8?.split(",") ?? [];
  const steps =
    only === "rows"
      ? []
      : await benchLoad({
          seconds: size.load_seconds,
          say,
          profile,
          v8,
          ...(values.tree === undefined ? {} : { tree: resolve(values.tree) }),
          ...(counts ? { counts } : {}),
        });
  if (json) console.log(JSON.stringify({ rows: rows.map(factsOf), load: steps }, null, 2));
}
