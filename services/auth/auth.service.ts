import { service } from "../../shared/bus/bus.ts";
import { auditSchema } from "./audit/audit.model.ts";
import { auditRepository } from "./audit/audit.repository.ts";
import { startAuditRetention } from "./audit/audit-retention.ts";
import { auditLog } from "./audit/audit-log.ts";
import type { Loop } from "../../shared/time/loop.ts";
import { ensureFirstAdmin } from "./login/first-admin.ts";
import { issuersOf } from "./tokens/issuers.ts";
import { identifyWith } from "./tokens/identify.ts";
import { loginWith, passwordCheck } from "./login/login.ts";
import { sessionActions } from "./login/sessions.ts";
import { passwordHashing } from "./login/passwords.ts";
import { s2sTokenSchema } from "./tokens/s2s-tokens.model.ts";
import { s2sTokensRepository } from "./tokens/s2s-tokens.repository.ts";
import { s2sTokenActions } from "./tokens/s2s-tokens.ts";
import { accessTokens, tokenKeys } from "./tokens/access-tokens.ts";
import { userUpdateActions } from "./users/user-updates.ts";
import { userSchema } from "./users/users.model.ts";
import { usersRepository } from "./users/users.repository.ts";
import { userActions } from "./users/users.ts";

/** Identity: users who log in, tokens of programs, and the audit log. Refuses to start without a signing key. */
export default service("auth", (deps) => {
  const keys = tokenKeys(deps.env); // first: nothing is opened when it is missing
  const store = deps.store();
  const users = usersRepository(store.model("users", userSchema));
  const s2s = s2sTokensRepository(store.model("s2s_tokens", s2sTokenSchema));
  const entries = auditRepository(store.model("audit", auditSchema));
  const audit = auditLog(deps, entries);
  const tokens = accessTokens(keys, deps.env.ACCESS_TOKEN_TTL_SECONDS, deps.clock, deps.ids);
  const issuers = issuersOf(users, s2s, audit);
  const passwords = passwordHashing();
  let retention: Loop | null = null;
  const check = passwordCheck(deps, users, passwords);
  return {
    actions: {
      login: loginWith(check, tokens, audit),
      ...sessionActions(deps, users, { check, passwords, tokens }, audit),
      identify: identifyWith(deps, { users, s2s, tokens, audit }),
      ...s2sTokenActions(deps, s2s, audit, issuers),
      ...userActions(deps, users, passwords, audit, issuers),
      ...userUpdateActions(deps, users, passwords, audit, issuers),
      record: (entry) => audit.record(entry),
      recordRun: (entry) => audit.recordRun(entry),
      listAudit: (asked) => audit.list(asked),
    },
    async started() {
      await ensureFirstAdmin(deps, users, passwords);
      retention = startAuditRetention(deps, entries);
    },
    stopped: async () => retention?.stop(),
  };
});
