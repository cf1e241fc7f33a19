import type { ParamsOf, ResultOf } from "../../../shared/bus/bus.ts";
import { fail } from "../../../shared/errors.ts";
import { RANK, type Transition } from "../call/call-state-machine.ts";
import type { CallDoc } from "../call/calls.model.ts";
import type { DialerParts } from "../deps.ts";
import { ENDED_RECORDING } from "../recordings/recording-state-machine.ts";
import { eraseArchive } from "./archive.ts";

type Erased = ResultOf<"dialer.eraseNumber">;

/** Something of the call is still to come: its end, its price, its recording. Until then it is needed, and would come back. */
export const isUnderWay = ({ rank, state, closed_at, due_at, recording }: CallDoc): boolean =>
  rank < RANK.ENDED ||
  (state === "ENDED" && closed_at === undefined) ||
  due_at !== undefined ||
  recording?.due_at !== undefined;

/** ENDED and over -> same, without a number, the carrier's words, and the recording. Ids, times, cost and how it ended stay. */
const eraseCall = ({ _id, order }: CallDoc): Transition => ({
  filter: { _id, rank: RANK.ENDED, due_at: null, "recording.due_at": null },
  update: {
    $set: {
      ...(order === undefined ? {} : { "order.to": "" }),
      recording: ENDED_RECORDING,
    },
    $unset: { callee: 1, callee_key: 1, cap_key: 1, open_until: 1, said: 1, cause: 1, error: 1 },
  },
});

/** Deletes the files of a call's recording, wherever they are. True: there was one. NOT_AVAILABLE where it is in a bucket that this process does not know. */
export async function deleteRecording(
  { stores: { local, cloud } }: DialerParts,
  { recording }: CallDoc,
): Promise<boolean> {
  if (recording?.key === undefined) return false;
  if (recording.state === "uploaded" && cloud === null)
    fail(
      "NOT_AVAILABLE",
      "A recording can't be erased: it is in a bucket, and S3_BUCKET is not set in this deployment.",
    );
  await Promise.all([local.remove(recording.key), cloud?.remove(recording.key)]);
  return true;
}

/** The calls of these leads, with their recordings and callbacks, the calls of this number to ours, and what the archive has of it. The recording goes first: what is gone is never named as there. */
export async function eraseNumber(deps: DialerParts, p: ParamsOf<"dialer.eraseNumber">): Promise<Erased> {
  const calls = await deps.calls.ofLeads(p.lead_ids);
  const waiting = new Set(calls.filter(isUnderWay).map(({ lead_id }) => lead_id));
  const over = calls.filter(({ lead_id }) => !waiting.has(lead_id));
  let [recordings, erased] = [0, 0];
  for (const call of over) {
    if (await deleteRecording(deps, call)) recordings++;
    if (await deps.calls.apply(eraseCall(call))) erased++;
    else waiting.add(call.lead_id);
  }
  const carrier_callbacks = await deps.callbacks.erase(over.map(({ _id }) => _id));
  const inbound = await deps.inboundCalls.erase(p, p.phone_number, deps.clock.now());
  const archives = p.archive_folders === undefined ? 0 : await eraseArchive(deps, p, p.archive_folders);
  return {
    erased: { calls: erased, recordings, carrier_callbacks, inbound_calls: inbound.erased, archives },
    waiting: [...waiting],
    pending: inbound.pending,
  };
}
