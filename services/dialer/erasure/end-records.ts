import type { ParamsOf, ResultOf } from "../../../shared/bus/bus.ts";
import { RANK, type Transition } from "../call/call-state-machine.ts";
import type { CallDoc } from "../call/calls.model.ts";
import type { DialerParts } from "../deps.ts";
import { ENDED_RECORDING } from "../recordings/recording-state-machine.ts";
import { archiveCalls } from "./archive.ts";
import { deleteRecording, isUnderWay } from "./erase-number.ts";

/** ENDED and over -> same, whose recording is gone. */
const endRecording = ({ _id }: CallDoc): Transition => ({
  filter: { _id, rank: RANK.ENDED, "recording.due_at": null },
  update: { $set: { recording: ENDED_RECORDING } },
});

/** Ends the recordings of these leads' calls, or the calls with their recordings; where they are archived, after that. The recording goes first: what is gone is never named as there. */
export async function endRecords(
  deps: DialerParts,
  { kind, lead_ids, archive }: ParamsOf<"dialer.endRecords">,
): Promise<ResultOf<"dialer.endRecords">> {
  if (kind !== "recordings" && kind !== "leads") return { ended: {}, waiting: [] };
  const found = await deps.calls.ofLeads(lead_ids);
  const waiting = new Set(found.filter(isUnderWay).map(({ lead_id }) => lead_id));
  const over = found.filter(({ lead_id }) => !waiting.has(lead_id));
  const archived = archive === undefined ? 0 : await archiveCalls(deps, kind, over, archive);
  let recordings = 0;
  for (const call of over.filter(({ recording }) => recording && recording.ended !== true)) {
    if (await deleteRecording(deps, call)) recordings++;
    await deps.calls.apply(endRecording(call));
  }
  if (kind === "recordings") return { ended: { recordings, archived }, waiting: [...waiting] };
  const refs = over.map(({ _id }) => _id);
  await deps.callbacks.erase(refs);
  return { ended: { recordings, calls: await deps.calls.remove(refs), archived }, waiting: [...waiting] };
}
