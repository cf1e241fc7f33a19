import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { ROOT } from "../house/sources.ts";

/** What the tests read of a container in docker-compose.yml. */
export interface Container {
  image: string;
  build?: { context: string; dockerfile: string };
  command: string[];
  user?: string;
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  tmpfs?: string[];
  entrypoint?: string[];
  environment?: Record<string, string>;
  ports?: string[];
  networks: string[];
  volumes?: string[];
  configs?: { source: string; target: string }[];
  secrets?: { source: string; target: string }[];
  profiles?: string[];
  restart: string;
  stop_grace_period: string;
  depends_on?: Record<string, { condition: string }>;
  healthcheck: { test: string[] };
}

/** docker-compose.yml, aliases and merges resolved. */
export interface ComposeFile {
  services: Record<string, Container>;
  networks: Record<string, unknown>;
  volumes: Record<string, unknown>;
  configs: Record<string, { file: string }>;
  secrets: Record<string, { file: string }>;
}

type Variables = Record<string, string | undefined>;

/** A file of the project as text. */
export const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

type Written = Omit<ComposeFile, "services"> & {
  services: Record<string, Omit<Container, "secrets"> & { secrets?: (string | { source: string; target: string })[] }>;
};

/** Reads YAML as Compose does, with merge keys. */
export const readWritten = (): Written => parse(read("docker-compose.yml"), { merge: true }) as Written;

/** docker-compose.yml with each secret by its source and target. */
export function readCompose(): ComposeFile {
  const { services, ...others } = readWritten();
  const long = Object.entries(services).map(([name, { secrets, ...c }]): [string, Container] => [
    name,
    secrets === undefined
      ? c
      : { ...c, secrets: secrets.map((s) => (typeof s === "string" ? { source: s, target: s } : s)) },
  ]);
  return { ...others, services: Object.fromEntries(long) };
}

/** The variables that a container is given, a secret that it gets as a file by its own name. */
export const variablesOf = ({ environment = {}, secrets = [] }: Container): string[] =>
  Object.entries(environment).map(([name, value]) =>
    secrets.some(({ source }) => name === `${source}_FILE` && value === `/run/secrets/${source}`)
      ? name.slice(0, -"_FILE".length)
      : name,
  );

const PLACE = /\$\$|\$\{([A-Za-z_]\w*)(?:(:-|:\?)([^}]*))?\}/g;

/** Compose's interpolation of `${A}`, `${A:-default}` and `${A:?message}`. `missing` collects what is required and empty. */
export const interpolate = (text: string, variables: Variables, missing: Set<string> = new Set()): string =>
  text.replaceAll(PLACE, (whole, name?: string, how?: string, rest?: string) => {
    if (name === undefined) return "$";
    const value = variables[name];
    if (value !== undefined && value !== "") return value;
    if (how === ":?") missing.add(name);
    return how === ":-" ? (rest ?? "") : whole === "$$" ? "$" : "";
  });

/** Every variable that a text takes from outside. */
export const variablesIn = (text: string): string[] =>
  [...new Set([...text.matchAll(PLACE)].flatMap((m) => m[1] ?? []))].sort();

/** The environment a container gets. */
export const environmentOf = (
  container: Container,
  variables: Variables,
  missing?: Set<string>,
): Record<string, string> =>
  Object.fromEntries(
    Object.entries(container.environment ?? {}).map(([name, value]) => [name, interpolate(value, variables, missing)]),
  );

/** The lines `NAME=value` of an env file; with `commented`, those behind a # as well. */
export const readEnvFile = (path: string, commented = false): { name: string; value: string; above: string }[] => {
  const lines = read(path).split("\n");
  return lines.flatMap((line, at) => {
    const [, hash, name, value] = /^(#?)([A-Z][A-Z0-9_]*)=(.*)$/.exec(line) ?? [];
    return name === undefined || value === undefined || (hash === "#" && !commented)
      ? []
      : [{ name, value, above: lines[at - 1] ?? "" }];
  });
};

/** A duration of Compose (`1m30s`) in seconds. */
export const secondsOf = (duration: string): number =>
  [...duration.matchAll(/(\d+)(h|m|s)/g)].reduce(
    (sum, [, n, unit]) => sum + Number(n) * ({ h: 3600, m: 60, s: 1 }[unit ?? "s"] ?? 0),
    0,
  );
