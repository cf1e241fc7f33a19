import { lookup as systemLookup, type LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";
import { Agent } from "undici";
import { isPublicAddress, type AddressPolicy } from "./egress-address.ts";

/** A connection that was not made because of where it would have led. */
export class AddressRefused extends Error {
  readonly code = "ADDRESS_REFUSED";
}

/** Bounds of an agent for addresses that clients name. */
export interface EgressBounds { connectTimeoutMs: number; connectionsPerHost?: number; maxAnswerBytes?: number }

const KEEP_ALIVE_MS = 10_000;

/** Resolves a name and gives the connection only addresses that were checked: a name that changes between check and connect gains nothing. */
const checkedLookup = (policy: AddressPolicy): LookupFunction => (hostname, options, callback) => {
  systemLookup(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
    if (error) { callback(error, "", 0); return; }
    const first = addresses[0];
    if (!first || (!policy.allow_private && addresses.some((a) => !isPublicAddress(a.address)))) {
      callback(new AddressRefused("the name resolves to a private, loopback, link-local or reserved address"), "", 0);
    } else if (options.all) {
      callback(null, addresses);
    } else {
      callback(null, first.address, first.family);
    }
  });
};

/** The one way out to addresses that clients name: webhooks, functions of templates. Check the address with `refusalOf` first; literal addresses are never resolved. */
export const egressAgent = (policy: AddressPolicy, bounds: EgressBounds): Agent => new Agent({
  connect: { timeout: bounds.connectTimeoutMs, lookup: checkedLookup(policy) }, keepAliveTimeout: KEEP_ALIVE_MS, pipelining: 1,
  ...(bounds.connectionsPerHost === undefined ? {} : { connections: bounds.connectionsPerHost }), ...(bounds.maxAnswerBytes === undefined ? {} : { maxResponseSize: bounds.maxAnswerBytes }),
});
