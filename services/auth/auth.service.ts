import { service } from "../../shared/bus.ts";
import { auditSchema } from "./audit/audit.model.ts";
import { auditRepository } from "./audit/audit.repository.ts";
import { auditing } from "./audit/audit-log.ts";
import { ensureFirstAdmin } from "./login/first-admin.ts";
import { identifyWith } from "./tokens/identify.ts";
import { loginWith } from "./login/login.ts";
import { passwordHashing } from "./login/passwords.ts";
import { s2sTokenSchema } from "./tokens/s2s-tokens.model.ts";
import { s2sTokensRepository } from "./tokens/s2s-tokens.repository.ts";
import { s2sTokens } from "./tokens/s2s-tokens.ts";
import { accessTokens, signingKey } from "./tokens/access-tokens.ts";
import { userChanging } from "./users/user-updates.ts";
import { userSchema } from "./users/users.model.ts";
import { usersRepository } from "./users/users.repository.ts";
import { userManagement } from "./users/users.ts";

/** Identity: people who log in and tokens of programs (interface.md 4.1, 5), and the audit log. Refuses to be built without a signing key. */
export default service("auth", (ground) => {
  const key = signingKey(ground.env.JWT_PRIVATE_KEY); // first: nothing is opened when it is missing
  const store = ground.store();
  const users = usersRepository(store.model("users", userSchema));
  const s2s = s2sTokensRepository(store.model("s2s_tokens", s2sTokenSchema));
  const audit = auditing(ground, auditRepository(store.model("audit", auditSchema)));
  const tokens = accessTokens(key, ground.env.ACCESS_TOKEN_TTL_SECONDS, ground.clock, ground.ids);
  const passwords = passwordHashing();
  const people = userManagement(ground, users, passwords, audit);
  const changes = userChanging(ground, users, passwords, audit);
  const programs = s2sTokens(ground, s2s, audit);
  return {
    actions: {
      login: loginWith(ground, users, passwords, tokens),
      identify: identifyWith(ground, { users, s2s, tokens, audit }),
      issueS2s: (wanted, { bus }) => programs.issue(wanted, bus),
      listS2s: (asked) => programs.list(asked),
      revokeS2s: (asked) => programs.revoke(asked),
      createUser: (wanted, { bus }) => people.create(wanted, bus),
      listUsers: (asked) => people.list(asked),
      getUser: (asked) => people.get(asked),
      updateUser: (asked, { bus }) => changes.update(asked, bus),
      deleteUser: (asked) => changes.remove(asked),
      record: (entry) => audit.record(entry),
      listAudit: (asked) => audit.list(asked),
    },
    started: () => ensureFirstAdmin(ground, users, passwords),
  };
});
