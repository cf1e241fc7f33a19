import type { WebSocket } from "ws";
import type { ServiceDeps } from "../../shared/bus/bus.ts";
import { tenantSchemas } from "../../shared/schemas/tenant-schemas.ts";
import { VARIABLES } from "../../shared/process/variables.ts";
import { callEvaluations } from "./evaluation/call-evaluations.ts";
import { speechCacheWarmer } from "./pipelines/cascaded/speech-cache-warmer.ts";
import { pipelines } from "./pipelines/pipeline-factory.ts";
import { DeploymentModels } from "./providers/deployment-models.ts";
import { sileroFile, SileroThread } from "./providers/vad/silero-thread.ts";
import { webRequester } from "./providers/web-request.ts";
import { sessionRecordings } from "./recording/session-recordings.ts";
import { compiledTemplates, type CompiledTemplate } from "./session/compiled-templates.ts";
import type { FarewellSpeech } from "./pipelines/goodbyes.ts";
import { frameClock, type FrameClock } from "./transport/frame-clock.ts";
import { liveConversations, type MediaAttachment } from "./session/live-conversations.ts";
import { attachAudioLeg, attachTextLeg } from "./session/media-attachment.ts";
import { preparedSessions } from "./session/prepared-sessions.ts";
import { sessionSchema, type PlannedSession } from "./session/sessions.model.ts";
import { sessionsRepository } from "./session/sessions.repository.ts";
import { BROWSER } from "../../shared/contracts/records/session.ts";
import type { PipelineFactory } from "./pipelines/port.ts";
import { browserSessions, type BrowserSessions } from "./browser/browser-sessions.ts";
import type { BrowserSocket } from "./browser/browser-leg.ts";
import { mediaAddresses } from "./browser/media-addresses.ts";
import type { MediaLeg } from "./transport/port.ts";
import { standstillWatch } from "./session/standstill-watch.ts";
import { xmlDrivenConversations } from "./session/xml-driven-conversations.ts";
import { roomsOfDeployment } from "./rooms/rooms-of-deployment.ts";
import { StreamLeg } from "./transport/stream-leg.ts";
import { textRelayLeg } from "./transport/text-relay-leg.ts";

/** Conversations one process runs at most. */
export const MAX_CONVERSATIONS = 400;

/** Where carriers find the media server: the public address, or on a port taken at random the local one. */
const publicUrl = (configured: string, askedPort: number, port: number): string =>
  askedPort === 0 && configured === VARIABLES.PUBLIC_WS_URL.default ? `ws://127.0.0.1:${port}` : configured;

/** What media are attached with. */
interface AttachmentParts extends ReturnType<typeof pipelines> {
  clock: ServiceDeps["clock"];
  models: DeploymentModels;
  beats: FrameClock;
  browsers: BrowserSessions;
}

/** The pipeline that a session was prepared for, on its socket. Of media that nothing is known of, text is spoken on if any. */
function attachments({ clock, models, beats, browsers, textRelay, audio }: AttachmentParts) {
  const speechOf = ({ template }: CompiledTemplate): FarewellSpeech | null => {
    try {
      return { clock, frames: beats, speech: models.cascade(template).speech };
    } catch {
      return null; // the deployment synthesises no speech
    }
  };

  const openFor =
    (doc: PlannedSession) =>
    (template: CompiledTemplate): PipelineFactory<MediaLeg> =>
      audio(template, doc);
  /** A client of a session: on its own socket, or in a room. `ended`: the session is over. */
  const browser = (socket: BrowserSocket, doc: PlannedSession, ended?: () => void): MediaAttachment => {
    const leg = browsers.begin(doc._id, socket, ended);
    const show: MediaAttachment["show"] = ({ transcript, node }) => leg.show(transcript, node);
    const own = { show, tell: leg.tell.bind(leg), hear: leg.hear.bind(leg) };
    return { ...attachAudioLeg(leg, openFor(doc), clock, speechOf), ...own };
  };
  const socket = (ws: WebSocket, doc: PlannedSession | null): MediaAttachment => {
    if (doc === null || doc.engine === "relay") return attachTextLeg(textRelayLeg(ws), textRelay, clock);
    if (doc.provider === BROWSER) return browser(ws, doc);
    return attachAudioLeg(new StreamLeg(ws, doc.stream), openFor(doc), clock, speechOf);
  };
  return { socket, browser };
}

/** All parts of the conversation service, wired. `mediaPort`: the media server's port, once it listens. */
export function composition(deps: ServiceDeps, mediaPort: () => number | undefined) {
  const { env, clock, ids, log, bus, nodeId: node_id } = deps;
  const most = MAX_CONVERSATIONS;
  const sessions = sessionsRepository(deps.store().model("conversation_sessions", sessionSchema));
  const schemas = tenantSchemas(clock);
  const templates = compiledTemplates(schemas);
  const prepared = preparedSessions(clock);
  const models = new DeploymentModels({ env, clock, log });
  const web = webRequester({ allow_http: env.WEBHOOK_ALLOW_HTTP, allow_private: env.WEBHOOK_ALLOW_PRIVATE }, clock);
  const evaluations = callEvaluations({ bus, clock, log, model: (template) => models.evaluation(template) });
  const recordings = sessionRecordings({ env, ids, bus, clock, log });
  const beats = frameClock(clock);
  const file = env.VOICE_DETECTION === "silero" ? sileroFile() : null;
  const voices = file === null ? undefined : new SileroThread({ clock, log, file });
  const { textRelay, audio } = pipelines({ env, clock, models, voices, recordings, beats });
  const leaving = new AbortController();
  const sessionDeps = {
    bus,
    clock,
    log,
    metrics: deps.metrics,
    traces: deps.traces,
    env,
    sessions,
    web,
    evaluations,
    standstill: standstillWatch(clock),
    leaving: leaving.signal,
  };
  const leave = (): void => leaving.abort();
  const conversations = liveConversations({ ...sessionDeps, node_id, templates, prepared, most, leave });
  const own = { bus, env, clock, node_id, sessions, templates, prepared };
  const xmlDriven = xmlDrivenConversations({ ...own, conversations, pipeline: textRelay });
  const warmer = speechCacheWarmer({ clock, speech: (template) => models.cascade(template).speech });
  const url = (): string => publicUrl(env.PUBLIC_WS_URL, env.MEDIA_PORT, mediaPort() ?? env.MEDIA_PORT);
  const rooms = roomsOfDeployment(deps, () => ({ conversations, browsers, attach: attach.browser }));
  const inRooms = rooms?.sessions ?? null;
  const expect = (call_ref: string, token: string): void => inRooms?.expect(call_ref, token);
  const addresses = mediaAddresses({ clock, ids, url, livekit: rooms?.livekit ?? null });
  const isFull = (): boolean => conversations.calls() >= most || inRooms?.isFull() === true;
  const preparation = { env, clock, sessions, prepared, templates, warmer, addresses, expect, full: isFull };
  const browsers = browserSessions({ clock, sessions, prepared, addresses, rooms: inRooms, most });
  const attach = attachments({ clock, models, beats, browsers, textRelay, audio });

  return {
    browsers,
    /** What is closed at the end. */
    owned: [evaluations, schemas, ...(inRooms ? [inRooms] : []), ...(voices ? [voices] : [])],
    rooms: inRooms,
    sessions,
    prepared,
    evaluations,
    recordings,
    conversations,
    xmlDriven,
    warmer,
    preparation,
    url,
    attach: attach.socket,
  };
}
