import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { startProduct, type Product } from "../../../local/harness/product.ts";
import { until } from "../../../local/harness/stage.ts";
import { voiceStage, type VoiceStage } from "../../fixtures/product/audio-product.ts";
import { TALKS } from "../../fixtures/product/audio-templates.ts";
import type { Lead } from "../../fixtures/product/audio-transcripts.ts";
import { joinRoom, type RoomClient } from "../../../local/harness/sessions/room-client.ts";
import type { SessionAccess } from "../../../local/harness/sessions/session-port.ts";

const WAIT_MS = 90_000;
const POLL_MS = 100;
const LIVEKIT = ["LIVEKIT_URL", "LIVEKIT_API_KEY", "LIVEKIT_API_SECRET"];

/** A product whose sessions are in rooms of a real LiveKit server. */
export interface RoomLane {
  product: Product;
  stage: VoiceStage;
  /** A session lead of a template of its own. */
  pushed(execution_mode: "RTC" | "RTC_TEST" | "RTC_STREAM", engine?: "cascade" | "realtime"): Promise<string>;
  join(lead_id: string): Promise<SessionAccess & { room_name: string }>;
  /** Joins a lead's session as a client. */
  client(lead_id: string): Promise<RoomClient>;
  /** The agent has asked its question. */
  asked(client: RoomClient): Promise<void>;
  finished(lead_id: string): Promise<Lead>;
  /** How many lines of the product's log have this event. */
  logged(event: string): number;
  stop(): Promise<void>;
}

/** Waits for something to hold. */
export const holds = (what: string, check: () => unknown, ms: number = WAIT_MS): Promise<unknown> =>
  until(what, async () => (await check()) || undefined, ms, POLL_MS);

/** Starts the product. The variables of LiveKit must be set. */
export async function startRoomLane(env: Record<string, string | undefined>): Promise<RoomLane> {
  const product = await startProduct({
    engine: "cascade",
    providers: ["PROVIDER_ONE"],
    env: { RECORDING_SOURCE: "own", ...Object.fromEntries(LIVEKIT.map((name) => [name, env[name] ?? ""])) },
  });
  const stage = await voiceStage(product);
  const { reseller_id, merchant_id } = product.sample;
  const templates = new Map<string, Promise<string>>();
  const templateOf = (engine: string): Promise<string> => {
    const made =
      templates.get(engine) ?? stage.campaign(`rooms ${engine}`, "PROVIDER_ONE", TALKS.short, { template: { engine } });
    templates.set(engine, made);
    return made;
  };
  const join: RoomLane["join"] = (lead_id) => product.admin.ask("POST", "/leads/{lead_id}/join", { path: { lead_id } });
  return {
    product,
    stage,
    join,
    async pushed(execution_mode, engine = "cascade") {
      const { lead_call_tracker_id } = await product.admin.ask("POST", "/leads", {
        body: {
          request_id: randomUUID(),
          template_id: await templateOf(engine),
          reseller_id,
          merchant_id,
          execution_mode,
          reporting_webhook_url: product.sink.url,
          payload: {},
        },
      });
      return lead_call_tracker_id;
    },
    client: async (lead_id) => joinRoom(await join(lead_id)),
    asked: async (client) => void (await holds("the question", () => client.heard().endsWith("?"))),
    finished: (lead_id) =>
      until(
        "the lead to finish",
        async () => {
          const lead = await product.admin.ask("GET", "/leads/{lead_id}", { path: { lead_id } });
          return lead.status === "FINISHED" ? lead : undefined;
        },
        WAIT_MS,
        POLL_MS,
      ),
    logged: (event) => readFileSync(product.folder.at("callagent.log"), "utf8").split(`"event":"${event}"`).length - 1,
    stop: () => product.stop(),
  };
}
