import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { IMAGE_FILES, imagesIn, pinned, withDigests } from "./images.ts";
import { digestOf, RegistryError } from "./registry.ts";

/**
 * `npm run supply:pin [-- --registry URL]`: asks the registry for the digest of every image that docker-compose.yml and the Dockerfile name, and writes it
 * beside the tag. `--registry` asks a mirror in place of each image's own registry. Nothing is written unless every image has its digest: exit status 1 says why.
 */
const { values } = parseArgs({ options: { registry: { type: "string" } } });
const files = IMAGE_FILES.map((path) => ({ path, text: readFileSync(path, "utf8") }));
const digests = new Map<string, string>();
try {
  for (const image of files.flatMap(({ text }) => imagesIn(text)))
    if (!digests.has(image.written))
      digests.set(image.written, pinned(image, await digestOf(image, values.registry?.replace(/\/$/, ""))));
  for (const { path, text } of files) writeFileSync(path, withDigests(text, digests));
  for (const [written, now] of digests)
    process.stdout.write(`${written === now ? `${now}: as it was` : `${written} -> ${now}`}\n`);
} catch (error) {
  if (!(error instanceof RegistryError)) throw error;
  process.stderr.write(`Nothing is changed: ${error.message}.\n`);
  process.exitCode = 1;
}
