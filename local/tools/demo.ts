import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Provider } from "../../shared/contracts/records/configuration.ts";
import { runCommand, type Asked } from "../../shared/process/command-line.ts";
import { DEMO } from "./commands.ts";
import { readRows, type Row } from "./demo/leads-csv.ts";
import { sessionRows } from "./demo/session-rows.ts";
import { asExpected, ending, isDone, runRows, type Progress } from "./demo/lead-run.ts";
import { openScreen } from "./demo/progress-screen.ts";
import { startRecordingSink, type RecordingSink } from "./sink/recording-sink.ts";
import { modelsSaid } from "./console/banner.ts";
import { openFolder } from "./stack/data-folder.ts";
import { modelsInUse, realModels, type ModelsInUse } from "./stack/model-choice.ts";
import { freePort } from "./stack/ports.ts";
import { seed, type Sample } from "./sample/seed.ts";
import { startStack, type Stack } from "./stack/stack.ts";
import { ROOT } from "./stack/project-root.ts";

const TIME_SCALE = 20;
const RETRY_OFFSET_SECONDS = 1;
const SHIPPED = join(ROOT, "local", "tools", "sample", "leads.csv");

/** One full transcript: the confirmed conversation with the most turns. */
function transcript(all: Progress[], sink: RecordingSink): string {
  const turns = (p: Progress): number => sink.reports.get(p.lead_id ?? "")?.transcription.length ?? 0;
  const [best] = all.filter((p) => turns(p) > 0).sort((a, b) => turns(b) - turns(a));
  if (!best) return "no lead has a transcript";
  const { transcription: said = [], trace_scores = {}, metaData } = sink.reports.get(best.lead_id ?? "") ?? {};
  const scores = Object.entries(trace_scores)
    .map(([name, score]) => `${name} ${score}`)
    .join(", ");
  const judged = [
    scores === "" ? "" : `  scores    ${scores}`,
    metaData?.summary === undefined ? "" : `  summary   ${metaData.summary}`,
  ].filter((line) => line !== "");
  return [
    `Transcript of ${best.row.request_id} (${ending(best)}):`,
    ...said.map((t) => `  ${t.role === "assistant" ? "agent   " : "customer"}  ${t.content}`),
    ...judged,
  ].join("\n");
}

function summary(all: Progress[], sink: RecordingSink, seconds: number): string {
  const groups = new Map<string, { total: number; right: number }>();
  for (const p of all) {
    const group = groups.get(ending(p)) ?? { total: 0, right: 0 };
    groups.set(ending(p), { total: group.total + 1, right: group.right + (asExpected(p) ? 1 : 0) });
  }
  const wrong = all.filter((p) => !asExpected(p));
  return [
    "",
    "outcome                     leads  as expected",
    ...[...groups]
      .sort((a, b) => b[1].total - a[1].total)
      .map(([name, g]) => `${name.padEnd(26)} ${String(g.total).padStart(6)} ${String(g.right).padStart(12)}`),
    "",
    transcript(all, sink),
    "",
    ...wrong.map(
      (p) =>
        `line ${p.row.line} (${p.row.request_id}): expected ${p.row.expected}, got ${ending(p)}${isDone(p) ? "" : " (did not end in time, or its webhook did not arrive)"}`,
    ),
    ...sink.refused.slice(0, 5).map((r) => `a webhook was refused: ${r}`),
    `${all.length - wrong.length} of ${all.length} leads ended as expected; ${sink.reports.size} webhooks received and verified, ${sink.refused.length} refused; ${seconds.toFixed(1)} s`,
  ].join("\n");
}

/** How a row ended, for machines. */
const resultOf = (p: Progress, sink: RecordingSink) => ({
  request_id: p.row.request_id,
  lead_id: p.lead_id,
  expected: p.row.expected,
  ended: ending(p),
  as_expected: asExpected(p),
  webhook: p.lead_id !== null && sink.reports.has(p.lead_id),
});

async function play(
  stack: Stack,
  sample: Sample,
  admin: Parameters<typeof runRows>[0],
  rows: Row[],
  json: boolean,
): Promise<boolean> {
  const screen = openScreen(process.stdout);
  const sink = await startRecordingSink(sample.webhook_secret);
  const began = performance.now();
  try {
    const show = (progress: Progress[]): void => (json ? undefined : screen.show(progress));
    const all = await runRows(admin, stack.baseUrl, sample, sink, rows, show);
    if (!json) screen.end();
    console.log(
      json
        ? JSON.stringify(
            all.map((p) => resultOf(p, sink)),
            null,
            2,
          )
        : summary(all, sink, (performance.now() - began) / 1000),
    );
    return all.every(asExpected) && sink.refused.length === 0;
  } finally {
    await sink.close();
  }
}

/** Carriers by the name of --carrier; `all`: leads go through them by turns. */
const CARRIERS: Record<Asked<typeof DEMO>["values"]["carrier"], readonly Provider[]> = {
  twilio: ["PROVIDER_ONE"],
  plivo: ["PROVIDER_TWO"],
  telnyx: ["PROVIDER_THREE"],
  all: ["PROVIDER_ONE", "PROVIDER_TWO", "PROVIDER_THREE"],
};

/** The variables of a LiveKit server that the environment names; none: sessions come by WebSocket. */
const livekit = (): Record<string, string> =>
  Object.fromEntries(
    ["LIVEKIT_URL", "LIVEKIT_API_KEY", "LIVEKIT_API_SECRET"].flatMap((name) => {
      const value = process.env[name];
      return value === undefined || value === "" ? [] : [[name, value]];
    }),
  );

/** What stands in for the world, in words. */
function standIns({ carrier, engine, rtc }: Asked<typeof DEMO>["values"], models: ModelsInUse): string {
  const how =
    engine === "relay" ? `time runs ${TIME_SCALE} times faster for them` : `${engine}: real sound, in real time`;
  return rtc
    ? `ten clients join sessions ${"LIVEKIT_URL" in livekit() ? "in LiveKit rooms" : "over its WebSocket"}, in real time`
    : `simulated carriers (${carrier}), people (${how}); ${modelsSaid(models)}`;
}

async function run({ values, operands: [file = SHIPPED] }: Asked<typeof DEMO>): Promise<boolean> {
  const { engine, rtc, json, carrier } = values;
  const models = values.real ? realModels(process.env) : {};
  const given = rtc ? [] : readRows(file);
  const print = (line: string): void => (json ? undefined : console.log(line));
  const path = mkdtempSync(join(tmpdir(), "callagent-demo-"));
  const folder = openFolder(path, false);
  print(`starting callagent: ${standIns(values, modelsInUse(models))} …`);
  const starting = startStack({
    folder,
    split: false,
    engine,
    realModels: models,
    httpPort: await freePort(),
    mediaPort: await freePort(),
    carrierPort: await freePort(),
    timeScale: TIME_SCALE,
    seed: "demo",
    env: { LOG_LEVEL: "info", ...(rtc ? livekit() : {}) },
    onLog: () => undefined,
    onDeath: (reason) => console.error(`! ${reason}`),
  });
  const stop = (): void => {
    void starting
      .then(
        (s) => s.stop(),
        () => undefined,
      )
      .then(() => process.exit(130));
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  const stack = await starting;
  try {
    const { sample, client } = await seed(
      stack,
      folder,
      { initial_offset: 0, retry_offset: RETRY_OFFSET_SECONDS },
      CARRIERS[carrier],
    );
    const rows = rtc ? await sessionRows(client, sample) : given;
    print(`pushing ${rows.length} leads to ${stack.baseUrl}`);
    const right = await play(stack, sample, client, rows, json);
    if (!right) console.error(`the log is kept in ${folder.at("callagent.log")}`);
    await stack.stop();
    if (right) rmSync(path, { recursive: true, force: true });
    return right;
  } catch (error) {
    await stack.stop();
    throw error;
  }
}

await runCommand(DEMO, async (asked) => ((await run(asked)) ? 0 : 1));
process.exit();
