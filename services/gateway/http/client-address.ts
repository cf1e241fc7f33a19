import type { IncomingMessage } from "node:http";
import ipaddr from "ipaddr.js";

/** An IPv6 customer owns a whole network of this many bits, so its addresses count as one. */
const IPV6_NETWORK_BITS = 64;

const MAX_CHARS = 64;

/** One form for every spelling of an address: mapped IPv4 as IPv4, IPv6 as its /64. What is no address stays as it is, shortened. */
export function addressForm(text: string): string {
  const bare = text
    .trim()
    .replace(/^\[(.*)\](?::\d+)?$/, "$1")
    .replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, "$1");
  if (!ipaddr.isValid(bare)) return bare.slice(0, MAX_CHARS);
  const address = ipaddr.process(bare);
  if (address.kind() === "ipv4") return address.toString();
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${address.toString()}/${IPV6_NETWORK_BITS}`).toString()}/${IPV6_NETWORK_BITS}`;
}

/**
 * Who is at the other end. X-Forwarded-For is anybody's word unless a proxy of ours wrote it; then its last entry is the address
 * that the proxy itself saw, and everything before that is again anybody's word.
 */
export function clientAddress(req: Pick<IncomingMessage, "headers" | "socket">, trustProxy: boolean): string {
  const forwarded = trustProxy ? req.headers["x-forwarded-for"] : undefined;
  const last = (Array.isArray(forwarded) ? forwarded.join(",") : (forwarded ?? "")).split(",").at(-1)?.trim();
  return addressForm(last ? last : (req.socket.remoteAddress ?? "unknown"));
}
