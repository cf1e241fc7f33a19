#!/usr/bin/env node
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { run } from "./run.ts";
import { configFolderOf } from "./shell.ts";

/** Asks on the terminal; what is typed is not shown. */
async function askPassword(): Promise<string | null> {
  if (!process.stdin.isTTY) return null;
  process.stderr.write("password: ");
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: silent, terminal: true });
  const typed = await terminal.question("");
  terminal.close();
  process.stderr.write("\n");
  return typed;
}

const ended = new AbortController();
process.once("SIGINT", () => {
  // what a shell expects of a program that Ctrl-C ended
  process.exitCode = 130;
  ended.abort();
});
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

const status = await run(process.argv.slice(2), {
  env: process.env,
  configFolder: configFolderOf(process.env),
  screen: {
    out: (line) => process.stdout.write(`${line}\n`),
    err: (line) => process.stderr.write(`${line}\n`),
  },
  askPassword,
  newId: randomUUID,
  signal: ended.signal,
});
if (!ended.signal.aborted) process.exitCode = status;
