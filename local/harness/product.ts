import type { Engine } from "../../shared/contracts/records/models.ts";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "../tools/api-client.ts";
import { runRows, type Progress } from "../tools/demo/lead-run.ts";
import type { Row } from "../tools/demo/leads-csv.ts";
import { openFolder, type Folder } from "../tools/stack/data-folder.ts";
import { freePort } from "../tools/stack/ports.ts";
import { seed, type Sample } from "../tools/sample/seed.ts";
import { startStack, type Stack, type StackOptions } from "../tools/stack/stack.ts";
import type { LogLine } from "../tools/stack/child-group.ts";
import type { Provider } from "../../shared/contracts/records/configuration.ts";
import { startRecordingSink, type RecordingSink } from "../tools/sink/recording-sink.ts";

/** The whole product, started as a newcomer starts it, with a webhook receiver. */
export interface Product {
  stack: Stack;
  sample: Sample;
  admin: Client;
  sink: RecordingSink;
  folder: Folder;
  log: LogLine[];
  run(rows: Row[], onChange?: (all: Progress[]) => void): Promise<Progress[]>;
  ledgerCalls(): Promise<LedgerCall[]>;
  ledger(): Promise<LedgerEntry[]>;
  /** Asks the carrier for a fault (local/carriers/exchange/faults.ts), or with null to stop all of them. */
  injectFault(fault: Record<string, unknown> | null): Promise<void>;
  /** Gives people whose numbers end like this a script (local/people/step-script.ts). */
  scriptPerson(number: string, script: readonly Record<string, unknown>[]): Promise<void>;
  /** How often a child died by itself, by its name. */
  deaths(child: string): number;
  stop(): Promise<void>;
}

/** A call as the simulated carrier saw it. */
export interface LedgerCall {
  sid: string;
  to: string;
  from: string;
  status: string;
  rang: boolean;
  rings: number;
  reference: string | null;
  answered: boolean;
  placed_at: string;
  /** The dialer logged right before it sent the request; absent: its log is not at hand. */
  sent_after?: string;
  answered_at: string | null;
  ended_at: string | null;
  ended_by: string | null;
  /** What was heard on it. */
  transcript?: readonly { who: string }[];
}

/** A line of the ledger. */
export interface LedgerEntry {
  seq: number;
  at: string;
  kind: string;
  call_sid?: string;
  to?: string;
  reference?: string | null;
  [field: string]: unknown;
}

/** How the product is started for a test. */
export interface ProductOptions extends Pick<
  StackOptions,
  "replicas" | "between" | "openFiles" | "treeOf" | "envOf" | "storeEnv" | "metricsPort"
> {
  split?: boolean;
  engine?: Engine;
  timeScale?: number;
  env?: Record<string, string>;
  retryOffsetSeconds?: number;
  /** Providers that the sample has numbers and a campaign of; absent: the first. */
  providers?: readonly Provider[];
}

/** Settings under which processes that are stopped are soon missed, end their calls before they go, and no pace of a carrier holds the load back. */
export const REPLICAS_ENV = {
  LEASE_SECONDS: "5",
  PLACEMENT_GRACE_SECONDS: "10",
  SWEEP_INTERVAL_MS: "500",
  SCHEDULER_INTERVAL_MS: "300",
  SHUTDOWN_GRACE_SECONDS: "15",
  PROVIDER_ONE_CALLS_PER_SECOND: "0",
};

const DEFAULT_TIME_SCALE = 20;
/** So many times longer than in life people wait for the product of a test. */
const PATIENCE = 2;
const LEDGER_PAGE = 10_000;

/** The simulated carrier as tests see and disturb it. */
function carrierView(url: string): Pick<Product, "ledgerCalls" | "ledger" | "injectFault" | "scriptPerson"> {
  const get = async <T>(path: string): Promise<T> => (await fetch(`${url}${path}`)).json() as Promise<T>;
  return {
    ledgerCalls: async () => (await get<{ calls: LedgerCall[] }>("/ledger/calls")).calls,
    async ledger() {
      const all: LedgerEntry[] = [];
      for (let since = 0; ;) {
        const path = `/ledger?since=${since}&limit=${LEDGER_PAGE}`;
        const page = await get<{ entries: LedgerEntry[]; next: number }>(path);
        all.push(...page.entries);
        if (page.entries.length === 0) return all;
        since = page.next;
      }
    },
    async scriptPerson(number, script) {
      const answer = await fetch(`${url}/people`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ number, script }),
      });
      if (!answer.ok) throw new Error(`the carrier takes no such script: ${await answer.text()}`);
    },
    async injectFault(fault) {
      const how =
        fault === null
          ? { method: "DELETE" }
          : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(fault) };
      const answer = await fetch(`${url}/faults`, how);
      if (!answer.ok) throw new Error(`the carrier takes no such fault: ${await answer.text()}`);
    },
  };
}

/** Starts the product on free ports in a folder of its own. */
export async function startProduct(options: ProductOptions = {}): Promise<Product> {
  const path = mkdtempSync(join(tmpdir(), "callagent-test-"));
  const folder = openFolder(path, false);
  const log: LogLine[] = [];
  const stack = await startStack({
    folder,
    split: options.split ?? false,
    ...(options.engine ? { engine: options.engine } : {}),
    httpPort: await freePort(),
    mediaPort: await freePort(),
    carrierPort: await freePort(),
    timeScale: options.timeScale ?? DEFAULT_TIME_SCALE,
    // nobody is to hang up because a test machine is short of time
    patience: PATIENCE,
    seed: "test",
    database: `t_${randomUUID().slice(0, 8)}`,
    ...(options.replicas ? { replicas: options.replicas } : {}),
    ...(options.between ? { between: options.between } : {}),
    ...(options.treeOf ? { treeOf: options.treeOf } : {}),
    ...(options.envOf ? { envOf: options.envOf } : {}),
    ...(options.storeEnv ? { storeEnv: options.storeEnv } : {}),
    ...(options.metricsPort === undefined ? {} : { metricsPort: options.metricsPort }),
    ...(options.openFiles ? { openFiles: options.openFiles } : {}),
    // a test machine that is short of time shows nothing about the limit
    env: { ANSWER_LIMIT_MS: "10000", ...options.env },
    onLog: (line) => log.push(line),
    onDeath: (said) => log.push({ level: "death", msg: said }),
  });
  try {
    const { sample, client } = await seed(
      stack,
      folder,
      { initial_offset: 0, retry_offset: options.retryOffsetSeconds ?? 1 },
      options.providers,
    );
    const sink = await startRecordingSink(sample.webhook_secret);
    return {
      stack,
      sample,
      admin: client,
      sink,
      folder,
      log,
      run: (rows, onChange) => runRows(client, stack.baseUrl, sample, sink, rows, onChange ?? (() => undefined)),
      ...carrierView(stack.carrierUrl),
      deaths: (child) => log.filter((l) => l.level === "death" && l.msg?.startsWith(`${child} ended (SIGKILL)`)).length,
      async stop() {
        await stack.stop();
        await sink.close();
        rmSync(path, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await stack.stop();
    throw error;
  }
}

/** The sample's campaign that is called through a provider: its template's id. */
export const campaignOf = ({ sample }: Product, provider: Provider): string =>
  sample.campaigns.find((c) => c.provider === provider)?.template_id ?? "";
