import { accessSync, constants } from "node:fs";

/** What of the environment says how the bus is reached. */
export interface BusAddress {
  TRANSPORTER?: string | undefined;
  NATS_CA_FILE?: string | undefined;
  NATS_CERT_FILE?: string | undefined;
  NATS_KEY_FILE?: string | undefined;
  NATS_NKEY_FILE?: string | undefined;
  NATS_CREDS_FILE?: string | undefined;
}

/** One server of the bus; `host` has the port behind it. */
export interface BusServer {
  host: string;
  tls: boolean;
  user: string;
  pass: string;
}

const SCHEMES: Record<string, boolean> = { "nats:": false, "tls:": true };
const FILES = ["NATS_CA_FILE", "NATS_CERT_FILE", "NATS_KEY_FILE", "NATS_NKEY_FILE", "NATS_CREDS_FILE"] as const;
const FORM = "write nats://host:4222 or tls://host:4222, several of them separated by commas";

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** One address of the list, or what is wrong with it; what is said names its place and never a password. */
function serverOf(text: string, place: number): BusServer | string {
  const at = `address ${place} of TRANSPORTER`;
  const url = URL.canParse(text) ? new URL(text) : null;
  const tls = url === null ? undefined : SCHEMES[url.protocol];
  if (url === null || tls === undefined || url.hostname === "")
    return `${at} is no address of a NATS server; ${FORM}; in a user or password, # is %23, / is %2F, ? is %3F, a comma %2C`;
  if (!/^\/?$/.test(url.pathname) || url.search !== "" || url.hash !== "")
    return `${at} has something behind its port; in a user or password, # is %23, / is %2F, ? is %3F`;
  const [user, pass] = [decoded(url.username), decoded(url.password)];
  if (user === null || pass === null) return `${at} has a % in its user or password that stands alone; write %25`;
  return { host: url.host, tls, user, pass };
}

const has = (file: string): boolean => {
  try {
    accessSync(file, constants.R_OK);
    return true;
  } catch {
    return false;
  }
};

function fileIssues(address: BusAddress, tls: boolean): string[] {
  const set = FILES.filter((name) => address[name] !== undefined);
  const issues = set
    .filter((name) => !has(address[name] ?? ""))
    .map((name) => `${name} names ${address[name]}, which this process can't read`);
  if ((address.NATS_CERT_FILE === undefined) !== (address.NATS_KEY_FILE === undefined))
    issues.push("NATS_CERT_FILE and NATS_KEY_FILE go together: set both or none");
  if (!tls)
    for (const name of set.filter((n) => ["NATS_CA_FILE", "NATS_CERT_FILE", "NATS_KEY_FILE"].includes(n)))
      issues.push(`${name} is for TLS, which TRANSPORTER does not ask for; write tls:// in place of nats://`);
  return issues;
}

function listIssues(servers: readonly BusServer[], address: BusAddress): string[] {
  const issues: string[] = [];
  if (new Set(servers.map((s) => s.tls)).size > 1)
    issues.push("TRANSPORTER mixes nats:// and tls://; the servers of one cluster take one of them");
  const users = new Set(servers.filter((s) => s.user !== "").map((s) => JSON.stringify([s.user, s.pass])));
  if (users.size > 1)
    issues.push("TRANSPORTER names several users; one process is one user at all servers of the cluster");
  const ways = [users.size > 0 && "a user in TRANSPORTER", address.NATS_NKEY_FILE && "NATS_NKEY_FILE"];
  const given = [...ways, address.NATS_CREDS_FILE && "NATS_CREDS_FILE"].filter((way) => Boolean(way));
  if (given.length > 1) issues.push(`the bus takes one proof of who we are, not ${given.join(" and ")}`);
  return issues;
}

/** The servers of the bus, and what is wrong with their address; without TRANSPORTER there are none, and nothing is wrong. */
export function busServers(address: BusAddress): { servers: BusServer[]; issues: string[] } {
  if (address.TRANSPORTER === undefined) return { servers: [], issues: [] };
  const read = address.TRANSPORTER.split(",").map((text, i) => serverOf(text.trim(), i + 1));
  const servers = read.filter((s) => typeof s !== "string");
  const wrong = read.filter((s) => typeof s === "string");
  const tls = servers.some((s) => s.tls);
  return {
    servers,
    issues: [...wrong, ...(wrong.length > 0 ? [] : [...listIssues(servers, address), ...fileIssues(address, tls)])],
  };
}
