import { setTimeout as wait } from "node:timers/promises";
import { processorOf } from "../../cpu-time.ts";
import { awaitedCalls, endlessTemplate } from "../answered-calls.ts";
import { startConversationProcess, type ConversationProcess } from "../conversation-process.ts";
import type { Measured } from "../ipc-messages.ts";
import { startStubModels } from "../stub-models.ts";
import type { TemplateRecord } from "../../../../shared/contracts/records/template.ts";
import type { ClientsLoad } from "./client-messages.ts";
import { startClients } from "./client-processes.ts";
import type { ProcessLoad } from "./load-meter.ts";
import { listenerAt, machineMeter } from "./machine.ts";

/** Clients in a process of theirs. */
const CLIENTS_EACH = 5;
/** A turn of a session, s. */
const REHEARSED_SECONDS = 8;
/** A room that was left is removed so soon. */
const LET_GO_MS = 2000;
const US_PER_MS = 1000;
const PERCENT = 100;

/** What sessions at once came to. `rooms`: the processes of LiveKit rooms that had some of them. Memory of a session: what each process has more than after its first one, by its sessions. */
export interface SessionLoad {
  service: ProcessLoad;
  service_mb_each: number;
  rooms: ProcessLoad[];
  rooms_mb_each: number;
  clients: ClientsLoad[];
  /** Of a core; null: the server is not on this machine. */
  server_cpu_percent: number | null;
  /** Of all processors, by everything that ran. */
  machine_percent: number;
  /** From the end of speech to the first sound of the answer, ms. */
  answers: number[];
}

/** How many sessions, how many rooms are in a process, how long they talk, and further variables of the service. */
export interface SessionLoadOptions {
  count: number;
  rooms_each: number;
  seconds: number;
  env: Record<string, string>;
}

const byMemory = (a: ProcessLoad, b: ProcessLoad): number => b.rss_mb - a.rss_mb;

/** A session that talks for a turn and leaves: what the service is like then. */
async function rehearsed(talker: ConversationProcess, template: TemplateRecord): Promise<Measured> {
  const first = await startClients(await awaitedCalls(talker, template, 1, { sessions: true }), 1);
  try {
    await first.join();
    await first.talk(REHEARSED_SECONDS);
    await first.leave();
  } finally {
    first.stop();
  }
  await wait(LET_GO_MS);
  return talker.measure();
}

/** Sessions that talk at once, each half of the time, their clients in processes of their own. */
export async function measureSessions({ count, rooms_each, seconds, env }: SessionLoadOptions): Promise<SessionLoad> {
  const models = await startStubModels();
  const talker = await startConversationProcess({ models: models.url, env });
  const template = endlessTemplate([{ name: "talk", prompt: "Write down what they say.", functions: [] }]);
  const server = env["LIVEKIT_URL"] === undefined ? null : listenerAt(env["LIVEKIT_URL"]);
  let stop = (): void => undefined;
  try {
    await talker.template(template);
    const before = await rehearsed(talker, template);
    const clients = await startClients(await awaitedCalls(talker, template, count, { sessions: true }), CLIENTS_EACH);
    stop = clients.stop;
    await clients.join();
    await clients.talk(REHEARSED_SECONDS);
    await Promise.all([talker.measure(), clients.measure()]);
    const [machine, began, served] = [machineMeter(), performance.now(), processorOf(server ?? undefined)];
    const { answers, gone } = await clients.talk(seconds);
    const ms = performance.now() - began;
    const server_us = processorOf(server ?? undefined) - served;
    const machine_percent = machine();
    if (gone > 0)
      throw new Error(
        `${gone} of ${count} sessions did not last, with ${Math.round(machine_percent)} % of the machine in use`,
      );
    const [service, load] = await Promise.all([talker.measure(), clients.measure()]);
    await clients.leave();
    const used = Math.min(count, rooms_each);
    const rooms = service.rooms.toSorted(byMemory).slice(0, Math.ceil(count / rooms_each));
    const firstRooms = before.rooms.toSorted(byMemory)[0]?.rss_mb ?? 0;
    return {
      service,
      service_mb_each: (service.rss_mb - before.rss_mb) / count,
      rooms: env["LIVEKIT_URL"] === undefined ? [] : rooms,
      rooms_mb_each: ((rooms[0]?.rss_mb ?? 0) - firstRooms) / used,
      clients: load,
      server_cpu_percent: server === null ? null : (server_us / US_PER_MS / ms) * PERCENT,
      machine_percent,
      answers,
    };
  } finally {
    stop();
    await talker.stop();
    await models.close();
  }
}
