import ipaddr from "ipaddr.js";

/** What addresses a deployment lets clients name. */
export interface AddressPolicy { allow_http: boolean; allow_private: boolean }

/** Ports of services that an HTTP request could be made to harm; no web server listens there. */
const REFUSED_PORTS = new Set(["22", "23", "25", "110", "143", "465", "587", "993", "995", "2375", "3306", "4222", "5432", "6379", "9200", "11211", "27017"]);

/** True for addresses on the public internet only: loopback, private, link-local, carrier-grade NAT, metadata and wrapped IPv4 forms are not. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  return ipaddr.process(address).range() === "unicast";
}

/** Why an address may not be called, or null. Names are checked again when they are resolved, right before the connection. */
export function refusalOf(text: string, policy: AddressPolicy): string | null {
  if (!URL.canParse(text)) return "it is not a URL";
  const url = new URL(text);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && policy.allow_http)) return `the scheme must be https${policy.allow_http ? " or http" : ""}`;
  if (url.username || url.password) return "it must not hold a user name or password";
  if (policy.allow_private) return null;
  if (REFUSED_PORTS.has(url.port)) return `port ${url.port} is not allowed`;
  const host = url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "").toLowerCase();
  if (host === "localhost" || host.endsWith(".localhost") || host.endsWith(".internal")) return "it names this machine or its private network";
  if (ipaddr.isValid(host) && !isPublicAddress(host)) return "it lies in a private, loopback, link-local or reserved network";
  return null;
}
