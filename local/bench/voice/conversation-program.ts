import { subscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { ServiceBroker } from "moleculer";
import { twilioStream } from "../../../services/dialer/carriers/twilio/stream.ts";
import conversation from "../../../services/conversation/conversation.service.ts";
import { busOf } from "../../../shared/bus/bus.ts";
import { BROWSER } from "../../../shared/contracts/records/session.ts";
import { systemClock, type Clock } from "../../../shared/time/clock.ts";
import type { TemplateRecord } from "../../../shared/contracts/records/template.ts";
import { readEnv } from "../../../shared/process/env.ts";
import { provideDeps } from "../../../shared/process/process-deps.ts";
import { callRef, randomIds } from "../../../shared/ids.ts";
import { rootLog } from "../../../shared/process/log.ts";
import { BusValidator } from "../../../shared/bus/bus-validator.ts";
import { standIn } from "../../harness/stage.ts";
import type { ProcessRequest, ProcessMessage } from "./ipc-messages.ts";
import { watchLegs } from "./sessions/leg-sounds.ts";
import { loadMeter } from "./sessions/load-meter.ts";
import { watchRooms } from "./sessions/watched-rooms.ts";

/** The process under measurement: the conversation service as it ships; the services that it asks are stand-ins on the same broker. Its parent speaks with it over IPC. */

const env = readEnv();
/** The first argument: a second of the process takes so many, for machines that can't keep up with speech recognition. */
const slow = Number(process.argv[2] ?? 1);
const clock: Clock = {
  ...systemClock,
  monotonicMs: () => systemClock.monotonicMs() / slow,
  wait: (ms, signal) => systemClock.wait(ms * slow, signal),
};
const broker = new ServiceBroker({
  namespace: "bench-voice",
  validator: new BusValidator(),
  requestTimeout: 10_000,
  logger: false,
  tracking: { enabled: true },
});
provideDeps(broker, { env, clock, ids: randomIds, log: rootLog(env), random: Math.random });

const templates = new Map<string, TemplateRecord>();
const tell = (told: ProcessMessage): void => {
  process.send?.(told);
};
const AS_CALL = { provider: "PROVIDER_ONE", carrier: "twilio", stream: twilioStream } as const;
const AS_SESSION = { provider: BROWSER, carrier: "browser" } as const;
const nothing = (): Record<string, never> => ({});

broker.createService(
  standIn("config", {
    templateVersion: ({ template_id }) =>
      templates.get(template_id) ??
      (() => {
        throw new Error(`no template ${template_id}`);
      })(),
  }),
);
broker.createService(
  standIn("dialer", {
    verifyUpgrade: () => ({ valid: true }),
    joined: () => ({
      go: true,
      reason: null,
      answered_at: new Date().toISOString(),
      machine: false,
      beep: false,
      tells_beep: true,
    }),
    hangUp: nothing,
    sendDtmf: nothing,
    transfer: nothing,
  }),
);
broker.createService(
  standIn("leads", {
    extend: () => ({ done: true }),
    settle: ({ lead_id, facts }) => {
      tell({
        told: "settled",
        lead_id,
        decided: facts.talk?.decided ?? null,
        transcript: facts.talk?.transcription ?? [],
        errors: (facts.talk?.errors ?? []).map((e) => JSON.stringify(e)),
      });
      return { done: true, status: "FINISHED", outcome: "bench" };
    },
  }),
);
/** Connections to the store, which its driver keeps, up to a bound: their number does not depend on the conversations. */
const stored = new Set<Socket>();
const storePort = Number(new URL(env.MONGODB_URI).port);
subscribe("net.client.socket", (message) => {
  const { socket } = message as { socket: Socket };
  socket.once("connect", () => {
    if (socket.remotePort === storePort) stored.add(socket);
  });
  socket.once("close", () => stored.delete(socket));
});

const rooms = watchRooms();
const legs = watchLegs();
broker.createService(conversation);
await broker.start();
const bus = busOf(broker);

const load = loadMeter();

const open = (): Record<string, number> => {
  const counts: Record<string, number> = { TCPSocketWrap: -stored.size };
  for (const name of process.getActiveResourcesInfo()) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
};

async function answer(asked: ProcessRequest): Promise<void> {
  switch (asked.ask) {
    case "template":
      templates.set(asked.template.id, asked.template);
      tell({ told: "done" });
      return;
    case "prepare": {
      const calls = asked.calls.map(({ lead_id, template_id, payload, session = false }) => ({
        call_ref: callRef(lead_id, 1),
        lead_id,
        claim_no: 1,
        ...(session ? AS_SESSION : AS_CALL),
        template_id,
        template_version: 1,
        voicemail_action: "hangup" as const,
        engine: "cascade" as const,
        record: false,
        payload,
        max_call_seconds: 3600,
        ttl_seconds: 600,
      }));
      const { results } = await bus.call("conversation.prepareMany", { calls });
      tell({
        told: "prepared",
        urls: results.map(({ prepared, refusal }, n) => {
          const way = prepared?.transport === "livekit" ? "#livekit" : "";
          const token = asked.calls[n]?.session === true ? `#${prepared?.token}${way}` : "";
          return prepared ? `${prepared.media_url}${token}` : `refused: ${refusal?.message ?? ""}`;
        }),
      });
      return;
    }
    case "measure":
      tell({ told: "measured", ...load(), open: open(), rooms: await rooms.measure() });
      return;
    case "sounds":
      tell({ told: "sounds", places: { ...legs(), ...(await rooms.sounds()) } });
      return;
    case "stop":
      await broker.stop();
      process.disconnect();
  }
}

process.on("message", (asked: ProcessRequest) => {
  void answer(asked);
});
// whoever measures is gone: nothing is left behind
process.on("disconnect", () => process.exit(0));
tell({ told: "ready" });
