import { MongoClient, type Collection } from "mongodb";
import type { Client } from "../../tools/api-client.ts";
import type { Sample } from "../../tools/sample/seed.ts";
import type { Stack } from "../../tools/stack/stack.ts";
import { startBenchStack } from "../bench-stack.ts";
import { calleeNumber } from "../callees.ts";
import { lineOf, median, quantile, type Figures } from "../figures.ts";
import { startBlackHole, startReceivers, type Receivers } from "./receivers.ts";

const PER_SECOND = 200;
const ROUND_SECONDS = 10;
const ROUNDS = 5;
const HOSTS = 100;
const HOLE_BACKLOG = 2000;
const BULK_ROWS = 5000;
const ABORTED_AT_ONCE = 1000;
/** Leads that end in one request, as a campaign's ends come in clusters: the road from there on is what is measured. */
const ENDED_AT_ONCE = 10;
const POLL_MS = 50;
const DEADLINE_MS = 60_000;
const A_DAY_SECONDS = 86_400;

const EVENTS = PER_SECOND * ROUND_SECONDS;
/** Each push is for another callee. */
let callees = 0;
const wait = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

interface Bench {
  stack: Stack;
  sample: Sample;
  client: Client;
  token: string;
  leads: Collection<{ _id: string }>;
  deliveries: Collection<{ _id: string; host: string }>;
}

/** Pushes one lead for each address, which waits for tomorrow; their ids in the order of the addresses. */
async function pushed(bench: Bench, urls: readonly string[]): Promise<string[]> {
  const ids: string[] = [];
  for (let from = 0; from < urls.length; from += BULK_ROWS) {
    const rows = urls.slice(from, from + BULK_ROWS).map((reporting_webhook_url) =>
      JSON.stringify({
        request_id: "bench",
        template_id: bench.sample.templates[0]?.id,
        reseller_id: bench.sample.reseller_id,
        merchant_id: bench.sample.merchant_id,
        reporting_webhook_url,
        payload: {
          customer_mobile_number: calleeNumber(callees++),
          customer_name: "Ada",
          order_id: "A-17",
          amount: "42.00",
          delivery_date: "Monday, June 9",
        },
      }),
    );
    const answer = await fetch(`${bench.stack.baseUrl}/leads/bulk`, {
      method: "POST",
      headers: { authorization: `Bearer ${bench.token}`, "content-type": "application/x-ndjson" },
      body: rows.join("\n"),
    });
    for (const line of (await answer.text()).trim().split("\n")) {
      const { lead_call_tracker_id } = JSON.parse(line) as { lead_call_tracker_id?: string };
      if (lead_call_tracker_id === undefined) throw new Error(`a push failed: ${line.slice(0, 300)}`);
      ids.push(lead_call_tracker_id);
    }
  }
  return ids;
}

const cancelled = (ids: readonly string[]) => ({
  body: { leads: ids.map((lead_id) => ({ lead_id, cancellation_reason: "bench" })) },
});

/** Ends the leads evenly at PER_SECOND, a few at a time, by `end`; resolves when the last has ended. */
async function evenly(ids: readonly string[], end: (some: readonly string[]) => Promise<unknown>): Promise<void> {
  const began = performance.now();
  const asked: Promise<unknown>[] = [];
  for (let i = 0; i < ids.length; i += ENDED_AT_ONCE) {
    await wait(Math.max(0, (i / PER_SECOND) * 1000 - (performance.now() - began)));
    asked.push(end(ids.slice(i, i + ENDED_AT_ONCE)));
  }
  await Promise.all(asked);
}

async function patiently(what: string, done: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + DEADLINE_MS;
  while (!(await done())) {
    if (performance.now() > end) throw new Error(`waited ${DEADLINE_MS / 1000} s in vain for ${what}`);
    await wait(POLL_MS);
  }
}

const arrived = (receivers: Receivers, count: number): Promise<void> =>
  patiently(`${count} reports to arrive`, () => receivers.arrivals.count() >= count);

/** Writes a finish as the leads service would have, had it died right behind the write: nothing but the sweep can find it. */
const finishUnseen =
  (bench: Bench) =>
  (ids: readonly string[]): Promise<unknown> => {
    const now = new Date();
    return bench.leads.updateMany(
      { _id: { $in: [...ids] } },
      {
        $set: { status: "FINISHED", outcome: "ABORTED", finished_at: now, updated_at: now, report_due_at: now },
        $unset: { due_at: 1 },
      },
    );
  };

async function latency(bench: Bench): Promise<void> {
  const receivers = await startReceivers(1);
  const told: [Figures, Figures] = [
    { name: "finish -> received, p50", rounds: [] },
    { name: "finish -> received, p99", rounds: [] },
  ];
  const unseen: [Figures, Figures] = [
    { name: "found by the sweep alone, p50", rounds: [] },
    { name: "found by the sweep alone, p99", rounds: [] },
  ];
  const round = async (into: [Figures, Figures], end: (ids: readonly string[]) => Promise<unknown>): Promise<void> => {
    receivers.arrivals.clear();
    await evenly(
      await pushed(
        bench,
        Array.from({ length: EVENTS }, () => receivers.urls[0] ?? ""),
      ),
      end,
    );
    await arrived(receivers, EVENTS);
    into[0].rounds.push(quantile(receivers.arrivals.of(0), 0.5));
    into[1].rounds.push(quantile(receivers.arrivals.of(0), 0.99));
  };
  const abort = (ids: readonly string[]): Promise<unknown> => bench.client.ask("POST", "/lead/abort", cancelled(ids));
  await round(
    [
      { name: "", rounds: [] },
      { name: "", rounds: [] },
    ],
    abort,
  );
  for (let i = 0; i < ROUNDS; i++) {
    await round(told, abort);
    await round(unseen, finishUnseen(bench));
  }
  console.log([...told, ...unseen].map((f) => lineOf(f, undefined, "ms")).join("\n"));
  await receivers.close();
}

/** The other hosts' p99 over one round; one host of the hundred answers, or is a black hole with thousands of reports due. */
async function shared(bench: Bench, hanging: boolean): Promise<{ p99: number; met: number }> {
  const receivers = await startReceivers(HOSTS);
  const hole = await startBlackHole();
  const urls = hanging ? [hole.url, ...receivers.urls.slice(1)] : receivers.urls;
  const ids = await pushed(
    bench,
    Array.from({ length: EVENTS }, (_, i) => urls[i % HOSTS] ?? ""),
  );
  if (hanging) {
    const backlog = await pushed(
      bench,
      Array.from({ length: HOLE_BACKLOG }, () => hole.url),
    );
    for (let from = 0; from < backlog.length; from += ABORTED_AT_ONCE)
      await bench.client.ask("POST", "/lead/abort", cancelled(backlog.slice(from, from + ABORTED_AT_ONCE)));
    await patiently(
      "the hanging host's reports to be due",
      async () => (await bench.deliveries.countDocuments({ host: new URL(hole.url).host })) === HOLE_BACKLOG,
    );
  }
  await evenly(ids, (some) => bench.client.ask("POST", "/lead/abort", cancelled(some)));
  await arrived(receivers, hanging ? EVENTS - EVENTS / HOSTS : EVENTS);
  const p99 = quantile(Array.from({ length: HOSTS - 1 }, (_, i) => receivers.arrivals.of(i + 1)).flat(), 0.99);
  await bench.deliveries.deleteMany({ host: new URL(hole.url).host });
  await Promise.all([receivers.close(), hole.close()]);
  return { p99, met: hole.met() };
}

async function blackHole(bench: Bench): Promise<void> {
  const none: Figures = { name: "100 hosts, none hangs: p99", rounds: [] };
  const one: Figures = { name: `1 hangs, ${HOLE_BACKLOG} due: others' p99`, rounds: [] };
  const met: number[] = [];
  await shared(bench, false);
  for (let i = 0; i < ROUNDS; i++) {
    none.rounds.push((await shared(bench, false)).p99);
    const round = await shared(bench, true);
    one.rounds.push(round.p99);
    met.push(round.met);
  }
  console.log(
    [
      lineOf(none, undefined, "ms"),
      lineOf(one, none, "ms"),
      `${"  requests the hanging host got".padEnd(34)} ${median(met)} in a round`,
    ].join("\n"),
  );
}

/** `npm run bench -- webhook`: how long after its finish a lead's report arrives, and what one hanging receiver among a hundred costs the others. Leads end by being aborted, ten at a time. */
export async function benchWebhook(): Promise<void> {
  console.log(
    `webhook: ${PER_SECOND} reports/s, ${ROUNDS} rounds of ${ROUND_SECONDS} s, alternating; one process of services; node ${process.versions.node}; store, client and receivers share this machine`,
  );
  const product = await startBenchStack(
    { initial_offset: A_DAY_SECONDS, retry_offset: 1 },
    { env: { LOG_LEVEL: "error" } },
  );
  const { stack, sample, client } = product;
  const mongo = await MongoClient.connect(stack.mongoUri);
  try {
    const { token } = await client.ask("POST", "/s2s-token", {
      body: { name: "bench", role: "merchant", reseller_id: sample.reseller_id, merchant_id: sample.merchant_id },
    });
    const bench: Bench = {
      stack,
      sample,
      client,
      token,
      leads: mongo.db().collection("leads"),
      deliveries: mongo.db().collection("deliveries"),
    };
    await latency(bench);
    console.log("");
    await blackHole(bench);
  } finally {
    await mongo.close();
    await product.stop();
  }
}
