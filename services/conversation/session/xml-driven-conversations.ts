import type { Bus } from "../../../shared/bus.ts";
import type { Clock } from "../../../shared/clock.ts";
import type { Provider } from "../../../shared/contracts/configuration.ts";
import type { XmlTurn, XmlTurnReply } from "../../../shared/contracts/conversation.ts";
import { fail } from "../../../shared/errors.ts";
import { sha256 } from "../../../shared/ids.ts";
import type { PipelineFactory } from "../pipelines/port.ts";
import { mediaKindOf } from "../pipelines/pipeline-choice.ts";
import type { CompiledTemplates, CompiledTemplate } from "./compiled-templates.ts";
import { attachTextLeg } from "./media-attachment.ts";
import { carrierTempo, type CarrierTempo } from "../transport/carrier-tempo.ts";
import type { TextLeg } from "../transport/port.ts";
import { xmlDrivenLeg, type XmlDrivenLeg } from "../transport/xml-driven-leg.ts";
import type { SessionsRepository } from "./sessions.repository.ts";
import type { LiveConversations } from "./live-conversations.ts";

/** What talks led by documents are held with. */
export interface XmlDrivenDeps {
  clock: Clock;
  node_id: string;
  sessions: SessionsRepository;
  templates: CompiledTemplates;
  conversations: LiveConversations;
  engine(ready: CompiledTemplate): PipelineFactory<TextLeg>;
}

/** The talks of this process whose carriers ask for a document after each turn. */
export interface XmlDrivenConversations {
  /** UNAUTHENTICATED: the token is unknown or used. BUSY: no room, or the process is going down. */
  turn(turn: XmlTurn, bus: Bus): Promise<XmlTurnReply>;
  /** The carrier's side of a call is over: nobody will ask again. */
  carrierEnded(call_ref: string): void;
  /** Lets no new talk in. */
  refuse(): void;
}

const NOTHING: XmlTurnReply = { turn: 0, say: [], next: { kind: "nothing" }, language: "en-US", voice: null };

/** Keeps them. */
export function xmlDrivenConversations({
  clock,
  node_id,
  sessions,
  templates: flows,
  conversations: talks,
  engine,
}: XmlDrivenDeps): XmlDrivenConversations {
  const legs = new Map<string, XmlDrivenLeg>();
  /** First turns under way, so that a carrier's retry waits for the same answer. */
  const admitting = new Map<string, Promise<XmlDrivenLeg>>();
  const paces = new Map<Provider, CarrierTempo>();
  let refusing = false;

  const admit = async ({ call_ref, call_id, provider }: XmlTurn, token: string, bus: Bus): Promise<XmlDrivenLeg> => {
    if (refusing || talks.full()) fail("BUSY", "This process holds as many talks as it can.");
    const hash = sha256(token);
    const found = await sessions.peek(hash, provider, clock.now());
    // the template before the token is used up: without it there would be nothing to say
    const ready =
      found?._id === call_ref && mediaKindOf(found.engine) === "text"
        ? await flows.get(bus, found.template_id, found.template_version)
        : null;
    const doc = ready && (await sessions.redeem(hash, provider, node_id, clock.now()));
    if (!doc) fail("UNAUTHENTICATED", "The token of this call's address is unknown, used or expired.");
    const { language, voice } = ready.template;
    const known = paces.get(provider) ?? carrierTempo();
    paces.set(provider, known);
    const leg = xmlDrivenLeg({ clock, call_id, language, voice, tempo: known });
    legs.set(call_ref, leg);
    void talks.run(attachTextLeg(leg, engine, clock), doc).finally(() => {
      if (legs.get(call_ref) === leg) legs.delete(call_ref);
    });
    return leg;
  };

  return {
    async turn(turn, bus) {
      const { call_ref, heard, digits, follows, token } = turn;
      const input = { heard, digits, follows };
      const known = legs.get(call_ref) ?? admitting.get(call_ref);
      if (known) return (await known).turn(input);
      if (token === null) return NOTHING;
      const admitted = admit(turn, token, bus).finally(() => admitting.delete(call_ref));
      admitting.set(call_ref, admitted);
      return (await admitted).turn(input);
    },
    carrierEnded: (call_ref) => legs.get(call_ref)?.callEnded(),
    refuse() {
      refusing = true;
    },
  };
}
