import { writeFileSync } from "node:fs";
import { argumentsOf, CONVERSE, type Arguments } from "./arguments.ts";
import { commandStatus, UsageError } from "../../../shared/process/command-line.ts";
import { isFileError, errorMessage } from "./user-error.ts";
import { runKeyboardConversation, type Keyboard } from "./keyboard-conversation.ts";
import { simulatedNotice } from "../../models/languages.ts";
import { openModel, type Model } from "./models.ts";
import { payloadOf, play, type Played } from "./play-script.ts";
import { samplePayload } from "../sample/sample-payload.ts";
import {
  isFolder,
  type LoadedTemplate,
  readPayload,
  readScripts,
  readTemplate,
  requirePayload,
  templateFor,
  titleOf,
} from "./input-files.ts";
import { heading, lineText, resultOf, summary, table, traceOf } from "./report.ts";

/** What the command runs on. `env`: the environment, for --real. */
export interface CommandDeps {
  readonly argv: readonly string[];
  readonly env: Record<string, string | undefined>;
  readonly keyboard: Keyboard;
}

const MET = 0;
const NOT_MET = 1;

function sayLanguage({ model }: Arguments, { name, template }: LoadedTemplate, say: (line: string) => void): void {
  const notice = model.kind === "simulator" ? simulatedNotice(name, template.language) : null;
  if (notice !== null) say(notice);
}

async function playAll(asked: Arguments, model: Model, print: (line: string) => void): Promise<number> {
  const say = asked.json ? (): void => undefined : print;
  // every file is read before the first conversation begins
  const scripts = readScripts(asked.scripts).map((named) => ({ named, ready: templateFor(named, asked.template) }));
  for (const { named, ready } of scripts) requirePayload(named.file, ready, payloadOf(named.script, ready));
  const played: Played[] = [];
  for (const { named, ready } of scripts) {
    say(heading(titleOf(named), ready.name));
    sayLanguage(asked, ready, say);
    const one = await play(named, ready, model, (line) => say(lineText(line)));
    for (const row of table(one.checks)) say(row);
    say("");
    played.push(one);
  }
  for (const line of summary(played)) say(line);
  if (asked.json) print(JSON.stringify(played.map(resultOf), null, 2));
  if (asked.trace !== null) writeFileSync(asked.trace, traceOf(played));
  return played.every((p) => p.passed) ? MET : NOT_MET;
}

async function atKeyboard(asked: Arguments, template: string, model: Model, keyboard: Keyboard): Promise<number> {
  const ready = readTemplate(template, process.cwd());
  const payload =
    asked.payload === null ? samplePayload(ready.template.payload_schema, {}) : readPayload(asked.payload);
  requirePayload(
    asked.payload ?? "the payload made up from payload_schema; give your own with --payload",
    ready,
    payload,
  );
  sayLanguage(asked, ready, keyboard.print);
  if (asked.payload === null) keyboard.print(`payload (made up; --payload gives your own): ${JSON.stringify(payload)}`);
  const trace = await runKeyboardConversation(ready, payload, model, keyboard);
  if (asked.trace !== null) writeFileSync(asked.trace, `${JSON.stringify(trace, null, 1)}\n`);
  return MET;
}

async function run(asked: Arguments, env: CommandDeps["env"], keyboard: Keyboard): Promise<number> {
  const model = await openModel(asked, env);
  try {
    if (asked.scripts.length > 0) return await playAll(asked, model, (line) => keyboard.print(line));
    return await atKeyboard(asked, asked.template ?? "", model, keyboard);
  } finally {
    await model.close();
  }
}

/** Runs the command; its exit code: 0, 1 for an expectation that was not met, 2 for what the person can mend. */
export const converse = ({ argv, env, keyboard }: CommandDeps): Promise<number> =>
  commandStatus(
    CONVERSE,
    argv,
    (asked) =>
      run(argumentsOf(asked, isFolder), env, keyboard).catch((error: unknown) => {
        throw isFileError(error) ? new UsageError(errorMessage(error), { cause: error }) : error;
      }),
    { out: keyboard.print, err: keyboard.print },
  );
