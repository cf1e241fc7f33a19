/** The server the files run against: a connection for the runner's own work and what the server says it is. */
import { MongoClient, type Document } from "mongodb";

/** Topologies of runOnRequirements. */
export type Topology = "single" | "replicaset" | "sharded" | "load-balanced";

/** What decides on runOnRequirements. `version` is major, minor, patch. */
export interface ServerFacts {
  version: readonly number[];
  topology: Topology;
  auth: boolean;
}

/** A reachable server: its address, the runner's own client (events and test data never mix with it), its facts. */
export interface ServerUnderTest {
  uri: string;
  internal: MongoClient;
  facts: ServerFacts;
  /** Is it the embedded store of this project? */
  embedded: boolean;
  /** A server parameter by getParameter; undefined when the server does not know it. */
  parameter(name: string): Promise<unknown>;
  close(): Promise<void>;
}

/** How long a client looks for the server before it gives up. */
const SERVER_SELECTION_TIMEOUT_MS = 5_000;
const VERSION_PARTS = 3;

/** Sets URI options, replacing those of the same name (names compare without case); adds the runner's own timeout if none is set. */
export function withUriOptions(uri: string, options: Readonly<Record<string, string | readonly string[]>>): string {
  const [address = uri, query = ""] = uri.split("?", 2);
  const base = /^mongodb(\+srv)?:\/\/[^/]*$/.test(address) ? `${address}/` : address;
  const overridden = new Set(Object.keys(options).map((name) => name.toLowerCase()));
  const kept = [...new URLSearchParams(query)].filter(([name]) => !overridden.has(name.toLowerCase()));
  const all = new URLSearchParams(kept);
  for (const [name, value] of Object.entries(options))
    for (const one of typeof value === "string" ? [value] : value) all.append(name, one);
  const timed = [...all.keys()].some((name) => name.toLowerCase() === "serverselectiontimeoutms");
  if (!timed) all.append("serverSelectionTimeoutMS", String(SERVER_SELECTION_TIMEOUT_MS));
  return `${base}?${all.toString()}`;
}

/** Reads the version from buildInfo: the first three elements of versionArray, nothing else. */
export function versionOf(buildInfo: Document): number[] {
  const parts: unknown = buildInfo["versionArray"];
  if (!Array.isArray(parts) || parts.length < VERSION_PARTS)
    throw new Error("the server's buildInfo has no versionArray of three numbers");
  return parts.slice(0, VERSION_PARTS).map(Number);
}

/** Reads the topology from a hello reply. */
export function topologyOf(hello: Document): Topology {
  if (hello["serviceId"] !== undefined) return "load-balanced";
  if (hello["msg"] === "isdbgrid") return "sharded";
  return hello["setName"] === undefined ? "single" : "replicaset";
}

/** Connects and asks the server what it is. Throws the driver's error if it cannot be reached within 5 s. */
export async function connectToServer(uri: string, embedded: boolean): Promise<ServerUnderTest> {
  const internal = new MongoClient(withUriOptions(uri, {}));
  try {
    await internal.connect();
    const admin = internal.db("admin");
    const facts: ServerFacts = {
      version: versionOf(await admin.command({ buildInfo: 1 })),
      topology: topologyOf(await admin.command({ hello: 1 })),
      auth: internal.options.credentials !== undefined,
    };
    return {
      uri,
      internal,
      facts,
      embedded,
      parameter: (name) => readParameter(internal, name),
      close: () => internal.close(),
    };
  } catch (error) {
    await internal.close();
    throw error;
  }
}

async function readParameter(client: MongoClient, name: string): Promise<unknown> {
  try {
    const reply = await client.db("admin").command({ getParameter: 1, [name]: 1 });
    return reply[name];
  } catch {
    // "Errors that occur when fetching a single parameter" mean: the server does not support it.
    return undefined;
  }
}
