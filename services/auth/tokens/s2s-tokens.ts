import type { Bus, Handlers, ParamsOf, ServiceDeps } from "../../../shared/bus/bus.ts";
import { plusSeconds } from "../../../shared/time/clock.ts";
import type { S2sTokenRecord } from "../../../shared/contracts/auth.ts";
import { scopeOf } from "../../../shared/contracts/records/identity.ts";
import { fail } from "../../../shared/errors.ts";
import { sha256 } from "../../../shared/ids.ts";
import { readPage } from "../../../shared/page.ts";
import type { AuditLog } from "../audit/audit-log.ts";
import { refuseIssue } from "./token-rules.ts";
import type { S2sTokenDoc } from "./s2s-tokens.model.ts";
import type { S2sTokensRepository } from "./s2s-tokens.repository.ts";
import { newS2sToken } from "./access-tokens.ts";

const SECONDS_PER_DAY = 86_400;

const viewOf = (doc: S2sTokenDoc): S2sTokenRecord => ({
  id: doc._id,
  prefix: doc.token_prefix,
  name: doc.name,
  role: doc.role,
  reseller_id: doc.reseller_id,
  merchant_id: doc.merchant_id,
  created_at: doc.created_at.toISOString(),
  last_seen_at: doc.last_seen_at?.toISOString() ?? null,
  expires_at: doc.expires_at.toISOString(),
  revoked_at: doc.revoked_at?.toISOString() ?? null,
});

async function checkScope(bus: Bus, { reseller_id, merchant_id }: ParamsOf<"auth.issueS2s">): Promise<void> {
  const exists = await bus.call("merchants.lookup", {
    reseller_id,
    ...(merchant_id === undefined ? {} : { merchant_id }),
  });
  if (!exists.reseller)
    fail("RESELLER_UNKNOWN", "No reseller has this reseller_id.", {
      errors: [{ path: "reseller_id", message: "is unknown" }],
    });
  if (merchant_id !== undefined && !exists.merchant) {
    fail("VALIDATION_FAILED", "merchant_id is not a merchant of this reseller.", {
      errors: [{ path: "merchant_id", message: "is not a merchant of this reseller" }],
    });
  }
}

/** Issues, lists and revokes server-to-server tokens; each issue and revocation is in the audit log. */
export const s2sTokenActions = (
  deps: Pick<ServiceDeps, "clock" | "env" | "ids">,
  s2s: S2sTokensRepository,
  audit: AuditLog,
): Handlers<"auth", "issueS2s" | "listS2s" | "revokeS2s"> => ({
  async issueS2s(params, { bus }) {
    const { by, name, role, reseller_id, merchant_id = null } = params;
    const refusal = refuseIssue(by, params);
    if (refusal) fail(refusal.code, refusal.detail, refusal.data);
    await checkScope(bus, params);
    const { token, shown } = newS2sToken(deps.ids);
    const id = deps.ids.uuid();
    const now = deps.clock.now();
    await s2s.add({
      _id: id,
      name,
      role,
      reseller_id,
      merchant_id,
      token_hash: sha256(token),
      token_prefix: shown,
      issued_by: { kind: by.kind, id: by.id },
      created_at: now,
      expires_at: plusSeconds(now, deps.env.S2S_TOKEN_TTL_DAYS * SECONDS_PER_DAY),
      last_seen_at: null,
      revoked_at: null,
    });
    await audit.note({
      by,
      action: "token.issued",
      subject: id,
      reseller_id,
      merchant_id,
      details: { name, role, prefix: shown },
    });
    return { token, name, role, reseller_id, merchant_id, created_at: now.toISOString() };
  },
  async listS2s({ by, limit, cursor, ...filter }) {
    const { items, next_cursor } = await readPage(
      { limit, cursor },
      (after, size) => s2s.page(scopeOf(by), filter, after, size),
      viewOf,
    );
    return { count: items.length, s2s_tokens: items, next_cursor };
  },
  async revokeS2s({ by, id }) {
    const found = await s2s.revoke(scopeOf(by), id, deps.clock.now());
    if (found === null) fail("TOKEN_NOT_FOUND", "No server-to-server token has this id; GET /s2s-tokens lists them.");
    if (found === "foreign")
      fail("FORBIDDEN", "The token belongs to another scope than yours; ask its reseller or an admin.");
    const { token, before } = found;
    if (!before) {
      const { reseller_id, merchant_id, name, role, token_prefix: prefix } = token;
      const details = { name, role, prefix };
      await audit.note({ by, action: "token.revoked", subject: id, reseller_id, merchant_id, details });
    }
    return {};
  },
});
