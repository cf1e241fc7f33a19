import { createHash } from "node:crypto";

/** Text made safe inside HTML, attributes included. */
export const escapeHtml = (text: string): string =>
  text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");

/** The icon of every page, SVG. */
export const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#1d4ed8"/><path d="M8 14v4M13.3 10v12M18.7 7v18M24 12.5v7" stroke="#fff" stroke-width="3" stroke-linecap="round"/></svg>';

/** Its link in a page's head. */
export const ICON_LINK = `<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(ICON)}">`;
/** What a Content-Security-Policy says for that link. */
export const ICON_POLICY = "img-src data:";

/** How every page looks that a person reads: colours of light and dark, type, buttons and cards. */
export const PAGE_STYLE = `:root{color-scheme:light dark;--accent:#1d4ed8;--on-accent:#fff;--end:#b3261e;--line:#c4cad4;--soft:#f4f6f9;--ground:#fff;--ink:#171a20;--quiet:#525b6a}
@media(prefers-color-scheme:dark){:root{--accent:#9db8ff;--on-accent:#0b1a3a;--end:#ff9b92;--line:#4a515e;--soft:#1c2028;--ground:#12151b;--ink:#e8eaee;--quiet:#a9b1bf}}
*{box-sizing:border-box}[hidden]{display:none!important}
body{font:1.0625rem/1.55 system-ui,sans-serif;margin:0;background:var(--ground);color:var(--ink)}
a{color:var(--accent)}h1{font-size:1.6rem;line-height:1.25;margin:0 0 .5rem}h2{font-size:1.125rem;margin:1.75rem 0 .25rem}
code,pre{font:.9em ui-monospace,monospace}code{overflow-wrap:anywhere}
.brand{display:flex;align-items:center;gap:.6rem;font-weight:650;text-decoration:none;color:inherit;padding:.75rem 1rem}.brand svg{width:1.75rem;height:1.75rem;flex:none}
.page{max-width:42rem;margin:0 auto}.page main{padding:1rem 1rem 4rem}.quiet{color:var(--quiet)}
.card{border:1px solid var(--line);border-radius:.9rem;padding:1rem 1.25rem;margin:.9rem 0;background:var(--soft)}.card h2,.card p{margin:0}
button{font:inherit;font-weight:600;min-height:2.75rem;padding:.5rem 1.25rem;border-radius:.6rem;border:1px solid var(--accent);background:var(--accent);color:var(--on-accent);cursor:pointer}
button.plain{background:transparent;border-color:var(--line);color:inherit;font-weight:400}button:disabled{opacity:.55;cursor:default}
input{font:inherit;min-height:2.75rem;padding:.5rem .75rem;border:1px solid var(--quiet);border-radius:.6rem;background:var(--ground);color:inherit}::placeholder{color:var(--quiet);opacity:1}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}`;

/** The line at the head of a page: icon and name. */
export const brandHtml = (href: string): string =>
  `<header><a class="brand" href="${escapeHtml(href)}">${ICON.replace("<svg ", '<svg aria-hidden="true" ')}callagent</a></header>`;

/** How a Content-Security-Policy names a style or script that stands in the page. */
export const sourceHash = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
