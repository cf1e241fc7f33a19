"use strict";
// Plain CommonJS, so that any Node can read it: says in one line what is missing before TypeScript is loaded.
const NEEDED_MAJOR = 24;
const { existsSync } = require("node:fs");
const { spawn } = require("node:child_process");
const { join } = require("node:path");
const { pathToFileURL } = require("node:url");

const root = join(__dirname, "..", "..");
const [script, ...args] = process.argv.slice(2);

if (Number(process.versions.node.split(".")[0]) >= NEEDED_MAJOR) {
  // the second start, and every process of it, spends half as long on reading our code and the libraries'
  require("node:module").enableCompileCache(join(root, "node_modules", ".cache", "node"));
  process.argv.splice(1, 2, join(root, script));
  import(pathToFileURL(join(root, script)).href);
} else {
  const own = join(root, "node_modules", "node", "bin", "node");
  if (existsSync(own)) {
    const child = spawn(own, [join(root, script), ...args], { stdio: "inherit" });
    for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill(signal));
    child.on("exit", (code) => process.exit(code ?? 1));
  } else {
    console.error(
      `callagent needs Node ${NEEDED_MAJOR}, this is ${process.versions.node}. Run "npm ci" here first: it brings the right Node along (devDependencies must not be left out).`,
    );
    process.exit(1);
  }
}
