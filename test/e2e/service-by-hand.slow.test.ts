import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { PROGRAM_ENV } from "../../local/harness/program.ts";
import { startProduct, type Product } from "../../local/harness/product.ts";
import { until } from "../../local/harness/stage.ts";
import { freePort } from "../../local/tools/stack/ports.ts";
import { blocksOf, pageAt } from "../docs/pages.ts";
import { ROOT } from "../house/sources.ts";

/** "One service by hand" of docs/operations.md: its lines as they stand, beside the scheduler of a split stack. */
const START_MS = 120_000;
const page = { path: "docs/operations.md", text: pageAt("docs/operations.md") };
const LINES = blocksOf(page).find(({ text }) => text.startsWith("export NODE_ID=scheduler.2"))?.text ?? "";

let product: Product;
let second: ChildProcess;
let said = "";
beforeAll(async () => {
  product = await startProduct({ split: true });
}, START_MS);
afterAll(async () => {
  if (second?.pid !== undefined && second.exitCode === null) process.kill(-second.pid, "SIGKILL");
  await product.stop();
}, START_MS);

test(
  "a second scheduler that is started by the page's lines is on the bus, and ends in order",
  async () => {
    const pid = product.stack.children.get("scheduler")?.pid() ?? 0;
    const given = Object.fromEntries(
      readFileSync(`/proc/${pid}/environ`, "utf8")
        .split("\0")
        .map((line): [string, string] => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
    );
    const port = await freePort();
    const { TRANSPORTER = "", MONGODB_URI = "" } = given;
    expect([TRANSPORTER, MONGODB_URI]).not.toContain("");
    const env = {
      ...PROGRAM_ENV,
      TRANSPORTER,
      MONGODB_URI,
      BUS: product.folder.at("bus"),
      METRICS_PORT: String(port),
      SHUTDOWN_GRACE_SECONDS: "5",
    };
    second = spawn("bash", ["-euc", LINES], { cwd: ROOT, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [second.stdout, second.stderr])
      stream?.on("data", (chunk: Buffer) => {
        said += chunk.toString();
      });
    const ended = once(second, "close");
    await until(
      "the second scheduler to be ready",
      async () => {
        if (second.exitCode !== null) throw new Error(`it ended: ${said.slice(-2000)}`);
        return (await fetch(`http://127.0.0.1:${port}/ready`).catch(() => null))?.ok === true ? true : undefined;
      },
      START_MS,
    );
    expect(said).toContain('"node":"scheduler.2"');
    if (second.pid !== undefined) process.kill(-second.pid, "SIGTERM");
    await ended;
    expect(said).not.toMatch(/"level":"(?:error|fatal)"/);
  },
  START_MS,
);
