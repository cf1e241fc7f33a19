/** Command monitoring: what a client sent and got, and whether that is what the file expects. */
import {
  BSON,
  type CommandFailedEvent,
  type CommandStartedEvent,
  type CommandSucceededEvent,
  type MongoClient,
} from "mongodb";
import { type Doc, isDocument } from "./bson-values.ts";
import { type Mismatch, RunnerError } from "../runner-errors.ts";
import { match, type MatchScope } from "./value-match.ts";
import { flagAt, onlyKeys, singleEntry, stringsAt } from "../field-readers.ts";

/** The event kinds of the format that this runner observes. */
export type EventKind = "commandStartedEvent" | "commandSucceededEvent" | "commandFailedEvent";

/** One observed event; `body` is the command of a started, the reply of a succeeded event. */
export interface ObservedEvent {
  kind: EventKind;
  commandName: string;
  databaseName: string;
  body: Doc;
  hasServiceId: boolean;
  hasServerConnectionId: boolean;
}

/** What one client entity did so far, in order. */
export interface EventLog {
  readonly events: ObservedEvent[];
  stop(): void;
}

const KINDS: readonly EventKind[] = ["commandStartedEvent", "commandSucceededEvent", "commandFailedEvent"];
const SENSITIVE = new Set([
  "authenticate",
  "saslStart",
  "saslContinue",
  "getnonce",
  "createUser",
  "updateUser",
  "copydbgetnonce",
  "copydbsaslstart",
  "copydb",
]);
const SENSITIVE_WHEN_REDACTED = new Set(["hello", "isMaster", "ismaster"]);

/** The command as it goes over the wire, with its types kept: the driver's own object may still change after the event. */
function asOnTheWire(command: Doc): Doc {
  return BSON.deserialize(BSON.serialize(command), { promoteValues: false, bsonRegExp: true });
}

/** Starts recording the events that a client entity asks for (its `observeEvents` and what it ignores). */
export function observe(client: MongoClient, entity: Doc): EventLog {
  const kinds = stringsAt("observeEvents", entity["observeEvents"]);
  const odd = kinds.find((kind) => !KINDS.some((known) => known === kind));
  if (odd !== undefined) throw new RunnerError(`unknown event type ${odd} in observeEvents`);
  const ignored = new Set([
    ...stringsAt("ignoreCommandMonitoringEvents", entity["ignoreCommandMonitoringEvents"]),
    "configureFailPoint",
  ]);
  const sensitiveToo = flagAt("observeSensitiveCommands", entity["observeSensitiveCommands"], false);
  const events: ObservedEvent[] = [];
  let stopped = false;
  const record = (
    kind: EventKind,
    event: CommandStartedEvent | CommandSucceededEvent | CommandFailedEvent,
    body: Doc,
  ): void => {
    const { commandName, databaseName } = event;
    const sensitive =
      SENSITIVE.has(commandName) || (SENSITIVE_WHEN_REDACTED.has(commandName) && Object.keys(body).length === 0);
    if (stopped || !kinds.includes(kind) || ignored.has(commandName) || (sensitive && !sensitiveToo)) return;
    events.push({
      kind,
      commandName,
      databaseName,
      body,
      hasServiceId: event.hasServiceId,
      hasServerConnectionId: event.serverConnectionId !== null,
    });
  };
  client.on("commandStarted", (event) => record("commandStartedEvent", event, asOnTheWire(event.command)));
  client.on("commandSucceeded", (event) =>
    record("commandSucceededEvent", event, isDocument(event.reply) ? event.reply : {}),
  );
  client.on("commandFailed", (event) => record("commandFailedEvent", event, {}));
  return {
    events,
    stop: () => {
      stopped = true;
    },
  };
}

const BODY_KEYS: Readonly<Record<EventKind, string | undefined>> = {
  commandStartedEvent: "command",
  commandSucceededEvent: "reply",
  commandFailedEvent: undefined,
};

function eventKind(name: string): EventKind {
  const kind = KINDS.find((known) => known === name);
  if (kind === undefined) throw new RunnerError(`unknown event type ${name} in an expected event`);
  return kind;
}

/** Differences between one expected event (`{ commandStartedEvent: {...} }`) and an observed one. */
export function matchEvent(expected: Doc, actual: ObservedEvent, scope: MatchScope, place: string): Mismatch[] {
  const [name, wanted] = singleEntry(place, expected);
  const kind = eventKind(name);
  const bodyKey = BODY_KEYS[kind];
  onlyKeys(`${place}.${name}`, wanted, [
    "commandName",
    "databaseName",
    "hasServiceId",
    "hasServerConnectionId",
    ...(bodyKey === undefined ? [] : [bodyKey]),
  ]);
  if (actual.kind !== kind) return [{ place, expected: name, actual: `${actual.kind} of ${actual.commandName}` }];
  const fields = ["commandName", "databaseName", "hasServiceId", "hasServerConnectionId"] as const;
  const found = fields.flatMap((field) =>
    wanted[field] === undefined ? [] : match(wanted[field], actual[field], scope, `${place}.${field}`, "nested"),
  );
  const body =
    bodyKey === undefined || wanted[bodyKey] === undefined
      ? []
      : match(wanted[bodyKey], actual.body, scope, `${place}.${bodyKey}`, "root");
  return [...found, ...body];
}

/** Differences between the events a test expects of one client and those observed: number, order and content. */
export function matchEvents(
  expected: readonly Doc[],
  actual: readonly ObservedEvent[],
  ignoreExtra: boolean,
  scope: MatchScope,
): Mismatch[] {
  const compared = expected.flatMap((event, index) => {
    const observed = actual[index];
    const place = `events[${index}]`;
    return observed === undefined
      ? [{ place, expected: singleEntry(place, event)[0], actual: "no further event" }]
      : matchEvent(event, observed, scope, place);
  });
  const extra = ignoreExtra ? [] : actual.slice(expected.length);
  return [
    ...compared,
    ...extra.map((event, index) => ({
      place: `events[${expected.length + index}]`,
      expected: "no further event",
      actual: `${event.kind} of ${event.commandName}`,
    })),
  ];
}
