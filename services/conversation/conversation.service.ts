import { service, type ServiceDeps } from "../../shared/bus/bus.ts";
import { BROWSER } from "../../shared/contracts/records/session.ts";
import { fail } from "../../shared/errors.ts";
import { errorForLog } from "../../shared/process/log.ts";
import { MS_PER_SECOND } from "../../shared/time/clock.ts";
import { startLoop, type Loop } from "../../shared/time/loop.ts";
import { composition, MAX_CONVERSATIONS } from "./composition.ts";
import { prepareMany } from "./session/preparation.ts";
import { recoveredFacts } from "./session/conversation-settlement.ts";
import type { SessionRecordings } from "./recording/session-recordings.ts";
import { sha256 } from "../../shared/ids.ts";
import type { Admission } from "./session/media-admission.ts";
import type { BrowserLeg } from "./browser/browser-leg.ts";
import { measureConversations } from "./figures.ts";
import { GOODBYE_SECONDS, sayDeprecations, sayFlood, sayShortGrace, talkSeconds } from "./warnings.ts";
import { startMediaServer, type MediaServer, type MediaServerOptions } from "./transport/media-server.ts";

/** Interval at which what could not be handed over is tried again, and recordings of crashed processes are looked for. */
const LEFTOVERS_MS = 60_000;
/** Looks for recordings that were left. */
const recoverRecordings = (
  { clock, log }: Pick<ServiceDeps, "clock" | "log">,
  recordings: Pick<SessionRecordings, "recoverLeftovers">,
): Loop =>
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

/** How the media server runs: it lets in what is awaited, and the clients of sessions under way that come back. */
const mediaOptions = (
  { env, log, clock }: ServiceDeps,
  { browsers, prepared, conversations, attach }: ReturnType<typeof composition>,
): MediaServerOptions<Admission | { leg: BrowserLeg }> => ({
  host: env.MEDIA_HOST,
  port: env.MEDIA_PORT,
  log,
  clock,
  maxSockets: MAX_CONVERSATIONS,
  isAwaited: ({ token, provider }) => browsers.knows(token) || prepared.byToken(sha256(token), provider) !== null,
  async admit(upgrade) {
    const leg = upgrade.provider === BROWSER ? browsers.takeBack(upgrade.token) : null;
    return leg ? { leg } : conversations.admit(upgrade);
  },
  onSocket(socket, ticket) {
    if ("leg" in ticket) ticket.leg.attach(socket);
    else void conversations.run(attach(socket, ticket.session ?? ticket.planned), ticket);
  },
  onFlood: (ticket) => sayFlood(log, "leg" in ticket ? null : (ticket.session ?? ticket.planned)),
});

function needModel(model: string | undefined): void {
  if (model === undefined)
    fail("NOT_AVAILABLE", "OPENAI_MODEL is not set; name the language model the conversation service is to use.");
}

/** Conversations: prepared before the dial, run when media joins, settled once. Owns the media port. */
export default service(
  "conversation",
  (deps) => {
    const { env, log } = deps;
    needModel(env.OPENAI_MODEL);
    let server: MediaServer | null = null;
    let leftovers: Loop | null = null;
    const parts = composition(deps, () => server?.port);
    const { browsers, sessions, evaluations, recordings, conversations, xmlDriven, warmer } = parts;

    return {
      actions: {
        async prepareMany({ calls }, { bus }) {
          if (deps.draining.aborted) fail("BUSY", "This process shuts down.");
          return { results: await prepareMany(parts.preparation, bus, calls) };
        },
        speak({ call_ref, text, utterance_id = deps.ids.uuid(), interrupt = false, voice = null }) {
          const { at } = conversations.speak(call_ref, { text, utterance_id, interrupt, voice });
          return { status: "queued" as const, utterance_id, at };
        },
        reissue: (asked) => browsers.reissue(asked),
        turn: (turn, { bus }) => xmlDriven.turn(turn, bus),
        stop({ call_ref, reason }) {
          conversations.signal(call_ref, reason);
          if (reason === "carrier_ended") xmlDriven.carrierEnded(call_ref);
          return {};
        },
        alive: ({ call_ref }) => ({ alive: conversations.has(call_ref) }),
        eraseNumber: ({ lead_ids }) => sessions.erase(lead_ids),
        endRecords: ({ lead_ids }) => sessions.end(lead_ids),
        salvage: async ({ call_ref }) => ({ talk: recoveredFacts(await sessions.find(call_ref)) }),
      },
      events: {
        "room.changed": ({ call_ref }) => parts.rooms?.hint(call_ref),
        "call.ended": ({ call_ref }) => {
          parts.prepared.drop(call_ref);
          // of one under way its conversation ends the room, with its last words
          if (!conversations.has(call_ref)) parts.rooms?.drop(call_ref);
        },
      },
      async started() {
        measureConversations(deps, conversations, recordings, MAX_CONVERSATIONS);
        sayDeprecations(deps);
        sayShortGrace(deps);
        await parts.rooms?.start();
        server = await startMediaServer(mediaOptions(deps, parts));
        leftovers = recoverRecordings(deps, recordings);
        log.info({ event: "conversation.listening", url: parts.url() }, "Carriers can connect.");
      },
      // calls that ring may still join; later turns of those under way come over the bus
      async drain() {
        await conversations.quiet(talkSeconds(env) * MS_PER_SECOND);
        server?.refuse();
        xmlDriven.refuse();
        warmer.close();
        evaluations.stopWaiting();
        await conversations.end(talkSeconds(env) > 0 ? GOODBYE_SECONDS * MS_PER_SECOND : 0);
        await recordings.handOverRest();
      },
      calls: () => conversations.calls(),
      async stopped() {
        await Promise.all([server?.close(), leftovers?.stop(), ...parts.owned.map((one) => one.close())]);
      },
    };
  },
  { listens: ["call.ended", "room.changed"] },
);
