import { render, type Sources } from "../placeholders.ts";

/** A value as one part of an address or a form; half a character (a lone surrogate) has no code and becomes a replacement character. */
export const urlEncoded = (value: string): string => encodeURIComponent(value.toWellFormed());

/**
 * A path segment that walks up or stays, spelled in any way that addresses are read: many a server and proxy takes an encoded slash for a slash before it
 * looks for segments. Encoding leaves dots as they are.
 */
const WALKS = /(?:[/\\]|%2f|%5c)(?:\.|%2e){1,2}(?=[/\\]|%2f|%5c|$)/i;

/**
 * The address of a request to a client's server, every placeholder filled in; null: a part of its path is `.` or `..`, so that a value would decide
 * which of the server's addresses is asked, with the credentials of the request.
 */
export function renderedAddress(template: string, sources: Sources): string | null {
  const url = render(template, sources, urlEncoded);
  return WALKS.test(url.split(/[?#]/)[0] ?? "") ? null : url;
}
