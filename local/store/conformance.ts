/** `npm run conformance -- <folder>`: MongoDB's own test files, run by the official driver against the embedded store. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MongoError } from "mongodb";
import { runCommand, UserError } from "../../shared/process/command-line.ts";
import { CONFORMANCE, requestOf } from "./conformance/command-line.ts";
import { runFiles, testFilesIn } from "./conformance/run-folder.ts";
import { connectToServer } from "./conformance/server-under-test.ts";
import { startStore } from "./server.ts";

function withoutPassword(uri: string): string {
  return uri.replace(/\/\/[^@/]*@/, "//");
}

/** Runs `work` with the address of an embedded store of its own, which is gone afterwards. */
async function withEmbeddedStore<Result>(work: (uri: string) => Promise<Result>): Promise<Result> {
  const dir = await mkdtemp(join(tmpdir(), "callagent-conformance-"));
  try {
    const store = await startStore({ dir, port: 0 });
    try {
      return await work(store.url);
    } finally {
      await store.close();
    }
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function runAgainst(uri: string, embedded: boolean, files: readonly string[]): Promise<boolean> {
  const server = await connectToServer(uri, embedded);
  try {
    const { version, topology } = server.facts;
    console.log(
      `${files.length} files against ${embedded ? "the embedded store as MongoDB" : "MongoDB"} ${version.join(".")} (${topology}) at ${withoutPassword(uri)}`,
    );
    return await runFiles(files, server, (line) => console.log(line));
  } finally {
    await server.close();
  }
}

await runCommand(CONFORMANCE, async (asked) => {
  const request = requestOf(asked, process.env);
  const files = await testFilesIn(request.folder);
  const run = (uri: string): Promise<boolean> => runAgainst(uri, request.uri === undefined, files);
  const { uri } = request;
  if (uri === undefined) return (await withEmbeddedStore(run)) ? 0 : 1;
  try {
    return (await run(uri)) ? 0 : 1;
  } catch (error) {
    if (!(error instanceof MongoError)) throw error;
    throw new UserError(`no usable MongoDB at ${withoutPassword(uri)}: ${error.message}`, { cause: error });
  }
});
