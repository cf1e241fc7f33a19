import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { contracts } from "../../shared/contracts/index.ts";
import { readProject } from "../house/sources.ts";
import { isEndpoint } from "./commands.ts";
import { codeSpansOf, pages, proseOf, ROOT, type Page } from "./pages.ts";

const sources = readProject().filter((file) => /^services\/.*\.ts$/.test(file.path));

/** A path as seen from the project's root, with or without a name that the file holds: `shared/bus/bus.ts:service`. */
const FROM_ROOT = /^(?:services|shared|deploy|local|test|docs)\/\S*$/;
/** The same below `services/`: `leads/abort.ts:abort`. */
const FROM_SERVICES = /^[a-z][\w-]*(?:\/[\w.-]+)+\.ts(?::\w+)?$/;
const WILD = /<[^>]*>|[*…]/;

/** The anchors of a page as GitHub makes them of its headings. */
const anchorsOf = (page: Page): string[] =>
  [...proseOf(page).matchAll(/^#+ (.+)$/gm)].map((m) =>
    (m[1] ?? "")
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );

/** Relative links that lead to no file or to no heading. */
function brokenLinks(page: Page, all: readonly Page[]): string[] {
  const links = [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map((m) => m[1] ?? "");
  return links
    .filter((link) => !/^[a-z]+:/.test(link))
    .filter((link) => {
      const [file = "", anchor] = link.split("#");
      const path = file === "" ? page.path : join(dirname(page.path), file);
      const target = all.find((p) => p.path === path);
      if (!target && !existsSync(join(ROOT, path))) return true;
      return anchor !== undefined && (!target || !anchorsOf(target).includes(anchor));
    });
}

/** True when a file or folder of this name exists and, where a name follows a colon, holds that name. */
function leadsSomewhere(path: string): boolean {
  if (WILD.test(path)) return globSync(path.replaceAll(new RegExp(WILD, "g"), "*"), { cwd: ROOT }).length > 0;
  const [file = "", name] = path.split(":");
  if (!existsSync(join(ROOT, file))) return false;
  return name === undefined || new RegExp(`\\b${name}\\b`).test(readFileSync(join(ROOT, file), "utf8"));
}

/** Paths in inline code that lead nowhere, be it from the root, from `services/` or from the page's own folder. */
const brokenPaths = (page: Page): string[] =>
  codeSpansOf(page)
    .filter((span) => FROM_ROOT.test(span) || FROM_SERVICES.test(span))
    .filter((span) => ![span, `services/${span}`, join(dirname(page.path), span)].some(leadsSomewhere));

/** Endpoints in inline code that do not exist. */
const brokenEndpoints = (page: Page): string[] =>
  codeSpansOf(page)
    .flatMap((span) => /^(?:GET|POST|PUT|DELETE) \/[^\s?]+/.exec(span)?.[0] ?? [])
    .filter((said) => !isEndpoint(said));

/** Actions of the bus, or log events, in inline code that do not exist: `leads.push`. */
const brokenActions = (page: Page): string[] =>
  codeSpansOf(page).filter((span) => {
    const [, service = "", name = ""] = /^([a-z]+)\.([a-zA-Z_]+)$/.exec(span) ?? [];
    const contract = Object.entries(contracts).find(([known]) => known === service)?.[1];
    return contract !== undefined && !(name in contract.actions) && !sources.some((f) => f.text.includes(`"${span}"`));
  });

describe.each(pages.map((page) => [page.path, page] as const))("%s", (_path, page) => {
  test("links to files and headings that exist", () => expect(brokenLinks(page, pages)).toEqual([]));
  test("names paths that exist", () => expect(brokenPaths(page)).toEqual([]));
  test("names endpoints that exist", () => expect(brokenEndpoints(page)).toEqual([]));
  test("names actions that exist", () => expect(brokenActions(page)).toEqual([]));
});

describe("the checks themselves", () => {
  const page = (text: string): Page => ({ path: "docs/made-up.md", text });
  test("notice a file and a heading that are gone", () => {
    const bad = page(
      "# Here\n[a](#here) [b](#there) [c](gone.md) [d](../README.md#gone) [e](../README.md) [f](https://x.y)",
    );
    expect(brokenLinks(bad, [...pages, bad])).toEqual(["#there", "gone.md", "../README.md#gone"]);
  });
  test("notice a path or a name in it that is gone", () => {
    const bad = page(
      "`shared/gone.ts` `shared/bus/bus.ts` `shared/bus/bus.ts:service` `shared/bus/bus.ts:gone` `services/<any>/gone.ts` `services/*/*.service.ts` `a/b` `auth/gone.ts` `auth/auth.service.ts`",
    );
    expect(brokenPaths(bad)).toEqual([
      "shared/gone.ts",
      "shared/bus/bus.ts:gone",
      "services/<any>/gone.ts",
      "auth/gone.ts",
    ]);
  });
  test("notice an action that is gone", () => {
    expect(brokenActions(page("`leads.push` `leads.gone` `webhook.delivered` `lead.gone` `readme.md`"))).toEqual([
      "leads.gone",
    ]);
  });
  test("notice an endpoint that is gone", () => {
    expect(brokenEndpoints(page("`GET /leads` `GET /gone` `POST /leads?x=1` `GET /health/live`"))).toEqual([
      "GET /gone",
    ]);
  });
});
