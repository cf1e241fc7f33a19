import { codeOf, fail } from "../../../../shared/errors.ts";
import { ASK_TIMEOUT_MS, type CarrierRecording, type RecordingStream } from "../carrier-port.ts";
import { headWithin, streamOf } from "../recording-stream.ts";
import { isUnknown } from "./refusals.ts";
import { CHANNELS } from "./callbacks.ts";
import { unreachable } from "../carrier-errors.ts";
import { listOf, recordOf, textOf } from "../json.ts";
import { pathPart, type Rest } from "./rest.ts";

const TELNYX_HOST = /(?:^|\.)telnyx\.com$/;
/** Telnyx keeps recordings in S3 and links to it there. */
const STORE_HOST = /^(?:[a-z0-9-]+\.)*s3(?:[.-][a-z0-9-]+)*\.amazonaws\.com$/;
/** What a link that has died is answered with, by Telnyx or by the store. */
const DEAD: readonly number[] = [400, 401, 403, 404, 410];
const MAX_REDIRECTS = 3;
const REDIRECT = 3;
/** Recordings of one call that are read: there should be one. */
const MAX_LISTED = 20;

/** True for a link that may be followed at all: the API's own origin, Telnyx's hosts and its store, these by https. Pure. */
export function mayAsk(link: string, api_origin: string): boolean {
  if (!URL.canParse(link)) return false;
  const { origin, protocol, hostname, username } = new URL(link);
  if (username !== "") return false;
  return (
    origin === new URL(api_origin).origin ||
    (protocol === "https:" && (TELNYX_HOST.test(hostname) || STORE_HOST.test(hostname)))
  );
}

/** The API key goes to the API's own origin and nowhere else: the store's links carry their own signature. */
const headersFor = (link: string, api_origin: string, api_key: string): Record<string, string> =>
  new URL(link).origin === new URL(api_origin).origin ? { authorization: `Bearer ${api_key}` } : {};

/** Opens a link; null: it is dead, or leads where we do not go. */
async function follow(link: string, rest: Rest, api_key: string): Promise<RecordingStream | null> {
  let at = link;
  for (let hop = 0; hop <= MAX_REDIRECTS && mayAsk(at, rest.origin); hop += 1) {
    const here = at;
    const response = await headWithin(ASK_TIMEOUT_MS, (signal) =>
      fetch(here, { redirect: "manual", signal, headers: headersFor(here, rest.origin, api_key) }),
    );
    if (response.ok && response.body) return streamOf(response);
    await response.body?.cancel();
    const next = response.headers.get("location");
    if (Math.floor(response.status / 100) === REDIRECT && next !== null) {
      at = new URL(next, at).href;
      continue;
    }
    if (DEAD.includes(response.status)) return null;
    throw new Error(`the recording's link is answered with HTTP ${response.status}`);
  }
  return null;
}

const linkOf = (download_urls: unknown): string | null => {
  const links = recordOf(download_urls);
  return textOf(links["wav"]) ?? textOf(links["mp3"]);
};

/** Asks for a fresh link. RECORDING_NOT_FOUND, RECORDING_NOT_READY. */
async function freshLink(rest: Rest, recording_id: string): Promise<string> {
  const gone = (): never => fail("RECORDING_NOT_FOUND", "The carrier does not have the recording any more.");
  if (recording_id === "") return gone();
  try {
    const { download_urls, status } = recordOf((await rest.get(`/recordings/${pathPart(recording_id)}`))["data"]);
    const link = linkOf(download_urls);
    if ((status !== undefined && status !== "completed") || link === null)
      fail("RECORDING_NOT_READY", "The carrier has not finished the recording yet.");
    return link;
  } catch (error) {
    return isUnknown(error) ? gone() : Promise.reject(error);
  }
}

const OURS: readonly string[] = ["RECORDING_NOT_FOUND", "RECORDING_NOT_READY"];

/** Opens a recording by the link its callback brought, or, that being dead (they live ten minutes), by a fresh one. RECORDING_NOT_FOUND, RECORDING_NOT_READY, DEPENDENCY_DOWN. */
export async function openRecording(
  rest: Rest,
  api_key: string,
  { recording_id, url }: CarrierRecording,
): Promise<RecordingStream> {
  if (url === null) fail("RECORDING_NOT_FOUND", "The carrier has no recording of this call.");
  try {
    return (
      (await follow(url, rest, api_key)) ??
      (await follow(await freshLink(rest, recording_id), rest, api_key)) ??
      fail("RECORDING_NOT_FOUND", "The carrier's link to the recording does not work.")
    );
  } catch (error) {
    return OURS.includes(codeOf(error)) ? Promise.reject(error) : unreachable(error);
  }
}

/** The call's recordings that Telnyx has finished. */
export async function recordingsOf(rest: Rest, call_id: string): Promise<CarrierRecording[]> {
  const { data } = await rest
    .get("/recordings", { "filter[call_control_id]": call_id, "page[number]": "1", "page[size]": String(MAX_LISTED) })
    .catch(unreachable);
  return listOf(data)
    .map(recordOf)
    .flatMap((shown) => {
      const [recording_id, url, ms] = [textOf(shown["id"]), linkOf(shown["download_urls"]), shown["duration_millis"]];
      // Telnyx ignores an unknown filter: another call's recording must never be taken for ours
      if (
        recording_id === null ||
        url === null ||
        shown["call_control_id"] !== call_id ||
        (shown["status"] ?? "completed") !== "completed"
      )
        return [];
      return [
        {
          recording_id,
          url,
          seconds: typeof ms === "number" ? Math.round(ms / 1000) : null,
          channels: CHANNELS[textOf(shown["channels"]) ?? ""] ?? null,
        },
      ];
    });
}
