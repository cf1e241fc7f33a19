import {
  AckPolicy,
  connect,
  DeliverPolicy,
  DiscardPolicy,
  headers,
  nanos,
  RetentionPolicy,
  StorageType,
  type JetStreamClient,
  type JetStreamManager,
  type NatsConnection,
} from "nats";
import { cursorOwner, type OwnerDeps } from "../../../shared/database/event-cursor.ts";
import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import { JETSTREAM_INBOX } from "../../../shared/bus/nats-permissions.ts";
import { natsOptions } from "../../../shared/bus/nats-options.ts";
import {
  EVENT_STREAM,
  STREAM_SUBJECTS,
  streamReadersIn,
  subjectOf,
  subjectsFor,
  type StreamReader,
} from "../../../shared/contracts/events/event-subjects.ts";
import { WHOLE_SCOPE } from "../../../shared/contracts/records/identity.ts";
import { MS_PER_SECOND } from "../../../shared/time/clock.ts";
import type { LogEntry } from "./event-log.model.ts";
import type { EventLog } from "./event-log.repository.ts";
import { toCloudEvent } from "./published-event.ts";

/** Events that are passed on in one pass. */
const BATCH = 200;
/** A server that does not answer within this is asked again at the next pass. */
const ANSWER_MS = 5000;
/** The server knows the ids of the messages of so long, and takes none of them twice. */
const DUPLICATES_MS = 120_000;
const SECONDS_PER_DAY = 86_400;
/** Header with the position in the log: where a process goes on that takes the stream over. */
const POSITION = "callagent-position";
/** Code of JetStream's API for a stream or message that is not there. */
const NOT_THERE = 404;

/** What passing events on needs. */
export interface ForwarderDeps extends OwnerDeps, Pick<ServiceDeps, "env"> {
  events: EventLog;
}

/** Passes the log on to a stream of the NATS server. */
export interface Forwarder {
  /** One pass. True when there were as many events as one pass takes. */
  pass(): Promise<boolean>;
  stop(): Promise<void>;
}

/** An open connection, and the end of the stream. */
interface Open {
  connection: NatsConnection;
  stream: JetStreamClient;
  /** Position in the log of the last event that the stream has; null: it has none. */
  position: number | null;
  /** Number of the last message that the stream ever had; 0: none. */
  sequence: number;
}

const isNotThere = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "code" in error && String(error.code) === String(NOT_THERE);

/** Makes the stream with its limits, or sets its limits; what else its operators set stays. */
async function prepareStream(manager: JetStreamManager, env: ForwarderDeps["env"]): Promise<number> {
  const limits = {
    subjects: [STREAM_SUBJECTS],
    max_age: nanos(env.EVENTS_RETENTION_DAYS * SECONDS_PER_DAY * MS_PER_SECOND),
    max_bytes: env.EVENTS_STREAM_BYTES,
  };
  try {
    const { config, state } = await manager.streams.info(EVENT_STREAM);
    if (config.max_age !== limits.max_age || config.max_bytes !== limits.max_bytes)
      await manager.streams.update(EVENT_STREAM, { ...config, ...limits });
    return state.last_seq;
  } catch (error) {
    if (!isNotThere(error)) throw error;
  }
  await manager.streams.add({
    name: EVENT_STREAM,
    ...limits,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.Old,
    storage: StorageType.File,
    duplicate_window: nanos(DUPLICATES_MS),
  });
  return 0;
}

/**
 * Makes the durable consumers of those who read with a user of their own, and sets what they read: they may not. One event at a time is without its acknowledgement:
 * of several, one that is given again would come behind the others. A consumer that is named no longer stays, with what it has read, for its operators to delete.
 */
async function prepareReaders(manager: JetStreamManager, readers: readonly StreamReader[]): Promise<void> {
  for (const { name, ...whose } of readers) {
    const filter_subject = subjectsFor(whose);
    const there = await manager.consumers.info(EVENT_STREAM, name).catch((error: unknown) => {
      if (isNotThere(error)) return null;
      throw error;
    });
    if (there?.config.filter_subject === filter_subject) continue;
    const config = {
      durable_name: name,
      filter_subject,
      ack_policy: AckPolicy.Explicit,
      deliver_policy: DeliverPolicy.All,
      max_ack_pending: 1,
    };
    await (there === null
      ? manager.consumers.add(EVENT_STREAM, config)
      : manager.consumers.update(EVENT_STREAM, name, { filter_subject }));
  }
}

/** Position in the log of the last event in the stream. */
async function lastOf(manager: JetStreamManager, seq: number): Promise<number | null> {
  if (seq === 0) return null;
  const message = await manager.streams.getMessage(EVENT_STREAM, { seq }).catch((error: unknown) => {
    if (isNotThere(error)) return null;
    throw error;
  });
  const position = Number(message?.header.get(POSITION));
  return position > 0 ? position : null;
}

/**
 * Sends one event behind the message `after`, and nowhere else: the server refuses it where another is last. By number, for the id of the event before it, which
 * readers would see in the message's headers, may be another tenant's.
 */
function send({ stream }: Open, entry: LogEntry, after: number): Promise<unknown> {
  const { _id: msgID, position } = entry;
  const head = headers();
  head.set(POSITION, String(position));
  head.set("content-type", "application/cloudevents+json");
  return stream.publish(subjectOf(entry), JSON.stringify(toCloudEvent(entry)), {
    msgID,
    headers: head,
    timeout: ANSWER_MS,
    expect: { streamName: EVENT_STREAM, lastSequence: after },
  });
}

/** A connection to the server, whose stream is ready. */
async function connected({ env, events }: Pick<ForwarderDeps, "env" | "events">): Promise<Open> {
  const connection = await connect({
    ...natsOptions(env),
    name: "callagent events",
    inboxPrefix: JETSTREAM_INBOX,
    timeout: ANSWER_MS,
    reconnect: false,
  });
  try {
    const manager = await connection.jetstreamManager({ timeout: ANSWER_MS });
    const sequence = await prepareStream(manager, env);
    const end = await lastOf(manager, sequence);
    await prepareReaders(manager, streamReadersIn(env.EVENTS_READERS) ?? []);
    // a stream that is ahead of the log is of a database before this one, or all of the log has expired: what is there now is new
    const position = end !== null && end > (await events.last()) ? 0 : end;
    return { connection, stream: connection.jetstream({ timeout: ANSWER_MS }), position, sequence };
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/**
 * The log as a stream of JetStream, by one process at a time. Each message names the one before it, so that of two processes one is refused and none comes
 * out of order; where the stream ends says where to go on, so that none is missing or there twice, whoever died.
 */
export function createForwarder(deps: ForwarderDeps): Forwarder {
  const { events } = deps;
  let open: Open | null = null;
  const close = async (): Promise<void> => {
    const { connection } = open ?? {};
    open = null;
    await connection?.close();
  };
  const owner = cursorOwner(deps, { area: "events", name: "jetstream" });

  async function forward(at: Open): Promise<boolean> {
    const after = at.position ?? owner.position();
    const found =
      events.recent(WHOLE_SCOPE, after, BATCH)?.found ??
      (await events.between(WHOLE_SCOPE, after, Number.MAX_SAFE_INTEGER, BATCH));
    await Promise.all(found.map((entry, i) => send(at, entry, at.sequence + i)));
    const last = found.at(-1);
    if (last === undefined) return false;
    at.position = last.position;
    at.sequence += found.length;
    owner.moveTo(last.position);
    return found.length === BATCH;
  }

  return {
    async pass() {
      if (!(await owner.has())) {
        await close();
        return false;
      }
      if (open?.connection.isClosed() === true) open = null;
      open ??= await connected(deps);
      try {
        return await forward(open);
      } catch (error) {
        // what of the batch is in the stream is looked up again
        await close();
        throw error;
      }
    },
    async stop() {
      await close();
      await owner.leave();
    },
  };
}
