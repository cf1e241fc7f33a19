import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv } from "ajv";
import { makeSecretFiles } from "../../deploy/docker/secret-files.ts";
import { makeBusUsers } from "../../shared/bus/bus-keys.ts";
import { busSigners } from "../../shared/bus/bus-signers.ts";
import { contracts } from "../../shared/contracts/index.ts";
import { readEnv } from "../../shared/process/env.ts";
import { VARIABLES } from "../../shared/process/variables.ts";
import { codeOf } from "../house/code.ts";
import { readProject, ROOT } from "../house/sources.ts";
import {
  environmentOf,
  interpolate,
  read,
  readCompose,
  readEnvFile,
  readWritten,
  secondsOf,
  variablesOf,
} from "./compose-file.ts";

const compose = readCompose();
const [names, simulators] = [Object.keys(contracts), ["carrier", "models", "sink"]];
function container(name: string) {
  const found = compose.services[name];
  if (!found) throw new Error(`docker-compose.yml has no ${name}`);
  return found;
}
const exists = (path: string) => existsSync(join(ROOT, path));
const sources = readProject()
  .filter((f) => /^(?:services|shared)\/.*\.ts$/.test(f.path))
  .map((f) => ({ path: f.path, code: codeOf(f.text).code }));
const codeBelow = (path: string): string[] => sources.filter((f) => f.path.startsWith(path)).map((f) => f.code);
const MAKERS = { "recordingStores(": "shared/storage/", "livekitAccount(": "shared/livekit/" };
/** A service's own code, and the shared code that makes the stores of recordings, or the account at LiveKit, out of its variables where it has them made. */
const codeOfService = (name: string): string[] => {
  const own = codeBelow(`services/${name}/`);
  const made = Object.entries(MAKERS).filter(([maker]) => own.some((code) => code.includes(maker)));
  return [...own, ...made.flatMap(([, folder]) => codeBelow(folder))];
};
/** No container is given them. */
const TEST_SWITCHES = ["CRASH_AT"];

/** Variables a service's own code reads: `env.NAME`, taken out of `env` in braces, or all that end alike: env[`${provider}_NAME`]. */
const readBy = (name: string): string[] =>
  [
    ...new Set(
      codeOfService(name).flatMap((code) => [
        ...[...code.matchAll(/\benv\.([A-Z][A-Z0-9_]*)\b/g)].map((m) => m[1] ?? ""),
        ...[...code.matchAll(/\{([^{}]*)\}\s*=\s*(?:\w+\.)*env\b/g)].flatMap((m) =>
          [...(m[1] ?? "").matchAll(/\b[A-Z][A-Z0-9_]+\b/g)].map((v) => v[0]),
        ),
        ...[...code.matchAll(/\benv\[`\$\{\w+\}(_[A-Z0-9_]+)`\]/g)].flatMap((m) =>
          Object.keys(VARIABLES).filter((v) => v.endsWith(m[1] ?? "?") && !v.startsWith("LIVEKIT_")),
        ),
      ]),
    ),
  ]
    .filter((v) => v in VARIABLES && !TEST_SWITCHES.includes(v))
    .sort();

/** What every process reads: moleculer.config.ts and shared/. NODE_ID is left to the default, which is unique per container. */
const EVERYWHERE = ["BUS_KEYS_FILE", "BUS_TRUST", "LOG_LEVEL", "METRICS_HOST", "METRICS_PORT", "NAMESPACE", "NATS_NKEY_FILE", "NODE_ENV", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_TRACES_SAMPLER_ARG", "SHUTDOWN_GRACE_SECONDS", "TRANSPORTER"]; // prettier-ignore

/** What a deployment fills in. */
const PRODUCTION = {
  PUBLIC_HTTP_URL: "https://calls.example.com",
  PUBLIC_WS_URL: "wss://media.example.com",
  OPENAI_MODEL: "some-model",
};
const SIMULATED = Object.fromEntries(readEnvFile("deploy/docker/simulators.env").map((v) => [v.name, v.value]));

/** What npm run compose:secrets makes of each, for containers that get it as files. */
const made = mkdtempSync(join(tmpdir(), "callagent-compose-"));
const users = join(made, "users");
makeBusUsers(users, "callagent");
for (const [name, variables] of Object.entries({ PRODUCTION, SIMULATED })) makeSecretFiles(join(made, name), variables);
afterAll(() => rmSync(made, { recursive: true }));
/** The environment of a container, with the files where they are on this machine. */
const environmentHere = (name: string, variables: Record<string, string | undefined>, missing?: Set<string>) => {
  const at = { NATS_USERS: users, SECRETS_FOLDER: join(made, variables === PRODUCTION ? "PRODUCTION" : "SIMULATED") };
  const fileOf = (value: string): string => {
    const source = container(name).secrets?.find((s) => value === `/run/secrets/${s.target}`)?.source;
    return source === undefined ? value : interpolate(compose.secrets[source]?.file ?? "", at);
  };
  const env = Object.entries(environmentOf(container(name), variables, missing));
  return readEnv(Object.fromEntries(env.map(([variable, value]) => [variable, fileOf(value)])));
};

describe("docker-compose.yml against the schema", () => {
  const validate = new Ajv({ allErrors: true, allowUnionTypes: true, strictTuples: false }).compile(
    JSON.parse(read("test/deploy/fixtures/compose-spec.json")) as object,
  );

  test("is a Compose file", () => {
    validate(readWritten());
    expect(validate.errors ?? []).toEqual([]);
  });

  const spoiled: [string, (c: ReturnType<typeof container>) => object][] = [
    ["a misspelt key", (c) => ({ ...c, enviroment: {} })],
    ["a container name, which can't be scaled", (c) => ({ ...c, container_name: "dialer" })],
    ["a duration without a unit", (c) => ({ ...c, stop_grace_period: "45" })],
    ["an unknown condition", (c) => ({ ...c, depends_on: { nats: { condition: "healthy" } } })],
    ["a number in the environment", (c) => ({ ...c, environment: { HTTP_PORT: 3000 } })],
    ["no limits", (c) => ({ ...c, deploy: {} })],
    ["a health check that says nothing", (c) => ({ ...c, healthcheck: { test: ["NONE"] } })],
  ];
  test.each(spoiled)("%s is refused", (_what, spoil) => {
    expect(validate({ ...compose, services: { ...compose.services, dialer: spoil(container("dialer")) } })).toBe(false);
  });

  test("everything named in it is there", () => {
    for (const [name, c] of Object.entries(compose.services)) {
      for (const other of Object.keys(c.depends_on ?? {}))
        expect(`${name} -> ${other}: ${other in compose.services}`).toBe(`${name} -> ${other}: true`);
      for (const network of c.networks) expect(compose.networks).toHaveProperty(network);
      for (const { source } of c.configs ?? []) expect(compose.configs).toHaveProperty(source);
      for (const { source } of c.secrets ?? []) expect(compose.secrets).toHaveProperty(source);
      for (const volume of c.volumes ?? []) expect(compose.volumes).toHaveProperty(volume.split(":")[0] ?? "");
      if (c.build) expect(exists(join(c.build.context, c.build.dockerfile))).toBe(true);
    }
  });
});

describe("the containers", () => {
  test("one for every service, the simulators and the room server in their profiles, bus and database", () => {
    const others = ["nats", "livekit", "mongo", "migrate"];
    expect(Object.keys(compose.services).sort()).toEqual([...names, ...simulators, ...others].sort());
    expect(Object.keys(compose.services).filter((n) => container(n).profiles)).toEqual(["livekit", ...simulators]);
    expect(new Set([...names, ...simulators].map((name) => container(name).image)).size).toBe(1);
  });

  test.each(names)("%s runs a folder that exists, on the bus and where it must be", (name) => {
    const c = container(name);
    expect(c.command).toEqual([`services/${name}`]);
    expect(exists(`services/${name}/${name}.service.ts`)).toBe(true);
    expect(c.networks).toContain("inside");
    expect(c.depends_on?.["nats"]).toEqual({ condition: "service_healthy" });
    expect(c.healthcheck.test.slice(0, 3)).toEqual(["CMD", "node", "deploy/docker/health.ts"]);
    expect(exists("deploy/docker/health.ts")).toBe(true);
  });

  test("the database is prepared before a service that uses it starts", () => {
    const migrate = container("migrate");
    expect([migrate.entrypoint, migrate.command]).toEqual([["node"], ["deploy/migrate/main.ts"]]);
    expect(exists("deploy/migrate/main.ts")).toBe(true);
    expect([migrate.restart, variablesOf(migrate)]).toEqual([
      "no",
      ["MONGODB_URI", "SECRETS_KEY", "SECRETS_OTHER_KEY"],
    ]);
    for (const name of names)
      expect([name, container(name).depends_on?.["migrate"]]).toEqual([
        name,
        "mongo" in (container(name).depends_on ?? {}) ? { condition: "service_completed_successfully" } : undefined,
      ]);
  });

  test.each(simulators)("%s runs a program that exists, reachable from other containers", (name) => {
    const c = container(name);
    expect(c.entrypoint).toEqual(["node"]);
    expect(exists(c.command[0] ?? "?")).toBe(true);
    expect(c.command).toContain("--host=0.0.0.0");
    const port = /--port=(\d+)/.exec(c.command.join(" "))?.[1];
    expect(c.healthcheck.test.at(-1)).toMatch(new RegExp(`^${port}/`));
    const program = read(c.command[0] ?? "?");
    for (const argument of c.command.slice(1))
      expect(program).toMatch(
        new RegExp(String.raw`(?:^|[\s"])${/^--([\w-]+)=/.exec(argument)?.[1]}"?: \{ type: "string"`, "m"),
      );
    for (const variable of Object.keys(c.environment ?? {})) expect(program).toContain(`"${variable}"`);
  });

  test("what can be scaled takes no fixed port of the machine", () => {
    for (const name of names)
      for (const port of container(name).ports ?? [])
        expect(port).toMatch(/^\$\{PUBLISH_HOST:-127\.0\.0\.1\}:\$\{[A-Z]+_PORTS:-\d+\}:\d+$/);
    expect(names.filter((name) => container(name).ports).sort()).toEqual(["conversation", "gateway"]);
    expect(names.filter((name) => !container(name).networks.includes("outside")).sort()).toEqual([
      "auth",
      "blacklist",
      "config",
      "leads",
      "merchants",
      "numbers",
      "scheduler",
    ]);
    expect(compose.networks["inside"]).toEqual({ internal: true });
  });

  test("docker waits longer than the service's own grace", () => {
    for (const name of names) {
      const grace = Number(environmentOf(container(name), PRODUCTION)["SHUTDOWN_GRACE_SECONDS"]);
      expect(secondsOf(interpolate(container(name).stop_grace_period, PRODUCTION))).toBeGreaterThan(grace);
    }
  });
});

describe("the containers' environment", () => {
  test.each(names)("%s gets exactly what its code reads", (name) => {
    const usesStore = codeOfService(name).some((code) => /\bstore\(\)/.test(code));
    const given = variablesOf(container(name))
      .filter((v) => v !== "NODE_OPTIONS")
      .sort();
    expect(given).toEqual([...new Set([...readBy(name), ...EVERYWHERE, ...(usesStore ? ["MONGODB_URI"] : [])])].sort());
    expect(given.filter((v) => !(v in VARIABLES))).toEqual([]);
    expect("mongo" in (container(name).depends_on ?? {})).toBe(usesStore);
  });

  test("test switches reach no container", () =>
    expect(TEST_SWITCHES.filter((v) => !(v in VARIABLES) || read("docker-compose.yml").includes(v))).toEqual([]));

  test("the way of finding out what code reads finds something", () => {
    expect(readBy("scheduler")).toEqual(expect.arrayContaining(["SCHEDULER_BATCH", "PROVIDER_ONE_CALLS_PER_SECOND"]));
    expect(readBy("auth")).toEqual(expect.arrayContaining(["ADMIN_PASSWORD", "JWT_PRIVATE_KEY"]));
    expect(readBy("dialer")).toEqual(expect.arrayContaining(["TWILIO_AUTH_TOKEN", "PROVIDER_ONE"]));
    expect(readBy("leads")).not.toContain("TWILIO_AUTH_TOKEN");
  });

  test.each(
    names.flatMap((name) => [
      [name, "a deployment", PRODUCTION] as const,
      [name, "the simulators", SIMULATED] as const,
    ]),
  )("%s accepts its environment with %s", (name, _what, variables) => {
    const missing = new Set<string>();
    const env = environmentHere(name, variables, missing);
    expect([...missing]).toEqual([]);
    expect([env.TRANSPORTER, env.BUS_TRUST, busSigners(env).signers?.name]).toEqual([
      "nats://nats:4222",
      "signed",
      name,
    ]);
    expect(env.NODE_ENV).toBe(variables === PRODUCTION ? "production" : "development");
    if (variablesOf(container(name)).includes("MONGODB_URI"))
      expect(env.MONGODB_URI).toMatch(/^mongodb:\/\/callagent:[\w-]{32}@mongo:27017\/callagent\?replicaSet=rs0/);
  });

  test("a deployment that forgot something is told, and not started", () => {
    const missing = new Set<string>();
    for (const c of Object.values(compose.services)) {
      environmentOf(c, {}, missing);
      interpolate(c.command.join(" "), {}, missing);
    }
    expect([...missing].sort()).toEqual(Object.keys(PRODUCTION).sort());
    const head =
      read("deploy/env.example")
        .split("\n")
        .find((line) => line.includes("these are needed")) ?? "";
    for (const name of missing) expect(head).toContain(name);
  });

  test("production refuses what only the simulators may", () =>
    expect(() => environmentHere("webhook", { ...SIMULATED, NODE_ENV: "production" })).toThrow(
      /WEBHOOK_ALLOW_PRIVATE/,
    ));

  test("the simulators' addresses and account are the containers' own", () => {
    const at = (name: string): URL => new URL(String(SIMULATED[name as keyof typeof SIMULATED]));
    const commandOf = (name: string): string => interpolate(container(name).command.join(" "), SIMULATED);
    expect([
      at("TWILIO_API_BASE").hostname,
      at("OPENAI_BASE_URL").hostname,
      at("PUBLIC_HTTP_URL").hostname,
      at("PUBLIC_WS_URL").hostname,
    ]).toEqual(["carrier", "models", "gateway", "conversation"]);
    for (const [variable, name] of [
      ["TWILIO_API_BASE", "carrier"],
      ["OPENAI_BASE_URL", "models"],
    ] as const)
      expect(commandOf(name)).toContain(`--port=${at(variable).port}`);
    const talking = environmentOf(container("conversation"), SIMULATED);
    for (const kind of ["STT", "TTS", "REALTIME"])
      expect([kind, talking[`${kind}_BASE_URL`], talking[`${kind}_MODEL`]]).toEqual([
        kind,
        talking["OPENAI_BASE_URL"],
        talking["OPENAI_MODEL"],
      ]);
    expect(at("PUBLIC_HTTP_URL").port).toBe(container("gateway").environment?.["HTTP_PORT"]);
    expect(at("PUBLIC_WS_URL").port).toBe(container("conversation").environment?.["MEDIA_PORT"]);
    const dialer = environmentOf(container("dialer"), SIMULATED);
    expect(environmentOf(container("carrier"), SIMULATED)).toEqual({
      TWILIO_ACCOUNT_SID: dialer["TWILIO_ACCOUNT_SID"],
      TWILIO_AUTH_TOKEN: environmentHere("dialer", SIMULATED).TWILIO_AUTH_TOKEN,
    });
    expect(commandOf("models")).toContain(
      `--model=${environmentOf(container("conversation"), SIMULATED)["OPENAI_MODEL"]}`,
    );
  });
});
