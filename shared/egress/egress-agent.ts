import { lookup as systemLookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { Agent, buildConnector } from "undici";
import { bareHost, isLocalName, isPublicAddress, isRefusedPort, type AddressPolicy } from "./egress-address.ts";
import { networkNames, type Resolve } from "./network-names.ts";

/** The code of AddressRefused, by which it is known wherever it was wrapped. */
export const ADDRESS_REFUSED = "ADDRESS_REFUSED";

/** A connection that was not made because of where it would have led. */
export class AddressRefused extends Error {
  readonly code = ADDRESS_REFUSED;
}

/** Bounds of an agent for addresses that clients name. */
export interface EgressBounds {
  connectTimeoutMs: number;
  connectionsPerHost?: number;
  maxAnswerBytes?: number;
}

const KEEP_ALIVE_MS = 10_000;

/** Resolves a name once and gives the connection only addresses that were checked, all of them or none: a name that changes between check and connect gains nothing. */
const checkedLookup =
  (policy: AddressPolicy, resolve: Resolve): LookupFunction =>
  (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) {
        callback(error, "", 0);
        return;
      }
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

/** Why no connection may be begun to what a URL names: literal addresses are never resolved, so that the lookup would not meet them, and name servers need not know local names. */
function refusalBefore(policy: AddressPolicy, hostname: string, port: string): AddressRefused | null {
  if (policy.allow_private) return null;
  const host = bareHost(hostname);
  if (isLocalName(host) || (isIP(host) !== 0 && !isPublicAddress(host)))
    return new AddressRefused("the address is private, loopback, link-local or reserved");
  return isRefusedPort(port) ? new AddressRefused("the port is not allowed") : null;
}

/** A connector that checks the address before it connects, and the peer's address afterwards. */
function checkedConnector(policy: AddressPolicy, timeout: number, resolve: Resolve): buildConnector.connector {
  const connect = buildConnector({ timeout, allowH2: false, lookup: checkedLookup(policy, resolve) });
  return (options, callback) => {
    const refused = refusalBefore(policy, options.hostname, options.port);
    if (refused) {
      callback(refused, null);
      return;
    }
    connect(options, (...met) => {
      const [error, socket] = met;
      if (error === null && !policy.allow_private && !isPublicAddress(socket.remoteAddress ?? "")) {
        socket.destroy();
        callback(new AddressRefused("the connection led to an address that is not public"), null);
      } else callback(...met);
    });
  };
}

/**
 * The one way out to addresses that clients name: webhooks, functions of templates, pre-checks. It refuses by itself wherever a connection would
 * lead; `addressRefusal` gives the reason beforehand.
 */
export const egressAgent = (
  policy: AddressPolicy,
  bounds: EgressBounds,
  // private names, of a laptop and its tests alone, may stand in its hosts file
  resolve: Resolve = policy.allow_private ? systemLookup : networkNames(),
): Agent =>
  new Agent({
    connect: checkedConnector(policy, bounds.connectTimeoutMs, resolve),
    keepAliveTimeout: KEEP_ALIVE_MS,
    pipelining: 1,
    ...(bounds.connectionsPerHost === undefined ? {} : { connections: bounds.connectionsPerHost }),
    ...(bounds.maxAnswerBytes === undefined ? {} : { maxResponseSize: bounds.maxAnswerBytes }),
  });
