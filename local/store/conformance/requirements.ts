/** runOnRequirements: may this file or test run on this server? */
import { shown, type Doc, numberOf } from "./expectations/bson-values.ts";
import { exactDifferences } from "./expectations/value-match.ts";
import { RunnerError } from "./runner-errors.ts";
import type { ServerFacts, ServerUnderTest } from "./server-under-test.ts";
import { documentAt, flagAt, onlyKeys, optionalDocumentsAt, stringAt, stringsAt } from "./field-readers.ts";

const KEYS = [
  "minServerVersion",
  "maxServerVersion",
  "topologies",
  "serverless",
  "serverParameters",
  "auth",
  "authMechanism",
  "csfle",
];
const TOPOLOGIES = ["single", "replicaset", "sharded", "load-balanced", "sharded-replicaset"];
const VERSION_PARTS = 3;

/** `8`, `8.0` or `8.0.4-rc1` as three numbers. Throws RunnerFault on anything else. */
export function parseVersion(text: string): number[] {
  const found = /^(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:[-+.].*)?$/.exec(text);
  if (found === null) throw new RunnerError(`"${text}" is not a version`);
  return found.slice(1, VERSION_PARTS + 1).map((part) => Number(part ?? 0));
}

/** Below 0 if left is older than right, 0 if equal, above 0 if newer; by number, part by part. */
export function compareVersions(left: readonly number[], right: readonly number[]): number {
  for (let part = 0; part < VERSION_PARTS; part += 1) {
    const difference = (left[part] ?? 0) - (right[part] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function unmetByFacts(requirement: Doc, facts: ServerFacts): string | undefined {
  const { minServerVersion: least, maxServerVersion: most } = requirement;
  const version = facts.version.join(".");
  if (least !== undefined && compareVersions(facts.version, parseVersion(stringAt("minServerVersion", least))) < 0)
    return `needs server ${String(least)} or later, this is ${version}`;
  if (most !== undefined && compareVersions(facts.version, parseVersion(stringAt("maxServerVersion", most))) > 0)
    return `is for servers up to ${String(most)}, this is ${version}`;
  const topologies = stringsAt("topologies", requirement["topologies"]);
  const odd = topologies.find((name) => !TOPOLOGIES.includes(name));
  if (odd !== undefined) throw new RunnerError(`unknown topology "${odd}" in runOnRequirements`);
  // Every shard has been a replica set since server 3.6, so the deprecated name means the same.
  const wanted = topologies.map((name) => (name === "sharded-replicaset" ? "sharded" : name));
  if (topologies.length > 0 && !wanted.includes(facts.topology))
    return `is for ${topologies.join(" or ")}, this is ${facts.topology}`;
  const auth = requirement["auth"];
  if (auth !== undefined && flagAt("auth", auth, false) !== facts.auth)
    return facts.auth ? "needs authentication to be off" : "needs authentication to be on";
  return undefined;
}

function unmetByEnvironment(requirement: Doc): string | undefined {
  const { serverless = "allow" } = requirement;
  if (serverless !== "allow" && serverless !== "forbid" && serverless !== "require")
    throw new RunnerError(`serverless must be require, forbid or allow, not ${shown(serverless)}`);
  if (serverless === "require") return "needs an Atlas Serverless instance";
  return flagAt("csfle", requirement["csfle"], false) ? "needs client-side encryption" : undefined;
}

async function unmetByParameters(requirement: Doc, server: ServerUnderTest): Promise<string | undefined> {
  const { authMechanism, serverParameters } = requirement;
  if (authMechanism !== undefined) {
    const offered = await server.parameter("authenticationMechanisms");
    const wanted = stringAt("authMechanism", authMechanism).toLowerCase();
    if (!Array.isArray(offered) || !offered.some((name) => String(name).toLowerCase() === wanted))
      return `needs authentication by ${wanted}`;
  }
  if (serverParameters === undefined) return undefined;
  for (const [name, value] of Object.entries(documentAt("serverParameters", serverParameters))) {
    const actual = await server.parameter(name);
    const numbers = numberOf(value) !== undefined && numberOf(value) === numberOf(actual);
    if (!numbers && exactDifferences(value, actual, name).length > 0)
      return `needs server parameter ${name} = ${shown(value)}`;
  }
  return undefined;
}

/**
 * undefined if the list is missing or one of its requirements is met, else why each is not.
 * Throws RunnerFault on an unknown key or value.
 */
export async function unmetRequirements(value: unknown, server: ServerUnderTest): Promise<string | undefined> {
  const requirements = optionalDocumentsAt("runOnRequirements", value);
  if (requirements.length === 0) return undefined;
  const reasons: string[] = [];
  for (const requirement of requirements) {
    onlyKeys("runOnRequirements", requirement, KEYS);
    const reason =
      unmetByFacts(requirement, server.facts) ??
      unmetByEnvironment(requirement) ??
      (await unmetByParameters(requirement, server));
    if (reason === undefined) return undefined;
    reasons.push(reason);
  }
  return [...new Set(reasons)].join("; or ");
}
