import { timingSafeEqual } from "node:crypto";
import { fail } from "../../../shared/errors.ts";
import type { SignedRequest } from "./carrier-port.ts";

/** The word in our numbers' addresses in place of a call's name: the carrier reports an inbound call. */
export const INBOUND_REFS: ReadonlySet<string> = new Set(["new", "inbound"]);

/** A header of a request, in whatever letters its name came; "" where there is none. */
export const headerOf = (headers: SignedRequest["headers"], sought: string): string =>
  Object.entries(headers).find(([name]) => name.toLowerCase() === sought)?.[1] ?? "";

/** True when the body is a form, which a signature covers field by field. */
export const isForm = ({ method, headers }: SignedRequest): boolean =>
  method === "POST" && headerOf(headers, "content-type").toLowerCase().startsWith("application/x-www-form-urlencoded");

/** The query of a path; what follows a second question mark belongs to it. */
export const queryOf = (path: string): URLSearchParams => new URLSearchParams(path.split("?").slice(1).join("?"));

/** The fields of a callback that say something: an empty one is an absent one, whichever a carrier sends. Not for signatures, which cover those too. */
export const saidIn = (fields: URLSearchParams): URLSearchParams =>
  new URLSearchParams([...fields].filter(([, value]) => value !== ""));

/** Whether two signatures are the same, found out in a time that does not tell where they differ. */
export function isSame(a: string, b: string): boolean {
  const [x, y] = [Buffer.from(a), Buffer.from(b)];
  return x.length === y.length && timingSafeEqual(x, y);
}

/** Fails for a callback that lacks what every callback of its kind has. VALIDATION_FAILED. */
export function malformed(sentence: string, path: string, message: string): never {
  fail("VALIDATION_FAILED", sentence, { errors: [{ path, message }] });
}
