import type { Bus } from "../../../shared/bus/bus.ts";
import type { Provider } from "../../../shared/contracts/records/configuration.ts";
import type { XmlTurn, XmlTurnReply } from "../../../shared/contracts/conversation.ts";
import { fail } from "../../../shared/errors.ts";
import { sha256 } from "../../../shared/ids.ts";
import type { PipelineFactory } from "../pipelines/port.ts";
import { mediaKindOf } from "../pipelines/pipeline-choice.ts";
import type { CompiledTemplate } from "./compiled-templates.ts";
import { attachTextLeg } from "./media-attachment.ts";
import { takeOverDueMs } from "./media-admission.ts";
import { carrierTempo, type CarrierTempo } from "../transport/carrier-tempo.ts";
import type { TextLeg } from "../transport/port.ts";
import { XmlDrivenLeg } from "../transport/xml-driven-leg.ts";
import type { LiveConversations, LiveConversationsDeps } from "./live-conversations.ts";

/** What XML-driven conversations are run with. */
export interface XmlDrivenDeps extends Pick<
  LiveConversationsDeps,
  "bus" | "clock" | "env" | "node_id" | "prepared" | "sessions" | "templates"
> {
  conversations: LiveConversations;
  pipeline(template: CompiledTemplate): PipelineFactory<TextLeg>;
}

/** Of ANSWER_LIMIT_MS this much is left for the rest of the first document's way, ms; longer than the other value no first document is waited for. */
const FIRST_DOCUMENT_MS = 800;
const MAX_FIRST_REPLY_MS = 2000;
const firstReplyMs = ({ ANSWER_LIMIT_MS }: XmlDrivenDeps["env"]): number =>
  Math.min(MAX_FIRST_REPLY_MS, ANSWER_LIMIT_MS - FIRST_DOCUMENT_MS);

const NOTHING: XmlTurnReply = { turn: 0, say: [], next: { kind: "nothing" }, language: "en-US", voice: null };

/** The conversations of this process whose carriers ask for an XML document after each turn. */
export function xmlDrivenConversations(deps: XmlDrivenDeps) {
  const { clock, env, prepared, node_id, sessions, templates, conversations, pipeline } = deps;
  const legs = new Map<string, XmlDrivenLeg>();
  /** First turns under way, so that a carrier's retry waits for the same answer. */
  const admitting = new Map<string, Promise<XmlDrivenLeg>>();
  const tempos = new Map<Provider, CarrierTempo>();
  let refusing = false;

  const admit = async ({ call_ref, call_id, provider }: XmlTurn, token: string, bus: Bus): Promise<XmlDrivenLeg> => {
    if (refusing || conversations.full()) fail("BUSY", "This process holds as many conversations as it can.");
    const due_ms = takeOverDueMs({ clock, env });
    const hash = sha256(token);
    const found = prepared.byToken(hash, provider) ?? (await sessions.peek(hash, provider, clock.now()));
    // the template first, then the token: without a template the conversation has no text
    const template =
      found?._id === call_ref && mediaKindOf(found.engine) === "text"
        ? await templates.get(bus, found.template_id, found.template_version)
        : null;
    const doc = template && (await sessions.redeem(hash, provider, node_id, clock.now()));
    if (!doc) fail("UNAUTHENTICATED", "The token of this call's address is unknown, used or expired.");
    const { language, voice } = template.template;
    const known = tempos.get(provider) ?? carrierTempo();
    tempos.set(provider, known);
    const leg = new XmlDrivenLeg({
      clock,
      call_id,
      language,
      voice,
      tempo: known,
      first_reply_ms: firstReplyMs(env),
      // where it fails, the carrier asks later, or the call is hung up
      summon: (turn) => void deps.bus.call("dialer.askAgain", { call_ref, turn, language }).catch(() => undefined),
    });
    legs.set(call_ref, leg);
    void conversations.run(attachTextLeg(leg, pipeline, clock), { session: doc, due_ms }).finally(() => {
      if (legs.get(call_ref) === leg) legs.delete(call_ref);
    });
    return leg;
  };

  return {
    /** UNAUTHENTICATED: the token is unknown or used. BUSY: no room, or the process shuts down. */
    async turn(turn: XmlTurn, bus: Bus): Promise<XmlTurnReply> {
      const { call_ref, heard, digits, follows, token } = turn;
      const input = { heard, digits, follows };
      const known = legs.get(call_ref) ?? admitting.get(call_ref);
      if (known) return (await known).turn(input);
      if (token === null) return NOTHING;
      const admitted = admit(turn, token, bus).finally(() => admitting.delete(call_ref));
      admitting.set(call_ref, admitted);
      return (await admitted).turn(input);
    },
    /** The carrier has ended the call: no more turns come. */
    carrierEnded: (call_ref: string): void => legs.get(call_ref)?.callEnded(),
    /** Refuses new conversations from now on. */
    refuse(): void {
      refusing = true;
    },
  };
}
