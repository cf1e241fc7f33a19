import type { AddressInfo } from "node:net";
import { MongoClient } from "mongodb";
import blacklist from "../../../services/blacklist/blacklist.service.ts";
import config from "../../../services/config/config.service.ts";
import gateway from "../../../services/gateway/gateway.service.ts";
import leads from "../../../services/leads/leads.service.ts";
import merchants from "../../../services/merchants/merchants.service.ts";
import numbers from "../../../services/numbers/numbers.service.ts";
import scheduler from "../../../services/scheduler/scheduler.service.ts";
import type { ParamsOf } from "../../../shared/bus/bus.ts";
import { asAdmin, setStage, standIn, until, type Stage } from "../../../local/harness/stage.ts";
import { needing } from "../../fixtures/database-abilities.ts";

/** A line of the log. */
type Line = Record<string, unknown> & { event?: string };

let stage: Stage;
let direct: MongoClient;
const lines: Line[] = [];
const orders: ParamsOf<"dialer.dialMany">["orders"] = [];

beforeAll(async () => {
  stage = await setStage({
    env: { LOG_LEVEL: "info", SCHEDULER_INTERVAL_MS: "200" },
    onLog: (line) => lines.push(JSON.parse(line) as Line),
    services: [
      blacklist,
      config,
      leads,
      merchants,
      numbers,
      scheduler,
      gateway,
      standIn("dialer", {
        dialMany: (p) => {
          orders.push(...p.orders);
          return { taken: p.orders.map(() => true) };
        },
        holdsNumber: () => ({ held: true }),
        reconcile: () => ({ verdict: "live", lease_seconds: 20_000 }),
      }),
      standIn("auth", { record: () => ({}) }),
      standIn("conversation", {}),
      standIn("webhook", { checkAddresses: ({ urls }) => ({ refusals: urls.map(() => null) }) }),
    ],
  });
  direct = await MongoClient.connect(stage.uri);
});
afterAll(async () => {
  await direct.close();
  await stage.stop();
});

/** Makes the database refuse a command with this code; null: it takes all again. */
const refuse = (command: string | null, errorCode = 0) =>
  direct.db("admin").command({
    configureFailPoint: "failCommand",
    mode: command === null ? "off" : "alwaysOn",
    ...(command === null ? {} : { data: { failCommands: [command], errorCode } }),
  });

const said = (event: string, level: string, more: (line: Line) => boolean = () => true): Line | undefined =>
  lines.find((line) => line.event === event && line["level"] === level && more(line));

async function readiness(): Promise<{ status: string; checks: { name: string; ok: boolean; reason?: string }[] }> {
  const service = stage.broker.getLocalService("gateway") as unknown as { server: { address(): AddressInfo } };
  const answer = await fetch(`http://127.0.0.1:${service.server.address().port}/health/ready`);
  return (await answer.json()) as Awaited<ReturnType<typeof readiness>>;
}

/** A lead that nothing but the database can hold up. */
async function push(): Promise<string> {
  const { bus } = stage;
  const { id: reseller_id } = await bus.call("merchants.createReseller", { by: asAdmin, name: "r" });
  const owner = { by: asAdmin, reseller_id };
  const { id: merchant_id } = await bus.call("merchants.create", {
    ...owner,
    name: "m",
    contact_email: "a@example.com",
  });
  const nodes = [{ name: "a", say: "Hello.", on_enter: [{ type: "end_call" as const }] }];
  const { id: template_id } = await bus.call("config.createTemplate", {
    by: asAdmin,
    template: { reseller_id, merchant_id, name: "t", initial_node: "a", nodes },
  });
  const configuration = {
    template_id,
    initial_offset: 0,
    retry_offset: 60,
    max_retry: 1,
    calling_provider: "PROVIDER_ONE" as const,
    enable_calling: true,
    timezone: "UTC",
    call_start_time: "00:00",
    call_end_time: "00:00",
  };
  await bus.call("config.createConfiguration", { by: asAdmin, configuration });
  await bus.call("numbers.create", { ...owner, merchant_id, phone_number: "+14155550100", provider: "PROVIDER_ONE" });
  const { lead_call_tracker_id } = await bus.call("leads.push", {
    by: asAdmin,
    lead: {
      request_id: "one",
      template_id,
      reseller_id,
      merchant_id,
      execution_mode: "TELEPHONY",
      payload: { customer_mobile_number: "+14155552601" },
    },
  });
  return lead_call_tracker_id;
}

needing("failPoints", () => {
  test("a command that the database refuses is an alarm by name, in log, readiness and explain, until it is taken again", async () => {
    await refuse("findAndModify", 168);
    const lead_id = await push();

    // other passes of the process may ask for the same command, and be refused before
    const ofNumbers = (line: Line): boolean => line["collection"] === "numbers";
    expect(await until("the alarm", () => said("database.command_refused", "error", ofNumbers))).toMatchObject({
      service: "numbers",
      command: "findOneAndUpdate",
      code: 168,
      times: 1,
    });
    expect(await until("the queue", () => said("queue.aside", "error"))).toMatchObject({ service: "scheduler" });
    const degraded = await until("readiness", async () => {
      const ready = await readiness();
      return ready.status === "degraded" ? ready : undefined;
    });
    const failing = degraded.checks.filter((c) => !c.ok);
    expect(new Set(failing.map(({ name }) => name))).toEqual(new Set(["database"]));
    expect(failing.map(({ reason }) => reason)).toContainEqual(
      expect.stringMatching(/refuses findOneAndUpdate on numbers since .*code 168/),
    );
    const explained = await stage.bus.call("leads.explain", { by: asAdmin, lead_id });
    expect(explained).toMatchObject({ eligible: false, next_eligible_at: null });
    expect(explained.summary).toMatch(/database refuses a command .*code 168/);
    // explain itself needs a command that is refused
    await refuse("aggregate", 115);
    expect(await stage.bus.call("leads.explain", { by: asAdmin, lead_id })).toMatchObject({
      eligible: false,
      summary: expect.stringMatching(/database refuses a command .*code 115/) as string,
      gates: [],
    });

    await refuse(null);
    await until("the dial", () => orders.find((o) => o.lead_id === lead_id));
    await until("the end of the alarm", () => said("database.command_taken", "info"));
    // the second one was asked by explain alone
    await stage.bus.call("leads.explain", { by: asAdmin, lead_id });
    await until("readiness", async () => ((await readiness()).status === "ready" ? true : undefined));
    const alarms = lines.filter((line) => line.event === "database.command_refused");
    const once = new Set(alarms.map((line) => `${String(line["command"])} ${String(line["collection"])}`));
    expect(alarms).toHaveLength(once.size);
    expect(new Set(alarms.map((line) => line["command"]))).toEqual(new Set(["findOneAndUpdate", "aggregate"]));
  });
});
