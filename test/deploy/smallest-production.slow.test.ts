import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { PROGRAM_ENV } from "../../local/harness/program.ts";
import { until } from "../../local/harness/stage.ts";
import { seed } from "../../local/tools/sample/seed.ts";
import { ChildGroup } from "../../local/tools/stack/child-group.ts";
import { openFolder } from "../../local/tools/stack/data-folder.ts";
import { freePort } from "../../local/tools/stack/ports.ts";
import { script } from "../../local/tools/stack/project-root.ts";
import { blocksOf, pageAt } from "../docs/pages.ts";
import { ROOT } from "../house/sources.ts";

/** "The smallest production" of docs/operations.md: its commands as they stand but for the folder of the secrets, on the embedded store in MongoDB's place, with a simulated carrier and model. */
const START_MS = 120_000;
const TEST_MS = 60_000;
const SECRETS = "deploy/secrets";
const ADMIN_EMAIL = "admin@shop.example";
const MODEL = "callagent-sim";
const TWILIO = { TWILIO_ACCOUNT_SID: `AC${"0".repeat(32)}`, TWILIO_AUTH_TOKEN: "simulated-auth-token" };

const page = { path: "docs/operations.md", text: pageAt("docs/operations.md") };
const COMMANDS = blocksOf(page).find(({ text }) => text.startsWith("export NODE_ENV=production"))?.text ?? "";

const path = mkdtempSync(join(tmpdir(), "callagent-smallest-"));
const folder = openFolder(path, false);
const at = (name: string): string => join(path, name);
const deaths: string[] = [];
const group = new ChildGroup(folder, { onLog: () => undefined, onDeath: (reason) => deaths.push(reason) });
let product: ChildProcess;
let ended: Promise<unknown[]>;
let said = "";
let base: string;

beforeAll(async () => {
  const [http, media, models, carrier] = await Promise.all([freePort(), freePort(), freePort(), freePort()]);
  const [store] = await Promise.all([
    group.start("store", { args: [script("store/main.ts"), "--dir", at("store")], ready: "line" }),
    group.start("carrier", {
      args: [script("carriers/main.ts"), "--port", String(carrier), "--time-scale", "20", "--patience", "2"],
      ready: "line",
      env: TWILIO,
    }),
    group.start("models", {
      args: [script("models/main.ts"), "--port", String(models)],
      ready: "line",
      env: { OPENAI_API_KEY: MODEL },
    }),
  ]);
  const mongo = new URL(store.url);
  mongo.pathname = "/callagent";
  base = `http://127.0.0.1:${http}`;
  // what the page, and the head of env.example, say is needed; the rest is where the test's carrier and model are
  const needed = { MONGODB_URI: mongo.href, ADMIN_EMAIL, OPENAI_MODEL: MODEL, PUBLIC_HTTP_URL: base };
  const env = {
    ...PROGRAM_ENV,
    PATH: [join(ROOT, "node_modules/node/bin"), PROGRAM_ENV["PATH"]].join(delimiter),
    ...needed,
    PUBLIC_WS_URL: `ws://127.0.0.1:${media}`,
    HTTP_PORT: String(http),
    MEDIA_PORT: String(media),
    RECORDINGS_DIR: at("recordings"),
    ...TWILIO,
    TWILIO_API_BASE: `http://127.0.0.1:${carrier}`,
    OPENAI_BASE_URL: `http://127.0.0.1:${models}/v1`,
    OPENAI_API_KEY: MODEL,
    ENGINE_DEFAULT: "relay",
    SHUTDOWN_GRACE_SECONDS: "10",
    TRANSPORTER: "",
  };
  writeFileSync(at(".env"), `ADMIN_EMAIL=${ADMIN_EMAIL}\nSECRETS_FOLDER=${at("secrets")}\nNATS_USERS=${at("users")}\n`);
  await promisify(execFile)("npm", ["run", "compose:secrets", "--", "--env", at(".env")], { cwd: ROOT, env });
  product = spawn("bash", ["-euc", COMMANDS.replaceAll(SECRETS, at("secrets"))], {
    cwd: ROOT,
    env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  // bash may be gone before the process that it started
  ended = once(product, "close");
  for (const stream of [product.stdout, product.stderr])
    stream?.on("data", (chunk: Buffer) => {
      said += chunk.toString();
    });
  await until(
    "the product to be ready",
    async () => {
      if (product.exitCode !== null) throw new Error(`it ended: ${said.slice(-2000)}`);
      return (await fetch(`${base}/health/ready`).catch(() => null))?.ok === true ? true : undefined;
    },
    START_MS,
  );
}, START_MS);
afterAll(async () => {
  if (product?.pid !== undefined && product.exitCode === null) process.kill(-product.pid, "SIGKILL");
  await group.stop();
  rmSync(path, { recursive: true, force: true });
}, START_MS);

test(
  "the smallest production starts by the page's commands, calls a lead to its outcome, and ends when told to",
  async () => {
    const admin_password = readFileSync(join(at("secrets"), "ADMIN_PASSWORD"), "utf8").trim();
    const stack = { baseUrl: `${base}/agent/voice/callagent`, secrets: { admin_email: ADMIN_EMAIL, admin_password } };
    const { sample, client } = await seed(stack, folder, { initial_offset: 0, retry_offset: 1 });
    const { lead_call_tracker_id: lead_id } = await client.ask("POST", "/leads", {
      body: {
        request_id: "first",
        template_id: sample.templates[0]?.id ?? "",
        reseller_id: sample.reseller_id,
        merchant_id: sample.merchant_id,
        payload: {
          customer_mobile_number: "+12122000001",
          customer_name: "Ada Lindqvist",
          order_id: "NW-1",
          amount: "10.00",
          delivery_date: "Monday, June 9",
        },
      },
    });
    const lead = await until(
      "the lead's end",
      async () => {
        const found = await client.ask("GET", "/leads/{lead_id}", { path: { lead_id } });
        return found.status === "FINISHED" ? found : undefined;
      },
      TEST_MS,
    );
    expect(lead).toMatchObject({ outcome: "confirmed" });
    process.kill(-(product.pid ?? 0), "SIGTERM");
    await ended;
    expect(said.split("\n").filter((line) => /"level":"(?:error|fatal)"/.test(line))).toEqual([]);
    expect(deaths).toEqual([]);
  },
  TEST_MS,
);
