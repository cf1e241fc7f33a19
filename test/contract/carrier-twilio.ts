import { DEFAULT_ACCOUNT, startCarrier } from "../../deploy/local/carrier/server.ts";
import { sign } from "../../deploy/local/carrier/twilio/signature.ts";
import { relayDocument, streamDocument, transferDocument } from "../../services/dialer/carriers/twilio/documents.ts";
import { twilioCarrier } from "../../services/dialer/carriers/twilio/carrier.ts";
import type { CallNames, CarrierDriver, Golden, ToldStep, Unsigned } from "./carrier-driver.ts";

const { sid: account_sid, authToken: auth_token } = DEFAULT_ACCOUNT;
const authorization = `Basic ${Buffer.from(`${account_sid}:${auth_token}`).toString("base64")}`;
const CALLS = `/2010-04-01/Accounts/${account_sid}/Calls`;
const FORM = "application/x-www-form-urlencoded; charset=utf-8";
const hex = (n: number): string => n.toString(16).padStart(32, "0");

const post = (path: string, body: Record<string, unknown>): Golden => ({ method: "POST", path, authorization, body });
const form = (kind: Unsigned["kind"], { call_id }: CallNames, fields: Record<string, string>): Unsigned => ({
  kind,
  content_type: FORM,
  body: new URLSearchParams({ CallSid: call_id, AccountSid: account_sid, ...fields }).toString(),
});

const STEPS: Record<ToldStep, (call: CallNames) => Unsigned> = {
  queued: (call) => form("status", call, { CallStatus: "initiated", SequenceNumber: "0" }),
  ringing: (call) => form("status", call, { CallStatus: "ringing", SequenceNumber: "1" }),
  answered: (call) => form("status", call, { CallStatus: "in-progress", SequenceNumber: "2" }),
  human: (call) => form("amd", call, { AnsweredBy: "human" }),
  machine: (call) => form("amd", call, { AnsweredBy: "machine_start" }),
  beep: (call) => form("amd", call, { AnsweredBy: "machine_end_beep" }),
};

/** Twilio before the suite: its words, its signature, and our requests as it must see them. */
export async function twilioDriver(): Promise<CarrierDriver> {
  const simulator = await startCarrier({ port: 0, timeScale: 100, seed: "suite", accounts: [DEFAULT_ACCOUNT] });
  return {
    carrier: "twilio",
    simulator,
    signature_header: "x-twilio-signature",
    signs_time: false,
    inbound_path: "/carriers/PROVIDER_ONE/inbound/new",
    inbound_status_path: "/carriers/PROVIDER_ONE/status/inbound",
    adapter: (at, credentials) =>
      twilioCarrier({ account_sid, auth_token: credentials === "wrong" ? "another-token" : auth_token, ...at }),
    sign: ({ method, path, content_type, body }, public_http_url, _now, key) => ({
      method,
      path,
      body,
      headers: {
        "content-type": content_type,
        "x-twilio-signature": sign(
          key === "wrong" ? "another-token" : auth_token,
          public_http_url + path,
          new URLSearchParams(body),
        ),
      },
    }),
    names: (n) => ({ call_id: `CA${hex(n)}`, leg_id: null }),
    told: (step, call) => STEPS[step](call),
    endings: {
      completed: "completed",
      busy: "busy",
      "busy 603": "rejected",
      "no-answer": "no_answer",
      failed: "failed",
      canceled: "canceled",
    },
    ended(word, call) {
      const [status = "", sip] = word.split(" ");
      return form("status", call, {
        CallStatus: status,
        SequenceNumber: "3",
        CallDuration: "3",
        ...(sip === undefined ? {} : { SipResponseCode: sip }),
      });
    },
    recorded: (call, { recording_id, url, seconds }) =>
      form("recording", call, {
        RecordingSid: recording_id,
        RecordingStatus: url === null ? "absent" : "completed",
        ...(url === null ? {} : { RecordingUrl: url }),
        RecordingDuration: String(seconds),
        RecordingChannels: "2",
        RecordingSource: "OutboundAPI",
      }),
    recording_url(n) {
      const recording_id = `RE${hex(n)}`;
      const path = `/2010-04-01/Accounts/${account_sid}/Recordings/${recording_id}`;
      return { recording_id, url: `https://api.twilio.com${path}`, elsewhere: `https://stranger.example.com${path}` };
    },
    golden: {
      dial({ call_ref, to, from, ring_seconds, talk_seconds, media, record, await_beep, callback_base }) {
        const at = (kind: string): string => `${callback_base}/${kind}/${call_ref}`;
        return post(`${CALLS}.json`, {
          To: to,
          From: from,
          Twiml:
            media.kind === "audio"
              ? streamDocument({ url: media.url, action: at("stream") })
              : relayDocument({ ...media, action: at("relay-end") }),
          StatusCallback: at("status"),
          StatusCallbackMethod: "POST",
          StatusCallbackEvent: ["initiated", "ringing", "answered", "completed"],
          Timeout: String(ring_seconds),
          TimeLimit: String(talk_seconds),
          MachineDetection: await_beep ? "DetectMessageEnd" : "Enable",
          AsyncAmd: "true",
          AsyncAmdStatusCallback: at("amd"),
          AsyncAmdStatusCallbackMethod: "POST",
          ...(record
            ? {
                Record: "true",
                RecordingChannels: "dual",
                Trim: "do-not-trim",
                RecordingStatusCallback: at("recording"),
                RecordingStatusCallbackMethod: "POST",
                RecordingStatusCallbackEvent: ["completed", "absent"],
              }
            : {}),
        });
      },
      hangUp: ({ call_id }, answered) => [
        post(`${CALLS}/${call_id}.json`, { Status: answered ? "completed" : "canceled" }),
      ],
      transfer: ({ call_id }, to, from) => post(`${CALLS}/${call_id}.json`, { Twiml: transferDocument(to, from) }),
      digits: () => null,
      record: () => null,
    },
  };
}
