import { DEFAULT_ACCOUNT, DEFAULT_TELNYX_ACCOUNT, startCarrier } from "../../deploy/local/carrier/server.ts";
import { createSigner } from "../../deploy/local/carrier/telnyx/signing.ts";
import { telnyxCarrier } from "../../services/dialer/carriers/telnyx/carrier.ts";
import type { CallNames, CarrierDriver, Golden, ToldStep, Unsigned } from "./carrier-driver.ts";

const { connectionId: connection_id, apiKey: api_key } = DEFAULT_TELNYX_ACCOUNT;
const SEED = "suite";
const JSON_TYPE = "application/json";
const AT = "2026-11-21T10:00:00.123456Z";

const state = (call_ref: string): string => Buffer.from(call_ref).toString("base64");
const post = (path: string, body: Record<string, unknown>): Golden => ({
  method: "POST",
  path: `/v2${path}`,
  authorization: `Bearer ${api_key}`,
  body,
});
const event = (
  { call_ref, call_id }: CallNames,
  event_type: string,
  payload: Record<string, unknown> = {},
): Unsigned => ({
  kind: "event",
  content_type: JSON_TYPE,
  body: JSON.stringify({
    data: {
      record_type: "event",
      event_type,
      id: `${call_id}/${event_type}`,
      occurred_at: AT,
      payload: {
        call_control_id: call_id,
        call_leg_id: "leg",
        call_session_id: "session",
        connection_id,
        client_state: state(call_ref),
        from: "+14155550999",
        to: "+14155550101",
        ...payload,
      },
    },
    meta: { attempt: 1, delivered_to: "https://calls.example.com" },
  }),
});

const STEPS: Record<ToldStep, ((call: CallNames) => Unsigned) | null> = {
  queued: (call) => event(call, "call.initiated", { direction: "outgoing", state: "bridging" }),
  ringing: null, // Telnyx does not tell
  answered: (call) => event(call, "call.answered", { state: "answered" }),
  human: (call) => event(call, "call.machine.detection.ended", { result: "human" }),
  machine: (call) => event(call, "call.machine.detection.ended", { result: "machine" }),
  beep: (call) => event(call, "call.machine.greeting.ended", { result: "beep_detected" }),
};

/** Telnyx before the suite: its words, its signature, and our requests as it must see them. */
export async function telnyxDriver(): Promise<CarrierDriver> {
  const simulator = await startCarrier({ port: 0, timeScale: 100, seed: SEED, accounts: [DEFAULT_ACCOUNT] });
  const [signer, stranger] = [createSigner(SEED), createSigner("a stranger")];
  return {
    carrier: "telnyx",
    simulator,
    signature_header: "telnyx-signature-ed25519",
    signs_time: true,
    inbound_path: "/carriers/PROVIDER_ONE/event/inbound",
    inbound_status_path: null,
    adapter: (at, credentials) =>
      telnyxCarrier({
        connection_id,
        api_key: credentials === "wrong" ? "another-key" : api_key,
        public_key: simulator.telnyxPublicKey,
        ...at,
      }),
    sign: ({ method, path, content_type, body }, _public_http_url, now, key) => ({
      method,
      path,
      body,
      headers: { "content-type": content_type, ...(key === "wrong" ? stranger : signer).headers(body, now) },
    }),
    names: (n) => ({ call_id: `v3:never-${n}`, leg_id: null }),
    told: (step, call) => STEPS[step]?.(call) ?? null,
    endings: {
      "normal_clearing 200": "completed",
      "normal_clearing unspecified": "completed",
      "normal_clearing 480": "no_answer",
      "timeout 487": "no_answer",
      "no_answer unspecified": "no_answer",
      "user_busy 486": "busy",
      "call_rejected 603": "rejected",
      "not_found 404": "failed",
      "unspecified 503": "failed",
      "unspecified unspecified": "failed",
      "originator_cancel 487": "canceled",
      "time_limit 200": "time_limit",
      "destination_out_of_order 503": "failed",
    },
    ended(word, call) {
      const [hangup_cause, sip_hangup_cause] = word.split(" ");
      return event(call, "call.hangup", { state: "hangup", hangup_cause, sip_hangup_cause, hangup_source: "callee" });
    },
    recorded: (call, { recording_id, url, seconds }) =>
      url === null
        ? event(call, "call.recording.error", { reason: "Internal server error" })
        : event(call, "call.recording.saved", {
            recording_id,
            channels: "dual",
            recording_urls: { wav: url },
            public_recording_urls: {},
            recording_started_at: AT,
            recording_ended_at: new Date(Date.parse(AT) + seconds * 1000).toISOString(),
          }),
    recording_url(n) {
      const recording_id = `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
      return {
        recording_id,
        url: `${simulator.url}/telnyx-recordings/${recording_id}.wav`,
        elsewhere: `https://stranger.example.com/${recording_id}.wav`,
      };
    },
    golden: {
      dial: ({ call_ref, to, from, ring_seconds, talk_seconds, media, record, await_beep, callback_base }) =>
        post("/calls", {
          connection_id,
          to,
          from,
          webhook_url: `${callback_base}/event/${call_ref}`,
          webhook_url_method: "POST",
          command_id: call_ref,
          client_state: state(call_ref),
          timeout_secs: ring_seconds,
          time_limit_secs: talk_seconds,
          answering_machine_detection: await_beep ? "greeting_end" : "detect",
          ...(record ? { record: "record-from-answer", record_channels: "dual", record_format: "wav" } : {}),
          ...(media.kind === "text"
            ? {
                conversation_relay_config: {
                  url: media.url,
                  language: media.language,
                  dtmf_detection: true,
                  interruptible: "any",
                },
              }
            : {
                stream_url: media.url,
                stream_track: "inbound_track",
                stream_codec: "PCMU",
                stream_bidirectional_mode: "rtp",
                stream_bidirectional_codec: "PCMU",
                stream_bidirectional_sampling_rate: 8000,
                stream_bidirectional_target_legs: "self",
              }),
        }),
      hangUp: ({ call_id }) => [post(`/calls/${call_id}/actions/hangup`, {})],
      transfer: ({ call_ref, call_id }, to, from) =>
        post(`/calls/${call_id}/actions/transfer`, {
          to,
          from,
          client_state: state(call_ref),
          command_id: `${call_ref}.transfer`,
        }),
      digits: ({ call_id }, digits) => post(`/calls/${call_id}/actions/send_dtmf`, { digits }),
      record: () => null,
    },
  };
}
