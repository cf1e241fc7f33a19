import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import {
  MAX_TOLD_TURNS,
  MAX_TURNS,
  type ConversationFacts,
  type TalkTurn,
} from "../../../shared/contracts/records/attempt.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import { exponentialMs } from "../../../shared/time/backoff.ts";
import { conversationFacts } from "../dialogue/conversation-facts.ts";
import type { DialogueState } from "../dialogue/dialogue-state.ts";

/** What of a conversation its turns are read from. */
type Turning = Pick<DialogueState, "transcript" | "open" | "node">;

/** The turns of a conversation, without a word of them. */
export interface TurnRecord {
  /**
   * What is known of the conversation, as it stands: with all of its turns, where they are told, for the end of the attempt tells those that were not
   * told before. The leads service hears of those that are over.
   */
  facts(state: DialogueState): ConversationFacts;
}

/** What a record needs. */
export interface TurnRecordDeps extends Pick<ServiceDeps, "bus" | "clock" | "log"> {
  /** Aborted when the conversation is over: no further notice is sent. */
  over: AbortSignal;
  lead_id: string;
  claim_no: number;
}

const AGAIN_MS = { base: 500, most: 10_000 };
const MAX_NODE_CHARS = 64;

/**
 * Lists turns in their order. One of ours that an interruption may still cut, and so take out of the transcript, is not over; nor are those behind it. What
 * was over once stays a turn.
 */
function turnList(clock: ServiceDeps["clock"]) {
  const seen = new Map<number, TalkTurn>();
  const listed = new Set<number>();
  const over: TalkTurn[] = [];
  const note = ({ transcript, node }: Turning): void => {
    for (const { seq, role } of transcript)
      if (!seen.has(seq))
        seen.set(seq, { by: role, at: clock.now().toISOString(), node: node.slice(0, MAX_NODE_CHARS) });
  };
  const rest = ({ transcript }: Turning): number[] =>
    transcript.map(({ seq }) => seq).filter((seq) => !listed.has(seq));
  const turnsOf = (seqs: readonly number[]): TalkTurn[] => seqs.flatMap((seq) => seen.get(seq) ?? []);
  return {
    /** Those that are over. */
    over,
    /** All of them; the last ones may not be over. */
    upTo(state: Turning): TalkTurn[] {
      note(state);
      for (const seq of rest(state)) {
        if (state.open.includes(seq) || over.length === MAX_TURNS) break;
        listed.add(seq);
        over.push(...turnsOf([seq]));
      }
      return [...over, ...turnsOf(rest(state))].slice(0, MAX_TURNS);
    },
  };
}

/** The turns of one conversation. `on`: those that are over are told, one message after the other, each again until it was answered (EVENTS_TURNS). */
export function turnRecord({ bus, clock, log, over, lead_id, claim_no }: TurnRecordDeps, on: boolean): TurnRecord {
  if (!on) return { facts: conversationFacts };
  const list = turnList(clock);
  let told = 0;
  let isTelling = false;
  async function tell(): Promise<void> {
    isTelling = true;
    for (let failures = 0; told < list.over.length && !over.aborted;) {
      const turns = list.over.slice(told, told + MAX_TOLD_TURNS);
      try {
        // not done: they were told before, and the answer was lost, or they come with the end of the attempt
        await bus.call("leads.annotate", { lead_id, claim_no, turns: { told, turns } });
        told += turns.length;
        failures = 0;
      } catch (error) {
        log.warn({ event: "talk.turns_not_told", error: errorForLog(error) }, "Turns could not be told; trying again.");
        await clock.wait(exponentialMs(failures++, AGAIN_MS.base, AGAIN_MS.most), over);
      }
    }
    isTelling = false;
  }
  return {
    facts(state) {
      const turns = list.upTo(state);
      if (!isTelling) void tell();
      return { ...conversationFacts(state), turns };
    },
  };
}
