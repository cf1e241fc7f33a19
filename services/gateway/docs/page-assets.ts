import { createHash } from "node:crypto";

/** The page's own style: beside the text a list of all endpoints, above it on a phone. */
export const STYLE = `:root{color-scheme:light dark;--line:#8886;--soft:#8881;--accent:light-dark(#1d4ed8,#93b4ff)}
*{box-sizing:border-box}html{scroll-padding-top:1rem}body{font:16px/1.55 system-ui,sans-serif;margin:0;display:grid;grid-template-columns:19rem minmax(0,60rem);gap:0 2rem}
main{padding:1.5rem 1.5rem 6rem 0}h1{margin:.2em 0}h2{margin-top:2.2em;border-bottom:1px solid var(--line)}h4{margin:.9em 0 .2em}
code,pre{font:.9em ui-monospace,monospace}code{overflow-wrap:anywhere}pre{background:var(--soft);padding:.8rem;overflow:auto;border-radius:6px}a{color:var(--accent)}
aside{position:sticky;top:0;height:100vh;overflow:auto;padding:1rem;border-right:1px solid var(--line);font-size:.875rem}aside input{width:100%;font:inherit;padding:.5rem;border:1px solid var(--line);border-radius:6px;margin-bottom:.5rem}
aside details,aside summary{border:0;margin:0;padding:.15rem 0}aside ul{list-style:none;margin:0;padding:0 0 .4rem .6rem}aside li{padding:.15rem 0}aside a{text-decoration:none;overflow-wrap:anywhere}aside .method{min-width:4.2em;font-size:.75em}
details{border:1px solid var(--line);border-radius:6px;margin:.6rem 0;padding:0 .8rem}summary{cursor:pointer;padding:.6rem 0;overflow-wrap:anywhere}details[open]{padding-bottom:.8rem}details details[open]{padding-bottom:0}
.method{display:inline-block;min-width:3.6em;font-weight:700}table{border-collapse:collapse;width:100%;margin:.4rem 0}th,td{text-align:left;vertical-align:top;padding:.3rem .6rem .3rem 0;border-bottom:1px solid var(--line)}
.fields td:first-child{width:28%}.type{font-size:.85em;opacity:.85}.must{font-size:.75em;font-weight:700}ul.values{margin:.2rem 0;padding-left:1.2rem}tr:target,section:target{outline:2px solid var(--accent)}[hidden]{display:none}
@media(max-width:56rem){body{display:block}aside{position:static;height:auto;max-height:50vh;border-right:0;border-bottom:1px solid var(--line)}aside a{display:inline-block;padding:.25rem 0}main{padding:1rem}.fields thead{display:none}.fields tr,.fields td{display:block;width:auto}.fields td:first-child{width:auto;border:0;padding-bottom:0}}`;

/** Search over the list of endpoints, and an endpoint that is linked to opens. The page can be read without it. */
export const SCRIPT = `const box=document.getElementById("search"),items=[...document.querySelectorAll("aside li")],groups=[...document.querySelectorAll("aside details")];
box.hidden=false;box.addEventListener("input",()=>{const words=box.value.toLowerCase().split(/\\s+/).filter(Boolean);
for(const li of items){const text=(li.textContent+" "+li.dataset.text).toLowerCase();li.hidden=!words.every(w=>text.includes(w))}
for(const g of groups){const found=[...g.querySelectorAll("li")].some(li=>!li.hidden);g.hidden=!found;g.open=words.length>0&&found}});
const open=()=>{const at=document.getElementById(decodeURIComponent(location.hash.slice(1)));if(at instanceof HTMLDetailsElement){at.open=true;at.scrollIntoView()}};
addEventListener("hashchange",open);open();`;

const hashOf = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
/** Content-Security-Policy under which the page works: its own style and script and nothing else. */
export const DOCS_POLICY = `default-src 'none'; style-src ${hashOf(STYLE)}; script-src ${hashOf(SCRIPT)}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`;
