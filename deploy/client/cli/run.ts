import { commandStatus, helpOf, nearest, type Asked, type Command } from "../../../shared/process/command-line.ts";
import { UserError, UsageError } from "../../../shared/process/command-line.ts";
import { login, type Client } from "../client.ts";
import { ApiFailure, NoAnswer } from "../failures.ts";
import { each } from "../pages.ts";
import * as commands from "./commands.ts";
import { pushConfiguration, showConfiguration } from "./configurations.ts";
import * as leads from "./leads.ts";
import { clientOf, keepSession, masked, printList, urlOf, type Shell } from "./shell.ts";
import * as templates from "./templates.ts";

/** A failed request as a sentence: the code, what is wrong where, and the id that finds it in the service's log. */
function forPerson(error: unknown): unknown {
  if (error instanceof ApiFailure)
    return new UserError(error.request_id === "" ? error.message : `${error.message} (request ${error.request_id})`);
  return error instanceof NoAnswer ? new UserError(error.message) : error;
}

/** Where the API lies on its server. */
const API_PATH = "/agent/voice/callagent";

async function logIn(shell: Shell, { values }: Asked<typeof commands.LOGIN>): Promise<number> {
  const url = urlOf(shell, values.url);
  const given = shell.env["CALLAGENT_TOKEN"];
  if (values.email === undefined && given === undefined)
    throw new UsageError("Who are you? Give --email ADDRESS, or set CALLAGENT_TOKEN to a program's token.");
  let token = given ?? "";
  if (values.email !== undefined) {
    const password = shell.env["CALLAGENT_PASSWORD"] ?? (await shell.askPassword());
    if (password === null)
      throw new UsageError("There is no terminal to ask for the password; set CALLAGENT_PASSWORD.");
    token = await login(url, values.email, password, { signal: shell.signal }).catch((error: unknown) => {
      if (error instanceof ApiFailure && error.code === "ROUTE_NOT_FOUND")
        throw new UsageError(
          `A callagent answers at ${url}, but its API is not there: the address ends with ${API_PATH}.`,
        );
      throw error;
    });
  }
  shell.screen.out(`Kept in ${keepSession(shell, { url, token })}.`);
  return 0;
}

const listNumbers = (shell: Shell, client: Client, asked: Asked<typeof commands.NUMBERS>["values"]): Promise<number> =>
  printList(
    shell.screen,
    each(client, "/numbers"),
    asked,
    ["id", "number", "provider", "status", "calls at once"],
    ({ id, phone_number, provider, status, max_concurrent_calls }) => [
      id,
      masked(phone_number),
      provider,
      status,
      String(max_concurrent_calls),
    ],
  );

/** What a command does with its line; its exit status. */
type Work = (shell: Shell, argv: readonly string[]) => Promise<number>;

function work<C extends Command>(of: C, run: (shell: Shell, asked: Asked<C>) => Promise<number>): [string, Work] {
  const reported = async (shell: Shell, asked: Asked<C>): Promise<number> => {
    try {
      return await run(shell, asked);
    } catch (error) {
      throw forPerson(error);
    }
  };
  return [of.name, (shell, argv) => commandStatus(of, argv, (asked) => reported(shell, asked), shell.screen)];
}

const first = (operands: readonly string[]): string => operands[0] ?? "";

const WORK: ReadonlyMap<string, Work> = new Map([
  work(commands.LOGIN, logIn),
  work(commands.PUSH, (shell, { values }) => leads.push(shell, clientOf(shell, values.url), values)),
  work(commands.WATCH, (shell, { values, operands }) =>
    leads.watched(shell, clientOf(shell, values.url), first(operands), values.json),
  ),
  work(commands.EXPLAIN, (shell, { values, operands }) =>
    leads.explain(shell, clientOf(shell, values.url), first(operands), values.json),
  ),
  work(commands.LEAD_SHOWN, (shell, { values, operands }) =>
    leads.showLead(shell, clientOf(shell, values.url), first(operands), values.json),
  ),
  work(commands.LEADS, (shell, { values }) => leads.listLeads(shell, clientOf(shell, values.url), values)),
  work(commands.ABORT, (shell, { values, operands }) =>
    leads.abort(shell, clientOf(shell, values.url), operands, values),
  ),
  work(commands.TEMPLATES, (shell, { values }) => templates.listTemplates(shell, clientOf(shell, values.url), values)),
  work(commands.TEMPLATES_PULL, (shell, { values, operands }) =>
    templates.pull(shell, clientOf(shell, values.url), operands, values),
  ),
  work(commands.TEMPLATES_PUSH, (shell, { values, operands }) =>
    templates.pushFiles(shell, clientOf(shell, values.url), operands, values),
  ),
  work(commands.TEMPLATES_DIFF, (shell, { values, operands }) =>
    templates.diff(shell, clientOf(shell, values.url), operands, values["by-name"]),
  ),
  work(commands.TEMPLATES_TEST, (shell, { values, operands }) =>
    templates.check(shell, clientOf(shell, values.url), operands, values),
  ),
  work(commands.CONFIGURATION, (shell, { values, operands }) =>
    showConfiguration(shell, clientOf(shell, values.url), first(operands)),
  ),
  work(commands.CONFIGURATION_PUSH, (shell, { values, operands }) =>
    pushConfiguration(shell, clientOf(shell, values.url), operands),
  ),
  work(commands.NUMBERS, (shell, { values }) => listNumbers(shell, clientOf(shell, values.url), values)),
]);

/** What `callagent --help` says. */
export function overview(): string {
  const width = Math.max(...commands.COMMANDS.map(({ name }) => name.length));
  return [
    "callagent <command> [options]",
    "The command line of callagent's REST API.",
    "",
    ...commands.COMMANDS.map(({ name, about }) => `  ${name.padEnd(width)}  ${about.split(/(?<=\.) /)[0]}`),
    "",
    "callagent <command> --help says more. Exit status 0: done; 1: it failed; 2: it was called wrongly.",
  ].join("\n");
}

/** Commands that have commands below them and take no operand: a word behind them names one of those. */
const GROUPS: ReadonlySet<string> = new Set(
  commands.COMMANDS.filter(
    (one) => one.operands === undefined && commands.COMMANDS.some(({ name }) => name.startsWith(`${one.name} `)),
  ).map(({ name }) => name),
);

/** Runs a command line of `callagent`; its exit status. */
export async function run(argv: readonly string[], shell: Shell): Promise<number> {
  const [one = "--help", two = ""] = argv;
  if (one === "--help" || one === "-h" || one === "help") {
    shell.screen.out(argv.length > 1 && one === "help" ? helpFor(argv.slice(1).join(" ")) : overview());
    return 0;
  }
  const both = WORK.get(`${one} ${two}`);
  if (both !== undefined) return both(shell, argv.slice(2));
  const single = WORK.get(one);
  const isPart = two !== "" && !two.startsWith("-") && GROUPS.has(one);
  if (single !== undefined && !isPart) return single(shell, argv.slice(1));
  const typed = isPart ? `${one} ${two}` : one;
  const meant = nearest(typed, [...WORK.keys()]);
  shell.screen.err(
    `There is no command ${typed}${meant === null ? "" : `; did you mean ${meant}?`}${meant === null ? "." : ""} See callagent --help.`,
  );
  return 2;
}

function helpFor(name: string): string {
  const found = commands.COMMANDS.find((one) => one.name === name);
  return found === undefined ? overview() : helpOf(found);
}
