import { ACTIONS, EVENTS, hears, mayCall, mayEmit, SERVICE_NAMES } from "../../shared/bus/rights.ts";
import { codeOf, importsOf, type Source } from "./code.ts";
import { readProject } from "./sources.ts";

/** What a service was found to do, as `caller action`. */
type Found = ReadonlySet<string>;

/** Answered for neighbours of version 0.2.0; this version calls what came in their place. */
const KEPT = ["config.resolveForPush", "webhook.checkAddress"];
/** Emitted by shared/bus/bus.ts for every service that opens a database. */
const OF_STORES = "database.command_refused";

const literals = (source: Source): string[] =>
  [
    ...codeOf(source.text).code.matchAll(/(?<!(?:ParamsOf|ResultOf|EventOf|ListFilter)<)"([a-z]+\.[A-Za-z0-9_]+)"/g),
  ].map((m) => m[1] ?? "");

const files = readProject().filter((f) => /^(?:services|shared)\/.*\.ts$/.test(f.path));
/** Files of a service, with the shared ones that it imports; the bus itself and the contracts name what others use. */
function codeOfService(name: string): Source[] {
  const own = files.filter((f) => f.path.startsWith(`services/${name}/`));
  const imported = new Set(
    own.flatMap((f) =>
      importsOf(f)
        .filter((i) => i.relative && !i.typeOnly)
        .map((i) => i.target),
    ),
  );
  return [...own, ...files.filter((f) => imported.has(f.path) && !/^shared\/(?:bus|contracts)\//.test(f.path))];
}

const calls: Found = new Set(
  SERVICE_NAMES.flatMap((name) =>
    codeOfService(name)
      .flatMap(literals)
      .filter((text) => ACTIONS.includes(text))
      .map((action) => `${name} ${action}`),
  ),
);

const named = (form: RegExp): Found =>
  new Set(
    SERVICE_NAMES.flatMap((name) =>
      codeOfService(name).flatMap((f) =>
        [...codeOf(f.text).code.matchAll(form)].flatMap((m) =>
          [...(m[1] ?? "").matchAll(/"([a-z_]+\.[a-z_]+)"/g)].map((event) => `${name} ${event[1]}`),
        ),
      ),
    ),
  );

const listed = (
  names: readonly string[],
  may: (service: (typeof SERVICE_NAMES)[number], name: string) => boolean,
): string[] => SERVICE_NAMES.flatMap((s) => names.filter((n) => may(s, n)).map((n) => `${s} ${n}`)).sort();

describe("the rights on the bus are what the services use", () => {
  test("who calls what", () => {
    expect(calls.size).toBeGreaterThan(100);
    expect(listed(ACTIONS, mayCall)).toEqual([...calls].sort());
  });

  test("an action that nobody calls is kept for the version before", () =>
    expect(ACTIONS.filter((action) => !SERVICE_NAMES.some((s) => mayCall(s, action))).toSorted()).toEqual(
      [...KEPT].toSorted(),
    ));

  test("no service calls itself over the bus", () =>
    expect([...calls].filter((call) => call.split(" ")[1]?.startsWith(`${call.split(" ")[0]}.`))).toEqual([]));

  test("who emits what", () => {
    const emitted = [...named(/\.(?:emit|broadcast)\(\s*("[a-z_.]+")/g)];
    const stores = SERVICE_NAMES.filter((name) =>
      files.some((f) => f.path.startsWith(`services/${name}/`) && /\bstore\(\)/.test(codeOf(f.text).bare)),
    );
    expect(stores.length).toBeGreaterThan(8);
    expect(listed(EVENTS, mayEmit)).toEqual(
      [
        ...emitted.filter((e) => EVENTS.includes(e.split(" ")[1] ?? "")),
        ...stores.map((s) => `${s} ${OF_STORES}`),
      ].sort(),
    );
  });

  test("who hears what", () => {
    const heard = [...named(/\blistens:\s*\[([^\]]*)\]/g), ...named(/^\s*("[a-z]+\.[a-z_]+")\(this/gm)];
    expect(listed(EVENTS, hears)).toEqual(heard.sort());
  });
});
