import type { WebSocket } from "ws";
import { service } from "../../shared/bus.ts";
import { fail } from "../../shared/errors.ts";
import { errorForLog } from "../../shared/log.ts";
import { startLoop, type Loop } from "../../shared/loop.ts";
import { VARIABLES } from "../../shared/variables.ts";
import { pipelines } from "./pipelines/pipeline-factory.ts";
import { callEvaluations } from "./evaluation/call-evaluations.ts";
import { compiledTemplates } from "./session/compiled-templates.ts";
import { attachAudioLeg, attachTextLeg } from "./session/media-attachment.ts";
import { startMediaServer, type MediaServer } from "./transport/media-server.ts";
import { streamLeg } from "./transport/stream-leg.ts";
import { sessionRecordings } from "./recording/session-recordings.ts";
import { textRelayLeg } from "./transport/text-relay-leg.ts";
import { deprecationsIn } from "./providers/model-deprecations.ts";
import { deploymentModels } from "./providers/deployment-models.ts";
import { webRequester } from "./providers/web-request.ts";
import { prepareMany } from "./session/preparation.ts";
import { recoveredFacts } from "./session/recovery.ts";
import { sessionSchema, type SessionDoc } from "./session/sessions.model.ts";
import { sessionsRepository } from "./session/sessions.repository.ts";
import { liveConversations, type MediaAttachment } from "./session/live-conversations.ts";
import { xmlDrivenConversations } from "./session/xml-driven-conversations.ts";
import { speechCacheWarmer } from "./pipelines/cascaded/speech-cache-warmer.ts";

/** Talks one process holds at most. */
const MAX_TALKS = 400;
const MS_PER_SECOND = 1000;
/** How often recordings are looked for that a process which died has left. */
const LEFTOVERS_MS = 300_000;
/** Of the grace at shutdown, what is kept for goodbyes, and for settling after them, seconds. */
const GOODBYE_SECONDS = 4;
const SETTLING_SECONDS = 1;

/** Where carriers find the media server: the public address, or on a port taken at random the local one. */
const publicUrl = (configured: string, askedPort: number, port: number): string =>
  askedPort === 0 && configured === VARIABLES.PUBLIC_WS_URL.default ? `ws://127.0.0.1:${port}` : configured;

/** The talk: prepared before the dial, spoken when media joins, settled once. Owns the media port. */
export default service("conversation", (ground) => {
  const { env, clock, ids, log, bus, nodeId } = ground;
  if (env.OPENAI_MODEL === undefined)
    fail("NOT_AVAILABLE", "OPENAI_MODEL is not set; name the language model the conversation service is to use.");
  const sessions = sessionsRepository(ground.store().model("conversation_sessions", sessionSchema));
  const templates = compiledTemplates();
  const models = deploymentModels({ env, clock, log });
  const web = webRequester({ allow_http: env.WEBHOOK_ALLOW_HTTP, allow_private: env.WEBHOOK_ALLOW_PRIVATE }, clock);
  const evaluations = callEvaluations({ bus, clock, log, model: (template) => models.evaluation(template) });
  const recordings = sessionRecordings({ env, ids, bus, clock, log });
  const voicePipelines = pipelines({ env, clock, models, recordings });
  const sessionDeps = { bus, clock, log, sessions, web, evaluations, env };
  const conversations = liveConversations({
    bus,
    clock,
    log,
    node_id: nodeId,
    sessions,
    templates,
    sessionDeps,
    most: MAX_TALKS,
  });
  const xmlDriven = xmlDrivenConversations({
    clock,
    node_id: nodeId,
    sessions,
    templates,
    conversations,
    engine: voicePipelines.textRelay,
  });
  let server: MediaServer | null = null;
  let leftovers: Loop | null = null;
  const url = (): string => publicUrl(env.PUBLIC_WS_URL, env.MEDIA_PORT, server?.port ?? env.MEDIA_PORT);
  const warmer = speechCacheWarmer({ clock, speech: (template) => models.cascade(template).speech });
  const parts = { env, clock, ids, sessions, templates, warmer, url };

  const attach = (socket: WebSocket, doc: SessionDoc): MediaAttachment =>
    doc.engine === "relay"
      ? attachTextLeg(textRelayLeg(socket), voicePipelines.textRelay, clock)
      : attachAudioLeg(streamLeg(socket, doc.stream), (ready) => voicePipelines.audio(ready, doc), clock);

  return {
    actions: {
      prepareMany: async ({ calls }, handling) => ({ results: await prepareMany(parts, handling.bus, calls) }),
      turn: (turn, handling) => xmlDriven.turn(turn, handling.bus),
      stop({ call_ref, reason }) {
        conversations.signal(call_ref, reason);
        if (reason === "carrier_ended") xmlDriven.carrierEnded(call_ref);
        return {};
      },
      async salvage({ call_ref }) {
        return { talk: recoveredFacts(await sessions.find(call_ref)) };
      },
    },
    async started() {
      for (const { setting, model, on } of deprecationsIn(env))
        log.warn(
          { event: "model.shuts_down", setting, model, on },
          `${setting} names ${model}, which its vendor shuts down on ${on}; name another.`,
        );
      server = await startMediaServer({
        host: env.MEDIA_HOST,
        port: env.MEDIA_PORT,
        log,
        maxSockets: MAX_TALKS,
        admit: conversations.admit,
        onSocket: (socket, doc) => {
          void conversations.run(attach(socket, doc), doc);
        },
      });
      leftovers = startLoop({
        name: "left recordings",
        clock,
        intervalMs: LEFTOVERS_MS,
        pass: async () => (await recordings.recoverLeftovers()) > 0,
        onError: (error) =>
          log.warn(
            { event: "recording.not_adopted", error: errorForLog(error) },
            "Recordings that were left over could not be looked at; tried again later.",
          ),
      });
      log.info({ event: "conversation.listening", url: url() }, "Carriers can connect.");
    },
    async stopped() {
      server?.refuse();
      xmlDriven.refuse();
      warmer.close();
      evaluations.stopWaiting();
      const talking = env.SHUTDOWN_GRACE_SECONDS - GOODBYE_SECONDS - SETTLING_SECONDS;
      await conversations.drain(
        Math.max(0, talking) * MS_PER_SECOND,
        talking > 0 ? GOODBYE_SECONDS * MS_PER_SECOND : 0,
      );
      await Promise.all([server?.close(), evaluations.close(), leftovers?.stop()]);
    },
  };
});
