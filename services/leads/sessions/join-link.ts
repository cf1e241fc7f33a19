import type { Bus, ParamsOf, ResultOf, ServiceDeps } from "../../../shared/bus/bus.ts";
import { fail } from "../../../shared/errors.ts";
import { sha256 } from "../../../shared/ids.ts";
import { leadFor } from "../lists/lead-queries.ts";
import { enterSession, refuse, type SessionDeps } from "./join-session.ts";

/** What links need. */
export type LinkDeps = SessionDeps & Pick<ServiceDeps, "ids">;

/** Bytes of randomness in a link. */
export const LINK_BYTES = 18;
/** Bytes of randomness in the secret of a tab. */
export const SECRET_BYTES = 18;

/** POST /leads/{lead_id}/join-link: a link by which a person without a token joins, until the lead's time is over. The one before is void. */
export async function makeJoinLink(
  deps: LinkDeps,
  { by, lead_id }: ParamsOf<"leads.joinLink">,
): Promise<ResultOf<"leads.joinLink">> {
  const lead = await leadFor(deps, by, lead_id);
  refuse(lead);
  const link = deps.ids.base64url(LINK_BYTES);
  await deps.leads.setLink(lead._id, sha256(link));
  return {
    url: `${deps.env.PUBLIC_HTTP_URL}/r/${link}`,
    expires_at: lead.join_by?.toISOString() ?? deps.clock.now().toISOString(),
  };
}

/** The page waits so long for the name that it shows, ms. */
const NAME_MS = 1000;

/** What the page says before its button is pressed: whether the link leads anywhere, and whose conversation it is. Nothing is changed. */
export async function lookAtLink(
  { leads }: Pick<LinkDeps, "leads">,
  bus: Bus,
  { link }: ParamsOf<"leads.lookAtLink">,
): Promise<ResultOf<"leads.lookAtLink">> {
  const lead = await leads.byLink(sha256(link));
  if (!lead) return { refused: "LEAD_NOT_FOUND", name: null };
  const { reseller_id, merchant_id, status } = lead;
  // a page without a name is better than none
  const { name } =
    merchant_id === null
      ? { name: null }
      : await bus
          .call("merchants.named", { reseller_id, merchant_id }, { timeout_ms: NAME_MS })
          .catch(() => ({ name: null }));
  if (status === "FINISHED") return { refused: "SESSION_OVER", name };
  return { refused: status === "PROCESSING" ? "SESSION_TAKEN" : null, name };
}

/** The button of the page: a tab joins the session of its link, and gets a secret by which it alone comes back. LEAD_NOT_FOUND, SESSION_TAKEN, and what joining is refused with. */
export async function joinByLink(
  deps: LinkDeps,
  bus: Bus,
  { link, resume, livekit }: ParamsOf<"leads.joinByLink">,
): Promise<ResultOf<"leads.joinByLink">> {
  const lead = await deps.leads.byLink(sha256(link));
  if (!lead) return fail("LEAD_NOT_FOUND", "This link leads to no session; ask for a new one.");
  const isBack = resume !== undefined && lead.link_holder === sha256(resume);
  if (lead.status === "PROCESSING" && !isBack)
    fail("SESSION_TAKEN", "Somebody has joined this session already, in another window or on another device.");
  const secret = isBack ? resume : deps.ids.base64url(SECRET_BYTES);
  const by = { holder: sha256(secret), ...(livekit === true ? {} : { via: "websocket" as const }) };
  return { ...(await enterSession(deps, bus, lead, by)), resume: secret };
}
