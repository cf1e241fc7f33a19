import type { XmlTurn, XmlTurnReply } from "../../../shared/contracts/conversation.ts";
import type { RawCallback } from "../../../shared/contracts/dialer.ts";
import { codeOf, isOutOfReach } from "../../../shared/errors.ts";
import { LANGUAGE_FIELD, languageOf, PHRASE_LANGUAGES, phrasesFor } from "../../../shared/phrases.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import type { Translated } from "../carriers/carrier-port.ts";
import { turnOfLeader } from "../call/lost-conversation.ts";
import type { DialerParts } from "../deps.ts";

/** Where the address asked is only read for its query. */
const ANY_ORIGIN = "http://localhost";
const MAX_TURNS = 1_000_000;

/** Ends the call without speech: no conversation answers it. */
const HANG_UP: XmlTurnReply = { turn: 0, say: [], next: { kind: "hang_up" }, language: "en-US", voice: null };
const FALLBACK_LANGUAGE = "en-US";

/** Ends the call with a sentence, in the language that the address names: its conversation is gone. */
function goodbyeAt(path: string): XmlTurnReply {
  const named = new URL(path, ANY_ORIGIN).searchParams.get(LANGUAGE_FIELD) ?? FALLBACK_LANGUAGE;
  const language = PHRASE_LANGUAGES.includes(languageOf(named)) ? named : FALLBACK_LANGUAGE;
  return { ...HANG_UP, language, say: [{ text: phrasesFor(language).trouble, interruptible: false }] };
}

/** The address's part in a turn: the token of an answer (`media`), the reply a later turn follows (`turn`). Pure. */
export function turnAddress({ kind, path }: Pick<RawCallback, "kind" | "path">): Pick<XmlTurn, "token" | "follows"> {
  const query = new URL(path, ANY_ORIGIN).searchParams;
  if (kind === "answer") return { token: query.get("media"), follows: 0 };
  const follows = Number(query.get("turn") ?? Number.NaN);
  return {
    token: null,
    follows: Number.isSafeInteger(follows) && follows >= 0 && follows <= MAX_TURNS ? follows : null,
  };
}

/** Asks the node of the conversation; without one yet, any node. */
async function ask(deps: DialerParts, turn: XmlTurn): Promise<XmlTurnReply> {
  const holder = async (): Promise<string | undefined> => (await deps.calls.find(turn.call_ref))?.holder;
  const at = await holder();
  if (at !== undefined) return turnOfLeader(deps, turn, at);
  if (turn.token === null) return HANG_UP;
  try {
    return await deps.bus.call("conversation.turn", turn);
  } catch (error) {
    // a carrier's retry may come while another node takes the first answer: its token is used up, and the conversation has a node by now
    const taken = codeOf(error) === "UNAUTHENTICATED" ? await holder() : undefined;
    if (taken === undefined) throw error;
    return turnOfLeader(deps, turn, taken);
  }
}

/** The next step of an XML-driven call. Where its conversation can't be reached it ends, with a sentence; so it does where none can be begun. */
export async function nextXmlReply(
  deps: DialerParts,
  raw: RawCallback,
  call_id: string,
  { heard, digits }: NonNullable<Translated["turn"]>,
): Promise<XmlTurnReply> {
  try {
    return await ask(deps, { call_ref: raw.ref, provider: raw.provider, call_id, heard, digits, ...turnAddress(raw) });
  } catch (error) {
    deps.log.warn(
      { call_ref: raw.ref, kind: raw.kind, error: errorForLog(error) },
      "the talk of a call could not be reached; the call is ended",
    );
    return isOutOfReach(codeOf(error)) ? goodbyeAt(raw.path) : HANG_UP;
  }
}
