import { chunks } from "../../../shared/batching.ts";
import { scopeOf, type By, type Scope } from "../../../shared/contracts/records/identity.ts";
import { fail } from "../../../shared/errors.ts";
import type { AuditLog } from "../audit/audit-log.ts";
import type { UserDoc } from "../users/users.model.ts";
import type { UsersRepository } from "../users/users.repository.ts";
import type { S2sTokenDoc } from "./s2s-tokens.model.ts";
import type { S2sTokensRepository } from "./s2s-tokens.repository.ts";

/** Documents read and written in one step. */
const STEP = 200;

/** What was withdrawn with a token. */
export interface Withdrawn {
  /** Tokens revoked. */ tokens: number;
  /** Users switched off. */ users: number;
}

/** Who gave access to whom. */
export interface Issuers {
  /** Whether the asker's own access has ended since the gateway identified it; then what it has just issued must be void too. */
  isVoid(by: By): Promise<boolean>;
  /**
   * Ends what a revoked token gave access to, and what that gave access to, within the asker's scope: its tokens are revoked, the users it made, or gave more than they had, are switched off.
   * Users whom an admin has made admins stay. Idempotent; what is issued while it works finds its issuer void.
   */
  withdrawAccess(by: By, token: S2sTokenDoc, now: Date): Promise<Withdrawn>;
}

/** Refuses what an asker issues whose own access has ended meanwhile. */
export const issuerIsVoid = (): never =>
  fail("UNAUTHENTICATED", "The bearer token was revoked meanwhile; nothing was issued.");

/** Reads the pages of a list that goes by id, and hands each on. */
async function eachPage<T extends { _id: string }>(
  read: (after: string) => Promise<T[]>,
  take: (page: T[]) => Promise<void>,
): Promise<void> {
  let after = "";
  for (;;) {
    const page = await read(after);
    if (page.length > 0) await take(page);
    const last = page.at(-1);
    if (last === undefined || page.length < STEP) return;
    after = last._id;
  }
}

/** The access that users and tokens gave. */
export function issuersOf(users: UsersRepository, s2s: S2sTokensRepository, audit: AuditLog): Issuers {
  type Walk = { by: By; scope: Scope; root: S2sTokenDoc; now: Date; done: Withdrawn; next: string[] };

  const revoke = async ({ by, root, now, done, next }: Walk, page: S2sTokenDoc[]): Promise<void> => {
    next.push(...page.map(({ _id }) => _id));
    const valid = page.filter(({ revoked_at }) => revoked_at === null);
    await s2s.revokeMany(valid.map(({ _id }) => _id), root._id, now); // prettier-ignore
    done.tokens += valid.length;
    for (const { _id: subject, reseller_id, merchant_id, name, role, token_prefix: prefix } of valid) {
      const details = { name, role, prefix, revoked_with: root._id };
      await audit.note({ by, action: "token.revoked", subject, reseller_id, merchant_id, details });
    }
  };
  const switchOff = async ({ by, root, now, done, next }: Walk, page: UserDoc[]): Promise<void> => {
    next.push(...page.map(({ _id }) => _id));
    const active = page.filter(({ is_active }) => is_active);
    await users.switchOff(active.map(({ _id }) => _id), now); // prettier-ignore
    done.users += active.length;
    for (const { _id: subject, reseller_id, merchant_id } of active) {
      const details = { is_active: false, revoked_with: root._id };
      await audit.note({ by, action: "user.updated", subject, reseller_id, merchant_id, details });
    }
  };

  return {
    isVoid: async ({ kind, id }) => (kind === "s2s" ? s2s.isRevoked(id) : (await users.byId(id))?.is_active !== true),
    async withdrawAccess(by, root, now) {
      const walk: Walk = { by, scope: scopeOf(by), root, now, done: { tokens: 0, users: 0 }, next: [] };
      const seen = new Set([root._id]);
      for (let level = [root._id]; level.length > 0;) {
        for (const some of chunks(level, { maxItems: STEP })) {
          await eachPage(
            (after) => s2s.issuedBy(walk.scope, some, root.created_at, after, STEP),
            (page) => revoke(walk, page),
          );
          await eachPage(
            (after) => users.givenAccessBy(walk.scope, some, after, STEP),
            (page) => switchOff(walk, page),
          );
        }
        level = walk.next.splice(0).filter((id) => !seen.has(id));
        for (const id of level) seen.add(id);
      }
      return walk.done;
    },
  };
}
