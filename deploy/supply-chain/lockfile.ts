/** A package as package-lock.json (version 3) has it: https://docs.npmjs.com/cli/configuring-npm/package-lock-json. */
export interface LockedPackage {
  version: string;
  /** The package that an alias stands for, `npm:typescript@7.0.2`. */
  name?: string;
  integrity?: string;
  resolved?: string;
  license?: string;
  hasInstallScript?: boolean;
  /** Only the tools need it. */
  dev?: boolean;
}

/** package-lock.json: packages by folder, the project itself at "". */
export interface Lockfile {
  packages: Record<string, LockedPackage>;
}

/** What package.json says of packages: exact versions, and which install scripts are known (true: run, false: not needed). */
export interface Manifest {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  overrides: Record<string, string>;
  allowScripts: Record<string, boolean>;
}

/** Licences under which a package may come along: none of them asks anything of who runs or changes the product beyond naming its authors. */
const LICENCES = new Set([
  "0BSD",
  "AFL-2.1",
  "Apache-2.0",
  "Artistic-2.0",
  "BlueOak-1.0.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "CC0-1.0",
  "CC-BY-4.0",
  "ISC",
  "MIT",
  "Python-2.0",
  "Unlicense",
  "WTFPL",
  "Zlib",
]);

/** What a tool may have besides: it asks for the source of changed files where they are passed on, and tools are neither changed nor passed on. */
const LICENCES_OF_TOOLS = new Set(["MPL-2.0"]);

/** Packages whose manifest has the old `licenses` list, which the lockfile does not take over: read there by hand, for this version alone. */
const READ_BY_HAND: Readonly<Record<string, string>> = { "base-64@0.1.0": "MIT", "uri-parser@1.0.1": "MIT" };

const EXACT = /^(?:npm:(?:@[\w.-]+\/)?[\w.-]+@)?\d+\.\d+\.\d+(?:-[\w.]+)?$/;
const INTEGRITY = /^sha512-[A-Za-z\d+/]{86}==$/;

/** The name under which the registry has a package: an alias's target, else what follows the last node_modules/ of its folder. */
export const registryName = (folder: string, found: LockedPackage): string =>
  found.name ?? folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length);

/** Whether an SPDX expression of one operator (`A`, `(A OR B)`, `(A AND B)`) is allowed; anything else is not understood, so it is not. */
function mayComeAlong(licence: string): boolean {
  const parts = licence.replaceAll(/^\(|\)$/g, "");
  if (parts.includes(" AND ")) return parts.split(" AND ").every((one) => LICENCES.has(one));
  return parts.split(" OR ").some((one) => LICENCES.has(one));
}

function faultsOfPackage(folder: string, found: LockedPackage, manifest: Manifest): string[] {
  const name = registryName(folder, found);
  const said = `${name}@${found.version}`;
  const licence = found.license ?? READ_BY_HAND[said];
  const faults: string[] = [];
  if (found.integrity === undefined || !INTEGRITY.test(found.integrity))
    faults.push(`${said} has no sha512 hash: run "npm run supply:hashes"`);
  if (found.resolved !== undefined)
    faults.push(
      `${said} has a download address: take "resolved" out, so that each team's own registry serves it ("npm run supply:hashes" does it)`,
    );
  if (found.hasInstallScript === true && !(name in manifest.allowScripts))
    faults.push(
      `${said} runs a script when it is installed: read it, then name the package in allowScripts of package.json`,
    );
  if (licence === undefined) faults.push(`${said} names no licence`);
  else if (!mayComeAlong(licence) && !(found.dev === true && LICENCES_OF_TOOLS.has(licence)))
    faults.push(`${said} is under ${licence}, which is not among the licences that may come along`);
  return faults;
}

/** What is wrong with the packages that an installation brings, a line each: hashes, addresses, install scripts, licences, versions that are no exact one. */
export function faultsOfPackages(lock: Lockfile, manifest: Manifest): string[] {
  const asked = {
    ...manifest.dependencies,
    ...manifest.devDependencies,
    ...manifest.optionalDependencies,
    ...manifest.overrides,
  };
  const loose = Object.entries(asked)
    .filter(([, version]) => !EXACT.test(version))
    .map(([name, version]) => `${name} is asked for as "${version}": name one exact version in package.json`);
  const scripted = new Set(
    Object.entries(lock.packages)
      .filter(([, found]) => found.hasInstallScript === true)
      .map(([folder, found]) => registryName(folder, found)),
  );
  const idle = Object.keys(manifest.allowScripts)
    .filter((name) => !scripted.has(name))
    .map((name) => `${name} stands in allowScripts, but runs no script: take it out`);
  const packages = Object.entries(lock.packages)
    .filter(([folder]) => folder !== "")
    .flatMap(([folder, found]) => faultsOfPackage(folder, found, manifest));
  return [...loose, ...packages, ...idle];
}
