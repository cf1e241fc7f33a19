import { readFileSync, writeFileSync } from "node:fs";
import { runCommand, UserError } from "../../shared/process/command-line.ts";
import { SUPPLY_PIN } from "../commands.ts";
import { IMAGE_FILES, imagesIn, pinned, withDigests } from "./images.ts";
import { digestOf, RegistryError } from "./registry.ts";

/**
 * `npm run supply:pin [-- --registry URL]`: asks the registry for the digest of every image that docker-compose.yml and the Dockerfile name, and writes it
 * beside the tag. `--registry` asks a mirror in place of each image's own registry. Nothing is written unless every image has its digest: exit status 1 says why.
 */
await runCommand(SUPPLY_PIN, async ({ values }) => {
  const files = IMAGE_FILES.map((path) => ({ path, text: readFileSync(path, "utf8") }));
  const digests = new Map<string, string>();
  try {
    for (const image of files.flatMap(({ text }) => imagesIn(text)))
      if (!digests.has(image.written))
        digests.set(image.written, pinned(image, await digestOf(image, values.registry?.replace(/\/$/, ""))));
  } catch (error) {
    if (!(error instanceof RegistryError)) throw error;
    throw new UserError(`Nothing is changed: ${error.message}.`, { cause: error });
  }
  for (const { path, text } of files) writeFileSync(path, withDigests(text, digests));
  for (const [written, now] of digests)
    process.stdout.write(`${written === now ? `${now}: as it was` : `${written} -> ${now}`}\n`);
});
