import type { Twilio } from "twilio";
import { fail, Failure } from "../../../../shared/errors.ts";
import { errorCodeOf, Refusal } from "../carrier-errors.ts";
import type { CarrierRecording, RecordingStream } from "../carrier-port.ts";
import { headWithin, streamOf } from "../recording-stream.ts";
import { wholeOf } from "../json.ts";
import { movedTo, type RestOptions } from "./rest.ts";

/** Twilio's API, where recordings are asked for with the account's credentials. */
const API_ORIGIN = "https://api.twilio.com";
/** Hosts to which Twilio may redirect for the file itself; they get no credentials. */
const FILE_HOSTS = [".twilio.com", ".twiliocdn.com", ".amazonaws.com"];
const MAX_HOPS = 3;
/** How long Twilio may take to begin its answer; the body's own pace is the reader's to bound. */
const ANSWER_TIMEOUT_MS = 15_000;
const NOT_FOUND_STATUS = 404;
const AUDIO = "audio/x-wav";
/** Recordings of one call that are read: there should be one. */
const MAX_LISTED = 20;

/** A recording's own address, from which its files are made by their endings. */
const ADDRESS = /^\/2010-04-01\/Accounts\/(AC[0-9a-fA-F]{32})\/Recordings\/(RE[0-9a-fA-F]{32})(?:\.[a-z0-9]+)?$/;

const isFileHost = ({ protocol, hostname }: URL): boolean =>
  protocol === "https:" && FILE_HOSTS.some((end) => hostname.endsWith(end));

/** The address of a recording's file with both sides apart, at the origin we use; null for one that is not our account's at Twilio: it must not be asked, least of all with credentials. */
export function fileAddress(options: RestOptions, url: string, ending: ".wav" | ".json"): URL | null {
  if (!URL.canParse(url)) return null;
  const asked = new URL(url);
  const ours =
    asked.origin === API_ORIGIN || (options.api_base !== null && asked.origin === new URL(options.api_base).origin);
  const [, account, sid] = ADDRESS.exec(asked.pathname) ?? [];
  if (!ours || account !== options.account_sid || sid === undefined) return null;
  return new URL(
    movedTo(
      options.api_base,
      `${API_ORIGIN}/2010-04-01/Accounts/${account}/Recordings/${sid}${ending}${ending === ".wav" ? "?RequestedChannels=2" : ""}`,
    ),
  );
}

/** Asks with the account's credentials; follows a redirect without them and only to Twilio's own file stores. */
const ask = (options: RestOptions, first: URL): Promise<Response> =>
  headWithin(ANSWER_TIMEOUT_MS, async (signal) => {
    let [url, headers]: [URL, Record<string, string>] = [
      first,
      { authorization: `Basic ${Buffer.from(`${options.account_sid}:${options.auth_token}`).toString("base64")}` },
    ];
    for (let hop = 0; hop < MAX_HOPS; hop += 1) {
      const answer = await fetch(url, { headers, redirect: "manual", signal });
      const on = answer.status >= 300 && answer.status < 400 ? answer.headers.get("location") : null;
      if (on === null) return answer;
      await answer.body?.cancel();
      const next = new URL(on, url);
      if (next.origin !== first.origin && !isFileHost(next))
        fail("DEPENDENCY_DOWN", "The carrier sent us on to a host that is not its own; the recording was not fetched.");
      if (next.origin !== first.origin) headers = {};
      url = next;
    }
    return fail("DEPENDENCY_DOWN", "The carrier sent us on too often; the recording was not fetched.");
  });

/** True while Twilio is still making the file: it answers 404 for one that is not there yet as for one that is gone. */
async function isInTheMaking(options: RestOptions, url: string): Promise<boolean> {
  const about = fileAddress(options, url, ".json");
  const answer = about && (await ask(options, about));
  if (!answer?.ok) {
    await answer?.body?.cancel();
    return false;
  }
  const { status } = (await answer.json()) as { status?: unknown };
  return status === "processing" || status === "in-progress" || status === "paused" || status === "stopped";
}

/** Opens a recording for reading, both sides apart. RECORDING_NOT_FOUND, RECORDING_NOT_READY, DEPENDENCY_DOWN. */
export async function openRecording(options: RestOptions, { url }: CarrierRecording): Promise<RecordingStream> {
  if (url === null) fail("RECORDING_NOT_FOUND", "The carrier made no recording of the call.");
  const file =
    fileAddress(options, url, ".wav") ??
    fail("RECORDING_NOT_FOUND", "The recording's address is not one of our account at the carrier; it was not asked.");
  try {
    const answer = await ask(options, file);
    if (answer.ok && answer.body) return streamOf(answer, AUDIO);
    await answer.body?.cancel();
    if (answer.status !== NOT_FOUND_STATUS)
      fail("DEPENDENCY_DOWN", `The carrier answered HTTP ${answer.status} for the recording; it is asked again.`);
    if (await isInTheMaking(options, url)) fail("RECORDING_NOT_READY", "The carrier is still making the recording.");
    return fail("RECORDING_NOT_FOUND", "The carrier has the recording no more.");
  } catch (error) {
    if (error instanceof Failure) throw error;
    return fail(
      "DEPENDENCY_DOWN",
      `The recording could not be fetched (${errorCodeOf(error)}); it is asked for again.`,
    );
  }
}

/** The call's recordings that Twilio has done with. Their addresses are those that callbacks name: the resource's own `uri` lies under the call. */
export async function recordingsOf(
  client: Twilio,
  { account_sid }: RestOptions,
  call_id: string,
): Promise<CarrierRecording[]> {
  const listed = await client
    .calls(call_id)
    .recordings.list({ limit: MAX_LISTED })
    .catch((error: unknown) => {
      if (error instanceof Refusal && error.status === NOT_FOUND_STATUS) return [];
      throw error;
    });
  return listed
    .filter(({ status, callSid }) => callSid === call_id && (status === "completed" || status === "absent"))
    .map(({ sid, status, duration, channels }) => ({
      recording_id: sid,
      url: status === "completed" ? `${API_ORIGIN}/2010-04-01/Accounts/${account_sid}/Recordings/${sid}` : null,
      seconds: wholeOf(duration),
      channels: channels ?? null,
    }));
}
