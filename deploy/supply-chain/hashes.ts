import { readFileSync, writeFileSync } from "node:fs";
import { runCommand, UserError } from "../../shared/process/command-line.ts";
import { SUPPLY_HASHES } from "../commands.ts";
import { registryName, type Lockfile } from "./lockfile.ts";

/**
 * `npm run supply:hashes`: gives every package of package-lock.json that lacks one the hash that the npm registry publishes for its version, and takes download
 * addresses out. npm leaves hashes out when it writes the file from installed packages. Those that are there are not touched.
 */
const LOCKFILE = "package-lock.json";
const AT_ONCE = 8;
const ASK_MS = 30_000;
const registry = (process.env["npm_config_registry"] ?? "https://registry.npmjs.org").replace(/\/$/, "");

async function publishedHash(name: string, version: string): Promise<string> {
  const answer = await fetch(`${registry}/${name.replace("/", "%2f")}/${version}`, {
    signal: AbortSignal.timeout(ASK_MS),
  }).catch((cause: unknown) => {
    throw new UserError(`${registry} can't be reached`, { cause });
  });
  if (!answer.ok) throw new UserError(`${registry} answers ${answer.status} for ${name}@${version}`);
  const { dist } = (await answer.json()) as { dist?: { integrity?: string } };
  if (dist?.integrity === undefined) throw new UserError(`${registry} publishes no hash for ${name}@${version}`);
  return dist.integrity;
}

await runCommand(SUPPLY_HASHES, async () => {
  const lock = JSON.parse(readFileSync(LOCKFILE, "utf8")) as Lockfile;
  const lacking = Object.entries(lock.packages).filter(
    ([folder, found]) => folder !== "" && found.integrity === undefined,
  );
  for (const found of Object.values(lock.packages)) delete found.resolved;
  for (let at = 0; at < lacking.length; at += AT_ONCE)
    await Promise.all(
      lacking.slice(at, at + AT_ONCE).map(async ([folder, found]) => {
        found.integrity = await publishedHash(registryName(folder, found), found.version);
      }),
    );
  writeFileSync(LOCKFILE, `${JSON.stringify(lock, null, 2)}\n`);
  process.stdout.write(`${lacking.length} hashes added to ${LOCKFILE}\n`);
});
