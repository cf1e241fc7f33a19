import { described, Id, Nullable, Type, UpTo, valued } from "../define.ts";
import { Changed, event } from "./event-type.ts";

const EXAMPLE_ID = "5f0c8f0e-7a39-4c53-9d0f-2a2b6a3a1c11";

/** Events of what leads are called with and by. Named and described, but not written by any service yet. */
export const tenantEvents = {
  "number.changed": event(
    "number",
    "A phone number was added, changed, allotted or removed.",
    Type.Object({
      ...Changed,
      phone_number: described("The number, masked.", UpTo(32)),
      provider: described("Its carrier.", UpTo(64)),
    }),
    { id: EXAMPLE_ID, change: "updated", phone_number: "+49*****4567", provider: "twilio" },
    false,
  ),
  "pause.changed": event(
    "pause",
    "Calling was paused or goes on: for the merchant, for the reseller with all its merchants, or (`scope` deployment) for all.",
    Type.Object({
      scope: described(
        "For whom it holds.",
        valued(["deployment", "reseller", "merchant"], {
          deployment: "For everybody.",
          reseller: "For the reseller with all its merchants.",
          merchant: "For the merchant.",
        }),
      ),
      paused: described("Whether it is paused now.", Type.Boolean()),
    }),
    { scope: "merchant", paused: true },
    false,
  ),
  "configuration.changed": event(
    "configuration",
    "The configuration of a template was created, changed or removed.",
    Type.Object({
      ...Changed,
      template_id: described("Id of the template that it is for; null: for none.", Nullable(Id)),
    }),
    { id: EXAMPLE_ID, change: "updated", template_id: EXAMPLE_ID },
    false,
  ),
} as const;
