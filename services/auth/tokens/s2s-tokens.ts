import type { Bus, Handlers, ParamsOf, ServiceDeps } from "../../../shared/bus/bus.ts";
import { plusSeconds } from "../../../shared/time/clock.ts";
import type { S2sTokenRecord } from "../../../shared/contracts/auth.ts";
import { scopeOf } from "../../../shared/contracts/records/identity.ts";
import { fail } from "../../../shared/errors.ts";
import { sha256 } from "../../../shared/ids.ts";
import { readPage } from "../../../shared/page.ts";
import type { AuditLog } from "../audit/audit-log.ts";
import { issuerIsVoid, type Issuers } from "./issuers.ts";
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
  issued_by: { kind: doc.issued_by.kind, id: doc.issued_by.id },
  ...(doc.revoked_with === undefined ? {} : { revoked_with: doc.revoked_with }),
});

type Revocation = Pick<ServiceDeps, "clock"> & { s2s: S2sTokensRepository; audit: AuditLog; issuers: Issuers };

async function revoke(
  { clock, s2s, audit, issuers }: Revocation,
  { by, id, keep_issued = false }: ParamsOf<"auth.revokeS2s">,
): Promise<Record<string, never>> {
  const now = clock.now();
  const found = await s2s.revoke(scopeOf(by), id, now);
  if (found === null) fail("TOKEN_NOT_FOUND", "No server-to-server token has this id; GET /s2s-tokens lists them.");
  const { token, before } = found;
  // also for a token that was revoked before: the first time may have been cut short
  const with_it = keep_issued ? { tokens: 0, users: 0 } : await issuers.withdrawAccess(by, token, now);
  if (before && with_it.tokens + with_it.users === 0) return {};
  const { reseller_id, merchant_id, name, role, token_prefix: prefix } = token;
  const details = { name, role, prefix, ...(keep_issued ? { kept_issued: true } : with_it) };
  await audit.note({ by, action: "token.revoked", subject: id, reseller_id, merchant_id, details });
  return {};
}

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
  issuers: Issuers,
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
    if (await issuers.isVoid(by)) {
      await s2s.revokeMany([id], by.id, now);
      issuerIsVoid();
    }
    await audit.note({
      by,
      action: "token.issued",
      subject: id,
      reseller_id,
      merchant_id,
      details: { name, role, prefix: shown },
    });
    return { id, token, name, role, reseller_id, merchant_id, created_at: now.toISOString() };
  },
  async listS2s({ by, limit, cursor, ...filter }) {
    const { items, next_cursor } = await readPage(
      { limit, cursor },
      (after, size) => s2s.page(scopeOf(by), filter, after, size),
      viewOf,
    );
    return { count: items.length, s2s_tokens: items, next_cursor };
  },
  revokeS2s: (asked) => revoke({ clock: deps.clock, s2s, audit, issuers }, asked),
});
