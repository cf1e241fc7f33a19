import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { forecast, type World } from "../../local/tools/rehearse/forecast.ts";
import { REHEARSE, rehearsalOf } from "../../local/tools/rehearse/arguments.ts";
import { report } from "../../local/tools/rehearse/report.ts";
import { ROOT } from "../../local/tools/stack/project-root.ts";
import { TemplatePatch } from "../../shared/contracts/records/template.ts";
import { readEnv } from "../../shared/process/env.ts";
import { readCommand } from "../../shared/process/command-line.ts";
import { issueChecker } from "../../shared/validator.ts";
import { VARIABLES } from "../../shared/process/variables.ts";
import { readProject } from "../house/sources.ts";
import { configuration, plan } from "../scheduler/fixtures/gate-inputs.ts";
import { wrongWith } from "./commands.ts";
import { blocksOf, codeSpansOf, pageAt, pages, type Block, type Page } from "./pages.ts";

/**
 * Blocks that another test runs as they are: the walkthrough (test/e2e/npm-start.slow.test.ts), the script (test/local/tools/converse), and the commands and
 * variables of the bus (test/deploy/bus-commands.test.ts), the event and the receivers of docs/webhooks.md (test/docs/webhook-page.test.ts,
 * test/real/receivers; of docs/events.md: test/docs/event-page.test.ts), and what docs/clients.md shows (test/e2e/packed-client.slow.test.ts).
 */
const RUN_ELSEWHERE = [
  /^BUS=\//,
  /^TRANSPORTER=tls:/,
  /^\. \.callagent\/sample\.env/,
  /^template: order-confirmation/,
  /^\{\n  "type": "lead\.finished"/,
  /^\{\n  "specversion": "1\.0"/,
  /^npm install "\$PACKAGE"/,
  /^npx callagent /,
  /^import \{ (?:createClient|createServer|follow)/,
];

const templateIssues = issueChecker(TemplatePatch);
const sources = readProject().filter((file) => file.path.endsWith(".ts"));

/** The variables that a block of shell sets; a value in single quotes may span lines. */
const settingsOf = (text: string): Record<string, string> =>
  Object.fromEntries([...text.matchAll(/^([A-Z][A-Z0-9_]*)=(?:'([^']*)'|(\S+))/gm)].map((m) => [m[1], m[2] ?? m[3]]));

/** What is wrong with a block of shell: each line is a setting, a comment or a command. */
function wrongShell(text: string): string[] {
  const settings = settingsOf(text);
  const unknown = Object.keys(settings).filter((name) => !(name in VARIABLES));
  const lines = text.replaceAll(/^[A-Z][A-Z0-9_]*=(?:'[^']*'|\S+)[^\n]*$/gm, "").split("\n");
  const commands = lines.filter((line) => line.trim() !== "" && !line.trim().startsWith("#"));
  try {
    readEnv(settings);
  } catch (error) {
    unknown.push(String(error));
  }
  return [...unknown, ...commands.flatMap((line) => wrongWith(line) ?? [`no command that can be checked: ${line}`])];
}

/** Parts of templates, as JSON or YAML. */
const wrongTemplate = (given: unknown): string[] => templateIssues(given).map((f) => `${f.path} ${f.message}`);

function wrongYaml(text: string): string[] {
  const given = parse(text) as Record<string, unknown>;
  return "transitions" in given ? wrongTemplate({ nodes: [{ name: "shown", ...given }] }) : wrongTemplate(given);
}

/** TypeScript that is shown stands in the project. */
const wrongTypeScript = (text: string): string[] =>
  text.split("\n").filter((line) => line.trim() !== "" && !sources.some((file) => file.text.includes(line.trim())));

/** What a page that embeds a session needs stands in the examples, which a real browser opens (test/real/browsers). */
const embedding = ["example.html", "call-us.html"].flatMap((name) =>
  readFileSync(join(ROOT, "deploy", "embed", name), "utf8")
    .split("\n")
    .map((l) => l.trim()),
);
const wrongHtml = (text: string): string[] => text.split("\n").filter((line) => !embedding.includes(line.trim()));

/** A block without a language: commands, or a figure that nothing can run. */
function wrongPlain(text: string): string[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.every((line) => wrongWith(line) !== null) ? lines.flatMap((line) => wrongWith(line) ?? []) : [];
}

/** Other languages than ours: each is a file of deploy/webhooks, to the letter. */
const receivers = ["verify.py", "verify.go", "Verify.java", "verify.php"].map((name) =>
  readFileSync(join(ROOT, "deploy", "webhooks", name), "utf8"),
);
const wrongReceiver = (text: string): string[] => (receivers.includes(text) ? [] : ["no file of deploy/webhooks"]);

const CHECKS: Record<string, (text: string) => string[]> = {
  sh: wrongShell,
  json: (text) => wrongTemplate(JSON.parse(text)),
  yaml: wrongYaml,
  ts: wrongTypeScript,
  html: wrongHtml,
  python: wrongReceiver,
  go: wrongReceiver,
  java: wrongReceiver,
  php: wrongReceiver,
  "": wrongPlain,
};

/** What is wrong with the examples of a page, each with its line. */
const wrongExamples = (page: Page): string[] =>
  blocksOf(page)
    .filter((block: Block) => !RUN_ELSEWHERE.some((known) => known.test(block.text)))
    .flatMap(({ path, line, language, text }) =>
      (CHECKS[language] ?? (() => [`no check for ${language}`]))(text).map((w) => `${path}:${line} ${w}`),
    );

/** Commands in inline code; `<…>` and `…` stand for something. */
const wrongInline = (page: Page): string[] =>
  codeSpansOf(page)
    .filter((span) => /^(?:npm|node|docker) /.test(span) && !/[<…]/.test(span))
    .flatMap((span) => wrongWith(span) ?? []);

describe.each(pages.map((page) => [page.path, page] as const))("%s", (_path, page) => {
  test("shows examples that hold", () => expect(wrongExamples(page)).toEqual([]));
  test("names commands that exist", () => expect(wrongInline(page)).toEqual([]));
});

test("the rehearsal in docs/tools.md is what its command prints", () => {
  const page = pageAt("docs/tools.md");
  const [, command = ""] = /^npm run rehearse -- (.*--leads 1000.*)$/m.exec(page) ?? [];
  const asked = rehearsalOf(readCommand(REHEARSE, command.split(" "))!, new Date(), undefined);
  const world: World = {
    plan: plan({
      max_age_seconds: 604_800,
      configuration: configuration({
        call_end_time: "13:00",
        timezone: "Europe/Berlin",
        max_retry: 2,
        retry_offset: 1800,
        rate_limit_enabled: true,
        rate_limit_max_calls: 300,
      }),
    }),
    pauses: { deployment: null, merchant: null },
    slots: { numbers: 4, free_lines: 40, home: null },
    calls_per_second: 50,
    country: "DE",
  };
  const { template: name, rehearsal } = asked;
  expect(page).toContain(
    `\`\`\`\n${report({ name, world, rehearsal, forecast: forecast(world, rehearsal) }).join("\n")}\n\`\`\``,
  );
});

describe("the checks themselves notice", () => {
  test.each<[string, string, string]>([
    ["a script that is gone", "```\nnpm run gone\n```", "npm has no script gone"],
    ["an option that is gone", "```\nnpm start -- --gone\n```", "--gone"],
    ["a test that is gone", "```\nnpm test -- test/gone.test.ts\n```", "test/gone.test.ts"],
    ["a variable that is gone", "```sh\nGONE_AWAY=1\n```", "GONE_AWAY"],
    ["a value that is refused", "```sh\nSTT_BASE_URL=http://stt/v1\n```", "EnvironmentError"],
    ["an endpoint that is gone", '```sh\ncurl -s "$BASE/gone"\n```', "there is no endpoint GET /gone"],
    ["a body that is no JSON", "```sh\ncurl -s \"$BASE/leads\" -d '{no}'\n```", "no JSON: {no}"],
    ["a field of a template that is gone", '```json\n{"gone": 1}\n```', "gone"],
    ["a receiver that is no file", "```php\n1\n```", "no file of deploy/webhooks"],
    ["a language without a check", "```perl\n1\n```", "no check for perl"],
  ])("%s", (_what, text, wrong) => {
    expect(wrongExamples({ path: "docs/made-up.md", text: `${text}\n` })).toEqual([expect.stringContaining(wrong)]);
  });
});
