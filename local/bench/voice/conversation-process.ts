import { spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { TemplateRecord } from "../../../shared/contracts/template.ts";
import { startChild, type Child } from "../../tools/stack/supervisor.ts";
import { ROOT } from "../../tools/stack/project-root.ts";
import type { ProcessRequest, Measured, Settled, ConversationToPrepare, ProcessMessage } from "./ipc-messages.ts";

const READY_MS = 30_000;
const SETTLED_MS = 30_000;
const POLL_MS = 50;
const STOP_MS = 20_000;
const TASKSET = "/usr/bin/taskset";

/** The process under measurement, from outside. */
export interface ConversationProcess {
  readonly pid: number;
  template(template: TemplateRecord): Promise<void>;
  /** Where the carrier connects, in order. Throws where a talk is refused. */
  prepare(calls: ConversationToPrepare[]): Promise<string[]>;
  measure(): Promise<Measured>;
  settled(lead_id: string): Promise<Settled>;
  stop(): Promise<void>;
}

/** How it is started: its models, and on which processor alone (absent: any). */
export interface ConversationProcessOptions {
  models: string;
  key?: string;
  env?: Record<string, string>;
  processor?: number;
  profiles?: string;
  /** Options of V8. */ v8?: readonly string[];
}

const told = <K extends ProcessMessage["told"]>(
  what: ProcessMessage,
  kind: K,
): Extract<ProcessMessage, { told: K }> => {
  if (what.told !== kind) throw new Error(`the talking process said ${what.told} where ${kind} was expected`);
  return what as Extract<ProcessMessage, { told: K }>;
};

function spawned(
  { models, key = "bench", env = {}, processor, profiles, v8 = [] }: ConversationProcessOptions,
  mongo: string,
): ChildProcess {
  const node = [
    process.execPath,
    ...v8,
    ...(profiles === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profiles}`]),
    join(import.meta.dirname, "conversation-program.ts"),
  ];
  const [command = "", ...args] =
    processor !== undefined && existsSync(TASKSET) ? [TASKSET, "-c", String(processor), ...node] : node;
  return spawn(command, args, {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    env: {
      PATH: process.env["PATH"],
      LOG_LEVEL: "error",
      MONGODB_URI: mongo,
      MEDIA_HOST: "127.0.0.1",
      MEDIA_PORT: "0",
      ENGINE_DEFAULT: "cascade",
      OPENAI_BASE_URL: models,
      OPENAI_API_KEY: key,
      OPENAI_MODEL: "callagent-sim",
      STT_BASE_URL: models,
      STT_API_KEY: key,
      STT_MODEL: "callagent-sim",
      TTS_BASE_URL: models,
      TTS_API_KEY: key,
      TTS_MODEL: "callagent-sim",
      ...env,
    },
  });
}

/** Starts it with a store of its own. */
export async function startConversationProcess(options: ConversationProcessOptions): Promise<ConversationProcess> {
  const args = [join(ROOT, "local/store/main.ts"), "--port", "0", "--dir", ":memory:"];
  const store: Child = await startChild({
    name: "store",
    args,
    env: {},
    ready: "line",
    restart: false,
    onLine: () => undefined,
    onDeath: (said) => console.error(said),
  });
  const mongo = new URL(store.url);
  mongo.pathname = "/bench";
  const child = spawned(options, mongo.href);
  const ended = new Map<string, Settled>();
  let answered: ((what: ProcessMessage) => void) | null = null;
  child.on("message", (what: ProcessMessage) => {
    if (what.told === "settled") ended.set(what.lead_id, what);
    else answered?.(what);
  });
  const next = (ms = READY_MS): Promise<ProcessMessage> =>
    new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`the talking process did not answer within ${ms} ms`)), ms);
      const dead = (code: number | null): void => {
        clearTimeout(late);
        reject(new Error(`the talking process ended with ${code}`));
      };
      child.once("exit", dead);
      answered = (what) => {
        clearTimeout(late);
        child.off("exit", dead);
        resolve(what);
      };
    });
  const ask = (asked: ProcessRequest): Promise<ProcessMessage> => {
    const answer = next();
    child.send(asked);
    return answer;
  };
  told(await next(), "ready");
  return {
    pid: child.pid ?? 0,
    async template(template) {
      told(await ask({ ask: "template", template }), "done");
    },
    async prepare(calls) {
      const { urls } = told(await ask({ ask: "prepare", calls }), "prepared");
      const refused = urls.find((url) => !url.startsWith("ws"));
      if (refused !== undefined) throw new Error(refused);
      return urls;
    },
    measure: async () => told(await ask({ ask: "measure" }), "measured"),
    async settled(lead_id) {
      for (const end = performance.now() + SETTLED_MS; performance.now() < end;) {
        const known = ended.get(lead_id);
        if (known) return known;
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
      throw new Error(`a talk was not settled within ${SETTLED_MS} ms`);
    },
    async stop() {
      const gone = new Promise<void>((resolve) => {
        child.once("exit", () => resolve());
      });
      child.send({ ask: "stop" } satisfies ProcessRequest);
      const late = setTimeout(() => {
        console.error(`the talking process did not end within ${STOP_MS / 1000} s`);
        child.kill("SIGKILL");
      }, STOP_MS);
      await gone;
      clearTimeout(late);
      await store.stop(1000);
    },
  };
}
