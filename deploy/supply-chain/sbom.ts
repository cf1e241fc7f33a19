import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { runCommand } from "../../shared/process/command-line.ts";
import { SUPPLY_SBOM } from "../commands.ts";
import { productionBill, type Bill } from "./bill.ts";
import type { Lockfile } from "./lockfile.ts";

/** `npm run supply:sbom`: the bill of materials of what runs in production, in CycloneDX 1.5, on the standard output. It is made from package-lock.json; nothing is asked of a registry. */
const MOST_BYTES = 64 * 1024 * 1024;
const FORMAT = ["--sbom-format=cyclonedx", "--sbom-type=application", "--package-lock-only"];

await runCommand(SUPPLY_SBOM, () => {
  const all = JSON.parse(execFileSync("npm", ["sbom", ...FORMAT], { encoding: "utf8", maxBuffer: MOST_BYTES })) as Bill;
  const lock = JSON.parse(readFileSync("package-lock.json", "utf8")) as Lockfile;
  const { name } = JSON.parse(readFileSync("package.json", "utf8")) as { name: string };
  process.stdout.write(`${JSON.stringify(productionBill(all, lock, name), null, 2)}\n`);
});
