import { recordAudit } from "../../../shared/audit.ts";
import type { Bus, Handlers, ServiceDeps } from "../../../shared/bus/bus.ts";
import { scopeOf } from "../../../shared/contracts/records/identity.ts";
import { fail, type ValidationIssue } from "../../../shared/errors.ts";
import { readPage } from "../../../shared/page.ts";
import { secretSeal } from "../../../shared/process/secret-seal.ts";
import { mayOwn, requireOwner, type Owner } from "../tenancy.ts";
import type { DoorsRepository } from "../doors/doors.repository.ts";
import type { TemplatesRepository } from "../templates/templates.repository.ts";
import { contextOf, toSecret } from "./client-secrets.model.ts";
import type { ClientSecretsRepository, NamedSecret } from "./client-secrets.repository.ts";

/** Most secrets of one merchant, or of one reseller itself. */
const MAX_SECRETS_OF_OWNER = 200;

/** Which of an owner's references name no secret: one validation issue each, at the path of the reference. */
export async function unknownSecrets(
  secrets: ClientSecretsRepository,
  owner: Owner,
  references: readonly { path: string; name: string }[],
): Promise<ValidationIssue[]> {
  if (references.length === 0) return [];
  const names = new Set((await secrets.ofOwner(owner, [...new Set(references.map((r) => r.name))])).map((d) => d.name));
  return references
    .filter(({ name }) => !names.has(name))
    .map(({ path, name }) => ({
      path,
      message: `uses {{secrets.${name}}}, but its owner has no secret of this name; write it with PUT /secrets/${name} first`,
    }));
}

/** Removes the secrets and doors of whoever is deleted. */
const dropping =
  (
    { log }: Pick<ServiceDeps, "log">,
    secrets: ClientSecretsRepository,
    doors: Pick<DoorsRepository, "removeOf">,
  ): Handlers<"config", "dropSecrets">["dropSecrets"] =>
  async (owner) => {
    await doors.removeOf(owner);
    const count = await secrets.removeOf(owner);
    if (count > 0) log.info({ event: "secrets.dropped", ...owner, count }, "the secrets of a deleted tenant are gone");
    return {};
  };

/** Secrets of clients: written and replaced by name, never shown. Says at start where there is no key for them. Their values go to services that make a request with them, and nowhere else. */
export function clientSecrets(
  deps: ServiceDeps,
  templates: TemplatesRepository,
  secrets: ClientSecretsRepository,
  doors: Pick<DoorsRepository, "removeOf">,
): Handlers<"config", "putSecret" | "listSecrets" | "deleteSecret" | "dropSecrets" | "secretValues"> {
  const { SECRETS_KEY, SECRETS_OTHER_KEY } = deps.env;
  const seal = secretSeal({ SECRETS_KEY, SECRETS_OTHER_KEY }, deps.ids);
  if (!seal.seals) warnWithoutKey(deps);
  const audited = (
    bus: Bus,
    by: Parameters<typeof mayOwn>[0],
    action: "secret.written" | "secret.deleted",
    { name, ...owner }: NamedSecret,
  ): Promise<void> =>
    recordAudit(deps, bus, {
      by,
      action,
      subject: owner.merchant_id ?? owner.reseller_id,
      ...owner,
      details: { name },
    });
  return {
    async putSecret({ by, name, reseller_id, merchant_id, value }, { bus }) {
      const secret = { name, reseller_id, merchant_id: merchant_id ?? null };
      mayOwn(by, secret);
      await requireOwner(bus, secret);
      const sealed = seal.seal(value, contextOf(secret));
      if ((await secrets.othersOf(secret)) >= MAX_SECRETS_OF_OWNER)
        fail("RESOURCE_IN_USE", `There are ${MAX_SECRETS_OF_OWNER} secrets already; delete some that you do not use.`);
      const now = deps.clock.now();
      const doc = await secrets.put({ _id: deps.ids.uuid(), ...secret, sealed, created_at: now, updated_at: now });
      await audited(bus, by, "secret.written", secret);
      return toSecret(doc);
    },
    async listSecrets({ by, limit, cursor, ...filter }) {
      const { items, next_cursor } = await readPage(
        { limit, cursor },
        (after, size) => secrets.page(scopeOf(by), filter, after, size),
        toSecret,
      );
      return { count: items.length, secrets: items, next_cursor };
    },
    async deleteSecret({ by, name, reseller_id, merchant_id }, { bus }) {
      const secret = { name, reseller_id, merchant_id: merchant_id ?? null };
      mayOwn(by, secret);
      if (!(await secrets.remove(secret)))
        fail("SECRET_NOT_FOUND", "There is no secret of this name; list yours with GET /secrets.");
      await audited(bus, by, "secret.deleted", secret);
      return {};
    },
    dropSecrets: dropping(deps, secrets, doors),
    async secretValues({ template_id, names }) {
      const [template] = await templates.heads([template_id.toLowerCase()]);
      const found = template ? await secrets.ofOwner(template, names) : [];
      return { values: found.map((d) => ({ name: d.name, value: seal.open(d.sealed, contextOf(d)) })) };
    },
  };
}

const warnWithoutKey = ({ log }: Pick<ServiceDeps, "log">): void =>
  log.warn(
    { event: "secrets.no_key" },
    "SECRETS_KEY is not set: clients can't store secrets (they get a 501), and signing secrets of webhooks lie in clear in the database; make a key with: openssl rand -base64 32",
  );
