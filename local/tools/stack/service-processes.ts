import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { ServiceName } from "../../../shared/contracts/index.ts";
import { freePort } from "./ports.ts";
import { ROOT, script } from "./project-root.ts";

/** Every service, in the order in which a split stack starts them. */
export const SERVICES = [
  "merchants",
  "blacklist",
  "numbers",
  "config",
  "leads",
  "webhook",
  "auth",
  "conversation",
  "dialer",
  "scheduler",
  "gateway",
] as const satisfies readonly ServiceName[];

/**
 * Node's options for a process of conversations alone. One helper thread of V8 in place of four, as such a process has one processor: four of them take it
 * from the calls while garbage is marked, 120 to 185 ms at a time (docs/performance.md). More room for young objects, so that fewer of them grow old.
 */
export const CONVERSATION_NODE_OPTIONS = "--v8-pool-size=1 --max-semi-space-size=32";

/** How many processes run a service, where it is not one; never of the gateway, whose port is one. */
export type Replicas = Partial<Record<Exclude<ServiceName, "gateway">, number>>;

/** A program and its arguments; without `command` Node runs it. */
export interface ProcessCommand {
  args: string[];
  command?: string;
}

/** What runs services of a tree: Moleculer's runner with the tree's own configuration. */
const runnerIn = (root: string): string[] => [
  join(root, "node_modules", "moleculer", "bin", "moleculer-runner.js"),
  "--config",
  join(root, "moleculer.config.ts"),
  "--mask",
  "**/*.service.ts",
];
const WATCH_PARENT = ["--import", script("tools/stack/parent-watch.ts")];

/** True when the program is in one of the folders of PATH. */
export const onPath = (program: string): boolean =>
  (process.env["PATH"] ?? "").split(delimiter).some((dir) => existsSync(join(dir, program)));

/** How the services below `folder` of a tree are run, under a limit of open files where one is given. */
export function serviceCommand(folder: string, openFiles: number | undefined, root = ROOT): ProcessCommand {
  const args = [...WATCH_PARENT, ...runnerIn(root), join(root, folder)];
  return openFiles === undefined
    ? { args }
    : { command: "sh", args: ["-c", `ulimit -n ${openFiles}; exec "$0" "$@"`, process.execPath, ...args] };
}

/** The processes of a split stack: the first of each service has its name, the others a number behind it. Each conversation listens on a port of its own. */
export async function splitProcesses(
  replicas: Replicas,
): Promise<{ name: string; service: ServiceName; env: Record<string, string> }[]> {
  const processes: { name: string; service: ServiceName; env: Record<string, string> }[] = [];
  for (const service of SERVICES) {
    const count = service === "gateway" ? 1 : (replicas[service] ?? 1);
    for (let i = 1; i <= count; i++) {
      const port = service === "conversation" && i > 1 ? await freePort() : null;
      processes.push({
        name: i === 1 ? service : `${service}-${i}`,
        service,
        env: {
          NODE_ID: `${service}.${i}`,
          ...(service === "conversation" ? { NODE_OPTIONS: CONVERSATION_NODE_OPTIONS } : {}),
          ...(port === null ? {} : { MEDIA_PORT: String(port), PUBLIC_WS_URL: `ws://127.0.0.1:${port}` }),
        },
      });
    }
  }
  return processes;
}
