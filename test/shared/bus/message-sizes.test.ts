import { randomUUID } from "node:crypto";
import { startNats, type NatsServer } from "../../../local/harness/nats-server.ts";
import { setStage, standIn, type Stage } from "../../../local/harness/stage.ts";
import { LARGER_BYTES, MESSAGE_BYTES } from "../../../shared/contracts/measured-messages.ts";
import { boundedIssues, boundedRows, codeOf, Failure, type ValidationIssue } from "../../../shared/errors.ts";
import { jsonBytes } from "../../../shared/json.ts";

const KIB = 1024;
/** The bus gives a request ten seconds; what is refused is refused at once. */
const AT_ONCE_MS = 2000;
const lines: Record<string, unknown>[] = [];
let nats: NatsServer;
let stage: Stage;
let bytes = 0;
let asked = 0;

const lead_id = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";
beforeAll(async () => {
  nats = await startNats();
  stage = await setStage({
    bus: { url: nats.url, namespace: `large-${randomUUID()}` },
    env: { LOG_LEVEL: "error" },
    onLog: (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
    services: [
      standIn("leads", {
        overrideOf: () => ({ override: { note: "n".repeat(bytes) } }),
        inFlight: () => ({ total: 0, templates: [] }),
        heads: () => failing(),
      }),
      standIn("config", { plans: () => ({ plans: [], unchanged: [], filler: "f".repeat(bytes) }) }),
      standIn("webhook", {
        enqueueMany: () => {
          asked++;
          return { delivery_ids: [] };
        },
      }),
    ],
  });
});
afterAll(async () => {
  await stage?.stop();
  await nats?.stop();
});

const issues = (count: number): ValidationIssue[] =>
  Array.from({ length: count }, (_, i) => ({ path: `rows.${i}.phone_number`, message: "is not a phone number" }));
const failing = (): never => {
  throw new Failure("VALIDATION_FAILED", "Many things are wrong.", { errors: issues(bytes) });
};
const caught = async (asking: Promise<unknown>): Promise<[string, string]> => {
  const began = performance.now();
  const error: unknown = await asking.then(
    () => null,
    (e: unknown) => e,
  );
  expect(performance.now() - began).toBeLessThan(AT_ONCE_MS);
  return [codeOf(error), error instanceof Error ? error.message : ""];
};

test("an answer that is too large is not sent: the asker hears so at once, by the action's name, and so does the log", async () => {
  bytes = MESSAGE_BYTES;
  expect(await caught(stage.bus.call("leads.overrideOf", { lead_id }))).toEqual([
    "MESSAGE_TOO_LARGE",
    expect.stringContaining("answer of leads.overrideOf"),
  ]);
  expect(lines).toContainEqual(expect.objectContaining({ event: "bus.answer_too_large", action: "leads.overrideOf" }));
  bytes = 400 * KIB;
  expect(jsonBytes(await stage.bus.call("leads.overrideOf", { lead_id }))).toBeGreaterThan(bytes);
});

test("a request that is too large is not sent", async () => {
  const report = (size: number) => ({ lead_id, reseller_id: "r", merchant_id: null, url: "https://example.com", occurred_at: "2026-01-01T00:00:00.000Z", data: { text: "t".repeat(size) } }); // prettier-ignore
  expect(await caught(stage.bus.call("webhook.enqueueMany", { reports: [report(MESSAGE_BYTES)] }))).toEqual([
    "MESSAGE_TOO_LARGE",
    expect.stringContaining("request to webhook.enqueueMany"),
  ]);
  expect(asked).toBe(0);
  await stage.bus.call("webhook.enqueueMany", { reports: [report(400 * KIB)] });
  expect(asked).toBe(1);
});

test("answers that askers of the version before get whole may be as large as the bus takes", async () => {
  bytes = LARGER_BYTES - KIB;
  expect((await stage.bus.call("config.plans", { template_ids: [] })).plans).toEqual([]);
  bytes = LARGER_BYTES;
  expect((await caught(stage.bus.call("config.plans", { template_ids: [] })))[0]).toBe("MESSAGE_TOO_LARGE");
});

test("a failure with ever so many issues is told, with the first of them and how many more there are", async () => {
  bytes = 50_000;
  const asking = stage.bus.call("leads.heads", {
    until: "2026-01-01T00:00:00.000Z",
    own: false,
    after: null,
    limit: 1,
  });
  const error: unknown = await asking.catch((e: unknown) => e);
  expect(codeOf(error)).toBe("VALIDATION_FAILED");
  expect(jsonBytes(error)).toBeLessThan(300_000);
  expect(JSON.stringify(error)).toMatch(/"rows\.0\.phone_number".*"message":"\d{5} more are not listed"/);
});

test("issues and rows within the bounds stay as they are; of too many each row keeps its first", () => {
  expect(boundedIssues(issues(100))).toEqual(issues(100));
  expect(boundedIssues(issues(3), 100)).toEqual([...issues(1), { path: "errors", message: "2 more are not listed" }]);
  const rows = [{ index: 0 }, { index: 1, errors: issues(2) }];
  expect(boundedRows(rows)).toEqual(rows);
  const many = Array.from({ length: 500 }, (_, index) => ({ index, errors: issues(40) }));
  const bounded = boundedRows(many);
  expect(jsonBytes(bounded)).toBeLessThan(350_000);
  expect(bounded.every(({ index, errors }, i) => index === i && errors.length > 3 && errors[0]?.path === "rows.0.phone_number")).toBe(true); // prettier-ignore
});
