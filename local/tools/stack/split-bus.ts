import { rmSync } from "node:fs";
import { join } from "node:path";
import { KEYS_FILE, makeBusUsers, seedFile, USERS_FILE } from "../../../shared/bus/bus-keys.ts";
import type { ServiceName } from "../../../shared/contracts/index.ts";
import { VARIABLES } from "../../../shared/process/variables.ts";
import type { ChildGroup } from "./child-group.ts";
import { StartError, type Folder } from "./data-folder.ts";
import { freePort } from "./ports.ts";
import { onPath } from "./service-processes.ts";

/** Files of a NATS server with TLS, PEM: its certificate for 127.0.0.1, the certificate's key, and the authority that signed it. */
export interface TlsFiles {
  ca: string;
  cert: string;
  key: string;
}

/** How the bus of a split stack is made. */
export interface SplitBusOptions {
  /** The server's program; absent: nats-server on the PATH. */
  program?: string;
  /** Absent: without TLS, on this machine alone. */
  tls?: TlsFiles;
  /** Whether the server keeps streams, in the stack's folder. */
  jetStream?: boolean;
  /** One bus for everybody, as processes of version 0.2 need it, which know no keys; absent: each service has a user of its own. */
  open?: boolean;
}

/** The bus of a split stack: its address, and what a service's process needs to use it. */
export interface SplitBus {
  url: string;
  envOf(service: ServiceName): Record<string, string>;
}

/** Names another NATS server's program, and the folder of TLS files that it is to use. */
export const NATS_PROGRAM_VARIABLE = "CALLAGENT_NATS_SERVER";
export const NATS_TLS_VARIABLE = "CALLAGENT_NATS_TLS";

/** The TLS files of a folder. */
export const tlsFilesIn = (folder: string): TlsFiles => ({
  ca: join(folder, "ca.pem"),
  cert: join(folder, "server.pem"),
  key: join(folder, "server.key"),
});

/** What the environment says of the bus. */
export function splitBusOptions(env: NodeJS.ProcessEnv): SplitBusOptions {
  const { [NATS_PROGRAM_VARIABLE]: program, [NATS_TLS_VARIABLE]: tls } = env;
  return { ...(program ? { program } : {}), ...(tls ? { tls: tlsFilesIn(tls) } : {}) };
}

const FOLDER = "bus";
const CONFIG = "server.conf";
const STREAMS = "streams";

function writeConfig(folder: Folder, port: number, { tls, open, jetStream }: SplitBusOptions): string {
  const lines = [
    `listen: "127.0.0.1:${port}"`,
    ...(tls ? [`tls { cert_file: ${JSON.stringify(tls.cert)}, key_file: ${JSON.stringify(tls.key)} }`] : []),
    ...(jetStream ? [`jetstream { store_dir: ${JSON.stringify(folder.at(join(FOLDER, STREAMS)))} }`] : []),
    ...(open ? [] : [`include ${USERS_FILE}`]),
  ];
  const name = join(FOLDER, CONFIG);
  folder.writeText(name, `${lines.join("\n")}\n`);
  return folder.at(name);
}

/** Starts a NATS server of the stack's own, with new users for the services. */
export async function startSplitBus(group: ChildGroup, folder: Folder, o: SplitBusOptions): Promise<SplitBus> {
  const command = o.program ?? "nats-server";
  if (o.program === undefined && !onPath(command))
    throw new StartError(
      "nats-server is not on the PATH: install it (Debian: apt install nats-server), or start without --split.",
    );
  const users = folder.at(FOLDER);
  rmSync(users, { recursive: true, force: true });
  makeBusUsers(users, VARIABLES.NAMESPACE.default);
  const port = await freePort();
  await group.start("nats", { args: ["--config", writeConfig(folder, port, o)], ready: "none", command });
  return {
    url: `${o.tls ? "tls" : "nats"}://127.0.0.1:${port}`,
    envOf: (service) => ({
      ...(o.tls ? { NATS_CA_FILE: o.tls.ca } : {}),
      ...(o.open
        ? {}
        : {
            NATS_NKEY_FILE: join(users, seedFile(service)),
            BUS_KEYS_FILE: join(users, KEYS_FILE),
            BUS_TRUST: "signed",
          }),
    }),
  };
}
