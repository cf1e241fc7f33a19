import type { Model } from "mongoose";
import { PROVIDERS } from "../../../shared/contracts/records/configuration.ts";
import { attemptOfRoom } from "../../../shared/contracts/records/session.ts";
import type { CallDoc } from "../call/calls.model.ts";
import type { Transition } from "../call/call-state-machine.ts";

/** A call with the recording that is seen to. */
export type RecordedCall = CallDoc & { recording: NonNullable<CallDoc["recording"]> };

/** Reads and writes of `calls` as far as recordings go. */
export interface Recordings {
  /** The one way in which a call makes a transition. */
  apply(move: Transition): Promise<CallDoc | null>;
  /** Takes the call whose recording waits longest and keeps others off until `next_due`. */
  takeDue(now: Date, next_due: Date): Promise<RecordedCall | null>;
  /** The call of this name at one of the carriers, or the session in the room of this name. */
  ofCarrierCall(call_id: string): Promise<CallDoc | null>;
}

/** The repository on the model of `calls`; `run` is that of the calls' own. */
export const createRecordings = (model: Model<CallDoc>, run: Recordings["apply"]): Recordings => ({
  apply: run,
  takeDue: (now, next_due) =>
    model
      .findOneAndUpdate(
        { "recording.due_at": { $lte: now } },
        { $set: { "recording.due_at": next_due } },
        { sort: { "recording.due_at": 1 }, returnDocument: "after" },
      )
      .lean<RecordedCall>(),
  ofCarrierCall(call_id) {
    const ref = attemptOfRoom(call_id);
    if (ref !== null) return model.findOne({ _id: ref, session: true }).lean<CallDoc>();
    // by the index of carriers' names, which begins with the provider
    return model.findOne({ provider: { $in: [...PROVIDERS] }, carrier_call_id: call_id }).lean<CallDoc>();
  },
});
