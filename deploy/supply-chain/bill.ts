import type { LockedPackage, Lockfile } from "./lockfile.ts";

/** What is read of a CycloneDX document, version 1.5 (https://cyclonedx.org/docs/1.5/json); the rest is passed on as it is. */
export interface Bill {
  bomFormat: string;
  specVersion: string;
  metadata: { component: { name: string } };
  components: {
    "bom-ref": string;
    name: string;
    version: string;
    purl: string;
    hashes?: { alg: string; content: string }[];
  }[];
  dependencies: { ref: string; dependsOn?: string[] }[];
}

const FOLDER = "node_modules/";

/** A package by the name that the registry knows, https://github.com/package-url/purl-spec. */
const purlOf = (folder: string, { name, version }: LockedPackage): string =>
  `pkg:npm/${(name ?? folder.slice(folder.lastIndexOf(FOLDER) + FOLDER.length)).replace(/^@/, "%40")}@${version}`;

const hexOf = (integrity: string): string => Buffer.from(integrity.replace(/^sha512-/, ""), "base64").toString("hex");

/**
 * npm's bill of materials of everything that is locked, cut to what runs in production; npm's own `--omit=dev` leaves out what the tools need as well. Throws
 * where a package of production is not in it with its hash.
 */
export function productionBill(all: Bill, { packages }: Lockfile, project: string): Bill {
  const hashes = new Map(
    Object.entries(packages).flatMap(([folder, locked]): [string, string][] =>
      folder === "" || locked.dev === true ? [] : [[purlOf(folder, locked), hexOf(locked.integrity ?? "")]],
    ),
  );
  const components = all.components.filter(({ purl }) => hashes.has(purl));
  for (const [purl, hash] of hashes) {
    const found = components.find((component) => component.purl === purl);
    if (!found?.hashes?.some(({ alg, content }) => alg === "SHA-512" && content === hash))
      throw new Error(`npm's bill of materials has no ${purl} with the hash of package-lock.json`);
  }
  const refs = new Set(components.map((component) => component["bom-ref"]));
  const dependencies = all.dependencies.flatMap(({ ref, dependsOn = [] }) =>
    refs.has(ref) || ref.startsWith(`${project}@`) ? [{ ref, dependsOn: dependsOn.filter((on) => refs.has(on)) }] : [],
  );
  const metadata = { ...all.metadata, component: { ...all.metadata.component, name: project } };
  return { ...all, metadata, components, dependencies };
}
