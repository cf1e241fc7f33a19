/**
 * Every contract between the services (docs/glossary.md).
 *
 * Glossary: a **reseller** owns **merchants**; a merchant owns **templates** (a graph of **nodes** with **functions**) and each template has
 * at most one **configuration** (window, retries, provider). A **lead** is one person to call; it has one or more **attempts**.
 * An attempt is claimed by the scheduler: (lead_id, claim_no) is its **lease**, named `call_ref` on the bus. A **call** is the carrier's side of
 * an attempt, a **conversation** is our side. **Facts** are what was recorded of both; the **outcome** is the one word computed from them.
 * A **webhook event** announces a finished lead to the client; a **delivery** sends it, in one or more tries.
 */
import { Id, IsoTime, Nullable, Type, type ActionContract, UpTo } from "./define.ts";
import { auth } from "./auth.ts";
import { blacklist } from "./blacklist.ts";
import { config } from "./config.ts";
import { conversation } from "./conversation.ts";
import { CallRef, dialer } from "./dialer.ts";
import { leads } from "./leads.ts";
import { merchants } from "./merchants.ts";
import { numbers } from "./numbers.ts";
import { scheduler } from "./scheduler.ts";
import { webhook } from "./webhook.ts";

/** The gateway offers no action on the bus: it only calls others. */
const gateway = {
  name: "gateway",
  actions: {},
  events: {
    /** From every service with a database, repeated while it lasts: the database refuses a command as such. `taken`: no longer. */
    "database.command_refused": Type.Object({
      key: UpTo(300),
      collection: UpTo(100),
      command: UpTo(100),
      code: Nullable(Type.Number()),
      code_name: UpTo(100),
      since: IsoTime,
      taken: Type.Boolean(),
    }),
    /** Something changed in the room of a session, as its server says: a hint for the conversation that has it. */
    "room.changed": Type.Object({ call_ref: CallRef }),
    /** From each gateway to the others, every second: what tenants used of their allowances there, in units (docs/api.md). Counted once; never sent again. */
    "allowance.spent": Type.Object({
      gateway: Id,
      spent: Type.Array(Type.Object({ tenant: UpTo(100), units: Type.Integer({ minimum: 1 }) }), { maxItems: 500 }),
    }),
  },
};

/** Every contract by its service's name. */
export const contracts = {
  auth,
  blacklist,
  config,
  conversation,
  dialer,
  gateway,
  leads,
  merchants,
  numbers,
  scheduler,
  webhook,
};

export type Contracts = typeof contracts;
/** Name of a service. */
export type ServiceName = keyof Contracts;

/** The contract of an action by its name on the bus, `leads.push`; undefined: there is none. */
export function contractOf(name: string): ActionContract | undefined {
  const [service = "", action = ""] = name.split(".");
  const of: Record<string, { actions: Record<string, ActionContract> }> = contracts;
  return of[service]?.actions[action];
}
