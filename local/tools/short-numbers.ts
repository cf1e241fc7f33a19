import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";

/**
 * Makes shared/numbering/short-number-table.ts from libphonenumber's short-number data (Apache-2.0,
 * https://github.com/google/libphonenumber/blob/master/resources/ShortNumberMetadata.xml), which no package offers that this project could use.
 */

const USAGE =
  "node local/tools/launch.cjs local/tools/short-numbers.ts <ShortNumberMetadata.xml> --release 9.0.35 --date 2026-07-16";
const TARGET = "shared/numbering/short-number-table.ts";

/** The pattern of one kind of number of a territory, without the line breaks it is written with; "" where it has none. */
function patternOf(territory: string, kind: string): string {
  const [, part = ""] = new RegExp(`<${kind}>(.*?)</${kind}>`, "s").exec(territory) ?? [];
  const [, pattern = ""] = /<nationalNumberPattern>(.*?)<\/nationalNumberPattern>/s.exec(part) ?? [];
  return pattern.replaceAll(/\s/g, "");
}

/** One line for each country: its code, the pattern of its emergency numbers (`-`: none is known), the pattern of all its short numbers. */
function linesOf(xml: string): string[] {
  const bare = xml.replaceAll(/<!--.*?-->/gs, "");
  return [...bare.matchAll(/<territory id="([A-Z]{2})"[^>]*>(.*?)<\/territory>/gs)].map(
    ([, country = "", territory = ""]) => {
      const [emergency, short] = [patternOf(territory, "emergency"), patternOf(territory, "shortCode")];
      for (const pattern of [emergency, short]) {
        if (!/^[\\d0-9()?:|[\]{},-]*$/.test(pattern))
          throw new Error(`${country} has a pattern of another kind: ${pattern}`);
      }
      return `${country} ${emergency || "-"} ${short || "-"}`;
    },
  );
}

const { values, positionals } = parseArgs({
  options: { release: { type: "string" }, date: { type: "string" } },
  allowPositionals: true,
});
const [file] = positionals;
if (file === undefined || values.release === undefined || values.date === undefined) throw new Error(`Usage: ${USAGE}`);
const lines = linesOf(await readFile(file, "utf8"));
if (lines.length < 200) throw new Error(`only ${lines.length} countries were found in ${file}`);
await writeFile(
  TARGET,
  `/**
 * Short numbers of ${lines.length} countries, from libphonenumber ${values.release} of ${values.date} (Apache-2.0), resources/ShortNumberMetadata.xml.
 * Made by local/tools/short-numbers.ts; not to be edited. A line: ISO country, pattern of its emergency numbers, pattern of all its short
 * numbers; \`-\`: none is known. The patterns are of national numbers, whole.
 */
export const SHORT_NUMBER_LINES: readonly string[] = String.raw\`
${lines.join("\n")}
\`
  .trim()
  .split("\\n");
`,
);
