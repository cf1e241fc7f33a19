import type { Faults } from "../exchange/faults.ts";
import type { Reply, Request } from "./messages.ts";

/** An attempt's name in an address: a UUID, possibly with a number behind. */
const REFERENCE = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(\.\d+)?/i;

/** The first attempt named in these texts; null when none is. */
export const referenceIn = (...texts: (string | null | undefined)[]): string | null =>
  texts.map((text) => REFERENCE.exec(text ?? "")?.[0]).find((found) => found !== undefined) ?? null;

/** Name and password of HTTP's basic authentication; null when the request has none. */
export function basicCredentials({ headers }: Request): { name: string; password: string } | null {
  const [scheme = "", encoded = ""] = (headers.authorization ?? "").split(" ");
  if (scheme.toLowerCase() !== "basic") return null;
  const [name = "", ...password] = Buffer.from(encoded, "base64").toString("utf8").split(":");
  return { name, password: password.join(":") };
}

/** The answer to a call that was placed, as the faults asked for leave it; `broken` is the carrier's own HTTP 500. */
export function faultedReply(faults: Faults, to: string, reply: Reply, broken: Reply): Reply {
  if (faults.take("drop_reply", to)) return { status: 0, drop: true };
  if (faults.take("error_after_placing", to)) return broken;
  const held = faults.take("hang_reply", to);
  return held ? { ...reply, holdMs: held.seconds * 1000 } : reply;
}
