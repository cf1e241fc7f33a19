import { ICON_POLICY, PAGE_STYLE, sourceHash } from "../../../shared/html/page-parts.ts";

/** The page's style beside that of every page: next to the text a list of all endpoints, above it on a phone. */
export const STYLE = `${PAGE_STYLE}
html{scroll-padding-top:1rem}body{font-size:1rem;display:grid;grid-template-columns:19rem minmax(0,60rem);gap:0 2rem}
main{padding:1.5rem 1.5rem 6rem 0}h2{font-size:1.4rem;margin-top:2.2em;border-bottom:1px solid var(--line)}h4{margin:.9em 0 .2em}
pre{background:var(--soft);padding:.8rem;overflow:auto;border-radius:6px}.copy{display:block;min-height:1.75rem;padding:0 .7rem;margin:.5rem 0 -.5rem auto;font-size:.8rem}
aside{position:sticky;top:0;height:100vh;overflow:auto;padding:0 1rem 1rem;border-right:1px solid var(--line);font-size:.875rem}aside .brand{padding:1rem 0}aside input{width:100%;margin-bottom:.5rem}
aside details,aside summary{border:0;margin:0;padding:.15rem 0}aside ul{list-style:none;margin:0;padding:0 0 .4rem .6rem}aside li{padding:.15rem 0}aside li a{text-decoration:none;overflow-wrap:anywhere}aside .method{min-width:4.6em;font-size:.75em}
details{border:1px solid var(--line);border-radius:6px;margin:.6rem 0;padding:0 .8rem}summary{cursor:pointer;padding:.6rem 0;overflow-wrap:anywhere}details[open]{padding-bottom:.8rem}details details[open]{padding-bottom:0}
.method{display:inline-block;min-width:3.6em;font-weight:700}.get{color:var(--accent)}.delete{color:var(--end)}.post{color:var(--post)}.put{color:var(--put)}:root{--post:#1a6e3c;--put:#8a5200}@media(prefers-color-scheme:dark){:root{--post:#7fd6a0;--put:#f0bf74}}
table{border-collapse:collapse;width:100%;margin:.4rem 0}th,td{text-align:left;vertical-align:top;padding:.3rem .6rem .3rem 0;border-bottom:1px solid var(--line)}
.fields td:first-child{width:28%}.type{font-size:.85em;color:var(--quiet)}.must{font-size:.75em;font-weight:700}ul.values{margin:.2rem 0;padding-left:1.2rem}tr:target,section:target{outline:2px solid var(--accent)}
@media(max-width:56rem){body{display:block}aside{position:static;height:auto;max-height:50vh;border-right:0;border-bottom:1px solid var(--line)}aside li a{display:inline-block;padding:.25rem 0}main{padding:1rem}.fields thead{display:none}.fields tr,.fields td{display:block;width:auto}.fields td:first-child{width:auto;border:0;padding-bottom:0}}`;

/** Search over the list of endpoints and all that is said of them, an endpoint that is linked to opens, and examples can be copied. The page can be read without it. */
export const SCRIPT = `const $=id=>document.getElementById(id),box=$("search"),none=$("none"),items=[...document.querySelectorAll("aside li")],more=$("within"),groups=[...document.querySelectorAll("aside nav details")].filter(g=>g!==more);
const said=new Map(),textOf=li=>{if(!said.has(li)){const at=$(decodeURIComponent(li.querySelector("a").hash.slice(1)));said.set(li,(at?at.textContent:"").toLowerCase())}return said.get(li)};
box.hidden=false;box.addEventListener("input",()=>{const words=box.value.toLowerCase().split(/\\s+/).filter(Boolean),within=[];let found=0;
for(const li of items){const title=(li.textContent+" "+li.dataset.text).toLowerCase(),own=words.every(w=>title.includes(w));li.hidden=!own;
if(own)found++;else if(words.every(w=>title.includes(w)||textOf(li).includes(w))){const copy=li.cloneNode(true);copy.hidden=false;within.push(copy)}}
for(const g of groups){const some=[...g.querySelectorAll("li")].some(li=>!li.hidden);g.hidden=!some;g.open=words.length>0&&some}
more.querySelector("ul").replaceChildren(...within);more.hidden=within.length===0;more.open=found===0;
none.hidden=found+within.length>0;none.textContent=none.hidden?"":"Nothing found for “"+box.value+"”. Other words, or fewer?"});
const open=()=>{const at=$(decodeURIComponent(location.hash.slice(1)));if(at instanceof HTMLDetailsElement){at.open=true;at.scrollIntoView()}};
addEventListener("hashchange",open);open();
const copies=(...pres)=>{if(navigator.clipboard)for(const pre of pres){if(pre.previousElementSibling?.className==="copy plain")continue;
const b=document.createElement("button");b.type="button";b.className="copy plain";b.textContent="Copy";b.addEventListener("click",()=>navigator.clipboard.writeText(pre.textContent).then(()=>{b.textContent="Copied"},()=>{b.textContent="Not allowed"}));pre.before(b)}};
copies(document.querySelector("main > pre"));
document.addEventListener("toggle",e=>{if(e.target.open)copies(...e.target.querySelectorAll("pre"))},true);`;

/** Content-Security-Policy under which the page works: its own style and script and nothing else. */
export const DOCS_POLICY = `default-src 'none'; style-src ${sourceHash(STYLE)}; script-src ${sourceHash(SCRIPT)}; ${ICON_POLICY}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`;
