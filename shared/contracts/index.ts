/**
 * What the services say to each other, in one place.
 *
 * Glossary: a **reseller** owns **merchants**; a merchant owns **templates** (a conversation flow of **nodes** with **functions**) and each template has
 * at most one **configuration** (window, retries, provider). A **lead** is one request to call somebody; it lives through one or more **attempts**.
 * An attempt is claimed by the scheduler: (lead_id, claim_no) is the **baton**, written as one word the **call_ref**. A **call** is the carrier's side of
 * an attempt, a **talk** is the conversation's side. **Facts** are what was recorded of both; the **outcome** is the one word computed from them.
 * A **report** is the webhook owed for a finished lead, a **delivery** is that report on its way.
 */
import { auth } from "./auth.ts";
import { blacklist } from "./blacklist.ts";
import { config } from "./config.ts";
import { conversation } from "./conversation.ts";
import { dialer } from "./dialer.ts";
import { leads } from "./leads.ts";
import { merchants } from "./merchants.ts";
import { numbers } from "./numbers.ts";
import { scheduler } from "./scheduler.ts";
import { webhook } from "./webhook.ts";

/** The gateway offers nothing on the bus: it only asks. */
const gateway = { name: "gateway", actions: {}, events: {} };

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
