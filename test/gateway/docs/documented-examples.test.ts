import { READERS_KEYWORDS } from "../../../shared/contracts/define.ts";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import blacklist from "../../../services/blacklist/blacklist.service.ts";
import config from "../../../services/config/config.service.ts";
import { exampleOf, type Example } from "../../../services/gateway/docs/examples.ts";
import { INBOUND_CALL, JOINED } from "../../../services/gateway/docs/example-leads.ts";
import { SAMPLE } from "../../../services/gateway/docs/example-records.ts";
import { bodySchemaOf, bulkSchemasOf, responseSchemaOf } from "../../../services/gateway/docs/row-schemas.ts";
import { ROUTES } from "../../../services/gateway/routes/index.ts";
import type { Row } from "../../../services/gateway/routes/row.ts";
import leads from "../../../services/leads/leads.service.ts";
import numbers from "../../../services/numbers/numbers.service.ts";
import scheduler from "../../../services/scheduler/scheduler.service.ts";
import webhook from "../../../services/webhook/webhook.service.ts";
import { exampleWorld, type ExampleWorld } from "../fixtures/example-services.ts";
import { setHttpStage, type Answer, type HttpStage } from "../fixtures/http-stage.ts";

/** Every example of the document, run against the real services; only the dialer and the conversation are stand-ins. */
let http: HttpStage;
let world: ExampleWorld;
/** A recording of some lead's call, for the download. */
const RECORDING = { state: "stored", key: "call.wav", content_type: "audio/wav", bytes: 4, where: "local" };
const { transport: _transport, ...withoutTransport } = JOINED;
let recorded = "";
beforeAll(async () => {
  const dir = await mkdtemp(join(tmpdir(), "examples-"));
  await writeFile(join(dir, RECORDING.key), "RIFF");
  http = await setHttpStage(
    [blacklist, config, leads, numbers, scheduler, webhook],
    { RECORDINGS_DIR: dir },
    { WEBHOOK_ALLOW_HTTP: "true", WEBHOOK_ALLOW_PRIVATE: "true", SWEEP_INTERVAL_MS: "200" },
  );
  http.script["dialer.recordingOf"] = () => ({ recording: { ...RECORDING, lead_id: recorded } });
  http.script["dialer.inboundCalls"] = () => ({ count: 1, inbound_calls: [INBOUND_CALL], next_cursor: null });
  http.script["dialer.openSession"] = () => withoutTransport;
  http.script["dialer.speak"] = () => ({ status: "queued", utterance_id: "u-1", at: JOINED.expires_at });
  http.script["dialer.history"] = () => ({ calls: [], carrier_events: [] });
  http.script["conversation.history"] = () => ({ sessions: [] });
  world = await exampleWorld(http);
});
afterAll(async () => {
  await world.close();
  await http.stop();
});

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true });
ajv.addVocabulary(["x-maxBytes", ...READERS_KEYWORDS]);
formats.default(ajv);
function faultsOf(schema: object | null, value: unknown): unknown {
  if (schema === null) return value === undefined ? null : "there should be no body";
  const check: ValidateFunction = ajv.compile(schema);
  return check(value) ? null : check.errors;
}

const responseSchema = (row: Row): object | null => {
  const bulk = bulkSchemasOf(row);
  return bulk ? { type: "array", items: bulk.outcome } : responseSchemaOf(row);
};
const requestSchema = (row: Row): object | null => {
  const bulk = bulkSchemasOf(row);
  return bulk ? { type: "array" } : bodySchemaOf(row);
};
const mayBeMissing = (row: Row): boolean => row.errors?.includes("NOT_AVAILABLE") ?? false;

/** Whose token a row is asked with: what voids it gets a session of its own, with the password of the examples. */
const tokenFor = (row: Row): Promise<string> | string | null =>
  row.roles === "public"
    ? null
    : row.bearer === undefined
      ? http.tokens.admin
      : http.logIn("merchant", SAMPLE.password);

async function send(row: Row, example: Example): Promise<Answer> {
  const path = row.path.replaceAll(/\{([a-z_]+)\}/g, (_, name: string) =>
    encodeURIComponent(example.path?.[name] ?? ""),
  );
  const query = new URLSearchParams(
    Object.entries(example.query ?? {}).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
  return http.ask(row.method, `${path}${query === "" ? "" : `?${query}`}`, {
    token: await tokenFor(row),
    headers: { ...example.headers },
    ...(example.request === undefined ? {} : { body: example.request }),
  });
}

/** Names of an object's fields, and of those of the first items of each list in it: what a reader sees of a record's form. */
function form(value: unknown, items = 1, path = ""): string[] {
  if (Array.isArray(value)) return value.slice(0, items).flatMap((item) => form(item, items, `${path}[]`));
  if (typeof value !== "object" || value === null) return [];
  const FREE = /(?:^|\.)(?:payload|metaData|details|payload_schema|nodes|by_status|by_outcome|tries)$/;
  return Object.entries(value).flatMap(([name, inner]) => [
    `${path}.${name}`,
    ...(FREE.test(name) ? [] : form(inner, items, `${path}.${name}`)),
  ]);
}

const rows = ROUTES.map((row) => [`${row.method} ${row.path}`, row] as const);
describe("each row's example", () => {
  test.each(rows)("%s: fits the schemas of the document", (_, row) => {
    const example = exampleOf(row);
    expect(example).toBeDefined();
    expect(Object.keys(example?.query ?? {}).filter((name) => !row.query?.includes(name))).toEqual([]);
    expect(faultsOf(requestSchema(row), example?.request)).toBeNull();
    if (!mayBeMissing(row)) expect(faultsOf(responseSchema(row), example?.response)).toBeNull();
  });
  test.each(rows)("%s: the services answer it as the document says", async (_, row) => {
    const example = exampleOf(row) ?? {};
    if (row.download) recorded = (await world.ready({ path: { lead_id: SAMPLE.lead_id } })).path?.["lead_id"] ?? "";
    const answer = await send(row, await world.ready(example));
    if (mayBeMissing(row) && answer.status !== row.success)
      return expect([answer.status, answer.body["code"]]).toEqual([501, "NOT_AVAILABLE"]);
    expect([answer.status, answer.status === row.success ? null : answer.text]).toEqual([row.success, null]);
    if (row.download)
      return expect([answer.headers.get("content-type"), answer.text]).toEqual([RECORDING.content_type, "RIFF"]);
    const body: unknown = answer.text === "" ? undefined : JSON.parse(answer.text);
    expect(faultsOf(responseSchema(row), body)).toBeNull();
    // events of other types than the example's may come first
    expect(form(body, row.path === "/events" ? Number.POSITIVE_INFINITY : 1)).toEqual(
      expect.arrayContaining(form(example.response)),
    );
    return undefined;
  });
});
