import type { LegRecording } from "../exchange/leg-recording.ts";
import { API_VERSION, rfc2822 } from "./call-resource.ts";
import type { RecordParams } from "./params.ts";
import type { TwilioCall } from "./twilio-call.ts";

/** A recording as the REST API knows it. `made` null while it is recorded or made. */
export interface TwilioRecording {
  readonly sid: string;
  readonly twilioCall: TwilioCall;
  readonly params: RecordParams;
  readonly startedAt: Date;
  status: "in-progress" | "processing" | "completed" | "absent";
  made: LegRecording | null;
}
/** Where a recording is to be had; its ending says in which form. Twilio tells its own host, whatever address it was asked at. */
export const pathOf = ({ sid, twilioCall }: TwilioRecording): string =>
  `/${API_VERSION}/Accounts/${twilioCall.account.sid}/Recordings/${sid}`;
/** The address that callbacks and resources name. */
export const recordingUrl = (recording: TwilioRecording): string => `https://api.twilio.com${pathOf(recording)}`;
export function resourceOf(recording: TwilioRecording): Record<string, unknown> {
  const {
    sid,
    twilioCall: { call, account },
    params,
    startedAt,
    status,
    made,
  } = recording;
  return {
    sid,
    account_sid: account.sid,
    call_sid: call.order.sid,
    conference_sid: null,
    channels: params.channels,
    source: params.source,
    track: "both",
    status,
    date_created: rfc2822(startedAt),
    date_updated: rfc2822(call.endedAt ?? startedAt),
    start_time: rfc2822(startedAt),
    duration: made ? String(made.seconds) : null,
    price: null,
    price_unit: "USD",
    error_code: null,
    encryption_details: null,
    api_version: API_VERSION,
    media_url: recordingUrl(recording),
    uri: `${pathOf(recording)}.json`,
    subresource_uris: {
      transcriptions: `${pathOf(recording)}/Transcriptions.json`,
      add_on_results: `${pathOf(recording)}/AddOnResults.json`,
    },
  };
}
