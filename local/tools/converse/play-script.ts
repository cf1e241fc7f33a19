import { toldPayload } from "../sample/sample-payload.ts";
import { checksOf, type Check, type Result } from "./expectations.ts";
import { NoRecording, type Model } from "./models.ts";
import { requirePayload, titleOf, type NamedScript, type LoadedTemplate } from "./input-files.ts";
import type { Script, WebAnswer } from "./script.ts";
import { TextConversation, type ShownLine, type Traced, type WebResult } from "./text-conversation.ts";

/** A script that was played. `lines`: the conversation as it was held. */
export interface Played extends Result {
  readonly file: string;
  readonly title: string;
  readonly template: string;
  readonly lines: readonly ShownLine[];
  readonly checks: readonly Check[];
  readonly trace: readonly Traced[];
  readonly passed: boolean;
}

const FIRST_FAILURE = 300;

function webResult({ status = 200, body = "" }: WebAnswer): WebResult {
  if (status >= FIRST_FAILURE) return { ok: false, result: `HTTP_${status}` };
  return { ok: true, result: typeof body === "string" ? body : JSON.stringify(body) };
}

/** Canned answers by function, one after the other; `missing` gets the functions that asked in vain. */
function cannedWeb(web: Script["web"], missing: Check[]): (called: string, url: string) => WebResult {
  const asked = new Map<string, number>();
  return (called, url) => {
    const answers = web !== undefined && Object.hasOwn(web, called) ? (web[called] ?? []) : [];
    const at = asked.get(called) ?? 0;
    asked.set(called, at + 1);
    const answer = answers[Math.min(at, answers.length - 1)];
    if (answer) return webResult(answer);
    missing.push({
      what: `web ${called}`,
      expected: `an answer to ${url}`,
      actual: `none; add web.${called} to the script`,
      ok: false,
    });
    return { ok: false, result: "NO_ANSWER" };
  };
}

/** Plays the turns; a check that fails where the conversation and the script do not go together. */
async function playTurns(conversation: TextConversation, { turns }: Script): Promise<Check[]> {
  try {
    await conversation.start();
    for (const [i, turn] of turns.entries()) {
      // a goodbye can still be cut short
      if (conversation.ended && turn.interrupt === undefined)
        return [
          {
            what: `turn ${i + 1}`,
            expected: "the talk goes on",
            actual: `it was over, with ${turns.length - i} of ${turns.length} turns left`,
            ok: false,
          },
        ];
      await conversation.turn(turn);
    }
    return [];
  } catch (error) {
    if (error instanceof NoRecording)
      return [{ what: "recorded answer", expected: "one to every question", actual: error.message, ok: false }];
    throw error;
  }
}

/** The variables of a script: its own, and what the template's payload_schema names (examples, default) for the rest that it requires. */
export const payloadOf = ({ payload = {} }: Script, { template }: LoadedTemplate): Record<string, unknown> =>
  toldPayload(template.payload_schema, payload);

/** Plays a script against a template and checks its expectations. `tell` gets each line as it happens. UsageError where the payload does not fit. */
export async function play(
  named: NamedScript,
  ready: LoadedTemplate,
  model: Model,
  tell: (line: ShownLine) => void,
): Promise<Played> {
  const { file, script } = named;
  const payload = payloadOf(script, ready);
  requirePayload(file, ready, payload);
  const lines: ShownLine[] = [];
  const missing: Check[] = [];
  const web = cannedWeb(script.web, missing);
  const conversation = new TextConversation(ready, payload, script.voicemail_action ?? "hangup", {
    model,
    transfers: () => script.transfer !== "fails",
    web: async ({ url }, called) => web(called, url),
    told: (line) => {
      lines.push(line);
      tell(line);
    },
  });
  const broken = await playTurns(conversation, script);
  const result: Result = { facts: conversation.facts, outcome: conversation.outcome, ended_by: conversation.endedBy };
  const checks = [...broken, ...missing, ...checksOf(script.expect ?? {}, result)];
  return {
    ...result,
    file,
    title: titleOf(named),
    template: ready.name,
    lines,
    checks,
    trace: conversation.trace,
    passed: checks.every((check) => check.ok),
  };
}
