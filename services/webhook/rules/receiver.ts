/**
 * One tenant's webhook events to one host. Pauses, slots and turns are kept by receiver, so that what fails at one tenant's address stops no other's
 * at the same host.
 */
export interface Receiver {
  host: string;
  reseller_id: string;
  /** null: the events are the reseller's own. */
  merchant_id: string | null;
}

/** Whose events they are: the merchant's, or else the reseller's. */
export const tenantOf = ({ reseller_id, merchant_id }: Receiver): string => merchant_id ?? reseller_id;

/** Names the receiver among all. */
export const keyOf = (receiver: Receiver): string => `${tenantOf(receiver)} ${receiver.host}`;

/** The receiver of a delivery, without the rest of it. */
export const receiverOf = ({ host, reseller_id, merchant_id }: Receiver): Receiver => ({
  host,
  reseller_id,
  merchant_id,
});
