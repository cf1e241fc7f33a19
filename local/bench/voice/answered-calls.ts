import { randomUUID } from "node:crypto";
import { startChild, type Child } from "../../tools/stack/supervisor.ts";
import { join } from "node:path";
import { ROOT } from "../../tools/stack/project-root.ts";
import type { FlowNode } from "../../../shared/contracts/flow/flow-node.ts";
import type { TemplateRecord } from "../../../shared/contracts/records/template.ts";
import type { FrameTicker } from "./frame-clock.ts";
import { streamCaller, type StreamCaller } from "./stream-caller.ts";
import type { ConversationProcess } from "./conversation-process.ts";

/** What the models take for their part, ms. */
export interface Delays {
  stt_ms: number;
  first_token_ms: number;
  first_audio_ms: number;
}

const MODELS_STOP_MS = 1000;
const EVER_SECONDS = 3600;

/** A template whose conversations go on until a hang-up. */
export function endlessTemplate(nodes: FlowNode[], over: Partial<TemplateRecord> = {}): TemplateRecord {
  const limits = { max_call_seconds: EVER_SECONDS, idle_seconds: EVER_SECONDS, max_age_seconds: EVER_SECONDS };
  const now = new Date().toISOString();
  return {
    id: randomUUID(),
    version: 1,
    reseller_id: "bench",
    merchant_id: null,
    name: "bench",
    is_active: true,
    payload_schema: null,
    variables: [],
    initial_node: nodes[0]?.name ?? "",
    nodes,
    global_functions: [],
    greeting: null,
    voicemail_message: null,
    voice: null,
    language: "en-US",
    limits,
    retry_on: null,
    engine: null,
    models: {},
    evaluators: [],
    summary: false,
    evaluation_wait_seconds: 2,
    created_at: now,
    updated_at: now,
    ...over,
  };
}

/** The model simulator as a process of its own. */
export const startSimulatedModels = (delays: Delays): Promise<Child> =>
  startChild({
    name: "models",
    env: {},
    ready: "line",
    restart: false,
    onLine: () => undefined,
    onDeath: (said) => console.error(said),
    args: [
      join(ROOT, "local/models/main.ts"),
      "--port",
      "0",
      "--stt-ms",
      String(delays.stt_ms),
      "--first-token-ms",
      String(delays.first_token_ms),
      "--first-audio-ms",
      String(delays.first_audio_ms),
    ],
  });

/** Ends it. */
export const stopModels = (models: Child): Promise<void> => models.stop(MODELS_STOP_MS);

/** Calls that have been answered, with the leads they belong to. */
export interface Call {
  lead_id: string;
  caller: StreamCaller;
}

/** A conversation that awaits its caller: `url` as streamCaller takes it. */
export interface AwaitedCall {
  lead_id: string;
  url: string;
}

/** How calls come about: whether their callers listen, what is known of each, and how far apart they are answered. */
export interface CallsOptions {
  listens: boolean;
  payload?(n: number): Record<string, string>;
  pause_ms?: number;
  /** They are sessions that clients join. */
  sessions?: boolean;
}

/** Has `count` conversations wait for their callers. */
export async function awaitedCalls(
  talker: ConversationProcess,
  template: TemplateRecord,
  count: number,
  { payload, sessions = false }: Pick<CallsOptions, "payload" | "sessions">,
): Promise<AwaitedCall[]> {
  const orders = Array.from({ length: count }, (_, n) => ({
    lead_id: randomUUID(),
    template_id: template.id,
    payload: payload?.(n) ?? {},
    session: sessions,
  }));
  const urls = await talker.prepare(orders);
  return orders.map(({ lead_id }, n) => ({ lead_id, url: urls[n] ?? "" }));
}

/** Has `count` calls answered, one after the other. */
export async function callsOf(
  talker: ConversationProcess,
  template: TemplateRecord,
  ticker: FrameTicker,
  count: number,
  how: CallsOptions,
): Promise<Call[]> {
  const calls: Call[] = [];
  for (const { lead_id, url } of await awaitedCalls(talker, template, count, how)) {
    calls.push({ lead_id, caller: await streamCaller({ url, ticker, listens: how.listens }) });
    if (how.pause_ms !== undefined) await new Promise((resolve) => setTimeout(resolve, how.pause_ms));
  }
  return calls;
}

/** A sequence of numbers between 0 and 1 that is the same in every run. */
export const spread = (n: number): number => (n * 0.618034) % 1;
