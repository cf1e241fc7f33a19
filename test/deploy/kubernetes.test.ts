import { generateKeyPairSync } from "node:crypto";
import { parse } from "yaml";
import { blocksOf } from "../docs/pages.ts";
import { contracts } from "../../shared/contracts/index.ts";
import { readEnv } from "../../shared/process/env.ts";
import { VARIABLES, type Variable } from "../../shared/process/variables.ts";
import { read, readCompose, variablesOf } from "./compose-file.ts";

interface Values {
  config: Record<string, string>;
  secrets: string[];
  metricsPort: number;
  terminationGracePeriodSeconds: number;
  services: Record<
    string,
    {
      replicas: number;
      maxReplicas?: number;
      port?: { name: string; number: number };
      reads?: string[];
      recordings?: boolean;
      outside?: boolean;
      environment?: Record<string, string>;
    }
  >;
}
const values = parse(read("deploy/kubernetes/values.yaml")) as Values;
const chart = parse(read("deploy/kubernetes/Chart.yaml")) as { version: string; appVersion: string };
const compose = readCompose();
const names = Object.keys(contracts);
const isSecret = (name: string): boolean =>
  (VARIABLES as Record<string, Variable>)[name]?.secret === true && name !== "TRANSPORTER";

describe("the Helm chart", () => {
  test("has a workload for every service, and the version of package.json", () => {
    expect(Object.keys(values.services).sort()).toEqual([...names].sort());
    const { version } = JSON.parse(read("package.json")) as { version: string };
    expect([chart.version, chart.appVersion]).toEqual([version, version]);
  });

  test.each(names)("%s gets the secrets, ports, folder and way out that it has in docker-compose.yml", (name) => {
    const service = values.services[name];
    const container = compose.services[name];
    const given = container ? variablesOf(container) : [];
    expect([...(service?.reads ?? [])].sort()).toEqual(given.filter(isSecret).sort());
    const port = container?.ports?.[0]?.split(":").at(-1);
    expect(service?.port?.number).toBe(port === undefined ? undefined : Number(port));
    expect(service?.recordings ?? false).toBe((container?.volumes ?? []).some((v) => v.endsWith(":/recordings")));
    expect(service?.outside ?? false).toBe(container?.networks.includes("outside"));
    expect(service?.replicas).toBeGreaterThanOrEqual(2);
    for (const [variable, value] of Object.entries(service?.environment ?? {}))
      expect([variable, container?.environment?.[variable]]).toEqual([variable, value]);
  });

  test("its configuration holds variables that exist, and no secret", () => {
    const all = { ...values.config, ...Object.fromEntries(values.secrets.map((name) => [name, "x".repeat(32)])) };
    for (const name of Object.keys(all)) expect([name, Object.hasOwn(VARIABLES, name)]).toEqual([name, true]);
    expect(Object.keys(values.config).filter(isSecret)).toEqual([]);
    expect(values.secrets.filter((name) => !isSecret(name))).toEqual([]);
    const { BUS_TRUST: _signed, ...config } = values.config;
    expect(readEnv(config).PUBLIC_HTTP_URL).toBe(values.config["PUBLIC_HTTP_URL"]);
  });

  test("every secret that a service reads may be given, and is given to whom reads it", () => {
    const readBy = new Set(Object.values(values.services).flatMap(({ reads = [] }) => reads));
    expect(values.secrets.filter((name) => !readBy.has(name))).toEqual([]);
  });

  /** What docs/kubernetes.md has a reader make: the keys of the Secret, and the values. */
  const page = { path: "docs/kubernetes.md", text: read("docs/kubernetes.md") };
  const keysMade = [...page.text.matchAll(/--from-(?:literal|file)=([A-Z_]+)=/g)].map(([, key = ""]) => key);
  const written = blocksOf(page).find(({ text }) => text.startsWith("image:"))?.text ?? "";
  const mine = parse(written) as { config: Record<string, string>; adminEmail: string };

  test("the page's Secret has exactly the keys that the values name, so that every pod can mount its own", () => {
    expect([...keysMade].sort()).toEqual([...values.secrets].sort());
    for (const [name, { reads = [] }] of Object.entries(values.services)) {
      const mounted = reads.filter((key) => values.secrets.includes(key));
      expect([name, mounted.filter((key) => !keysMade.includes(key))]).toEqual([name, []]);
    }
  });

  test.each(names)("%s starts with what the page's Secret and values give it", (name) => {
    const samples: Record<string, string> = {
      MONGODB_URI: "mongodb://mongodb:27017/callagent",
      SECRETS_KEY: Buffer.alloc(32, 7).toString("base64"),
      JWT_PRIVATE_KEY: generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    };
    const { reads = [], environment = {} } = values.services[name] ?? {};
    const secrets = reads.filter((key) => keysMade.includes(key)).map((key) => [key, samples[key] ?? "x".repeat(32)]);
    const { BUS_TRUST: _signed, ...config } = { ...values.config, ...mine.config };
    // as workloads.yaml gives it: readEnv takes it with the password alone, and the password with it alone
    const admin = reads.includes("ADMIN_PASSWORD") ? { ADMIN_EMAIL: mine.adminEmail } : {};
    const given = Object.fromEntries(secrets) as Record<string, string>;
    const env = readEnv({ ...config, ...environment, ...admin, ...given });
    if (name === "auth") expect([env.ADMIN_EMAIL, env.ADMIN_PASSWORD]).not.toContain(undefined);
    if (name === "conversation") expect(env.OPENAI_MODEL).toBe(mine.config["OPENAI_MODEL"]);
    if (name === "dialer") expect([env.TWILIO_ACCOUNT_SID, env.TWILIO_AUTH_TOKEN]).not.toContain(undefined);
  });

  test("the first admin's e-mail comes with the password, to whom has that alone, and is asked for", () => {
    const workloads = read("deploy/kubernetes/templates/workloads.yaml");
    expect(workloads).toMatch(
      /if has "ADMIN_PASSWORD" \$secrets \}\}\n +- \{ name: ADMIN_EMAIL, value: \{\{ required "/,
    );
    expect(Object.keys({ ...values.config, ...mine.config })).not.toContain("ADMIN_EMAIL");
    expect(mine.adminEmail).toContain("@");
  });

  test("pods end later than their calls may, and are probed at the health port", () => {
    expect(values.terminationGracePeriodSeconds).toBeGreaterThan(VARIABLES.SHUTDOWN_GRACE_SECONDS.default);
    expect(compose.services["leads"]?.environment?.["METRICS_PORT"]).toBe(String(values.metricsPort));
    const workloads = read("deploy/kubernetes/templates/workloads.yaml");
    expect(workloads.match(/path: \/(?:live|ready), port: metrics/g)).toHaveLength(3);
  });
});
