import { sign } from "../../deploy/local/carrier/plivo/signature.ts";
import { DEFAULT_ACCOUNT, DEFAULT_PLIVO_ACCOUNT, startCarrier } from "../../deploy/local/carrier/server.ts";
import { plivoCarrier } from "../../services/dialer/carriers/plivo/carrier.ts";
import type { CallNames, CarrierDriver, Golden, ToldStep, Unsigned } from "./carrier-driver.ts";

const { authId: auth_id, authToken: auth_token } = DEFAULT_PLIVO_ACCOUNT;
const authorization = `Basic ${Buffer.from(`${auth_id}:${auth_token}`).toString("base64")}`;
const ACCOUNT = `/v1/Account/${auth_id}`;
const FORM = "application/x-www-form-urlencoded; charset=utf-8";
const NONCE = "12345678901234567890";
const uuid = (n: number, kind: string): string =>
  `${n.toString(16).padStart(8, "0")}-0000-4000-8000-${kind.padStart(12, "0")}`;
const bare = (number: string): string => number.slice(1);

const asked = (method: string, path: string, body: Record<string, unknown> | null): Golden => ({
  method,
  path: ACCOUNT + path,
  authorization,
  body,
});
const form = (kind: Unsigned["kind"], { call_id, leg_id }: CallNames, fields: Record<string, string>): Unsigned => ({
  kind,
  content_type: FORM,
  body: new URLSearchParams({
    CallUUID: leg_id ?? call_id,
    RequestUUID: call_id,
    ALegRequestUUID: call_id,
    ALegUUID: leg_id ?? call_id,
    From: "14155550999",
    To: "14155550101",
    Direction: "outbound",
    ...fields,
  }).toString(),
});

const STEPS: Record<ToldStep, ((call: CallNames) => Unsigned) | null> = {
  queued: null, // Plivo does not tell
  ringing: (call) => form("status", call, { Event: "Ring", CallStatus: "ringing" }),
  answered: (call) => form("answer", call, { Event: "StartApp", CallStatus: "in-progress" }),
  human: null, // of machines only
  machine: (call) =>
    form("amd", call, { Event: "MachineDetection", CallStatus: "in-progress", Machine: "true", IfMachine: "continue" }),
  beep: null,
};

/** Plivo before the suite: its words, its signature, and our requests as it must see them. */
export async function plivoDriver(): Promise<CarrierDriver> {
  const simulator = await startCarrier({ port: 0, timeScale: 100, seed: "suite", accounts: [DEFAULT_ACCOUNT] });
  return {
    carrier: "plivo",
    simulator,
    signature_header: "x-plivo-signature-v3",
    signs_time: false,
    inbound_path: "/carriers/PROVIDER_ONE/inbound/new",
    inbound_status_path: "/carriers/PROVIDER_ONE/status/inbound",
    adapter: (at, credentials) =>
      plivoCarrier({ auth_id, auth_token: credentials === "wrong" ? "another-token" : auth_token, ...at }),
    sign: ({ method, path, content_type, body }, public_http_url, _now, key) => ({
      method,
      path,
      body,
      headers: {
        "content-type": content_type,
        "x-plivo-signature-v3-nonce": NONCE,
        "x-plivo-signature-v3": sign(
          key === "wrong" ? "another-token" : auth_token,
          public_http_url + path,
          new URLSearchParams(body),
          NONCE,
        ),
      },
    }),
    names: (n) => ({ call_id: uuid(n, "ca11"), leg_id: uuid(n, "1e9") }),
    told: (step, call) => STEPS[step]?.(call) ?? null,
    endings: {
      completed: "completed",
      "completed 6000": "time_limit",
      busy: "busy",
      "busy 3020": "rejected",
      "no-answer": "no_answer",
      timeout: "no_answer",
      cancel: "canceled",
      failed: "failed",
      "failed 2000": "invalid_number",
    },
    ended(word, call) {
      const [status = "", code = "4000"] = word.split(" ");
      return form("status", call, {
        Event: "Hangup",
        CallStatus: status,
        HangupCause: "NORMAL_CLEARING",
        HangupCauseCode: code,
        HangupCauseName: "Normal Hangup",
        HangupSource: "Callee",
        Duration: "3",
        BillDuration: "60",
        TotalCost: "0.00850",
        StartTime: "2026-11-21 10:00:00",
        AnswerTime: status === "completed" ? "2026-11-21 10:00:05" : "",
        EndTime: "2026-11-21 10:00:08",
      });
    },
    recorded: ({ call_id, leg_id }, { recording_id, url, seconds }) => ({
      kind: "recording",
      query: `call=${call_id}`,
      content_type: FORM,
      body: new URLSearchParams({
        api_id: uuid(0, "a91"),
        call_uuid: leg_id ?? call_id,
        recording_id,
        ...(url === null ? {} : { record_url: url }),
        recording_duration: String(seconds),
        recording_duration_ms: String(seconds * 1000),
      }).toString(),
    }),
    recording_url(n) {
      const recording_id = uuid(n, "4ec");
      const path = `${ACCOUNT}/Recording/${recording_id}.wav`;
      return { recording_id, url: `https://media.plivo.com${path}`, elsewhere: `https://stranger.example.com${path}` };
    },
    golden: {
      dial({ call_ref, to, from, ring_seconds, talk_seconds, media, callback_base }) {
        const at = (kind: string): string => `${callback_base}/${kind}/${call_ref}`;
        return asked("POST", "/Call/", {
          from: bare(from),
          to: bare(to),
          answer_url: `${at("answer")}?${media.kind === "audio" ? `stream=${Buffer.from(media.url).toString("base64url")}` : `media=${media.token}`}`,
          answer_method: "POST",
          ring_url: at("status"),
          ring_method: "POST",
          hangup_url: at("status"),
          hangup_method: "POST",
          ring_timeout: ring_seconds,
          time_limit: talk_seconds,
          machine_detection: "true",
          machine_detection_url: at("amd"),
          machine_detection_method: "POST",
        });
      },
      hangUp: ({ leg_id }) => [asked("DELETE", `/Call/${leg_id}/`, null)],
      transfer: ({ call_ref, leg_id }, to, from, base) =>
        asked("POST", `/Call/${leg_id}/`, {
          legs: "aleg",
          aleg_url: `${base}/transfer/${call_ref}?to=${bare(to)}&from=${bare(from)}`,
          aleg_method: "POST",
        }),
      digits: ({ leg_id }, digits) => asked("POST", `/Call/${leg_id}/DTMF/`, { digits }),
      record: ({ call_ref, call_id, leg_id }, { callback_base, limit_seconds }) =>
        asked("POST", `/Call/${leg_id}/Record/`, {
          time_limit: limit_seconds,
          file_format: "wav",
          record_channel_type: "stereo",
          callback_url: `${callback_base}/recording/${call_ref}?call=${call_id}`,
          callback_method: "POST",
        }),
    },
  };
}
