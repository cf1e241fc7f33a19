import ipaddr from "ipaddr.js";

/** What addresses a deployment lets clients name. */
export interface AddressPolicy {
  allow_http: boolean;
  allow_private: boolean;
}

/** Ports of services that an HTTP request could be made to harm; no web server listens there. */
const REFUSED_PORTS = new Set([
  "21",
  "22",
  "23",
  "25",
  "53",
  "110",
  "135",
  "139",
  "143",
  "389",
  "445",
  "465",
  "587",
  "636",
  "993",
  "995",
  "1433",
  "2375",
  "2376",
  "2379",
  "3306",
  "3389",
  "4222",
  "5432",
  "5672",
  "6379",
  "6443",
  "9042",
  "9092",
  "9200",
  "10250",
  "11211",
  "27017",
]);

/** Whether the port is one that no webhook event, function or pre-check may use. */
export const isRefusedPort = (port: string): boolean => REFUSED_PORTS.has(port);

/** The deprecated IPv4-compatible addresses, `::7f00:1` for 127.0.0.1 (RFC 4291, 2.5.5.1). */
const IPV4_COMPATIBLE: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse("::"), 96];

/** Azure's own service address, which is of a public range but answers inside a machine's network only. */
const AZURE_WIRE_SERVER = "168.63.129.16";
/** The range from which addresses of the public IPv6 internet come (RFC 4291, 2.4); what lies beyond is reserved or withdrawn. */
const GLOBAL_UNICAST: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse("2000::"), 3];

/** True for addresses on the public internet only: loopback, private, link-local, carrier-grade NAT, metadata and wrapped IPv4 forms are not. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const plain = ipaddr.process(address);
  if (plain instanceof ipaddr.IPv6 && plain.match(IPV4_COMPATIBLE)) return false;
  if (plain instanceof ipaddr.IPv6 && !plain.match(GLOBAL_UNICAST)) return false;
  return plain.range() === "unicast" && plain.toString() !== AZURE_WIRE_SERVER;
}

/** A URL's host without brackets and the dot at its end. */
export const bareHost = (hostname: string): string =>
  hostname
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();

/** Whether a bare host is a name of this machine or its private network, whatever it resolves to. */
export const isLocalName = (host: string): boolean =>
  host === "localhost" || host.endsWith(".localhost") || host.endsWith(".internal");

/** Line breaks and other control characters, which a URL parser silently drops. */
const CONTROLS = /\p{Cc}/u;

/** Why an address may not be called, or null. Names are checked again when they are resolved, right before the connection. */
export function addressRefusal(text: string, policy: AddressPolicy): string | null {
  if (CONTROLS.test(text)) return "it must not hold line breaks or other control characters";
  if (!URL.canParse(text)) return "it is not a URL";
  const url = new URL(text);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && policy.allow_http))
    return `the scheme must be https${policy.allow_http ? " or http" : ""}`;
  if (url.username || url.password) return "it must not hold a user name or password";
  if (policy.allow_private) return null;
  if (isRefusedPort(url.port)) return `port ${url.port} is not allowed`;
  const host = bareHost(url.hostname);
  if (isLocalName(host)) return "it names this machine or its private network";
  if (ipaddr.isValid(host) && !isPublicAddress(host))
    return "it lies in a private, loopback, link-local or reserved network";
  return null;
}
