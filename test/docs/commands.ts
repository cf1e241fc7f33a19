import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { EVENT_STREAM } from "../../shared/contracts/events/event-subjects.ts";
import { ROUTES } from "../../services/gateway/routes/index.ts";
import { readCommand, UsageError } from "../../shared/process/command-line.ts";
import { commandOf, SCRIPTS } from "../fixtures/npm-commands.ts";
import { readProject } from "../house/sources.ts";
import { ROOT } from "./pages.ts";

/** Commands of npm itself that documents use. */
const OF_NPM = new Set(["ci"]);

/** How far imports of a program are followed in search of its options. */
const IMPORTS_DEEP = 2;

/** The text of a program with what it imports. */
function programText(file: string, depth = IMPORTS_DEEP): string {
  const text = readFileSync(join(ROOT, file), "utf8");
  const imported = [...text.matchAll(/(?:from |import\()"(\.[^"]+)"/g)].map((m) => join(dirname(file), m[1] ?? ""));
  return depth === 0 ? text : [text, ...imported.map((next) => programText(next, depth - 1))].join("\n");
}

/** What is wrong with the arguments of a program: options it does not read, test files and folders that are gone. */
function wrongArguments(file: string, args: readonly string[]): string[] {
  const text = programText(file);
  const options = args.flatMap((arg) => /^--([\w-]+)/.exec(arg)?.[1] ?? []);
  return [
    ...options.filter((o) => !new RegExp(`["']?\\b${o}["']?: \\{\\s*type|"--${o}[="]`).test(text)).map((o) => `--${o}`),
    ...args.filter((arg) => arg.startsWith("test/") && !existsSync(join(ROOT, arg))),
  ];
}

function wrongWithNpm(words: readonly string[]): string[] {
  const [command = "", ...rest] = words.filter((word) => word !== "--silent");
  if (OF_NPM.has(command)) return [];
  const [name = "", ...args] = command === "run" ? rest : [command, ...rest];
  if (!(name in SCRIPTS)) return [`npm has no script ${name}`];
  const redirected = args.indexOf(">");
  const own = redirected < 0 ? args : args.slice(0, redirected);
  const given = own[0] === "--" ? own.slice(1) : own;
  if (given.length === 0) return [];
  const known = commandOf(name);
  if (known === undefined) return [];
  if (name === "test") return given.filter((arg) => arg.startsWith("test/") && !existsSync(join(ROOT, arg)));
  try {
    readCommand(known, given);
    return [];
  } catch (error) {
    return [error instanceof UsageError ? error.message : String(error)];
  }
}

function wrongWithNode([file = "", ...args]: readonly string[]): string[] {
  return existsSync(join(ROOT, file)) ? wrongArguments(file, args) : [`there is no ${file}`];
}

/** The services of docker-compose.yml. */
const containers = [...readFileSync(join(ROOT, "docker-compose.yml"), "utf8").matchAll(/^ {2}([a-z]+):$/gm)].map(
  (m) => m[1],
);

const wrongWithDocker = (args: readonly string[]): string[] =>
  args.flatMap((arg) => {
    const scaled = /^([a-z]+)=\d+$/.exec(arg)?.[1];
    return scaled === undefined || containers.includes(scaled) ? [] : [`there is no container ${scaled}`];
  });

/** Endpoints outside the table of routes: of the gateway itself, and of simulators that read the path alone. */
const OTHER_ENDPOINTS = new Set([
  "GET /health/live",
  "GET /health/ready",
  "GET /health",
  "GET /docs",
  "GET /openapi.json",
  "POST /livekit/webhook",
  "POST /r/call/{key}",
  "GET /r/{token}/recording",
  "POST /inbound-address",
  "POST /inbound",
]);
const simulators = readProject().filter((file) => /^local\/(?:carriers|models)\/.*\.ts$/.test(file.path));

/** True for an endpoint of the API, the gateway or a simulator: `GET /leads/{lead_id}`. */
export const isEndpoint = (said: string): boolean =>
  OTHER_ENDPOINTS.has(said) ||
  simulators.some((file) => file.text.includes(`"${said}"`)) ||
  ROUTES.some((row) => `${row.method} ${row.path}` === said);

/** The body of a request, when it has one, is JSON. */
function wrongBody(line: string): string[] {
  const body = / -d '([^']*)'/.exec(line)?.[1];
  if (body === undefined) return [];
  try {
    JSON.parse(body);
    return [];
  } catch {
    return [`no JSON: ${body}`];
  }
}

/** Requests to the API by the variables of the walkthrough (`$BASE/leads/$LEAD/explain`) or to a simulator. */
function wrongWithCurl(line: string): string[] {
  const method = / -X ([A-Z]+)/.exec(line)?.[1] ?? (line.includes(" -d ") ? "POST" : "GET");
  const plain = (path: string): string => path.replaceAll(/\{\w+\}|\$\w+/g, "{}");
  const api = [...line.matchAll(/\$BASE(\/[^\s"?]*)/g)].map((m) => m[1] ?? "");
  const simulators = [...line.matchAll(/ https?:\/\/127\.0\.0\.1:\d+(\/[^\s"?]*)/g)].map((m) => m[1] ?? "");
  return [
    ...api.filter((path) => !ROUTES.some((row) => row.method === method && plain(row.path) === plain(path))),
    ...simulators.filter((path) => !isEndpoint(`${method} ${path}`)),
  ]
    .map((path) => `there is no endpoint ${method} ${path}`)
    .concat(wrongBody(line));
}

/** What is wrong with one command of a document; null when it is not a command that can be checked. */
export function wrongWith(line: string): string[] | null {
  const commands = line
    .replace(/\s+#.*$/, "")
    .trim()
    .split(/\s+&&\s+/);
  const wrong = commands.map((command): string[] | null => {
    const [program = "", ...args] = command.split(/\s+/);
    switch (program) {
      case "npm":
        return wrongWithNpm(args);
      case "node":
        return wrongWithNode(args);
      case "docker":
        return wrongWithDocker(args);
      case "cp":
        return existsSync(join(ROOT, args[0] ?? "")) ? [] : [`there is no ${args[0]}`];
      case "curl":
        return wrongWithCurl(command);
      case "nats":
        // what it prints is tested by npm run test:real -- nats-cli
        return args.includes(EVENT_STREAM) ? [] : [`there is no stream but ${EVENT_STREAM}`];
      default:
        return null;
    }
  });
  return wrong.some((w) => w === null) ? null : wrong.flatMap((w) => w ?? []);
}
