import { keyOf, tenantOf, type Receiver } from "../rules/receiver.ts";
import { MAX_RECEIVERS } from "./host-records.ts";

/** Receivers of one tenant that wait for their turn; the scan finds the rest when there is room. */
export const MAX_WAITING_PER_TENANT = 1000;
/** Receivers of one reseller and all its merchants that wait: it makes merchants as it likes. */
export const MAX_WAITING_PER_RESELLER = MAX_RECEIVERS / 2;

/** How many requests of a reseller (with all its merchants) or of a tenant are under way. */
export interface UnderWay {
  reseller(reseller_id: string): number;
  tenant(name: string): number;
}

type Tenants = Map<string, Map<string, Receiver>>;

const keysByLeast = <T>(map: ReadonlyMap<string, T>, underWay: (key: string) => number): string[] =>
  [...map.keys()]
    .map((key) => ({ key, busy: underWay(key) }))
    .sort((a, b) => a.busy - b.busy)
    .map(({ key }) => key);

const sizeOf = (tenants: Tenants | undefined): number =>
  [...(tenants?.values() ?? [])].reduce((sum, { size }) => sum + size, 0);

/** Receivers that have deliveries due, by reseller and tenant. */
export class WaitingReceivers {
  readonly #resellers = new Map<string, Tenants>();

  get size(): number {
    return [...this.#resellers.values()].reduce((sum, tenants) => sum + sizeOf(tenants), 0);
  }

  has(receiver: Receiver): boolean {
    return this.#resellers.get(receiver.reseller_id)?.get(tenantOf(receiver))?.has(keyOf(receiver)) === true;
  }

  /** Adds a receiver behind those of its tenant; where there are too many it is left out. */
  add(receiver: Receiver): void {
    const { reseller_id } = receiver;
    const tenants: Tenants = this.#resellers.get(reseller_id) ?? new Map();
    const own = tenants.get(tenantOf(receiver)) ?? new Map<string, Receiver>();
    if (own.has(keyOf(receiver)) || own.size >= MAX_WAITING_PER_TENANT) return;
    if (sizeOf(tenants) >= MAX_WAITING_PER_RESELLER || this.size >= MAX_RECEIVERS) return;
    own.set(keyOf(receiver), receiver);
    tenants.set(tenantOf(receiver), own);
    this.#resellers.set(reseller_id, tenants);
  }

  delete(receiver: Receiver): void {
    const { reseller_id } = receiver;
    const tenants = this.#resellers.get(reseller_id);
    const own = tenants?.get(tenantOf(receiver));
    own?.delete(keyOf(receiver));
    if (own?.size === 0) tenants?.delete(tenantOf(receiver));
    if (tenants?.size === 0) this.#resellers.delete(reseller_id);
  }

  /** Every receiver: first those of the reseller, and in it of the tenant, that has the fewest requests under way; of a tenant the longest waiting first. */
  *inTurn(underWay: UnderWay): Generator<Receiver> {
    for (const reseller_id of keysByLeast(this.#resellers, underWay.reseller)) {
      const tenants: Tenants = this.#resellers.get(reseller_id) ?? new Map();
      for (const tenant of keysByLeast(tenants, underWay.tenant)) yield* tenants.get(tenant)?.values() ?? [];
    }
  }
}
