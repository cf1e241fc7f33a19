import { service } from "../../shared/bus/bus.ts";
import { fail } from "../../shared/errors.ts";
import { errorForLog } from "../../shared/process/log.ts";
import { MS_PER_SECOND } from "../../shared/time/clock.ts";
import { startLoop, type Loop } from "../../shared/time/loop.ts";
import { composition, MAX_CONVERSATIONS } from "./composition.ts";
import { deprecationsIn } from "./providers/model-deprecations.ts";
import { prepareMany } from "./session/preparation.ts";
import { recoveredFacts } from "./session/conversation-settlement.ts";
import { startMediaServer, type MediaServer } from "./transport/media-server.ts";

/** Interval of the search for recordings of crashed processes. */
const LEFTOVERS_MS = 300_000;
/** Parts of the shutdown grace reserved for goodbyes and for settling after them, seconds. */
const GOODBYE_SECONDS = 4;
const SETTLING_SECONDS = 1;

/** Conversations: prepared before the dial, run when media joins, settled once. Owns the media port. */
export default service("conversation", (deps) => {
  const { env, clock, log } = deps;
  if (env.OPENAI_MODEL === undefined)
    fail("NOT_AVAILABLE", "OPENAI_MODEL is not set; name the language model the conversation service is to use.");
  let server: MediaServer | null = null;
  let leftovers: Loop | null = null;
  const parts = composition(deps, () => server?.port);
  const { sessions, evaluations, recordings, conversations, xmlDriven, warmer } = parts;

  const recoverRecordings = (): Loop =>
    startLoop({
      name: "left recordings",
      clock,
      intervalMs: LEFTOVERS_MS,
      pass: async () => (await recordings.recoverLeftovers()) > 0,
      onError: (error) =>
        log.warn(
          { event: "recording.not_adopted", error: errorForLog(error) },
          "Recordings of a process that died could not be recovered; tried again later.",
        ),
    });

  return {
    actions: {
      prepareMany: async ({ calls }, { bus }) => ({ results: await prepareMany(parts.preparation, bus, calls) }),
      turn: (turn, { bus }) => xmlDriven.turn(turn, bus),
      stop({ call_ref, reason }) {
        conversations.signal(call_ref, reason);
        if (reason === "carrier_ended") xmlDriven.carrierEnded(call_ref);
        return {};
      },
      alive: ({ call_ref }) => ({ alive: conversations.has(call_ref) }),
      salvage: async ({ call_ref }) => ({ talk: recoveredFacts(await sessions.find(call_ref)) }),
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
        maxSockets: MAX_CONVERSATIONS,
        admit: conversations.admit,
        onSocket: (socket, doc) => void conversations.run(parts.attach(socket, doc), doc),
      });
      leftovers = recoverRecordings();
      log.info({ event: "conversation.listening", url: parts.url() }, "Carriers can connect.");
    },
    async stopped() {
      server?.refuse();
      xmlDriven.refuse();
      warmer.close();
      evaluations.stopWaiting();
      const grace_ms = (env.SHUTDOWN_GRACE_SECONDS - GOODBYE_SECONDS - SETTLING_SECONDS) * MS_PER_SECOND;
      await conversations.drain(Math.max(0, grace_ms), grace_ms > 0 ? GOODBYE_SECONDS * MS_PER_SECOND : 0);
      await Promise.all([server?.close(), evaluations.close(), leftovers?.stop()]);
    },
  };
});
