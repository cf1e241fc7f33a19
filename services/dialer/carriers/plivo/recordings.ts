/** Where Plivo's API is. */
export const API = "https://api.plivo.com";
/** Where Plivo keeps recordings; it asks for the account's credentials where the account is set so. */
const MEDIA = "https://media.plivo.com";
/** Files may lie at other hosts of Plivo, older ones at its storage's; neither gets credentials. */
const FILE_HOST = /(?:^|\.)plivo\.com$/;
const STORAGE_HOST = "s3.amazonaws.com";
/** Where one of those may send the reader on to. */
const BEHIND = /\.amazonaws\.com$/;

/** A file's address, and whether the account's credentials may go there. */
export interface FileAddress {
  url: URL;
  ours: boolean;
}

/** Where a file is fetched from; null: not from there, whoever says so. `api_base`: another origin for all that is Plivo's, a proxy or a simulator. */
export function fileAt(address: string, api_base: string | null, redirected: boolean): FileAddress | null {
  if (!URL.canParse(address)) return null;
  const url = new URL(address);
  const known = url.origin === API || url.origin === MEDIA;
  if (api_base !== null && known) return { url: new URL(api_base + url.pathname + url.search), ours: true };
  if (known || url.origin === (api_base === null ? API : new URL(api_base).origin)) return { url, ours: true };
  const theirs =
    FILE_HOST.test(url.hostname) || url.hostname === STORAGE_HOST || (redirected && BEHIND.test(url.hostname));
  if (!theirs || url.port !== "" || url.username !== "" || !/^https?:$/.test(url.protocol)) return null;
  url.protocol = "https:"; // Plivo's own examples say http
  return { url, ours: false };
}
