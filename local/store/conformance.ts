/** `npm run conformance -- <folder>`: MongoDB's own test files, run by the official driver against the embedded store. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MongoError } from "mongodb";
import { readArguments } from "./conformance/command-line.ts";
import { FolderUnusable, runFiles, testFilesIn } from "./conformance/run-folder.ts";
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

async function main(): Promise<number> {
  const request = readArguments(process.argv.slice(2), process.env);
  if (typeof request === "string") {
    console.error(request);
    return 1;
  }
  try {
    const files = await testFilesIn(request.folder);
    const run = (uri: string): Promise<boolean> => runAgainst(uri, request.uri === undefined, files);
    return (await (request.uri === undefined ? withEmbeddedStore(run) : run(request.uri))) ? 0 : 1;
  } catch (error) {
    if (error instanceof FolderUnusable) console.error(error.message);
    else if (error instanceof MongoError && request.uri !== undefined)
      console.error(`no usable MongoDB at ${withoutPassword(request.uri)}: ${error.message}`);
    else console.error("the conformance run broke off:", error);
    return 1;
  }
}

process.exitCode = await main();
