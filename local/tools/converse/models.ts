import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { ModelCall } from "../../../services/conversation/pure.ts";
import { chatModel, ModelError, openAiChat, type ChatRequest } from "../../../services/conversation/surface.ts";
import { systemClock } from "../../../shared/time/clock.ts";
import { Strict, Type, type Static } from "../../../shared/contracts/define.ts";
import { EnvironmentError, readEnv } from "../../../shared/process/env.ts";
import { issueChecker } from "../../../shared/validator.ts";
import { startModels } from "../../models/server.ts";
import type { Arguments } from "./arguments.ts";
import { UsageError } from "../../../shared/process/command-line.ts";
import { fileError, errorMessage } from "./user-error.ts";

/** What a model answers: words, calls, or why there was no answer. */
export type Answer =
  | { readonly text: string; readonly calls: readonly ModelCall[] }
  | { readonly fault: string; readonly why: string };
/** Answers the dialogue's model requests. Throws NoRecording. */
export interface Model {
  ask(request: ChatRequest): Promise<Answer>;
  close(): Promise<void>;
}

/** Nobody has recorded an answer to this question. */
export class NoRecording extends Error {}

const SIMULATED = "callagent-sim";
const MAX_ASKED_CHARS = 200;

const Recording = Strict({
  recorded: Type.Literal(1),
  /** By the SHA-256 of the question. `asked`: its last message, for people. */
  answers: Type.Record(
    Type.String(),
    Strict({
      asked: Type.String(),
      text: Type.String(),
      calls: Type.Array(Strict({ id: Type.String(), name: Type.String(), arguments: Type.String() })),
    }),
  ),
});
type Recording = Static<typeof Recording>;
const recordingShape = issueChecker(Recording);
const isRecording = (value: unknown): value is Recording => recordingShape(value).length === 0;

const keyOf = (request: ChatRequest): string =>
  createHash("sha256")
    .update(JSON.stringify({ messages: request.messages, tools: request.tools }))
    .digest("hex");
const lastAsked = ({ messages }: ChatRequest): string => {
  const last = messages.at(-1);
  return `${last?.role ?? "nothing"}: ${last?.content ?? ""}`.slice(0, MAX_ASKED_CHARS);
};

/** A model on a socket, through the same code as in a call. */
function onSocket(address: {
  base_url: string | undefined;
  key: string | undefined;
  model: string;
  check: string;
}): Model {
  const model = chatModel(openAiChat(address), systemClock);
  return {
    async ask(request) {
      try {
        const { text, calls } = await model.answer(request, {
          signal: new AbortController().signal,
          onText: () => undefined,
        });
        return { text, calls };
      } catch (error) {
        if (error instanceof ModelError) return { fault: error.code, why: error.message };
        throw error;
      }
    },
    close: async () => undefined,
  };
}

async function simulated(): Promise<Model> {
  const server = await startModels({ port: 0, model: SIMULATED });
  return {
    ...onSocket({ base_url: server.url, key: "any", model: SIMULATED, check: "the simulator" }),
    close: () => server.close(),
  };
}

function real(variables: Record<string, string | undefined>): Model {
  try {
    const env = readEnv({
      OPENAI_BASE_URL: variables["OPENAI_BASE_URL"],
      OPENAI_API_KEY: variables["OPENAI_API_KEY"],
      OPENAI_MODEL: variables["OPENAI_MODEL"],
    });
    if (env.OPENAI_MODEL === undefined)
      throw new UsageError(
        "--real needs OPENAI_MODEL in the environment, and OPENAI_BASE_URL or OPENAI_API_KEY to go with it.",
      );
    return onSocket({
      base_url: env.OPENAI_BASE_URL,
      key: env.OPENAI_API_KEY,
      model: env.OPENAI_MODEL,
      check: "OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL",
    });
  } catch (error) {
    throw error instanceof EnvironmentError ? new UsageError(error.message) : error;
  }
}

function readRecording(file: string): Recording {
  if (!existsSync(file)) throw new UsageError(`${file}: there is no such file; write it with --record ${file}.`);
  const value = jsonOf(file);
  if (!isRecording(value)) throw fileError(file, "this is no file of recorded answers:", recordingShape(value));
  return value;
}

function jsonOf(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new UsageError(`${file} is no valid JSON: ${errorMessage(error)}`);
  }
}

/** Answers from a file only. */
function replayed(file: string): Model {
  const { answers } = readRecording(file);
  return {
    async ask(request) {
      const answer = answers[keyOf(request)];
      if (!answer)
        throw new NoRecording(
          `${file} has no answer to this question (its last message is "${lastAsked(request)}"). The template or the script has changed since; record anew with --record ${file}.`,
        );
      return { text: answer.text, calls: answer.calls };
    },
    close: async () => undefined,
  };
}

/** Writes what another model answers; a question that comes again is answered as before, so that the file holds one answer to each. */
function recording(model: Model, file: string): Model {
  const answers: Recording["answers"] = {};
  return {
    async ask(request) {
      const key = keyOf(request);
      const known = answers[key];
      if (known) return { text: known.text, calls: known.calls };
      const answer = await model.ask(request);
      if (!("fault" in answer))
        answers[key] = {
          asked: lastAsked(request),
          text: answer.text,
          calls: answer.calls.map((call) => ({ ...call })),
        };
      return answer;
    },
    async close() {
      await model.close();
      writeFileSync(file, `${JSON.stringify({ recorded: 1, answers } satisfies Recording, null, 2)}\n`);
    },
  };
}

/** The model that was asked for. `variables`: the environment. UsageError. */
export async function openModel(
  { model, record }: Pick<Arguments, "model" | "record">,
  variables: Record<string, string | undefined>,
): Promise<Model> {
  if (model.kind === "recorded") return replayed(model.file);
  const asked = model.kind === "real" ? real(variables) : await simulated();
  return record === null ? asked : recording(asked, record);
}
