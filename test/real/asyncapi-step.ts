import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { PARSER_FOLDER } from "../../local/real/asyncapi/asyncapi.ts";
import { ROOT } from "../../local/tools/stack/project-root.ts";
import { EVENT_NAMES } from "../../shared/contracts/events/catalogue.ts";
import type { Outcome, Step } from "./outcome.ts";

const PARSE_MS = 60_000;
const BYTES = 1_000_000;
/** Severity of a fault among the parser's diagnostics. */
const FAULT = 0;
const PROGRAM = join(ROOT, "local", "real", "asyncapi", "parse.mjs");

interface Parsed {
  /** Addresses of the channels; null where the parser made no document of the text. */
  channels: string[] | null;
  diagnostics: { severity: number; message: string; path: (string | number)[] }[];
}

async function parse(folder: string, text: string): Promise<Parsed> {
  const run = promisify(execFile)(process.execPath, [PROGRAM, folder], { timeout: PARSE_MS, maxBuffer: BYTES });
  run.child.stdin?.end(text);
  return JSON.parse((await run).stdout) as Parsed;
}

/** What the document must stand: each case with what is wrong, if anything. */
const CASES: readonly [name: string, change: (document: string) => string, wrong: RegExp | null][] = [
  ["docs/asyncapi.yaml", (document) => document, null],
  ["a reference to nowhere", (d) => d.replaceAll("schemas/CloudEvent", "schemas/Nothing"), /Nothing/],
  ["an operation that neither sends nor receives", (d) => d.replace("action: send", "action: shout"), /action/],
  [
    "an operation with a message that its channel has not",
    (d) => d.replaceAll("LeadQueued/messages/event", "LeadQueued/messages/none"),
    /none/,
  ],
];

/** docs/asyncapi.yaml by the parser of those who make AsyncAPI, and copies with a fault, which it must refuse. */
export const asyncapiStep: Step = {
  name: "document",
  isShort: true,
  async run(env, log): Promise<Outcome> {
    const document = readFileSync(join(ROOT, "docs", "asyncapi.yaml"), "utf8");
    const failed: string[] = [];
    for (const [name, change, wrong] of CASES) {
      const text = change(document);
      const { channels, diagnostics } = await parse(env[PARSER_FOLDER] ?? "", text);
      const said = diagnostics.map(({ severity, message, path }) => `${severity} ${path.join(".")}: ${message}`);
      writeFileSync(log, `${name}\n${said.join("\n")}\n`, { flag: "a" });
      const whole = EVENT_NAMES.every((type) => channels?.some((address) => address.endsWith(`.${type}`)) === true);
      const faults = diagnostics.filter(({ severity }) => severity === FAULT).map(({ message }) => message);
      const right = wrong === null ? whole && said.length === 0 : text !== document && wrong.test(faults.join("\n"));
      if (!right) failed.push(`${name}: ${said.join("; ") || "nothing is said"}`);
    }
    return { passed: CASES.length - failed.length, failed: failed.length, skipped: [], said: failed.join("\n") };
  },
};
