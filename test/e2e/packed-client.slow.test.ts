import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Webhook } from "standardwebhooks";
import { freePort } from "../../local/tools/stack/ports.ts";
import { ROOT } from "../../local/tools/stack/project-root.ts";
import { blocksOf, pageAt, pages } from "../docs/pages.ts";
import { newcomerEnv, startAsNewcomer, type Running } from "./fixtures/npm-scripts.ts";

const LONG_MS = 120_000;
const run = promisify(execFile);
const PAGE = pages.find(({ path }) => path === "docs/clients.md");
/** The block of docs/clients.md that begins so, as it stands there. */
const block = (begin: string): string => {
  const found = PAGE && blocksOf(PAGE).find(({ text }) => text.startsWith(begin));
  if (!found) throw new Error(`docs/clients.md has no block that begins with ${begin}`);
  return found.text;
};

/** A project of somebody else's with the packed client in it, and the variables of a running callagent. */
let project: string;
let env: Record<string, string>;
let product: Running;
const shell = (script: string): Promise<{ stdout: string }> =>
  run("bash", ["-eo", "pipefail", "-c", script], { cwd: project, env, timeout: 60_000 });

beforeAll(async () => {
  const start = await newcomerEnv();
  product = await startAsNewcomer(start);
  const sample = readFileSync(join(start["CALLAGENT_DATA"] ?? "", "sample.env"), "utf8");
  project = mkdtempSync(join(tmpdir(), "callagent-shop-"));
  const { stdout } = await run(
    process.execPath,
    [join(ROOT, "local/tools/launch.cjs"), "deploy/client/pack.ts", "--out", project],
    { cwd: ROOT },
  );
  env = {
    PATH: process.env["PATH"] ?? "",
    HOME: project,
    PACKAGE: stdout.trim(),
    ...Object.fromEntries([...sample.matchAll(/^(\w+)='?(.*?)'?$/gm)].map((m) => [m[1], m[2]])),
  };
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "shop", private: true, type: "module" }));
  await shell(block("npm install").replace("npm install", "npm install --offline --no-audit --no-fund"));
}, LONG_MS);
afterAll(async () => {
  product.child.kill("SIGINT");
  await product.ended;
}, LONG_MS);

test("needs no other package", () => {
  const lock = JSON.parse(readFileSync(join(project, "package-lock.json"), "utf8")) as { packages: object };
  expect(Object.keys(lock.packages)).toEqual(["", "node_modules/@callagent/client"]);
});

test(
  "the program of docs/clients.md pushes, waits, reads and lists, and its types hold",
  async () => {
    const program = block("import { createClient");
    writeFileSync(join(project, "order.mjs"), program);
    const { stdout } = await shell("node order.mjs");
    expect(stdout).toMatch(/^rescheduled \d+\norder-2001 rescheduled$/m);

    const typed = program.replace(/^const \{ BASE[^]*?process\.env;$/m, (line) =>
      line.replace("process.env", "process.env as Record<string, string>"),
    );
    writeFileSync(join(project, "order.ts"), typed.replace("lead.metaData.transcription.length", "lead.metaData"));
    writeFileSync(
      join(project, "wrong.ts"),
      'import { createClient, each } from "@callagent/client";\nconst client = createClient({ base: "", token: null });\n// @ts-expect-error no such status\neach(client, "/leads", { status: "DONE" });\n// @ts-expect-error the body lacks fields\nvoid client.ask("POST", "/leads", { body: { request_id: "o-1" } });\n',
    );
    const types = join(ROOT, "node_modules");
    await shell(
      `node ${types}/typescript-native/bin/tsc --noEmit --strict --module nodenext --target es2024 --typeRoots ${types}/@types --types node order.ts wrong.ts`,
    );
  },
  LONG_MS,
);

test(
  "the receiver of docs/clients.md believes what was signed, and nothing else",
  async () => {
    const [secret, port] = ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", await freePort()];
    writeFileSync(join(project, "receiver.mjs"), block("import { createServer"));
    const receiver = spawn(process.execPath, ["receiver.mjs"], {
      cwd: project,
      env: { ...env, WEBHOOK_SECRETS: secret, PORT: String(port) },
    });
    try {
      await once(receiver.stdout, "data");
      const body = JSON.stringify({
        type: "lead.finished",
        timestamp: new Date().toISOString(),
        data: { order_id: "order-2001", outcome: "confirmed" },
      });
      const send = async (signature: string): Promise<number> => {
        const headers = {
          "webhook-id": "m",
          "webhook-timestamp": String(Math.floor(Date.now() / 1000)),
          "webhook-signature": signature,
        };
        return (await fetch(`http://127.0.0.1:${port}`, { method: "POST", body, headers })).status;
      };
      const said = once(receiver.stdout, "data");
      expect(await send(new Webhook(secret).sign("m", new Date(), body))).toBe(204);
      expect(String(await said)).toBe("lead.finished order-2001 confirmed\n");
      expect(await send("v1,bm8=")).toBe(400);
    } finally {
      receiver.kill();
      await once(receiver, "exit");
    }
  },
  LONG_MS,
);

test(
  "the command line of docs/clients.md logs in, pushes, watches and lists, and keeps templates in files",
  async () => {
    env["CALLAGENT_PASSWORD"] = env["PASSWORD"] ?? "";
    const { stdout } = await shell(block("npx callagent login"));
    expect(stdout).toContain(`Kept in ${project}/.config/callagent/session.json.`);
    expect(stdout).toMatch(/FINISHED {2}confirmed {2}attempt 1$/m);
    expect(JSON.parse(stdout.trim().split("\n").at(-1) ?? "")).toMatchObject({ status: "FINISHED" });

    const files = await shell(block("npx callagent templates pull"));
    expect(files.stdout).toMatch(/templates\/order-confirmation\.json {2}holds/);
    expect(files.stdout).toMatch(/templates\/order-confirmation\.json {2}version 1, unchanged/);

    const moved = await shell(block("npx callagent configuration"));
    expect(moved.stdout).toMatch(/^[0-9a-f-]{36} {2}changed for "appointment-reminder"$/m);
    expect(JSON.parse(readFileSync(join(project, "window.json"), "utf8"))).toMatchObject({
      calling_provider: "PROVIDER_ONE",
    });

    const path = join(project, "templates", "order-confirmation.json");
    const template = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
    writeFileSync(path, JSON.stringify({ ...template, greeting: "Good day." }));
    await expect(shell("npx callagent templates diff templates/order-confirmation.json")).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringContaining('  + "Good day."'),
    });
    await shell("npx callagent templates push templates/order-confirmation.json");
    expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ version: 2, greeting: "Good day." });

    const mine = join(project, "templates", "mine.json");
    writeFileSync(mine, JSON.stringify({ ...template, id: undefined, version: undefined, name: "mine" }));
    await shell("npx callagent templates push templates/mine.json");
    const waits = await shell(
      'L=$(npx callagent push --template mine --to +14155552601 --merchant "$MERCHANT_ID" --payload <(echo \'{"customer_name":"Ada","order_id":"A","amount":"1","delivery_date":"Monday"}\')); npx callagent watch $L > watch.log & until grep -q BACKLOG watch.log; do sleep 0.1; done; npx callagent configuration push mine window.json; wait; cat watch.log',
    );
    expect(waits.stdout).toMatch(/BACKLOG {2}The template has no configuration; add one\./);
    expect(waits.stdout).toMatch(/FINISHED {2}confirmed/);

    writeFileSync(path, JSON.stringify({ ...template, initial_node: "nowhere" }));
    await expect(shell("npx callagent templates test templates/order-confirmation.json")).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/TEMPLATE_INVALID\n {2}initial_node there is no node named nowhere/),
    });
  },
  LONG_MS,
);

test("docs/clients.md shows the command that builds the package", () => {
  expect(pageAt("docs/clients.md")).toContain("npm run client:pack -- --out .callagent");
});
