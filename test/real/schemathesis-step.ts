import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProgram } from "../../local/harness/program.ts";
import { tailOf } from "../../local/real/machine.ts";
import { PartError } from "../../local/real/part.ts";
import { VARIABLES } from "../../local/real/schemathesis/schemathesis.ts";
import { makeTenant, readTenant, type Role, type Tenant } from "../../local/real/schemathesis/tenant.ts";
import { createClient, login } from "../../deploy/client/client.ts";
import { ROOT } from "../../local/tools/stack/project-root.ts";
import type { Outcome, Step } from "./outcome.ts";

const FOLDER = join(ROOT, "local", "real", "schemathesis");
const CHECKS =
  "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,response_headers_conformance";
const RUN_MS = 900_000;
const SETTLED_MS = 60_000;
const POLL_MS = 2000;
const SECOND_MS = 1000;
const LINE_CHARACTERS = 300;

/** How much is asked. */
export interface Bounds {
  phases: string;
  examples: number;
  seconds: number;
  /** Paths that are left out. */
  without?: readonly string[];
}

/** What differs between two readings of a tenant, by path. */
export function differences(
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
): string[] {
  return Object.keys(before).filter((path) => before[path] !== after[path]);
}

/** An admin's entries of the blacklist are everybody's, and everybody reads them. Nothing else of another tenant is left out. */
const mayChange = (role: Role, path: string): boolean => role === "admin" && path.startsWith("blacklist");

/** What schemathesis' summary and its exit status tell: an operation that was tested and showed nothing has passed. */
export function readSummary(output: string, status: number): Outcome {
  const tested = Number(/^ {2}Tested: (\d+)/m.exec(output)?.[1] ?? 0);
  const found = [...output.matchAll(/^ {2}❌ .*: (\d+)$/gm), ...output.matchAll(/^ {2}🚫 [^:\n]+: (\d+)$/gm)];
  const failed = found.reduce((n, [, count]) => n + Number(count), 0);
  const said = output
    .split("\n")
    .filter((line) => /^_+ .* _+$|^- ST\d+ |^ +Received: |^ +curl /.test(line))
    .map((line) => line.slice(0, LINE_CHARACTERS));
  return {
    passed: tested,
    failed: failed === 0 && (status !== 0 || tested === 0) ? 1 : failed,
    skipped: [],
    said: said.join("\n"),
  };
}

/** Waits until nothing of a tenant changes by itself: its lead has been called, and is reported and written up; what it reads then. */
async function settled(baseUrl: string, tenant: Tenant): Promise<Record<string, string>> {
  const path = { lead_id: tenant.lead_id };
  const client = createClient({ base: baseUrl, token: tenant.tokens.merchant });
  let before = await readTenant(baseUrl, tenant);
  for (let waited = 0; waited < SETTLED_MS; waited += POLL_MS) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    const { deliveries } = await client.ask("GET", "/leads/{lead_id}/deliveries", { path });
    const { status, cost } = await client.ask("GET", "/leads/{lead_id}", { path });
    const now = await readTenant(baseUrl, tenant);
    const isDelivered = deliveries.length > 0 && deliveries.every((d) => d.state === "delivered");
    const isWritten = status === "FINISHED" && cost !== null;
    if (isDelivered && isWritten && differences(before, now).length === 0) return now;
    before = now;
  }
  throw new PartError(`The lead ${tenant.lead_id} was not called and reported within ${SETTLED_MS / SECOND_MS} s.`);
}

const idsOf = (t: Tenant): string[] => [t.template_id, t.config_id, t.number_id, t.lead_id, t.request_id];

/** What the hooks are told (local/real/schemathesis/hooks.py). */
function known(role: Role, own: Tenant, other: Tenant, admins: readonly string[]) {
  const { reseller_id, merchant_id, template_id, config_id, number_id, lead_id, request_id } = own;
  const at = (path: string, name: string, value: string) => [path, { [name]: value }] as const;
  return {
    role,
    kept: [...own.kept, ...admins],
    others: [...idsOf(other), ...other.kept, ...Object.values(other.spares).flat()],
    spares: own.spares,
    values: { reseller_id, merchant_id, template_id, lead_id },
    paths: Object.fromEntries([
      at("/templates/{id}", "id", template_id),
      at("/configurations/{config_id}", "config_id", config_id),
      at("/numbers/{number_id}", "number_id", number_id),
      at("/leads/{lead_id}", "lead_id", lead_id),
      at("/leads/request/{request_id}", "request_id", request_id),
      at("/merchants/{id}", "id", merchant_id),
      at("/resellers/{id}", "id", reseller_id),
      at("/users/{id}", "id", own.kept[5] ?? ""),
    ]),
  };
}

function argumentsOf({ phases, examples, seconds, without = [] }: Bounds, url: string, token: string): string[] {
  const document = new URL("/openapi.json", url).href;
  const what = ["--phases", phases, "--max-examples", String(examples), "--max-time", String(seconds)];
  const how = ["--checks", CHECKS, "--continue-on-failure", "--no-shrink", "-H", `Authorization: Bearer ${token}`];
  const left = without.flatMap((path) => ["--exclude-path", path]);
  return ["--config-file", join(FOLDER, "schemathesis.toml"), "run", document, ...what, ...how, ...left];
}

async function fuzz(role: Role, bounds: Bounds, env: NodeJS.ProcessEnv, log: string): Promise<Outcome> {
  const of = (name: keyof typeof VARIABLES): string => env[VARIABLES[name]] ?? "";
  const url = of("url");
  // with repetitions: the step before used up what an address may try to log in
  const admin = createClient({ base: url, token: await login(url, of("email"), of("password")) });
  const admins = (await admin.ask("GET", "/users", { query: { role: "admin", limit: 500 } })).users.map((u) => u.id);
  const { count } = await admin.ask("GET", "/resellers", { query: { limit: 500 } });
  const own = await makeTenant(url, admin, count, of("sink"));
  const other = await makeTenant(url, admin, count + 1, of("sink"));
  await settled(url, own);
  const before = await settled(url, other);
  const folder = mkdtempSync(join(tmpdir(), "callagent-schemathesis-"));
  try {
    const file = join(folder, "known.json");
    writeFileSync(file, JSON.stringify(known(role, own, other, admins)));
    const args = argumentsOf(bounds, url, own.tokens[role]);
    const status = await runProgram(of("program"), args, {
      limitMs: RUN_MS,
      cwd: folder,
      log,
      env: { ...env, SCHEMATHESIS_HOOKS: join(FOLDER, "hooks.py"), SCHEMATHESIS_KNOWN: file, NO_COLOR: "1" },
    });
    const output = existsSync(log) ? readFileSync(log, "utf8") : "";
    const outcome = readSummary(output, status);
    const changed = differences(before, await readTenant(url, other)).filter((path) => !mayChange(role, path));
    const said = changed.map((path) => `GET /${path} of another tenant is not as before.`);
    if (outcome.failed > 0) said.push(outcome.said, tailOf(log));
    return { ...outcome, failed: outcome.failed + changed.length, said: said.join("\n") };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Requests that are made up from the OpenAPI document, with the bearer token of a role; another tenant's records must be as before. */
export const schemathesisStep = (name: string, isShort: boolean, role: Role, bounds: Bounds): Step => ({
  name,
  isShort,
  run: (env, log) => fuzz(role, bounds, env, log),
});
