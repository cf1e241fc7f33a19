import type { IncomingMessage } from "node:http";
import ipaddr from "ipaddr.js";
import type { ProcessDeps } from "../../../shared/process/process-deps.ts";
import type { Check } from "../health.ts";

/** Notices that a proxy stands before the gateway which the gateway is not told of: then all clients share the proxy's address, and its limits. */
export interface ProxyNotice {
  note(req: Pick<IncomingMessage, "headers" | "socket">): void;
  /** The check of /health/ready, once there is something to say. It is never a failed one: a client can send the header too. */
  checks(): Check[];
}

/** True for an address of our own machines or networks, where a proxy of ours would be. */
function isNear(address: string | undefined): boolean {
  if (address === undefined || !ipaddr.isValid(address)) return false;
  return ["loopback", "private", "uniqueLocal", "linkLocal", "carrierGradeNat"].includes(
    ipaddr.process(address).range(),
  );
}

const REASON =
  "requests come with X-Forwarded-For from an address of your own network while TRUST_PROXY is false: behind a proxy all clients count as one at log-in; set TRUST_PROXY=true";

/** Says it once in the log. */
export function proxyNotice({ env, log }: Pick<ProcessDeps, "env" | "log">): ProxyNotice {
  let noticed = false;
  return {
    note({ headers, socket }) {
      if (noticed || env.TRUST_PROXY || headers["x-forwarded-for"] === undefined || !isNear(socket.remoteAddress))
        return;
      noticed = true;
      log.warn({ event: "gateway.proxy_untrusted" }, REASON);
    },
    checks: () => (noticed ? [{ name: "proxy", ok: true, needed: false, reason: REASON }] : []),
  };
}
