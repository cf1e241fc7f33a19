import type { Duplicates } from "../../../shared/contracts/records/configuration.ts";
import { refusal, type Refusal } from "../../../shared/errors.ts";
import { sha256 } from "../../../shared/ids.ts";
import { plusSeconds } from "../../../shared/time/clock.ts";
import type { LeadDoc } from "../leads.model.ts";
import { messageFor, type PushedLead, type ResolvedTemplate } from "./lead-document.ts";
import type { PushKeyDoc } from "./push-keys.model.ts";

/** What a configuration declares of pushes whose request_id was pushed before. Pure. */

const HOUR_SECONDS = 3600;

/** A push of which one lead is made within the hours that its configuration declares. */
export interface OncePush extends Pick<Duplicates, "within_hours"> {
  /** Id of the key that all pushes of this request_id share, of one merchant and template. */
  id: string;
  policy: Exclude<Duplicates["policy"], "allow">;
}

/** What is declared of a push; null: every push makes a lead. Playground runs are repeated at will. */
export function oncePush(
  lead: Pick<PushedLead, "is_playground">,
  { duplicates }: Pick<ResolvedTemplate, "duplicates">,
  { reseller_id, merchant_id, template_id, request_id }: LeadDoc,
): OncePush | null {
  if (!duplicates || duplicates.policy === "allow" || lead.is_playground === true) return null;
  const { policy, within_hours } = duplicates;
  return { id: sha256(JSON.stringify(["request", reseller_id, merchant_id, template_id, request_id])), policy, within_hours }; // prettier-ignore
}

/** The key's document for a lead that is about to be written. */
export const onceDocument = ({ id, within_hours }: OncePush, doc: LeadDoc, now: Date): PushKeyDoc => ({
  _id: id,
  body_hash: "",
  lead_id: doc._id,
  message: messageFor(doc),
  expires_at: plusSeconds(now, within_hours * HOUR_SECONDS),
});

/** The answer that names the first lead in place of a new one. */
export interface FirstLead extends Pick<PushKeyDoc, "lead_id" | "message"> {
  replayed: false;
  duplicate: true;
}

/** What a push is answered whose request_id stands for a lead already. DUPLICATE_REQUEST. */
export const duplicateAnswer = ({ policy, within_hours }: OncePush, lead_id: string): FirstLead | Refusal =>
  policy === "answer_first"
    ? {
        lead_id,
        message: "This request_id was pushed before; no lead was made, and the first one is named.",
        replayed: false,
        duplicate: true,
      }
    : refusal(
        "DUPLICATE_REQUEST",
        `this request_id was pushed for this template within the last ${within_hours} hours; it is the lead ${lead_id}, and no other was made`,
        [{ path: "request_id", message: `stands for the lead ${lead_id}` }],
      );
