import { EVENT_STREAM, STREAM_SUBJECTS } from "../contracts/events/event-subjects.ts";
import type { ServiceName } from "../contracts/index.ts";
import { calleesOf, callersOf, listenersOf } from "./rights.ts";

/** Subjects that a NATS user may use; each ends in a whole token or in `>`. */
export interface Permissions {
  publish: string[];
  subscribe: string[];
}

/** Moleculer's packets that tell nodes of each other; they carry no requests, and every node sends and hears all of them. */
const PRESENCE = ["DISCONNECT", "DISCOVER", "HEARTBEAT", "INFO", "PING"];
/** The same, to one node. */
const TO_NODE = ["DISCOVER", "INFO", "PING", "PONG"];

/** Inbox of the connection that passes events on to JetStream. */
export const JETSTREAM_INBOX = "_INBOX.callagent-events";
/** What the leads service does with the stream of events: it makes it, sets its limits, looks at its end and appends. */
const OF_STREAM: Permissions = {
  publish: [
    STREAM_SUBJECTS,
    "$JS.API.INFO",
    ...["INFO", "CREATE", "UPDATE", "MSG.GET"].map((verb) => `$JS.API.STREAM.${verb}.${EVENT_STREAM}`),
    ...["INFO", "CREATE"].map((verb) => `$JS.API.CONSUMER.${verb}.${EVENT_STREAM}.>`),
  ],
  subscribe: [`${JETSTREAM_INBOX}.>`],
};

/** Prefix of the inboxes of a reader of the stream: its own, so that no other reader hears what it is given. */
export const readerInbox = (name: string): string => `_INBOX.reader-${name}`;

/**
 * What the NATS user of a reader of the stream needs, and no more: it is given what its own durable consumer has for it, and acknowledges that. It can make
 * no consumer: what the consumer is given is set by the leads service (EVENTS_READERS), and a consumer of one's own making could have the server publish anywhere.
 */
export const readerPermissions = (name: string): Permissions => ({
  publish: [
    `$JS.API.CONSUMER.INFO.${EVENT_STREAM}.${name}`,
    `$JS.API.CONSUMER.MSG.NEXT.${EVENT_STREAM}.${name}`,
    `$JS.ACK.${EVENT_STREAM}.${name}.>`,
  ],
  subscribe: [`${readerInbox(name)}.>`],
});

/** The bus's subjects of a namespace, as Moleculer 0.15 names them: `MOL-<namespace>.REQ.<node>`. */
const subjects =
  (namespace: string) =>
  (packet: string, service?: string): string =>
    `MOL-${namespace}.${packet}${service === undefined ? "" : `.${service}.>`}`;

/**
 * What the NATS user of a service needs, and no more: it is asked and answered at its own nodes, `<service>.<id>`, asks the services it calls, answers
 * those that call it, and sends events to those that listen. Which actions it may call among those of a service is checked by that service.
 */
export function permissionsOf(service: ServiceName, namespace: string): Permissions {
  const at = subjects(namespace);
  const presence = PRESENCE.map((packet) => at(packet));
  return {
    publish: [
      ...presence,
      ...TO_NODE.map((packet) => `${at(packet)}.>`),
      ...calleesOf(service).map((name) => at("REQ", name)),
      ...callersOf(service).map((name) => at("RES", name)),
      ...listenersOf(service).map((name) => at("EVENT", name)),
      ...(service === "leads" ? OF_STREAM.publish : []),
    ],
    subscribe: [
      ...presence,
      ...["REQ", "RES", "EVENT", ...TO_NODE].map((packet) => at(packet, service)),
      at("PONG", "health"), // the containers' health check (deploy/docker/health.ts)
      ...(service === "leads" ? OF_STREAM.subscribe : []),
    ],
  };
}

const list = (of: readonly string[]): string => of.map((subject) => `        ${JSON.stringify(subject)}`).join("\n");

const userBlock = (name: string, key: string, { publish, subscribe }: Permissions): string =>
  [
    `    # ${name}`,
    `    { nkey: ${key}, permissions: {`,
    `      publish: { allow: [\n${list(publish)}\n      ] }`,
    `      subscribe: { allow: [\n${list(subscribe)}\n      ] }`,
    `    } }`,
  ].join("\n");

/** The users of a NATS server as a part of its configuration; `keys` and `readers` are their public nkeys, so nothing in it is secret. */
export function usersFile(
  namespace: string,
  keys: ReadonlyMap<ServiceName, string>,
  readers: ReadonlyMap<string, string>,
): string {
  const users = [
    ...[...keys].map(([service, key]) => userBlock(service, key, permissionsOf(service, namespace))),
    ...[...readers].map(([name, key]) => userBlock(`reader of events ${name}`, key, readerPermissions(name))),
  ];
  return [
    `# The services' users on the bus of the namespace ${namespace}, made by npm run nats:users. Each has a key pair; here are the public keys.`,
    "authorization {",
    "  users: [",
    ...users,
    "  ]",
    "}",
    "",
  ].join("\n");
}
