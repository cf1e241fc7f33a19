import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MongoClient } from "mongodb";
import { rehearse } from "../../../local/tools/rehearse/rehearse.ts";
import blacklist from "../../../services/blacklist/blacklist.service.ts";
import config from "../../../services/config/config.service.ts";
import leads from "../../../services/leads/leads.service.ts";
import numbers from "../../../services/numbers/numbers.service.ts";
import scheduler from "../../../services/scheduler/scheduler.service.ts";
import { ADMIN, setHttpStage, type HttpStage } from "../fixtures/http-stage.ts";

/** npm run rehearse against the services themselves: what it reads of them, and what it says. */
let http: HttpStage;
let template = "";
let folder = "";
const post = async (path: string, body: object): Promise<string> => {
  const answer = await http.ask("POST", path, { body });
  if (answer.status >= 300) throw new Error(`POST ${path} answered ${answer.status}: ${answer.text}`);
  return String(answer.body["id"] ?? answer.body["lead_call_tracker_id"]);
};
const flow = (name: string) => ({
  reseller_id: http.reseller_id,
  merchant_id: http.merchant_id,
  name,
  initial_node: "hello",
  variables: ["customer_name"],
  nodes: [
    {
      name: "hello",
      prompt: "Greet {{customer_name}}.",
      functions: [{ name: "confirm", description: "It suits.", outcome: "confirmed", action: "end_call" }],
    },
  ],
});
const window = {
  initial_offset: 0,
  retry_offset: 600,
  call_start_time: "09:00",
  call_end_time: "18:00",
  timezone: "Europe/Berlin",
  max_retry: 1,
  calling_provider: "PROVIDER_ONE",
};

beforeAll(async () => {
  http = await setHttpStage(
    [blacklist, config, leads, numbers, scheduler],
    {},
    { SWEEP_INTERVAL_MS: "60000", PROVIDER_ONE_CALLS_PER_SECOND: "7" },
  );
  folder = mkdtempSync(join(tmpdir(), "callagent-rehearse-"));
  template = await post("/templates", flow("reminder"));
  await post("/configurations", {
    template_id: template,
    ...window,
    rate_limit_enabled: true,
    rate_limit_max_calls: 10,
    rate_limit_window_seconds: 3600,
    enable_calling: true,
  });
  for (const [i, over] of [
    { max_concurrent_calls: 3 },
    { merchant_id: http.merchant_id, max_concurrent_calls: 2 },
    { status: "DISABLED", max_concurrent_calls: 50 },
    { provider: "PROVIDER_TWO", max_concurrent_calls: 50 },
  ].entries()) {
    await post("/numbers", {
      phone_number: `+1415555010${i}`,
      provider: "PROVIDER_ONE",
      reseller_id: http.reseller_id,
      ...over,
    });
  }
  await post("/templates", flow("twin"));
  await post("/templates", flow("twin"));
});
afterAll(async () => {
  await http.stop();
  rmSync(folder, { recursive: true, force: true });
});

const run = async (line: string, options: { token?: string | undefined; folder?: string } = {}) => {
  const said: string[] = [];
  const code = await rehearse({
    argv: line.split(" "),
    folder: options.folder ?? folder,
    tokenFor: () => options.token,
    now: new Date("2026-11-23T06:00:00Z"),
    print: (text) => {
      said.push(text);
    },
  });
  return { code, text: said.join("\n") };
};
const against = (line: string, token = http.tokens.reseller) => run(`${line} --url ${http.base} --token ${token}`);

describe("npm run rehearse", () => {
  test("forecasts a template by its name, with the lines that its calls may use", async () => {
    const { code, text } = await against(
      "--template reminder --leads 100 --answer-rate 1 --at 2026-11-23T08:00:00+01:00",
    );
    expect(code).toBe(0);
    expect(text).toContain('Rehearsal of 100 leads of "reminder", pushed Mon 2026-11-23 08:00 (Europe/Berlin)');
    expect(text).toContain(
      "window 09:00-18:00 Europe/Berlin · 10 calls in 3600 s · 1 call per second · 5 lines of 2 numbers · 1 retry after 600 s",
    );
    expect(text).toMatch(/All leads are finished Tue 2026-11-24 09:0\d, 1 d 1 h/);
    expect(text).toMatch(/dials 100 · reached 100 · lines in use at most \d of 5/);
    expect(text).toMatch(/Dials per hour \(Europe\/Berlin\)\n {2}Mon 11-23 09:00 {2}█{40} +10\n/);
    expect(text).toMatch(/Mon 11-23 17:00 {2}█{40} +10\n {2}…\n {2}Tue 11-24 09:00 {2}█{40} +10\n/);
    expect(text).toMatch(/\n {2}rate_limit +[\d,.]+ {3}the configuration's rate limit/);
    expect(text).toMatch(/\n {2}window +[\d,.]+ {3}the calling window was closed/);
  });

  test("the same line again says the same, by id as well, and nothing was pushed", async () => {
    const line = (what: string) => `--template ${what} --leads 200 --at 2026-11-23T08:00:00Z`;
    const first = await against(line("reminder"));
    expect(await against(line(template))).toEqual(first);
    expect((await http.ask("GET", "/leads")).body["count"]).toBe(0);
  });

  test("a pause is seen, and said to hold everybody", async () => {
    await http.ask("POST", `/merchants/${http.merchant_id}/pause`, { body: { reason: "stock-taking" } });
    const { text } = await against("--template reminder --leads 10");
    await http.ask("POST", `/merchants/${http.merchant_id}/resume`);
    expect(text).toMatch(/Held by merchant: .*stock-taking/);
    expect(text).toContain("10 leads would expire");
    await http.ask("POST", "/deployment/pause");
    const paused = await against("--template reminder --leads 10", http.tokens.admin);
    await http.ask("POST", "/deployment/resume");
    expect(paused.text).toContain("Held by deployment");
  });

  test("the merchant's cap on calls per callee is shown, and holds retries back", async () => {
    const put = (max_calls_per_callee: object | null) =>
      http.ask("PUT", `/merchants/${http.merchant_id}`, { body: { max_calls_per_callee } });
    await put({ per_day: 1 });
    const { text } = await against("--template reminder --leads 5 --answer-rate 0 --at 2026-11-23T08:00:00Z");
    await put(null);
    expect(text).toContain("· 1 retry after 600 s · calls per callee: 1 in 24 hours");
    expect(text).toContain("nobody else uses the lines, and each lead is another person");
    expect(text).toMatch(/\n {2}callee_capped +[\d,.]+ {3}the merchant's cap on calls per callee/);
    expect((await against("--template reminder --leads 5")).text).not.toContain("calls per callee");
  });

  test("spend ceilings that the token may see are shown, and hold calls back", async () => {
    const put = async (merchant: object | null, reseller: object | null) => {
      await http.ask("PUT", `/merchants/${http.merchant_id}`, { body: { spend_ceiling: merchant } });
      await http.ask("PUT", `/resellers/${http.reseller_id}`, { body: { spend_ceiling: reseller } });
    };
    await put({ per_day: { calls: 3, minutes: 1000 } }, { per_month: { money: 50.5 } });
    const line = "--template reminder --leads 5 --answer-rate 1 --at 2026-11-23T08:00:00Z";
    const { text } = await against(line);
    const asMerchant = await against(line, http.tokens.merchant);
    const priced = await against(`${line} --price-per-minute 0.02`);
    await put(null, null);
    expect(text).toContain(
      "\n  spend ceiling of the merchant: 3 calls, 1,000 minutes a day (UTC); nothing of it is taken before\n  spend ceiling of the reseller: 50.5 of money a month (UTC); nothing of it is taken before\n  what is limited in money is left out: --price-per-minute says what a minute costs\n",
    );
    expect(text).toMatch(/\n {2}spend_ceiling +[\d,.]+ {3}a spend ceiling/);
    expect(text).toMatch(/Mon 11-23 09:00 {2}█+ +3\n {2}…\n {2}Tue 11-24 09:00 {2}█+ +2/);
    expect(asMerchant.text).toContain("spend ceiling of the merchant");
    expect(asMerchant.text).not.toContain("spend ceiling of the reseller");
    expect(priced.text).not.toContain("is left out");
    expect((await against(line)).text).not.toContain("spend");
  });

  test("what is wrong with a template that was saved before it was refused is said", async () => {
    const old = await post("/templates", flow("old"));
    const client = await MongoClient.connect(http.stage.uri);
    try {
      // as a version before saved it: from its only node no end can be reached
      const nodes = [{ name: "hello", say: "Hello." }];
      const versions = client.db().collection("template_versions");
      const version = await versions.findOne({ template_id: old });
      const record: unknown = JSON.parse(String(version?.["record"]));
      await versions.updateOne(
        { template_id: old },
        { $set: { record: JSON.stringify({ ...Object(record), nodes }) } },
      );
    } finally {
      await client.close();
    }
    const { text } = await against(`--template ${old} --leads 1`);
    expect(text).toMatch(/\n {2}warning: nodes\.\S+ /);
    expect((await against("--template reminder --leads 1")).text).not.toContain("warning:");
  });

  test("the calls per second are asked of the deployment where there is a lead to ask by", async () => {
    const other = await post("/templates", flow("asked"));
    await post("/configurations", { template_id: other, ...window, enable_calling: false });
    expect((await against("--template asked --leads 5")).text).toContain("No lead of the template is there");
    await post("/leads", {
      request_id: "one",
      template_id: other,
      reseller_id: http.reseller_id,
      merchant_id: http.merchant_id,
      payload: { customer_name: "Ada", customer_mobile_number: "+14155550123" },
    });
    const { text } = await against("--template asked --leads 5");
    expect(text).toContain("· 7 calls per second ·");
    expect(text).toContain("Held by calling_enabled");
    expect((await against("--template asked --leads 5 --calls-per-second 0")).text).toContain(
      "no limit of calls per second",
    );
  });

  test("without --url it finds the callagent of the data folder", async () => {
    writeFileSync(join(folder, "sample.env"), `BASE=${http.base}\n`);
    writeFileSync(
      join(folder, "secrets.json"),
      JSON.stringify({ admin_email: ADMIN.email, admin_password: ADMIN.password }),
    );
    expect((await run("--template reminder --leads 10")).code).toBe(0);
    writeFileSync(join(folder, "sample.env"), "BASE=http://127.0.0.1:9/agent/voice/callagent\n");
    expect(await run("--template reminder --leads 10")).toEqual({
      code: 2,
      text: expect.stringMatching(/No callagent runs with the data folder .*npm start/),
    });
    expect(await run("--template reminder --leads 10", { folder: join(folder, "nowhere") })).toEqual({
      code: 2,
      text: expect.stringMatching(/No callagent runs/),
    });
  });

  test.each<[string, () => Promise<{ code: number; text: string }>, RegExp]>([
    [
      "an unknown name",
      () => against("--template remind --leads 1"),
      /There is no template of the name "remind"; there is "reminder"/,
    ],
    [
      "an unknown id",
      () => against("--template 0b1f6a44-6d0e-4f6c-9a52-5d1b7a1b8a10 --leads 1"),
      /There is no template 0b1f6a44/,
    ],
    [
      "a name that two have",
      () => against("--template twin --leads 1"),
      /2 templates have the name "twin"; give the id of one: \S+, \S+/,
    ],
    ["a bad token", () => against("--template reminder --leads 1", "rubbish"), /401 UNAUTHENTICATED/],
    [
      "a port where nothing listens",
      () => run("--template reminder --leads 1 --url http://127.0.0.1:9 --token x"),
      /Nothing answers at http:\/\/127\.0\.0\.1:9/,
    ],
    ["a wrong argument", () => run("--template reminder --leads none"), /--leads must be/],
  ])("%s is said in one line", async (_what, ask, said) => {
    const { code, text } = await ask();
    expect([code, text.split("\n")]).toEqual([2, [expect.stringMatching(said)]]);
  });

  test("--help says how", async () => {
    const { code, text } = await run("--help");
    expect([code, text]).toEqual([0, expect.stringContaining("npm run rehearse -- --template <id|name>")]);
  });
});
