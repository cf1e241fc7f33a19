import { readFileSync } from "node:fs";
import { credsAuthenticator, nkeyAuthenticator, type ConnectionOptions } from "nats";
import { busServers, type BusAddress, type BusServer } from "./bus-address.ts";

/** Files are read at each connection, so that a renewed one counts from the next one on. */
function proofOf(servers: readonly BusServer[], { NATS_NKEY_FILE, NATS_CREDS_FILE }: BusAddress): ConnectionOptions {
  if (NATS_NKEY_FILE !== undefined)
    return { authenticator: nkeyAuthenticator(() => Buffer.from(readFileSync(NATS_NKEY_FILE, "utf8").trim())) };
  if (NATS_CREDS_FILE !== undefined) return { authenticator: credsAuthenticator(() => readFileSync(NATS_CREDS_FILE)) };
  const named = servers.find((s) => s.user !== "");
  return named === undefined ? {} : { user: named.user, pass: named.pass };
}

/**
 * How the NATS client connects to an address without issues; null: there is no bus. `tls://` never falls back to plain text: the client gives up
 * where the server offers no TLS.
 */
export function natsOptions(address: BusAddress): ConnectionOptions | null {
  const { servers } = busServers(address);
  if (servers.length === 0) return null;
  const { NATS_CA_FILE: caFile, NATS_CERT_FILE: certFile, NATS_KEY_FILE: keyFile } = address;
  const files = { ...(caFile && { caFile }), ...(certFile && { certFile }), ...(keyFile && { keyFile }) };
  const tls = servers.some((s) => s.tls);
  return { servers: servers.map((s) => s.host), ...proofOf(servers, address), ...(tls && { tls: files }) };
}
