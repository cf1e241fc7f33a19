import { stringify } from "yaml";
import { plain, type Schema } from "../../services/gateway/api/action-schema.ts";
import { eventSchemaName, outward, type Components } from "../../services/gateway/docs/component-schemas.ts";
import { EVENT_NAMES, EVENTS, exampleEvent, type EventName } from "../../shared/contracts/events/catalogue.ts";
import { CloudEvent } from "../../shared/contracts/events/event-type.ts";
import { EVENT_STREAM, STREAM_SUBJECTS, subjectForm } from "../../shared/contracts/events/event-subjects.ts";

const ABOUT = `What happens to leads, as messages of the JetStream stream \`${EVENT_STREAM}\` at the NATS server of a deployment that is run with \`CALLAGENT_EVENTS=jetstream\`. The stream has the subjects \`${STREAM_SUBJECTS}\`.

Fields are added over time, and types too: pass over those that you do not know. The same \`id\` is the same event. docs/events.md says how a reader is made, and how the same events are read over HTTP; the webhooks are described in the OpenAPI document.`;

const refTo = (...path: string[]): Schema => ({ $ref: `#/${path.join("/")}` });

/** A schema as readers keep it: what comes later in it is no fault. */
function open(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(open);
  if (typeof schema !== "object" || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key, value]) => key !== "additionalProperties" || value !== false)
      .map(([key, value]) => [key, open(value)]),
  );
}

const HEADERS = {
  type: "object",
  required: ["Nats-Msg-Id", "content-type"],
  properties: {
    "Nats-Msg-Id": { type: "string", description: "The event's id, by which the server drops a second copy." },
    "content-type": { type: "string", const: "application/cloudevents+json" },
    "callagent-position": {
      type: "string",
      pattern: "^[0-9]+$",
      description: "For the service that passes events on.",
    },
  },
};

const channelOf = (type: EventName): Schema => ({
  address: subjectForm(type),
  description: EVENTS[type].doc,
  messages: { event: refTo("components", "messages", eventSchemaName(type)) },
  parameters: {
    reseller: refTo("components", "parameters", "reseller"),
    merchant: refTo("components", "parameters", "merchant"),
  },
});

const messageOf = (type: EventName): Schema => ({
  name: type,
  title: type,
  summary: EVENTS[type].doc,
  contentType: "application/cloudevents+json",
  headers: refTo("components", "schemas", "Headers"),
  payload: {
    allOf: [
      refTo("components", "schemas", "CloudEvent"),
      {
        type: "object",
        properties: { type: { const: type }, data: refTo("components", "schemas", `${eventSchemaName(type)}Data`) },
      },
    ],
  },
  examples: [{ name: type, payload: exampleEvent(type) }],
});

const operationOf = (type: EventName): Schema => ({
  action: "send",
  title: type,
  channel: refTo("channels", eventSchemaName(type)),
  messages: [refTo("channels", eventSchemaName(type), "messages", "event")],
});

/** Every event, as an AsyncAPI 3.1 document in YAML. `npm run sdk:types` writes docs/asyncapi.yaml from it. */
export function asyncApi(version: string): string {
  const schemas: Components = {};
  const by = (of: (type: EventName) => Schema): Components =>
    Object.fromEntries(EVENT_NAMES.map((type) => [eventSchemaName(type), of(type)]));
  outward(plain(CloudEvent), schemas);
  for (const type of EVENT_NAMES) schemas[`${eventSchemaName(type)}Data`] = outward(plain(EVENTS[type].data), schemas);
  const document = {
    asyncapi: "3.1.0",
    info: { title: "callagent: events", version, description: ABOUT, license: { name: "Apache-2.0" } },
    defaultContentType: "application/cloudevents+json",
    servers: {
      nats: {
        host: "{host}",
        protocol: "nats",
        description: "The NATS server of the deployment, with JetStream.",
        variables: { host: { default: "localhost:4222", description: "Name or address, and port." } },
        security: [refTo("components", "securitySchemes", "nkey")],
      },
    },
    channels: by(channelOf),
    operations: by(operationOf),
    components: {
      parameters: {
        reseller: {
          description:
            "Id of the reseller; every byte but letters, digits and hyphens is `=` and two hexadecimal digits.",
        },
        merchant: { description: "Id of the merchant, written like the reseller's; `_`: the event has no merchant." },
      },
      securitySchemes: {
        nkey: {
          type: "asymmetricEncryption",
          description: "The nkey that `npm run nats:users -- --reader <name>` makes.",
        },
      },
      messages: by(messageOf),
      schemas: { ...(open(schemas) as Components), Headers: HEADERS },
    },
  };
  return stringify(document, { lineWidth: 0, aliasDuplicateObjects: false });
}
