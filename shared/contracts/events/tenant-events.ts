import { described, Id, Type, UpTo, valued } from "../define.ts";
import { Changed, event } from "./event-type.ts";

const EXAMPLE_ID = "5f0c8f0e-7a39-4c53-9d0f-2a2b6a3a1c11";

/** Most fields that an event names. */
const MAX_FIELDS = 100;
const Fields = described(
  "Names of the fields that were set or changed, as the API names them; never their values.",
  Type.Array(UpTo(64), { maxItems: MAX_FIELDS }),
);

/** Events of what leads are called with and by. */
export const tenantEvents = {
  "number.changed": event(
    "number",
    "A phone number was added, changed, given to a tenant, taken from one, or removed. Where it changes hands there are two events, each of its own tenant: `withdrawn` for whom it was taken from, then `allotted` for whom it was given to. `seq` counts those of all who have it.",
    Type.Object({
      id: Changed.id,
      change: described(
        "What was done.",
        valued(["created", "updated", "withdrawn", "allotted", "removed"], {
          created: "It is new.",
          updated: "Something of it changed; `fields` says what.",
          withdrawn: "It was taken from this tenant.",
          allotted: "It was given to this tenant; `fields` says what changed beside.",
          removed: "It is gone.",
        }),
      ),
      phone_number: described("The number, masked.", UpTo(32)),
      provider: described("Its provider, by whose carrier account calls go.", UpTo(64)),
      status: described(
        "Whether new calls go over it.",
        valued(["AVAILABLE", "DISABLED"], { AVAILABLE: "They do.", DISABLED: "They don't." }),
      ),
      fields: Fields,
    }),
    {
      id: EXAMPLE_ID,
      change: "updated",
      phone_number: "+49*****4567",
      provider: "PROVIDER_ONE",
      status: "DISABLED",
      fields: ["status"],
    },
  ),
  "pause.changed": event(
    "pause",
    "A person paused calling, or has it go on: for a merchant, or (`scope` deployment, told to admins alone) for all. Why is in the audit log.",
    Type.Object({
      scope: described(
        "For whom it holds.",
        valued(["deployment", "merchant"], {
          deployment: "For everybody.",
          merchant: "For the merchant.",
        }),
      ),
      paused: described("Whether it is paused now.", Type.Boolean()),
    }),
    { scope: "merchant", paused: true },
  ),
  "configuration.changed": event(
    "configuration",
    "The configuration of a template was created, changed or removed.",
    Type.Object({
      ...Changed,
      template_id: described("Id of the template that it is for, or was for.", Id),
      fields: Fields,
    }),
    { id: EXAMPLE_ID, change: "updated", template_id: EXAMPLE_ID, fields: ["max_retry"] },
  ),
} as const;
