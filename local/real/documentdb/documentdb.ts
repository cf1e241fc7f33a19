import { freePort } from "../../tools/stack/ports.ts";
import { program, ROOT_RIGHTS } from "../machine.ts";
import type { Part, Running } from "../part.ts";
import { installDebian, isReady } from "./debian-folder.ts";
import { buildFerretdb, FERRETDB_VERSION, isBuilt, killLeftFerretdb, startFerretdb } from "./ferretdb.ts";
import { startPostgres, stopPostgres, versionsOf } from "./postgres.ts";

const DATABASE = "callagent";

async function start(folder: string): Promise<Running> {
  killLeftFerretdb(folder);
  await stopPostgres(folder);
  const port = await freePort();
  try {
    await startPostgres(folder, port);
    const front = await startFerretdb(folder, await freePort(), port);
    return {
      env: { MONGODB_URI: front.uri + DATABASE },
      versions: `${versionsOf(folder, port)}, FerretDB ${FERRETDB_VERSION}; answers as MongoDB ${front.version}`,
      stop: async () => {
        await front.stop();
        await stopPostgres(folder);
      },
    };
  } catch (error) {
    await stopPostgres(folder);
    throw error;
  }
}

/** A database that speaks MongoDB's protocol and shares no code with the embedded store. It is no replica set: no elections, no transactions. */
export const documentdb: Part = {
  name: "documentdb",
  about: `DocumentDB on PostgreSQL 18 (Debian's packages), FerretDB ${FERRETDB_VERSION} in front`,
  cost: "0.9 GB and 2 to 4 minutes, from deb.debian.org and the Go module proxy",
  needs: [
    ROOT_RIGHTS,
    program("unshare", "of util-linux; Linux only"),
    program("go", "https://go.dev/dl"),
    program("apt-get", "Debian or Ubuntu"),
    program("wget", "apt-get install wget"),
  ],
  isInstalled: (folder) => isReady(folder) && isBuilt(folder),
  async install(folder) {
    if (!isReady(folder)) await installDebian(folder);
    if (!isBuilt(folder)) await buildFerretdb(folder);
  },
  start,
};
