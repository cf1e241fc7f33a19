import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "nats";
import { EVENT_NAMES, EVENTS, sourceOf } from "../../../shared/contracts/events/catalogue.ts";
import { durableConsumer, receiveBodies } from "../../harness/event-receivers.ts";
import { leadBody } from "../../harness/lead-pusher.ts";
import { playDialer, type PlayedDialer } from "../../harness/played/played-dialer.ts";
import { asMerchant, until } from "../../harness/stage.ts";
import { seed, type Sample } from "../../tools/sample/seed.ts";
import { openFolder, type Folder } from "../../tools/stack/data-folder.ts";
import { freePort } from "../../tools/stack/ports.ts";
import { ROOT } from "../../tools/stack/project-root.ts";
import { startStack, type Stack } from "../../tools/stack/stack.ts";

/** How late events came to a reader, ms from the time that they bear, which is just before the write that makes them; by their ids. */
type Lateness = Map<string, number>;

/** The product beside a real NATS server, with readers of its events; the bench itself plays the dialer. */
export interface EventWorld {
  /** Pushes leads evenly, and resolves when all of them are over and every reader has every event. */
  round(perSecond: number, seconds: number): Promise<{ stream: Lateness; endpoint: Lateness }>;
  stop(): Promise<void>;
}

const LEASE_SECONDS = 20;
const LEFT_MS = 60_000;
const POLL_MS = 200;
const QUIET_MS = 2000;
const TAKEN = 204;
const EVENTS_OF_LEADS = sourceOf("lead");
/** What the bench plays itself. */
const PLAYED = ["scheduler", "dialer", "conversation", "carrier", "models"] as const;

/** A consumer that takes everything. */
async function startConsumer(servers: string, take: (body: string) => void): Promise<{ close(): Promise<void> }> {
  const connection = await connect({ servers });
  const messages = await (await durableConsumer(connection, "bench")).consume();
  const reading = (async () => {
    for await (const message of messages) {
      take(message.string());
      message.ack();
    }
  })();
  return {
    async close() {
      await messages.close();
      await reading;
      await connection.close();
    },
  };
}

/** Pushes leads evenly. */
async function push(
  { bus }: Pick<PlayedDialer, "bus">,
  sample: Sample,
  { perSecond, seconds, first }: { perSecond: number; seconds: number; first: number },
): Promise<void> {
  const began = performance.now();
  const pushed: Promise<unknown>[] = [];
  const by = asMerchant(sample.reseller_id, sample.merchant_id);
  for (let i = 0; i < perSecond * seconds; i++) {
    const waitMs = (i / perSecond) * 1000 - (performance.now() - began);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, waitMs)));
    const lead = leadBody(sample, `+1212${2_000_000 + first + i}`, null);
    pushed.push(bus.call("leads.pushMany", { by, rows: [lead] }));
  }
  await Promise.all(pushed);
}

/** The product, and the address of its bus; its services are those of `tree`. */
async function startSplit(folder: Folder, tree: string): Promise<{ stack: Stack; busUrl: string }> {
  let busUrl = "";
  const stack = await startStack({
    folder,
    split: true,
    httpPort: await freePort(),
    mediaPort: await freePort(),
    carrierPort: await freePort(),
    timeScale: 1,
    seed: "bench",
    // one bus for everybody, which the bench joins
    treeOf: () => tree,
    between: { bus: (url) => Promise.resolve((busUrl = url)) },
    env: { LOG_LEVEL: "error", CALLAGENT_EVENTS: "jetstream", LEASE_SECONDS: String(LEASE_SECONDS) },
    onLog: (line) => {
      if (line.level === "error") console.error(JSON.stringify(line).slice(0, 400));
    },
    onDeath: (said) => console.error(said),
  });
  return { stack, busUrl };
}

/** Notes how late each event of a lead comes. */
const noteIn =
  (late: Lateness) =>
  (body: string): void => {
    const { id, source, time } = JSON.parse(body) as { id: string; source: string; time: string };
    if (source === EVENTS_OF_LEADS && !late.has(id)) late.set(id, Date.now() - Date.parse(time));
  };

/** Resolves when both readers have had the same events for a while. */
function readersToAgree({ stream, endpoint }: Record<"stream" | "endpoint", Lateness>): Promise<true> {
  let before = -1;
  const agreed = (): true | undefined => {
    const isSame = stream.size === endpoint.size && stream.size === before;
    before = stream.size;
    return isSame || undefined;
  };
  return until("every reader to have every event", agreed, LEFT_MS, QUIET_MS);
}

/** Starts a world, whose services are those of `tree`; absent: of this one. */
export async function startEventWorld(tree = ROOT): Promise<EventWorld> {
  const path = mkdtempSync(join(tmpdir(), "callagent-bench-"));
  const folder = openFolder(path, false);
  const { stack, busUrl } = await startSplit(folder, tree);
  const { sample, client } = await seed(stack, folder, { initial_offset: 0, retry_offset: 1 });
  const late = { stream: new Map<string, number>(), endpoint: new Map<string, number>() };
  const note = noteIn(late.endpoint);
  const endpoint = await receiveBodies((body) => {
    note(body);
    return TAKEN;
  });
  const { reseller_id, merchant_id, templates } = sample;
  const types = EVENT_NAMES.filter((name) => EVENTS[name].subject === "lead");
  await client.ask("POST", "/webhook-endpoints", { body: { reseller_id, merchant_id, url: endpoint.url, types } });
  for (const child of PLAYED) await stack.children.get(child)?.down("SIGKILL");
  const [by, templateId] = [asMerchant(reseller_id, merchant_id), templates[0]?.id ?? ""];
  const lead = { seed: "bench", leaseSeconds: LEASE_SECONDS, by, templateId, tellsAll: true };
  const played = await playDialer({ busUrl, ...lead });
  const consumer = await startConsumer(busUrl, noteIn(late.stream));
  let pushed = 0;

  return {
    async round(perSecond, seconds) {
      const [first, over, count] = [pushed, played.over(), perSecond * seconds];
      pushed += count;
      for (const of of Object.values(late)) of.clear();
      await push(played, sample, { perSecond, seconds, first });
      await until("all leads to be over", () => played.over() - over >= count || undefined, LEFT_MS, POLL_MS);
      await readersToAgree(late);
      return { stream: new Map(late.stream), endpoint: new Map(late.endpoint) };
    },
    async stop() {
      await played.stop();
      await consumer.close();
      await stack.stop();
      await endpoint.close();
      rmSync(path, { recursive: true, force: true });
    },
  };
}
