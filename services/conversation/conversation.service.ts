import { service } from "../../shared/bus.ts";
import { fail } from "../../shared/errors.ts";
import { VARIABLES } from "../../shared/variables.ts";
import { relayEngine } from "./engines/relay/relay-engine.ts";
import { keptFlows } from "./flows.ts";
import { joinedText } from "./joined.ts";
import { startMediaServer, type MediaServer } from "./media-server.ts";
import { relayLeg } from "./media/relay-leg.ts";
import { chatModel } from "./models/llm.ts";
import { openAiChat } from "./models/openai-chat.ts";
import { webCaller } from "./models/web-request.ts";
import { prepareMany } from "./preparing.ts";
import { salvaged } from "./salvage.ts";
import { sessionSchema } from "./sessions.model.ts";
import { sessionsOn } from "./sessions.repository.ts";
import { liveTalks } from "./talks.ts";
import { talksByTurns } from "./talks-by-turns.ts";

/** Talks one process holds at most. */
const MAX_TALKS = 400;
const MS_PER_SECOND = 1000;
/** Of the grace at shutdown, what is kept for goodbyes, and for settling after them, seconds. */
const GOODBYE_SECONDS = 4;
const SETTLING_SECONDS = 1;

/** Where carriers find the media server: the public address, or on a port taken at random the local one. */
const publicUrl = (configured: string, askedPort: number, port: number): string =>
  askedPort === 0 && configured === VARIABLES.PUBLIC_WS_URL.default ? `ws://127.0.0.1:${port}` : configured;

/** The talk: prepared before the dial, spoken when media joins, settled once. Owns the media port. */
export default service("conversation", (ground) => {
  const { env, clock, ids, log, bus, nodeId } = ground;
  const model = env.OPENAI_MODEL ?? fail("NOT_AVAILABLE", "OPENAI_MODEL is not set; name the language model the conversation service is to use.");
  const sessions = sessionsOn(ground.store().model("conversation_sessions", sessionSchema));
  const flows = keptFlows();
  const chat = chatModel(openAiChat({ base_url: env.OPENAI_BASE_URL, key: env.OPENAI_API_KEY, model }), clock);
  const web = webCaller({ allow_http: env.WEBHOOK_ALLOW_HTTP, allow_private: env.WEBHOOK_ALLOW_PRIVATE });
  const shop = { bus, clock, log, sessions, web, env };
  const relay = relayEngine(chat, clock);
  const talks = liveTalks({ bus, clock, log, node_id: nodeId, sessions, flows, shop, most: MAX_TALKS });
  const byTurns = talksByTurns({ clock, node_id: nodeId, sessions, flows, talks, engine: relay });
  let server: MediaServer | null = null;
  const url = (): string => publicUrl(env.PUBLIC_WS_URL, env.MEDIA_PORT, server?.port ?? env.MEDIA_PORT);
  const parts = { env, clock, ids, sessions, flows, url };

  return {
    actions: {
      prepareMany: async ({ calls }, handling) => ({ results: await prepareMany(parts, handling.bus, calls) }),
      turn: (turn, handling) => byTurns.turn(turn, handling.bus),
      stop({ call_ref, reason }) {
        talks.stop(call_ref, reason);
        if (reason === "carrier_ended") byTurns.over(call_ref);
        return {};
      },
      async salvage({ call_ref }) {
        return { talk: salvaged(await sessions.find(call_ref)) };
      },
    },
    async started() {
      server = await startMediaServer({
        host: env.MEDIA_HOST, port: env.MEDIA_PORT, log, most: MAX_TALKS, admit: talks.admit,
        onSocket: (socket, doc) => { void talks.hold(joinedText(relayLeg(socket), relay, clock), doc); },
      });
      log.info({ event: "conversation.listening", url: url() }, "Carriers can connect.");
    },
    async stopped() {
      server?.refuse();
      byTurns.refuse();
      const talking = env.SHUTDOWN_GRACE_SECONDS - GOODBYE_SECONDS - SETTLING_SECONDS;
      await talks.drain(Math.max(0, talking) * MS_PER_SECOND, talking > 0 ? GOODBYE_SECONDS * MS_PER_SECOND : 0);
      await server?.close();
    },
  };
});
