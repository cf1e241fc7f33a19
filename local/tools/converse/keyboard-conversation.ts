import { writeFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { stringify } from "yaml";
import type { Model } from "./models.ts";
import type { LoadedTemplate } from "./input-files.ts";
import { lineText } from "./report.ts";
import type { Turn } from "./script.ts";
import { TextConversation, type Traced, type WebResult } from "./text-conversation.ts";

/** A conversation at the keyboard: a person types as the customer. */

const HELP = `  what you type is said · /press 1 · /silence · /interrupt [words heard] [what is said] · /hangup · /machine
  /state  what is known so far · /save <file.yaml>  the talk so far as a script with its expectations · /help`;

/** What is done where voicemail answers: the template's message can be heard. */
const ON_MACHINE = "leave_message";

/** What the conversation needs from the terminal. */
export interface Keyboard {
  /** The next line; null: there are no more. */
  line(prompt: string): Promise<string | null>;
  print(line: string): void;
}

type Command =
  | { readonly turn: Turn }
  | { readonly show: "state" | "help" }
  | { readonly save: string }
  | { readonly wrong: string };

function interruption(rest: string, wordsLately: number): Command {
  const [, count, text] = /^(\d+)?\s*(.*)$/s.exec(rest) ?? [];
  const after_words = count === undefined ? Math.floor(wordsLately / 2) : Number(count);
  return { turn: { interrupt: { after_words, ...(text ? { say: text } : {}) } } };
}

/** What a typed line means. `wordsLately`: words of ours that can be interrupted; half of them is where an interruption falls that names no place. */
export function commandOf(line: string, wordsLately: number): Command {
  if (!line.startsWith("/")) return { turn: { say: line } };
  const [, name = "", rest = ""] = /^\/(\S*)\s*(.*)$/s.exec(line) ?? [];
  switch (name) {
    case "press":
      return /^[0-9*#]{1,64}$/.test(rest)
        ? { turn: { press: rest } }
        : { wrong: "/press takes keys, such as /press 12#" };
    case "silence":
      return { turn: { silence: 1 } };
    case "interrupt":
      return interruption(rest, wordsLately);
    case "hangup":
    case "hang_up":
      return { turn: { hang_up: true } };
    case "machine":
      return { turn: { machine: true } };
    case "state":
      return { show: "state" };
    case "help":
      return { show: "help" };
    case "save":
      return /\.ya?ml$/.test(rest) ? { save: rest } : { wrong: "/save takes a file name that ends with .yaml" };
    default:
      return { wrong: `/${name} is no command; /help lists them` };
  }
}

const answerTyped = (typed: string | null): WebResult =>
  typed === null || typed.trim() === "" ? { ok: false, result: "HTTP_503" } : { ok: true, result: typed };

function state(conversation: TextConversation): string[] {
  const { facts } = conversation;
  return [
    `  node ${conversation.node} · path ${facts.node_traversal.join(" → ")}`,
    `  variables ${JSON.stringify(facts.variables)}`,
    `  outcome ${facts.decided ?? "none yet"}${conversation.ended ? ` · ended by ${facts.ended_by}` : ""} · errors ${facts.errors.map((e) => String(e["code"])).join(", ") || "none"}`,
  ];
}

/** A conversation with all that a script of it needs. */
interface KeyboardState {
  readonly ready: LoadedTemplate;
  readonly payload: Record<string, unknown>;
  readonly conversation: TextConversation;
  readonly turns: Turn[];
  readonly web: Record<string, { status?: number; body?: string }[]>;
}

function scriptOf({ ready, payload, conversation: talk, turns, web }: KeyboardState, file: string): string {
  const { facts } = talk;
  return stringify({
    template: ready.file === null ? ready.name : relative(dirname(resolve(file)), ready.file),
    payload,
    turns,
    ...(turns.some((turn) => turn.machine) ? { voicemail_action: ON_MACHINE } : {}),
    ...(Object.keys(web).length > 0 ? { web } : {}),
    expect: {
      path: facts.node_traversal,
      ...(talk.ended ? { outcome: talk.outcome, call_ended_by: facts.ended_by } : {}),
      variables: facts.variables,
      errors: facts.errors.map((e) => String(e["code"])),
    },
  });
}

function save(held: KeyboardState, file: string, print: (line: string) => void): void {
  writeFileSync(file, scriptOf(held, file));
  print(`  saved as ${file}`);
}

/** The conversation is over: it can still be saved as a test. */
async function afterwards(held: KeyboardState, { line, print }: Keyboard): Promise<void> {
  for (let typed = await line("> "); typed !== null && typed.trim() !== ""; typed = await line("> ")) {
    const command = commandOf(typed.trim(), 0);
    if ("save" in command) save(held, command.save, print);
    else print("  the talk is over; /save <file.yaml> keeps it as a script, an empty line leaves");
  }
}

/** Holds the conversation until it or the lines end; a customer who has no more lines hangs up. Gives what happened. */
export async function runKeyboardConversation(
  ready: LoadedTemplate,
  payload: Record<string, unknown>,
  model: Model,
  keyboard: Keyboard,
): Promise<readonly Traced[]> {
  const { print } = keyboard;
  const web: KeyboardState["web"] = {};
  const conversation = new TextConversation(ready, payload, ON_MACHINE, {
    model,
    transfers: () => true,
    told: (line) => print(lineText(line)),
    async web(_asked, called) {
      const typed = answerTyped(await keyboard.line(`  answer of ${called} (empty: it fails)> `));
      (web[called] ??= []).push(typed.ok ? { body: typed.result } : { status: 503 });
      return typed;
    },
  });
  const held: KeyboardState = { ready, payload, conversation: conversation, turns: [], web };
  print(HELP);
  await conversation.start();
  while (!conversation.ended) {
    const typed = await keyboard.line("> ");
    if (typed !== null && typed.trim() === "") continue;
    const command: Command =
      typed === null ? { turn: { hang_up: true } } : commandOf(typed.trim(), conversation.wordsLately);
    if ("turn" in command) {
      held.turns.push(command.turn);
      await conversation.turn(command.turn);
    } else if ("wrong" in command) print(`  ${command.wrong}`);
    else if ("save" in command) save(held, command.save, print);
    else if (command.show === "help") print(HELP);
    else for (const line of state(conversation)) print(line);
  }
  for (const line of state(conversation)) print(line);
  await afterwards(held, keyboard);
  return conversation.trace;
}
