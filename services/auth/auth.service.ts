import { service, type ParamsOf, type ResultOf, type ServiceGround } from "../../shared/bus.ts";
import { plusSeconds } from "../../shared/clock.ts";
import { fail } from "../../shared/errors.ts";
import { sha256 } from "../../shared/ids.ts";
import { auditSchema } from "./audit.model.ts";
import { auditRepository } from "./audit.repository.ts";
import { auditing } from "./auditing.ts";
import { s2sTokensRepository, usersRepository, type S2sTokensRepository } from "./auth.repository.ts";
import { ensureFirstAdmin } from "./first-admin.ts";
import { identifyWith } from "./identify.ts";
import { refuseIssue } from "./issuing.ts";
import { loginWith } from "./login.ts";
import { passwordHashing } from "./passwords.ts";
import { s2sTokenSchema } from "./s2s-tokens.model.ts";
import { accessTokens, newS2sToken, signingKey } from "./tokens.ts";
import { userSchema } from "./users.model.ts";

const SECONDS_PER_DAY = 86_400;

async function checkScope(ground: ServiceGround, { reseller_id, merchant_id }: ParamsOf<"auth.issueS2s">): Promise<void> {
  const exists = await ground.bus.call("merchants.lookup", { reseller_id, ...(merchant_id === undefined ? {} : { merchant_id }) });
  if (!exists.reseller) fail("RESELLER_UNKNOWN", "No reseller has this reseller_id.", { errors: [{ path: "reseller_id", message: "is unknown" }] });
  if (merchant_id !== undefined && !exists.merchant) {
    fail("VALIDATION_FAILED", "merchant_id is not a merchant of this reseller.", { errors: [{ path: "merchant_id", message: "is not a merchant of this reseller" }] });
  }
}

async function issue(ground: ServiceGround, s2s: S2sTokensRepository, params: ParamsOf<"auth.issueS2s">): Promise<ResultOf<"auth.issueS2s">> {
  const { by, name, role, reseller_id, merchant_id } = params;
  const refusal = refuseIssue(by, params);
  if (refusal) fail(refusal.code, refusal.detail, refusal.data);
  await checkScope(ground, params);
  const { token, shown } = newS2sToken(ground.ids);
  const id = ground.ids.uuid();
  const now = ground.clock.now();
  await s2s.add({
    _id: id, name, role, reseller_id, merchant_id: merchant_id ?? null, token_hash: sha256(token), token_prefix: shown, issued_by: { kind: by.kind, id: by.id },
    created_at: now, expires_at: plusSeconds(now, ground.env.S2S_TOKEN_TTL_DAYS * SECONDS_PER_DAY), last_seen_at: null, revoked_at: null,
  });
  ground.log.info({ event: "auth.token_issued", token_id: id, name, role, reseller_id, merchant_id, by_kind: by.kind, by_id: by.id }, "a server-to-server token was issued");
  return { token, name, role, reseller_id, merchant_id: merchant_id ?? null, created_at: now.toISOString() };
}

/** Identity: people who log in and tokens of programs (interface.md 4.1, 5). Refuses to be built without a signing key. */
export default service("auth", (ground) => {
  const key = signingKey(ground.env.JWT_PRIVATE_KEY); // first: nothing is opened when it is missing
  const store = ground.store();
  const users = usersRepository(store.model("users", userSchema));
  const s2s = s2sTokensRepository(store.model("s2s_tokens", s2sTokenSchema));
  const audit = auditing(ground, auditRepository(store.model("audit", auditSchema)));
  const tokens = accessTokens(key, ground.env.ACCESS_TOKEN_TTL_SECONDS, ground.clock, ground.ids);
  const passwords = passwordHashing();
  return {
    actions: {
      login: loginWith(ground, users, passwords, tokens),
      identify: identifyWith(ground, users, s2s, tokens),
      issueS2s: (params) => issue(ground, s2s, params),
      record: (entry) => audit.record(entry),
      listAudit: (asked) => audit.list(asked),
    },
    started: () => ensureFirstAdmin(ground, users, passwords),
  };
});
