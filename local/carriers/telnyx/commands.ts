import { randomUUID } from "node:crypto";
import { fieldsOf, needed, numberIn, relayIn, settingsIn, textIn, type Fields } from "./request-bodies.ts";
import { alreadyEnded, notAnswered, RequestError } from "./errors.ts";
import { stream, streamIn } from "./stream.ts";
import { pressKeys, relay, speak, transfer, type AnsweredCallDeps } from "./answered-call.ts";
import type { RecordSettings, TelnyxCall } from "./telnyx-call.ts";

/** What a command answers with beside "ok". */
type Result = Record<string, unknown> | null;
type Command = (parts: AnsweredCallDeps, telnyxCall: TelnyxCall, fields: Fields) => Result;

const SIP_REJECTED = 603;
const SIP_BUSY = 486;
const SIP_CANCELLED = 487;
const DIGITS = /^[0-9A-D*#wW]+$/;
const MAX_SPEECH_CHARS = 3_000;

/** What goes on by itself from here; should it fail, the ledger says so. */
function alone({ ledger }: AnsweredCallDeps, { call }: TelnyxCall, work: Promise<void>): null {
  const { sid, to, from } = call.order;
  work.catch((error: unknown) => {
    ledger.write({
      kind: "warning",
      call_sid: sid,
      to,
      from,
      message: `the simulator failed on this call: ${String(error)}`,
    });
  });
  return null;
}

const answered =
  (command: Command): Command =>
  (parts, telnyxCall, fields) => {
    if (telnyxCall.call.phase !== "answered") throw notAnswered();
    return command(parts, telnyxCall, fields);
  };

function ringing({ call }: TelnyxCall): void {
  if (call.direction === "inbound" && call.phase === "ringing") return;
  throw new RequestError(
    "90032",
    "Call not in a state for this command",
    "This command is for an incoming call that is not answered yet.",
  );
}

function recordSettings(fields: Fields): RecordSettings {
  const [channels, format] = [needed(fields, "channels"), needed(fields, "format")];
  if ((channels !== "single" && channels !== "dual") || (format !== "wav" && format !== "mp3"))
    throw new RequestError("10015", "Bad Request", "channels must be single or dual, format wav or mp3.");
  return { channels, format };
}

/** Everything a call can be told. https://developers.telnyx.com/api-reference/call-commands */
const COMMANDS: Readonly<Record<string, Command>> = {
  answer({ exchange }, telnyxCall, fields) {
    ringing(telnyxCall);
    telnyxCall.settings = settingsIn(fields, telnyxCall.settings);
    exchange.answer(telnyxCall.call);
    return null;
  },
  hangup({ exchange }, { call }) {
    if (call.phase === "answered") exchange.end(call, "completed", "api");
    else if (call.direction === "inbound") exchange.end(call, "no-answer", "api", SIP_REJECTED);
    else exchange.end(call, "canceled", "api", SIP_CANCELLED);
    return null;
  },
  reject({ exchange }, telnyxCall, fields) {
    ringing(telnyxCall);
    const cause = needed(fields, "cause");
    if (cause !== "CALL_REJECTED" && cause !== "USER_BUSY")
      throw new RequestError("10015", "Bad Request", "cause must be CALL_REJECTED or USER_BUSY.");
    exchange.end(
      telnyxCall.call,
      cause === "USER_BUSY" ? "busy" : "no-answer",
      "api",
      cause === "USER_BUSY" ? SIP_BUSY : SIP_REJECTED,
    );
    return null;
  },
  transfer: answered((parts, telnyxCall, fields) =>
    alone(parts, telnyxCall, transfer(parts, telnyxCall, numberIn(fields, "to"))),
  ),
  send_dtmf: answered((_parts, telnyxCall, fields) => {
    const digits = needed(fields, "digits");
    if (!DIGITS.test(digits))
      throw new RequestError("10015", "Bad Request", "digits may hold 0-9, A-D, *, #, w and W.");
    pressKeys(telnyxCall, digits);
    return null;
  }),
  speak: answered((parts, telnyxCall, fields) => {
    const [text] = [needed(fields, "payload"), needed(fields, "voice")];
    if (text.length > MAX_SPEECH_CHARS)
      throw new RequestError("10015", "Bad Request", `payload must be at most ${MAX_SPEECH_CHARS} characters.`);
    return alone(parts, telnyxCall, speak(parts, telnyxCall, text));
  }),
  record_start: answered(({ recordings }, telnyxCall, fields) => ({
    recording_id: recordings.start(telnyxCall, recordSettings(fields)),
  })),
  record_stop: answered(({ recordings }, telnyxCall) => {
    recordings.stop(telnyxCall);
    return null;
  }),
  conversation_relay_start: answered((parts, telnyxCall, fields) => {
    alone(parts, telnyxCall, relay(parts, telnyxCall, relayIn(fields)));
    return { conversation_relay_id: randomUUID() };
  }),
  streaming_start: answered((parts, telnyxCall, fields) => {
    needed(fields, "stream_url");
    const asked = streamIn(fields);
    return asked ? alone(parts, telnyxCall, stream(parts, telnyxCall, asked)) : null;
  }),
  streaming_stop: answered((_parts, { streaming }) => {
    streaming.abort();
    return null;
  }),
  conversation_relay_stop: answered((_parts, { leave }) => {
    leave.abort();
    return null;
  }),
};

/** Does what a command says and gives the answer's data; one whose id was seen on this call is ignored. Throws RequestError. */
export function applyCommand(
  parts: AnsweredCallDeps,
  telnyxCall: TelnyxCall,
  action: string,
  body: string,
): Record<string, unknown> {
  const command = Object.hasOwn(COMMANDS, action) ? COMMANDS[action] : undefined;
  if (!command)
    throw new RequestError("10005", "Resource not found", "The requested resource or URL could not be found.", 404);
  const fields = fieldsOf(body);
  const id = textIn(fields, "command_id");
  if (id !== null && telnyxCall.done.has(id)) return { result: "ok" };
  if (telnyxCall.call.phase === "ended") throw alreadyEnded();
  const { clientState } = settingsIn({ client_state: fields["client_state"] }, telnyxCall.settings);
  const result = command(parts, telnyxCall, fields);
  telnyxCall.settings = { ...telnyxCall.settings, clientState };
  if (id !== null) telnyxCall.done.add(id);
  return { result: "ok", ...result };
}
