import { recordAudit } from "../../../shared/audit.ts";
import type { Bus, Handlers, ServiceDeps } from "../../../shared/bus/bus.ts";
import { inScope, scopeOf, type By } from "../../../shared/contracts/records/identity.ts";
import { MAX_ENDPOINTS_OF_OWNER } from "../../../shared/contracts/webhooks/webhook-endpoint.ts";
import { fail, failEmptyChange } from "../../../shared/errors.ts";
import { readPage } from "../../../shared/page.ts";
import { hostOf } from "../deliveries/event-intake.ts";
import { requireOwner } from "../secrets/secret-access.ts";
import type { EndpointDeliveries } from "./endpoint-deliveries.repository.ts";
import { toEndpoint, type EndpointDoc } from "./endpoints.model.ts";
import type { EndpointsRepository } from "./endpoints.repository.ts";

/** What managing endpoints needs. */
export interface EndpointDeps extends Pick<ServiceDeps, "clock" | "ids" | "log"> {
  endpoints: EndpointsRepository;
  deliveries: EndpointDeliveries;
  /** WEBHOOK_ADDRESS_REFUSED where the address can be refused without name resolution. */
  requireAddress(url: string, path: string): unknown;
  /** The position of the log of events behind which a new endpoint hears. */
  logEnd(bus: Bus): Promise<number>;
  /** Runs when there is an endpoint that may have something to hear or to get. */
  onChange(): void;
}

/** ENDPOINT_NOT_FOUND, the same for unknown endpoints and for foreign ones. */
export const endpointNotFound = (): never =>
  fail("ENDPOINT_NOT_FOUND", "There is no such endpoint, or it is not yours; list yours with GET /webhook-endpoints.");

/** Endpoints are read by all of a scope and changed by all but users. FORBIDDEN. */
export function mayChange(by: By): void {
  if (by.role === "user")
    fail("FORBIDDEN", "Endpoints are for the merchant itself, its reseller and admins to change.");
}

type Audited = "created" | "updated" | "deleted" | "secret_rotated";

const audited = (
  deps: Pick<ServiceDeps, "log">,
  bus: Bus,
  by: By,
  what: Audited,
  { _id: subject, reseller_id, merchant_id }: EndpointDoc,
  details: Record<string, unknown>,
): Promise<void> =>
  recordAudit(deps, bus, { by, action: `webhook_endpoint.${what}`, subject, reseller_id, merchant_id, details });

/** Makes an endpoint. FORBIDDEN, RESELLER_NOT_FOUND, MERCHANT_NOT_FOUND, WEBHOOK_ADDRESS_REFUSED, RESOURCE_IN_USE. */
const creating =
  (deps: EndpointDeps): Handlers<"webhook", "createEndpoint">["createEndpoint"] =>
  async ({ by, reseller_id, merchant_id, url, types }, { bus }) => {
    const owner = { reseller_id, merchant_id: merchant_id ?? null };
    if (by.role === "user" || !inScope(scopeOf(by), owner))
      fail("FORBIDDEN", "An endpoint is made by the merchant itself, its reseller or an admin.");
    await requireOwner(bus, owner);
    deps.requireAddress(url, "url");
    const now = deps.clock.now();
    const made = await deps.endpoints.add({
      _id: deps.ids.uuid(),
      ...owner,
      url,
      types,
      paused: false,
      after_position: await deps.logEnd(bus),
      created_at: now,
      updated_at: now,
    });
    if (!made)
      return fail("RESOURCE_IN_USE", `There are ${MAX_ENDPOINTS_OF_OWNER} endpoints already; delete one first.`);
    deps.onChange();
    await audited(deps, bus, by, "created", made.endpoint, { types });
    return { ...toEndpoint(made.endpoint), secret: made.secret };
  };

/** Changes an endpoint; what is on its way goes to the new address. */
const updating =
  (deps: EndpointDeps): Handlers<"webhook", "updateEndpoint">["updateEndpoint"] =>
  async ({ by, id, ...wanted }, { bus }) => {
    if (Object.keys(wanted).length === 0) failEmptyChange();
    const { endpoints, deliveries, clock } = deps;
    if (!(await endpoints.find(scopeOf(by), id))) endpointNotFound();
    mayChange(by);
    if (wanted.url !== undefined) deps.requireAddress(wanted.url, "url");
    const changed =
      (await endpoints.change(scopeOf(by), id, { ...wanted, updated_at: clock.now() })) ?? endpointNotFound();
    if (wanted.url !== undefined) await deliveries.readdress(changed._id, wanted.url, hostOf(wanted.url));
    if (wanted.paused === false) await deliveries.resume(changed._id, clock.now());
    deps.onChange();
    const { url: _url, ...details } = wanted;
    await audited(deps, bus, by, "updated", changed, details);
    return toEndpoint(changed);
  };

/** Endpoints, managed over their repository. */
export function endpointActions(
  deps: EndpointDeps,
): Handlers<
  "webhook",
  | "createEndpoint"
  | "listEndpoints"
  | "getEndpoint"
  | "updateEndpoint"
  | "deleteEndpoint"
  | "rotateEndpointSecret"
  | "dropEndpoints"
> {
  const { endpoints, deliveries } = deps;
  return {
    createEndpoint: creating(deps),
    async listEndpoints({ by, limit, cursor, ...filter }) {
      const { items, next_cursor } = await readPage(
        { limit, cursor },
        (after, size) => endpoints.page(scopeOf(by), filter, after, size),
        toEndpoint,
      );
      return { count: items.length, endpoints: items, next_cursor };
    },
    getEndpoint: async ({ by, id }) => toEndpoint((await endpoints.find(scopeOf(by), id)) ?? endpointNotFound()),
    updateEndpoint: updating(deps),
    async deleteEndpoint({ by, id }, { bus }) {
      if (!(await endpoints.find(scopeOf(by), id))) endpointNotFound();
      mayChange(by);
      const gone = (await endpoints.remove(scopeOf(by), id)) ?? endpointNotFound();
      await deliveries.removeOf([gone._id]);
      await audited(deps, bus, by, "deleted", gone, {});
      return {};
    },
    async rotateEndpointSecret({ by, id }, { bus }) {
      if (!(await endpoints.find(scopeOf(by), id))) endpointNotFound();
      mayChange(by);
      const rotated = (await endpoints.rotate(scopeOf(by), id)) ?? endpointNotFound();
      const previous_valid_until = rotated.previous_valid_until.toISOString();
      await audited(deps, bus, by, "secret_rotated", rotated.endpoint, { previous_valid_until });
      return { secret: rotated.secret, previous_valid_until };
    },
    async dropEndpoints(owner) {
      const ids = await endpoints.removeOf(owner);
      if (ids.length > 0) await deliveries.removeOf(ids);
      return {};
    },
  };
}
