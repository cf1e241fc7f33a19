import { plusMs, plusSeconds } from "../../../shared/time/clock.ts";
import { exponentialMs } from "../../../shared/time/backoff.ts";
import type { RecordingState } from "../../../shared/contracts/records/recording-states.ts";
import type { Transition } from "../call/call-state-machine.ts";
import type { StoredRecording } from "../call/calls.model.ts";
import type { CarrierRecording } from "../carriers/carrier-port.ts";

/** What a recording is owed next. Pure. */
export type DueStep = "ask" | "give_up_waiting" | "fetch" | "tell_stored" | "take_back" | "upload" | null;

/** A conversation without a reported end: its recording is polled this long after it can have ended. */
const UNREPORTED_MS = 2 * 3_600_000;
/** The carrier is polled for an unreported recording: so long after the end of the call, then after each poll; then it is given up. */
const POLLS_SECONDS = [120, 600, 3600] as const;
/** A poll that can't reach the carrier is repeated; it is given up after so many. */
const MAX_POLL_FAILURES = 20;
/** Our own recording is reported this long after the end of the call: the node that recorded it may have to restart first. */
const OWN_PATIENCE_SECONDS = 3600;
/** Time limit of one try to fetch; a node that takes longer counts as gone a little later. */
export const FETCH_LIMIT_MS = 300_000;
export const LEASE_MS = 330_000;
/** The carrier is asked this often; a recording that it does not know is believed gone after the second number. */
const MAX_FETCHES = 20;
const MAX_FETCHES_OF_NONE = 5;
const FETCH_AGAIN_MS = { base: 15_000, most: 3_600_000 };
/** Uploads are tried for about five days; the local copy stays and is served all the while. */
const MAX_UPLOADS = 120;
const UPLOAD_AGAIN_MS = { base: 60_000, most: 3_600_000 };

/** What is to be done about a recording now. `upload`: new recordings go to the bucket too. Pure. */
export function dueStep(
  { state, own = false, recording_id, told = false, stored_told = false, tries, looks = 0 }: StoredRecording,
  upload: boolean,
): DueStep {
  switch (state) {
    case "wanted":
      if (own) return "give_up_waiting";
      if (recording_id !== undefined) return "fetch";
      return looks < POLLS_SECONDS.length && tries < MAX_POLL_FAILURES ? "ask" : "give_up_waiting";
    case "fetching":
      return "fetch";
    case "absent":
      return told ? "take_back" : null;
    case "failed":
      return null;
    case "uploaded":
    case "stored":
      if (!stored_told) return "tell_stored";
      return state === "stored" && upload && tries < MAX_UPLOADS ? "upload" : null;
  }
}

/** What is left of a recording that was erased, or whose time was over. */
export const ENDED_RECORDING: StoredRecording = { state: "absent", tries: 0, told: false, ended: true };

const at = (ref: string, ...states: RecordingState[]) => ({ _id: ref, "recording.state": { $in: states } });
const set = (fields: Partial<StoredRecording>, ...gone: (keyof StoredRecording)[]): Transition["update"] => ({
  $set: Object.fromEntries(Object.entries(fields).map(([name, value]) => [`recording.${name}`, value])),
  ...(gone.length === 0 ? {} : { $unset: Object.fromEntries(gone.map((name) => [`recording.${name}`, 1 as const])) }),
});

/** (none) -> wanted: the call is answered and will have a recording, of which the lead is told. */
export const expect = (ref: string, now: Date, max_call_seconds: number, own: boolean): Transition => ({
  filter: { _id: ref, recording: null },
  update: set({
    state: "wanted",
    ...(own ? { own } : {}),
    tries: 0,
    told: true,
    due_at: plusMs(plusSeconds(now, max_call_seconds), UNREPORTED_MS),
  }),
});

/**
 * (none)|wanted|absent, of which the carrier has reported nothing yet -> wanted, to be fetched at once; absent where the carrier says that there
 * is none.
 */
export const reported = (
  ref: string,
  call_id: string,
  { recording_id, url, seconds, channels }: CarrierRecording,
  now: Date,
): Transition => ({
  filter: {
    _id: ref,
    $or: [{ carrier_call_id: { $in: [null, call_id] } }, { carrier_leg_id: call_id }],
    "recording.recording_id": null,
    "recording.own": null,
    "recording.ended": null,
    "recording.state": { $in: [null, "wanted", "absent"] },
  },
  update: set({
    state: url === null ? "absent" : "wanted",
    recording_id,
    tries: 0,
    due_at: now,
    ...(url === null ? {} : { url }),
    ...(seconds === null ? {} : { seconds }),
    ...(channels === null ? {} : { channels }),
  }),
});

const untold = (ref: string) => ({ ...at(ref, "wanted"), "recording.recording_id": null });

/** wanted: the call is over: the carrier is polled for its recording unless it reports it soon; one of our own is waited for. Idempotent. */
export const callOver = (ref: string, now: Date, own: boolean): Transition => ({
  filter: { ...untold(ref), "recording.looks": null },
  update: set({ looks: 0, due_at: plusSeconds(now, own ? OWN_PATIENCE_SECONDS : POLLS_SECONDS[0]) }),
});

/** (none)|wanted|absent|failed -> stored|uploaded: one of our own is in the folder or in the bucket, however late. */
export const ownKept = (
  ref: string,
  state: "stored" | "uploaded",
  kept: { key: string; bytes: number; content_type: string; seconds: number },
  now: Date,
): Transition => ({
  filter: {
    _id: ref,
    $or: [{ recording: null }, { "recording.own": true, "recording.state": { $in: ["wanted", "absent", "failed"] } }],
  },
  update: set({ state, own: true, ...kept, channels: 2, tries: 0, due_at: now }, "error"),
});

/** wanted: the carrier was asked and has none yet: the next poll, or, after the last one, the end of it. `due_at` as it was taken. */
export const notFound = (ref: string, due_at: Date, looks: number, now: Date): Transition => ({
  filter: { ...untold(ref), "recording.due_at": due_at },
  update: set({ looks: looks + 1, tries: 0, due_at: plusSeconds(now, POLLS_SECONDS[looks + 1] ?? 0) }),
});

/** wanted: the carrier could not be asked: again later. `due_at` as it was taken. */
export const pollFailed = (ref: string, due_at: Date, tries: number, reason: string, now: Date): Transition => ({
  filter: { ...untold(ref), "recording.due_at": due_at },
  update: set({
    tries: tries + 1,
    error: reason,
    due_at: plusMs(now, exponentialMs(tries, FETCH_AGAIN_MS.base, FETCH_AGAIN_MS.most)),
  }),
});

/** wanted -> absent: it was never reported, or it could not be begun. */
export const absent = (ref: string, error: string, now: Date): Transition => ({
  filter: untold(ref),
  update: set({ state: "absent", error, due_at: now }),
});

/** wanted|fetching -> fetching: this try is ours until `lease_until`, by which its other transitions know it. */
export const beginFetch = (ref: string, lease_until: Date): Transition => ({
  filter: { ...at(ref, "wanted", "fetching"), "recording.due_at": lease_until },
  update: { ...set({ state: "fetching" }), $inc: { "recording.tries": 1 } },
});

/** fetching -> stored. */
export const stored = (
  ref: string,
  lease_until: Date,
  kept: { key: string; bytes: number; content_type: string },
  now: Date,
): Transition => ({
  filter: { ...at(ref, "fetching"), "recording.due_at": lease_until },
  update: set({ state: "stored", ...kept, tries: 0, due_at: now }, "error"),
});

/** How a try to fetch failed: `none` the carrier knows no such recording, `never` another try would end the same. */
export interface FetchFailure {
  kind: "again" | "none" | "never" | "stopping";
  reason: string;
}

/** fetching -> wanted, for another try later; or the end of it: absent, failed. */
export function fetchFailed(
  ref: string,
  lease_until: Date,
  tries: number,
  { kind, reason }: FetchFailure,
  now: Date,
): Transition {
  const filter = { ...at(ref, "fetching"), "recording.due_at": lease_until };
  if (kind === "stopping")
    return { filter, update: { ...set({ state: "wanted", due_at: now }), $inc: { "recording.tries": -1 } } };
  if (kind === "none" && tries >= MAX_FETCHES_OF_NONE)
    return { filter, update: set({ state: "absent", error: reason, due_at: now }) };
  if (kind === "never" || tries >= MAX_FETCHES)
    return { filter, update: set({ state: "failed", error: reason }, "due_at") };
  return {
    filter,
    update: set({
      state: "wanted",
      error: reason,
      due_at: plusMs(now, exponentialMs(tries - 1, FETCH_AGAIN_MS.base, FETCH_AGAIN_MS.most)),
    }),
  };
}

/** stored -> uploaded. */
export const uploaded = (ref: string): Transition => ({
  filter: at(ref, "stored"),
  update: set({ state: "uploaded", tries: 0 }, "due_at", "error"),
});

/** stored: the upload failed; again later, or given up with the local copy kept. */
export const uploadFailed = (ref: string, tries: number, reason: string, now: Date): Transition => ({
  filter: at(ref, "stored"),
  update: {
    ...(tries + 1 >= MAX_UPLOADS
      ? set({ error: reason }, "due_at")
      : set({ error: reason, due_at: plusMs(now, exponentialMs(tries, UPLOAD_AGAIN_MS.base, UPLOAD_AGAIN_MS.most)) })),
    $inc: { "recording.tries": 1 },
  },
});

/** stored -> wanted: the folder has it no more (another host's), so it is fetched anew; one of our own is nowhere else: failed. */
export const lost = (ref: string, now: Date, own: boolean): Transition => ({
  filter: at(ref, "stored"),
  update: own
    ? set({ state: "failed", error: "The folder has the recording no more." }, "due_at")
    : set({ state: "wanted", tries: 0, due_at: now }),
});

/** The lead's record names its address no more. */
export const addressTakenBack = (ref: string): Transition => ({
  filter: { _id: ref, recording: { $ne: null } },
  update: set({ told: false }),
});

/** The leads service knows that it is stored, and where; due again at once where something is still to be done. `due_at` as it was taken. */
export const storedTold = (ref: string, due_at: Date, further: boolean, now: Date): Transition => ({
  filter: { _id: ref, "recording.due_at": due_at },
  update: further
    ? set({ told: true, stored_told: true, due_at: now })
    : set({ told: true, stored_told: true }, "due_at"),
});

/** Nothing is owed: it is polled no more. `due_at` as it was taken. */
export const done = (ref: string, due_at: Date): Transition => ({
  filter: { _id: ref, "recording.due_at": due_at },
  update: { $unset: { "recording.due_at": 1 } },
});

/** Due again at once, after a step that worked. `due_at` as it was taken. */
export const proceed = (ref: string, due_at: Date, now: Date): Transition => ({
  filter: { _id: ref, "recording.due_at": due_at },
  update: set({ due_at: now }),
});
