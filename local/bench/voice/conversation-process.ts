import { spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { recordIn } from "../../../shared/json.ts";
import type { TemplateRecord } from "../../../shared/contracts/records/template.ts";
import { startChild, type Child } from "../../tools/stack/supervisor.ts";
import { ROOT } from "../../tools/stack/project-root.ts";
import { CONVERSATION_NODE_OPTIONS } from "../../tools/stack/service-processes.ts";
import type { Places } from "./sessions/sound-stages.ts";
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
  /** Where the carrier connects, in order. Throws where a conversation is refused. */
  prepare(calls: ConversationToPrepare[]): Promise<string[]>;
  measure(): Promise<Measured>;
  /** The sound of sessions that passed since it was asked last, from the first time on. */
  sounds(): Promise<Places>;
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
  /** A second of the process takes so many. */
  slow?: number;
  /** Another version's folder, whose service runs, without the options that ours has. */
  tree?: string;
  /** Takes the lines of its log, from level info on. */
  onLog?(line: Record<string, unknown>): void;
  /** Options of V8, beside those that it has in production. */ v8?: readonly string[];
}

const told = <K extends ProcessMessage["told"]>(
  what: ProcessMessage,
  kind: K,
): Extract<ProcessMessage, { told: K }> => {
  if (what.told !== kind) throw new Error(`the talking process said ${what.told} where ${kind} was expected`);
  return what as Extract<ProcessMessage, { told: K }>;
};

function spawned(
  {
    models,
    key = "bench",
    env = {},
    processor,
    profiles,
    slow = 1,
    onLog,
    v8 = [],
    tree = ROOT,
  }: ConversationProcessOptions,
  mongo: string,
): ChildProcess {
  const node = [
    process.execPath,
    ...v8,
    ...(profiles === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profiles}`]),
    join(tree, "local/bench/voice/conversation-program.ts"),
    String(slow),
  ];
  const [command = "", ...args] =
    processor !== undefined && existsSync(TASKSET) ? [TASKSET, "-c", String(processor), ...node] : node;
  const child = spawn(command, args, {
    stdio: ["ignore", onLog ? "pipe" : "inherit", "inherit", "ipc"],
    env: {
      PATH: process.env["PATH"],
      NODE_OPTIONS: tree === ROOT ? CONVERSATION_NODE_OPTIONS : "",
      LOG_LEVEL: onLog ? "info" : "error",
      MONGODB_URI: mongo,
      MIGRATE_AT_START: "true",
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
      // most benches play tones
      VOICE_DETECTION: "pitch",
      ...env,
    },
  });
  if (child.stdout && onLog)
    createInterface({ input: child.stdout }).on("line", (line) => {
      const read = recordIn(line);
      if (read !== null) onLog(read);
    });
  return child;
}

const startStore = (): Promise<Child> =>
  startChild({
    name: "store",
    args: [join(ROOT, "local/store/main.ts"), "--port", "0", "--dir", ":memory:"],
    env: {},
    ready: "line",
    restart: false,
    onLine: () => undefined,
    onDeath: (reason) => console.error(reason),
  });

/** Starts it with a store of its own. */
export async function startConversationProcess(options: ConversationProcessOptions): Promise<ConversationProcess> {
  const store = await startStore();
  const mongo = new URL(store.url);
  mongo.pathname = "/bench";
  const running = new ForkedConversation(spawned(options, mongo.href), store);
  await running.ready();
  return running;
}

class ForkedConversation implements ConversationProcess {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #store: Child;
  readonly #settled = new Map<string, Settled>();
  #answered: ((message: ProcessMessage) => void) | null = null;

  constructor(child: ChildProcess, store: Child) {
    this.pid = child.pid ?? 0;
    this.#child = child;
    this.#store = store;
    child.on("message", (message: ProcessMessage) => {
      if (message.told === "settled") this.#settled.set(message.lead_id, message);
      else this.#answered?.(message);
    });
  }

  async ready(): Promise<void> {
    told(await this.#next(), "ready");
  }

  async template(template: TemplateRecord): Promise<void> {
    told(await this.#ask({ ask: "template", template }), "done");
  }

  async prepare(calls: ConversationToPrepare[]): Promise<string[]> {
    const { urls } = told(await this.#ask({ ask: "prepare", calls }), "prepared");
    const refused = urls.find((url) => !url.startsWith("ws"));
    if (refused !== undefined) throw new Error(refused);
    return urls;
  }

  async measure(): Promise<Measured> {
    return told(await this.#ask({ ask: "measure" }), "measured");
  }

  async sounds(): Promise<Places> {
    return told(await this.#ask({ ask: "sounds" }), "sounds").places;
  }

  async settled(lead_id: string): Promise<Settled> {
    for (const end = performance.now() + SETTLED_MS; performance.now() < end;) {
      const known = this.#settled.get(lead_id);
      if (known) return known;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    throw new Error(`a conversation was not settled within ${SETTLED_MS} ms`);
  }

  async stop(): Promise<void> {
    const gone = new Promise<void>((resolve) => {
      this.#child.once("exit", () => resolve());
    });
    this.#child.send({ ask: "stop" } satisfies ProcessRequest);
    const late = setTimeout(() => {
      console.error(`the conversation process did not end within ${STOP_MS / 1000} s`);
      this.#child.kill("SIGKILL");
    }, STOP_MS);
    await gone;
    clearTimeout(late);
    await this.#store.stop(1000);
  }

  #ask(request: ProcessRequest): Promise<ProcessMessage> {
    const answer = this.#next();
    this.#child.send(request);
    return answer;
  }

  #next(): Promise<ProcessMessage> {
    return new Promise((resolve, reject) => {
      const late = (): void => reject(new Error(`the conversation process did not answer within ${READY_MS} ms`));
      const timer = setTimeout(late, READY_MS);
      const dead = (code: number | null): void => {
        clearTimeout(timer);
        reject(new Error(`the conversation process ended with ${code}`));
      };
      this.#child.once("exit", dead);
      this.#answered = (message) => {
        clearTimeout(timer);
        this.#child.off("exit", dead);
        resolve(message);
      };
    });
  }
}
