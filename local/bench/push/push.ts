import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import autocannon from "autocannon";
import type { Client } from "../../tools/api-client.ts";
import { openFolder } from "../../tools/stack/data-folder.ts";
import { freePort } from "../../tools/stack/ports.ts";
import { seed, type Sample } from "../../tools/sample/seed.ts";
import { startStack, type Stack } from "../../tools/stack/stack.ts";
import { ROOT } from "../../tools/stack/project-root.ts";
import { startChild } from "../../tools/stack/supervisor.ts";
import { lineOf, topOf, type Figures } from "../figures.ts";

const CONNECTIONS = 50;
const ROUNDS = 5;
const ROUND_SECONDS = 5;
const WARM_UP_SECONDS = 3;
const ALONE_SECONDS = 2;
const BULK_ROWS = 10_000;
const A_DAY_SECONDS = 86_400;

const quiet = { onLog: () => undefined, onDeath: (said: string) => console.error(said) };

interface Shot {
  perSecond: number;
  p99: number;
  failed: number;
}

async function shoot(
  url: string,
  token: string | null,
  body: string,
  seconds: number,
  connections = CONNECTIONS,
): Promise<Shot> {
  const result = await autocannon({
    url,
    method: "POST",
    connections,
    duration: seconds,
    body,
    headers: { "content-type": "application/json", ...(token ? { authorization: `Bearer ${token}` } : {}) },
  });
  return { perSecond: result.requests.average, p99: result.latency.p99, failed: result.non2xx + result.errors };
}

const leadBody = (sample: Sample): string =>
  JSON.stringify({
    request_id: "bench",
    template_id: sample.templates[0]?.id,
    reseller_id: sample.reseller_id,
    merchant_id: sample.merchant_id,
    payload: {
      customer_mobile_number: "+14155552601",
      customer_name: "Ada",
      order_id: "A-17",
      amount: "42.00",
      delivery_date: "Monday, June 9",
    },
  });

async function bulk(stack: Stack, token: string, sample: Sample): Promise<number> {
  const rows = Array.from({ length: BULK_ROWS }, () => leadBody(sample)).join("\n");
  const began = performance.now();
  const answer = await fetch(`${stack.baseUrl}/leads/bulk`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/x-ndjson" },
    body: rows,
  });
  const lines = (await answer.text()).trim().split("\n");
  if (lines.length !== BULK_ROWS || !lines.every((l) => l.includes("queued")))
    throw new Error(`the bulk push answered ${answer.status} with ${lines.length} lines: ${lines[0]?.slice(0, 300)}`);
  return BULK_ROWS / ((performance.now() - began) / 1000);
}

async function contest(split: boolean): Promise<void> {
  const folder = openFolder(mkdtempSync(join(tmpdir(), "callagent-bench-")), false);
  const profiles = folder.at("profiles");
  const stack = await startStack({
    folder,
    split,
    httpPort: await freePort(),
    mediaPort: await freePort(),
    carrierPort: await freePort(),
    timeScale: 1,
    seed: "bench",
    ...quiet,
    env: {
      LOG_LEVEL: "warn",
      API_RATE_LIMIT_PER_MINUTE: "0",
      ...(split ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profiles}` }),
    },
  });
  const { sample, client } = await seed(stack, folder, { initial_offset: A_DAY_SECONDS, retry_offset: 1 });
  const bare = await startChild({
    name: "bare",
    args: [join(ROOT, "local/bench/push/bare-server.ts"), stack.mongoUri, "0"],
    env: {},
    ready: "line",
    restart: false,
    onLine: () => undefined,
    onDeath: (said) => console.error(said),
  });
  try {
    await race(stack, bare.url, sample, client, split);
  } finally {
    await bare.stop(1000);
    await stack.stop();
  }
  if (!split) {
    const [file] = readdirSync(profiles).filter((f) => f.endsWith(".cpuprofile"));
    if (file)
      console.log(
        `\nwhere the service process spends its time (self time):\n${topOf(JSON.parse(readFileSync(join(profiles, file), "utf8"))).join("\n")}`,
      );
  }
}

async function race(stack: Stack, bareUrl: string, sample: Sample, client: Client, split: boolean): Promise<void> {
  const { token } = await client.ask("POST", "/s2s-token", {
    body: { name: "bench", role: "merchant", reseller_id: sample.reseller_id, merchant_id: sample.merchant_id },
  });
  const body = leadBody(sample);
  const ours: Figures = { name: split ? "POST /leads, split over NATS" : "POST /leads, one process", rounds: [] };
  const floor: Figures = { name: "bare node:http + same insert", rounds: [] };
  const alone: Figures = { name: "  its rate with one connection", rounds: [] };
  const rows: Figures = { name: `POST /leads/bulk, ${BULK_ROWS} rows`, rounds: [] };
  const p99: number[] = [];
  await shoot(bareUrl, null, body, WARM_UP_SECONDS);
  await shoot(`${stack.baseUrl}/leads`, token, body, WARM_UP_SECONDS);
  for (let i = 0; i < ROUNDS; i++) {
    floor.rounds.push((await shoot(bareUrl, null, body, ROUND_SECONDS)).perSecond);
    const shot = await shoot(`${stack.baseUrl}/leads`, token, body, ROUND_SECONDS);
    if (shot.failed > 0) throw new Error(`${shot.failed} pushes failed`);
    ours.rounds.push(shot.perSecond);
    p99.push(shot.p99);
    alone.rounds.push((await shoot(`${stack.baseUrl}/leads`, token, body, ALONE_SECONDS, 1)).perSecond);
    rows.rounds.push(await bulk(stack, token, sample));
  }
  console.log(
    [
      lineOf(floor),
      lineOf(ours, floor),
      `${"  its p99".padEnd(34)} ${Math.max(...p99)} ms at most`,
      lineOf(alone),
      lineOf(rows, ours),
      lineOf(rows, alone),
    ].join("\n"),
  );
}

/** `npm run bench -- push`: POST /leads with token, tenancy, blacklist, template and schema checks and the durable write, against a bare server doing only the insert. */
export async function benchPush(): Promise<void> {
  console.log(
    `push: ${CONNECTIONS} connections, ${ROUNDS} rounds of ${ROUND_SECONDS} s each, alternating; node ${process.versions.node}; the embedded store, client and servers share this machine`,
  );
  await contest(false);
  console.log("");
  await contest(true);
}
