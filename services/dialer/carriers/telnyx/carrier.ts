import { fail } from "../../../../shared/errors.ts";
import type { Capabilities, CarrierPort } from "../carrier-port.ts";
import { dialAnswerOf } from "./refusals.ts";
import { inboundOf, isAtItsAddress, translate } from "./callbacks.ts";
import { accountUnanswered, unreachable } from "../carrier-errors.ts";
import { command, commandIfLive } from "./commands.ts";
import { dialBody, stateOf } from "./dial-request.ts";
import { continueInbound, answerInbound } from "./inbound.ts";
import { recordOf, textOf } from "../json.ts";
import { fetchCall, findCalls, holdsNumber } from "./lookup.ts";
import { openRecording, recordingsOf } from "./recordings.ts";
import { openRest, type RestOptions } from "./rest.ts";
import { isSigned, publicKeyOf } from "./signature.ts";
import { telnyxStream } from "./stream.ts";

/** What the adapter needs of the environment. `public_key`: base64, checks callbacks. */
export interface TelnyxOptions extends RestOptions {
  public_key: string;
  connection_id: string;
  public_http_url: string;
  public_ws_url: string;
}

const NOTHING = { content_type: "application/json; charset=utf-8", body: "{}" };
/** Telnyx follows commands. */
const NO_DOCUMENTS: Pick<CarrierPort, "answerDocument" | "farewellDocument"> = {
  answerDocument: () => NOTHING,
  farewellDocument: () => null,
};

const CAPABILITIES: Capabilities = {
  speech: "relay",
  machine_detection: true,
  names_ender: true,
  beep: true,
  recording: "dial",
  signs_upgrade: false,
  dtmf: "command",
};

/** Telnyx behind the port. Nothing of its vocabulary passes this folder. Throws a plain error for a public key that is none. */
export function telnyxCarrier(options: TelnyxOptions): CarrierPort {
  const rest = openRest(options);
  const key = publicKeyOf(options.public_key);

  return {
    id: "telnyx",
    capabilities: CAPABILITIES,
    stream: telnyxStream,
    warm: async () => undefined,
    async dial(request) {
      try {
        const call_id = textOf(
          recordOf((await rest.dial(dialBody(options.connection_id, request), request.may_leave))["data"])[
            "call_control_id"
          ],
        );
        return call_id === null
          ? { kind: "uncertain", reason: "the carrier's answer names no call" }
          : { kind: "placed", call_id, queued_ms: 0 };
      } catch (error) {
        return dialAnswerOf(error);
      }
    },
    // without a command_id: an end that is asked for again must not be ignored as a repeat of one that failed
    async hangUp({ call_id }) {
      await commandIfLive(rest, call_id, "hangup", {});
    },
    async transfer({ call_id }, to, from, { call_ref }) {
      await command(rest, call_id, "transfer", {
        to,
        from,
        client_state: stateOf(call_ref),
        command_id: `${call_ref}.transfer`,
      });
    },
    async sendDtmf({ call_id }, digits) {
      await command(rest, call_id, "send_dtmf", { digits });
    },
    record: async () => fail("NOT_AVAILABLE", "Telnyx records as the dial request asks."),
    openRecording: async (recording) => openRecording(rest, options.api_key, recording),
    recordingsOf: async ({ call_id }) => recordingsOf(rest, call_id),
    fetch: async ({ call_id }) => fetchCall(rest, call_id).catch(unreachable),
    find: async (sought) => findCalls(rest, options.connection_id, sought).catch(unreachable),
    holds: async (phone_number) => holdsNumber(rest, phone_number).catch(accountUnanswered),
    verify: (request, now) => isSigned(key, request, now) && isAtItsAddress(request),
    verifyUpgrade: () => true, // Telnyx signs no upgrade: the address's token must do
    translate: (_kind, request) => translate(request),
    ...NO_DOCUMENTS,
    inbound: inboundOf,
    async answerInbound(call, decision) {
      await answerInbound(rest, call, decision);
      return NOTHING;
    },
    continueInbound: (request) => continueInbound(rest, request),
  };
}
