import { contracts, type ServiceName } from "../contracts/index.ts";

/** What a process is, on the bus: one service, or several of them. */
export type ProcessName = ServiceName | "all";

const FOLDER = /(?:^|\/)services\/([a-z]+)\/?$/;

/** True for the name of a service. */
export const isServiceName = (name: string): name is ServiceName => Object.hasOwn(contracts, name);

/** The service whose folder the command line of this process names; "all" where it names several, or none. */
export function processNameOf(argv: readonly string[]): ProcessName {
  const named = argv.flatMap((argument) => FOLDER.exec(argument)?.[1] ?? []).filter(isServiceName);
  return named.length === 1 ? (named[0] ?? "all") : "all";
}

/**
 * The id of a node on the bus, `<service>.<id>`: the bus's subjects of a node begin with its service, so that a NATS server can tell who may write
 * and read them. `given` is NODE_ID, with or without the service before it.
 */
export function nodeIdOf(
  name: ProcessName,
  given: string | undefined,
  machine: { hostname: string; pid: number },
): string {
  const id = given ?? `${machine.hostname.toLowerCase()}-${machine.pid}`;
  return id.startsWith(`${name}.`) ? id : `${name}.${id}`;
}

/** The service that a node's id names; null: none, as with nodes of version 0.2. */
export function serviceOfNode(nodeId: string): ServiceName | null {
  const [name = ""] = nodeId.split(".");
  return nodeId.includes(".") && isServiceName(name) ? name : null;
}
