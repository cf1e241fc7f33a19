import { readFileSync } from "node:fs";
import { startProduct, type Product } from "../../local/harness/product.ts";
import { callee, startPushing } from "../../local/harness/lead-pusher.ts";
import { until } from "../../local/harness/stage.ts";
import type { LogLine } from "../../local/tools/stack/child-group.ts";

const START_MS = 90_000;
/** Services that say something of a lead and of changes; the scheduler writes of troubles alone. */
const WITH_NEWS = ["auth", "blacklist", "config", "conversation", "dialer", "gateway", "leads", "merchants", "numbers", "webhook"]; // prettier-ignore

const has = (log: readonly LogLine[], name: string): boolean => log.some(({ service }) => service === name);

/** Every line tells its level, instant, node, service and a sentence; ours an event, and Moleculer's the part of the broker. */
const isInShape = ({ level, time, node, service, event, mod, msg }: LogLine): boolean =>
  ["debug", "info", "warn", "error"].includes(level ?? "") &&
  /^\d{4}-\d\d-\d\dT[\d:]+\.\d{3}Z$/.test(String(time)) &&
  [node, service, msg, service === "bus" ? (mod ?? event) : event].every(
    (text) => typeof text === "string" && text !== "",
  );

/** Texts may name versions and addresses; what is left are figures. */
const withoutTexts = (line: LogLine): unknown =>
  JSON.parse(JSON.stringify(line, (_name, value: unknown) => (typeof value === "string" ? "" : value)));

describe("the metrics of the product, one process", () => {
  let product: Product;
  beforeAll(async () => {
    product = await startProduct({ metricsPort: 0, engine: "cascade", timeScale: 1 });
  }, START_MS);
  afterAll(async () => {
    await product?.stop();
  }, START_MS);

  const text = async (): Promise<string> => (await fetch(`${product.stack.metricsUrls["services"]}/metrics`)).text();
  const value = (all: string, series: string): number =>
    Number(
      all
        .split("\n")
        .find((line) => line.startsWith(`${series} `))
        ?.split(" ")[1] ?? Number.NaN,
    );

  test("tell of a lead that was called, from its push to its webhook event", async () => {
    await until("the process to be ready", async () =>
      (await fetch(`${product.stack.metricsUrls["services"]}/ready`)).ok ? true : undefined,
    );
    const { push } = await startPushing(product);
    await push(callee(1, "01"));
    const all = await until("the webhook event to be counted", async () => {
      const now = await text();
      return value(now, 'callagent_webhook_tries_total{verdict="delivered",process="all"}') > 0 ? now : undefined;
    });
    const calls = (name: string, label: string): number =>
      value(all, `callagent_calls_${name}{provider="PROVIDER_ONE",${label},process="all"}`);
    expect([calls("total", 'event="dialling"'), calls("ended_total", 'answered="yes"')]).toEqual([1, 1]);
    for (const series of [
      'callagent_dials_total{provider="PROVIDER_ONE",answer="placed",process="all"}',
      'callagent_due_to_dial_seconds_count{process="all",provider="PROVIDER_ONE"}',
      'callagent_permits_total{provider="PROVIDER_ONE",answer="granted",process="all"}',
      'callagent_turn_seconds_count{process="all"}',
      'callagent_model_first_token_seconds_count{process="all"}',
      'callagent_webhook_age_seconds_count{process="all"}',
      'callagent_http_requests_total{method="POST",status="200",process="all"}',
      'callagent_store_seconds_count{process="all",command="insert",result="ok"}',
      'callagent_number_slots{provider="PROVIDER_ONE",state="free",process="all"}',
      'callagent_conversations{state="free",process="all"}',
    ])
      expect([series, value(all, series) > 0]).toEqual([series, true]);
    expect(value(all, 'callagent_leads{state="PROCESSING",process="all"}')).toBeGreaterThanOrEqual(0);
    expect(all).not.toMatch(/\+1415|[0-9a-f]{8}-[0-9a-f]{4}-/);
  });

  test("stand beside lines of the log in one shape, with figures of three decimals at most, from each service with news", async () => {
    const { admin, sample, log } = product;
    const id = sample.merchant_id;
    await admin.ask("POST", "/merchants/{id}/pause", { path: { id }, body: {} });
    await admin.ask("POST", "/merchants/{id}/resume", { path: { id } });
    const body = { phone_numbers: ["+12125550199"], reseller_id: sample.reseller_id };
    await admin.ask("POST", "/blacklist", { body });
    await until("the lines of all services", () =>
      Promise.resolve(WITH_NEWS.every((name) => has(log, name)) || undefined),
    );

    expect(log.filter((line) => !isInShape(line))).toEqual([]);
    expect(log.some(({ event }) => event === "talk.thought")).toBe(true);
    const written = readFileSync(product.folder.at("callagent.log"), "utf8").split("\n").slice(0, -1);
    const says = written.filter((line) => line.startsWith("{"));
    // a field that stands twice in a line is there once when it has been read
    expect(says.filter((line) => JSON.stringify(JSON.parse(line)).length !== line.length)).toEqual([]);
    expect(JSON.stringify(log.map(withoutTexts)).match(/\d\.\d{4,}/g)).toBeNull();
  });
});
