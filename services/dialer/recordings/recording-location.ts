import type { ResultOf } from "../../../shared/bus.ts";
import { isLive } from "../call/call-state-machine.ts";
import type { CallDoc } from "../call/calls.model.ts";
import type { Works } from "../deps.ts";

/** Where the recording of a call is; null: there is no such call. */
export async function recordingOf(
  w: Pick<Works, "recordings">,
  call_id: string,
): Promise<ResultOf<"dialer.recordingOf">> {
  const call: CallDoc | null = await w.recordings.ofCarrierCall(call_id);
  if (!call) return { recording: null };
  const { recording, lead_id } = call;
  if (!recording)
    return {
      recording: {
        lead_id,
        state: isLive(call) && call.order?.record === true ? "wanted" : "absent",
        key: null,
        content_type: null,
        bytes: null,
        where: null,
      },
    };
  const { state, key = null, content_type = null, bytes = null } = recording;
  return {
    recording: {
      lead_id,
      state,
      key,
      content_type,
      bytes,
      where: state === "uploaded" ? "cloud" : state === "stored" ? "local" : null,
    },
  };
}
