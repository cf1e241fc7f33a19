import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { runCommand } from "../../shared/process/command-line.ts";
import { CLIENT_PACK } from "../commands.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const TSC = join(ROOT, "node_modules", "typescript-native", "bin", "tsc");
/** Where the sources stand within the package. */
const WITHIN = "dist/deploy/client";
const EXECUTABLE = 0o755;

/** The package's own description. It depends on nothing. */
function manifest(): string {
  const { version, license } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as Record<string, string>;
  return `${JSON.stringify(
    {
      name: "@callagent/client",
      version,
      description: "Client of callagent's REST API, typed by its OpenAPI document, and the command line callagent",
      license,
      type: "module",
      engines: { node: ">=20" },
      bin: { callagent: `${WITHIN}/cli/main.js` },
      exports: { ".": { types: `./${WITHIN}/index.d.ts`, default: `./${WITHIN}/index.js` } },
      files: ["dist"],
    },
    null,
    2,
  )}\n`;
}

/** Compiles the client with what it imports into a folder. */
function compile(to: string): void {
  const config = {
    extends: join(ROOT, "tsconfig.json"),
    compilerOptions: {
      noEmit: false,
      declaration: true,
      rewriteRelativeImportExtensions: true,
      allowImportingTsExtensions: false,
      rootDir: ROOT,
      outDir: join(to, "dist"),
      types: ["node"],
      typeRoots: [join(ROOT, "node_modules", "@types")],
    },
    include: [],
    files: ["index.ts", "cli/main.ts"].map((name) => join(ROOT, "deploy", "client", name)),
  };
  const file = join(to, "tsconfig.json");
  writeFileSync(file, JSON.stringify(config));
  execFileSync(process.execPath, [TSC, "--project", file], { stdio: "inherit" });
  rmSync(file);
}

await runCommand(CLIENT_PACK, ({ values: { out } }) => {
  const folder = mkdtempSync(join(tmpdir(), "callagent-client-"));
  try {
    compile(folder);
    writeFileSync(join(folder, "package.json"), manifest());
    cpSync(join(ROOT, "LICENSE"), join(folder, "LICENSE"));
    cpSync(join(import.meta.dirname, "README.md"), join(folder, "README.md"));
    chmodSync(join(folder, WITHIN, "cli", "main.js"), EXECUTABLE);
    mkdirSync(out, { recursive: true });
    const packed = execFileSync("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", resolve(out)], {
      cwd: folder,
      encoding: "utf8",
    });
    process.stdout.write(`${join(resolve(out), packed.trim())}\n`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
