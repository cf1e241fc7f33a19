import { codeOf, importsOf, lineAt, type Import, type Source } from "./code.ts";

/** A place where a rule of house.md is broken. */
export interface Violation {
  path: string;
  line: number;
  rule: string;
}

/** `path:line rule`, as the tests show it. */
export const said = (v: Violation): string => `${v.path}:${v.line} ${v.rule}`;

export const MAX_LINES = 600;
export const MAX_SERVICE_FILE_LINES = 150;
const VAGUE = /^(?:utils?|helpers?|common|misc|types|manager|base)$/;
const ROLE = /\.(?:service|model|repository|test|check|d)$/;
/** The states of a lead, interface.md 2.1. */
const LEAD_STATES = "BACKLOG|PROCESSING|RETRY|FINISHED";

/** What stands in for the world outside: store, carriers, models, people and their speech. */
const SIMULATORS = /^local\/(?:store|carriers|models|people|speech)\//;

const isTypeScript = (path: string): boolean => path.endsWith(".ts");
const area = (path: string): string => path.split("/")[0] ?? "";
const serviceOf = (path: string): string | null => /^services\/([^/]+)\//.exec(path)?.[1] ?? null;
const inProduct = (path: string): boolean =>
  isTypeScript(path) && (area(path) === "services" || area(path) === "shared");

/** Every match of a pattern in the files' code, as violations. `in` chooses what is looked at; "bare" has quoted text blanked out. */
function matches(
  files: readonly Source[],
  pattern: RegExp,
  rule: string | ((match: RegExpMatchArray) => string),
  view: "code" | "bare" | "text" = "bare",
): Violation[] {
  return files.flatMap((file) => {
    const looked = view === "text" ? file.text : codeOf(file.text)[view];
    return [...looked.matchAll(pattern)].map((m) => ({
      path: file.path,
      line: lineAt(file.text, m.index),
      rule: typeof rule === "string" ? rule : rule(m),
    }));
  });
}

/** What a file may not import, as the reason; null when it may. */
function importFault(path: string, { target, relative }: Import): string | null {
  const service = serviceOf(path);
  if (!relative) return null;
  if (service !== null) {
    if (target.startsWith(`services/${service}/`) || target.startsWith("shared/")) return null;
    return target.startsWith("services/")
      ? `services/${service} imports another service's file ${target}; ask it over the bus`
      : `services/${service} imports ${target}; a service knows its own folder and shared/`;
  }
  if (area(path) === "shared" && !target.startsWith("shared/"))
    return `shared/ imports ${target}; shared/ knows only itself`;
  if (SIMULATORS.test(path) && target.startsWith("services/"))
    return `a simulator imports ${target}; the simulators know nothing of the services`;
  if (
    (area(path) === "deploy" || area(path) === "local") &&
    target.startsWith("test/") &&
    target !== "test/fixtures/flow-template.ts"
  )
    return `${area(path)}/ imports ${target}; what runs knows no test`;
  return null;
}

/** Section 3: who may import whom. */
export const importsStayAtHome = (files: readonly Source[]): Violation[] =>
  files
    .filter((f) => isTypeScript(f.path))
    .flatMap((file) =>
      importsOf(file).flatMap((i) => {
        const fault = importFault(file.path, i);
        return fault === null ? [] : [{ path: file.path, line: i.line, rule: fault }];
      }),
    );

/** Section 3: a carrier knows neither machine nor repository nor another carrier; a model adapter neither machine nor repository. */
export const adaptersKnowOnlyTheirPort = (files: readonly Source[]): Violation[] =>
  files.flatMap((file) => {
    const [, home, kind] = /^(services\/[^/]+\/(carriers|models)\/(?:[^/]+\/)?)[^/]+\.ts$/.exec(file.path) ?? [];
    if (home === undefined || file.path.endsWith("/registry.ts")) return [];
    return importsOf(file).flatMap((i) => {
      const machinery = /(?:-machine|\.repository|\.model)\.ts$/.test(i.target);
      const other =
        kind === "carriers" && i.relative && /\/carriers\/[^/]+\//.test(i.target) && !i.target.startsWith(home);
      if (!machinery && !other) return [];
      return [
        {
          path: file.path,
          line: i.line,
          rule: machinery
            ? `an adapter imports ${i.target}; it knows no machine, repository or model`
            : `a carrier imports another carrier: ${i.target}`,
        },
      ];
    });
  });

/** Packages that services and shared/ use are in `dependencies`, or the image starts without them. */
export const packagesAreDependencies = (files: readonly Source[], dependencies: readonly string[]): Violation[] =>
  files
    .filter((f) => inProduct(f.path))
    .flatMap((file) =>
      importsOf(file)
        .filter(
          (i) =>
            !i.relative &&
            !i.target.startsWith("node:") &&
            !(i.typeOnly && dependencies.includes(i.target.replace(/^@types\//, ""))) &&
            !dependencies.includes(i.target),
        )
        .map((i) => ({
          path: file.path,
          line: i.line,
          rule: `the package ${i.target} is not in the dependencies of package.json`,
        })),
    );

/** What a program writes, nobody reads from end to end: the client's types, and only those. */
const isGenerated = ({ path, text }: Source): boolean =>
  path.startsWith("deploy/client/") && text.startsWith("/** generated ");

/** Section 4, 12: small files. */
export const filesAreSmall = (files: readonly Source[]): Violation[] =>
  files
    .filter((f) => isTypeScript(f.path) && !isGenerated(f))
    .flatMap(({ path, text }) => {
      const lines = text.replace(/\n$/, "").split("\n").length;
      const most = path.endsWith(".service.ts") ? MAX_SERVICE_FILE_LINES : MAX_LINES;
      return lines > most ? [{ path, line: most + 1, rule: `${lines} lines; at most ${most}` }] : [];
    });

/** Section 4, 12: names that say what the file is. */
export const namesSaySomething = (files: readonly Source[]): Violation[] =>
  files.flatMap(({ path }) => {
    const words = path
      .split("/")
      .map((part, i, all) =>
        i < all.length - 1
          ? part
          : part.replace(/\.[a-z]+$/, "").replace(ROLE, (role) => (role === ".check" ? role : "")),
      );
    return words.some((w) => VAGUE.test(w))
      ? [
          {
            path,
            line: 1,
            rule: "the name says nothing of what it is (utils, helpers, common, misc, types, manager, base)",
          },
        ]
      : [];
  });

/** Section 4, 10: the environment is read once. */
export const environmentIsReadOnce = (files: readonly Source[]): Violation[] =>
  matches(
    files.filter(
      (f) =>
        isTypeScript(f.path) &&
        f.path !== "shared/process/env.ts" &&
        !["deploy", "local", "test"].includes(area(f.path)),
    ),
    /\bprocess\s*\??\.\s*env\b|\bimport\s*\{[^}]*\benv\b[^}]*\}\s*from\s*["'][^"']*process/g,
    "process.env is read in shared/process/env.ts only",
    "bare",
  );

/** An acknowledged write stays, and every decision rests on the primary's word: nothing is written with less than a majority, nothing read from a copy. */
export const writesAreDurable = (files: readonly Source[]): Violation[] =>
  matches(
    files.filter((f) => inProduct(f.path)),
    /\bw\s*:\s*(?:\d|["'`](?!majority["'`]))|\bwtimeout\w*\s*:|["'`](?:secondary|secondaryPreferred|primaryPreferred|nearest)["'`]|\bReadPreference\.\s*(?!PRIMARY\b)[A-Z]\w*/g,
    "writes wait for a majority, reads ask the primary (shared/database/mongo.ts)",
    "code",
  );

/** The file that may name the database's clock. */
const CLOCK = "shared/database/database-clock.ts";

/** Not every database takes $$NOW in every place: it is written in one, and its users ask neither distinct nor in a $group. */
export const clockHasOnePlace = (files: readonly Source[]): Violation[] => {
  const others = files.filter((f) => inProduct(f.path) && f.path !== CLOCK);
  const users = others.filter((f) => /\b(?:whereByClock|fieldsByClock)\b/.test(f.text));
  return [
    ...matches(others, /\$\$NOW|\$\$CLUSTER_TIME/g, `the database's clock is read by ${CLOCK} only`, "code"),
    ...matches(users, /\.\s*distinct\s*\(/g, "distinct in a file that asks the database's clock", "code"),
    ...matches(users, /\$group\s*:[^;]*?\bfieldsByClock\b/g, "the database's clock inside a $group", "code"),
  ];
};

/** The file that may write several documents in one command. */
const BATCHES = "shared/database/write-batches.ts";

/** Batches of the same documents are written in one order, or some databases have them wait for each other for ever. */
export const batchesHaveOneOrder = (files: readonly Source[]): Violation[] =>
  matches(
    files.filter((f) => inProduct(f.path) && f.path !== BATCHES),
    /\.\s*(?:bulkWrite|insertMany)\s*[<(]/g,
    `a batch is written by ${BATCHES} only`,
  );

/** Section 4, 3: one typed bus. */
export const busIsTyped = (files: readonly Source[]): Violation[] =>
  matches(
    files.filter((f) => inProduct(f.path) && f.path !== "shared/bus/bus.ts"),
    /\b(?:ctx|context|broker)\s*\??\.\s*(?:call|mcall|emit|broadcast|broadcastLocal)\s*[<(]/g,
    "raw ctx.call / broker.call; use the Bus of shared/bus/bus.ts",
  );

/** Section 4, 3: who asks is an explicit parameter. */
export const metaCarriesNothing = (files: readonly Source[]): Violation[] =>
  matches(
    files.filter((f) => inProduct(f.path)),
    /\b(?:ctx|context)\s*\??\.\s*meta\b/g,
    "ctx.meta; a callee can overwrite it: pass an explicit parameter",
  );

/** Section 4, 1: one collection, one owner. */
export function collectionsHaveOneOwner(files: readonly Source[]): Violation[] {
  const uses = collectionsOf(files);
  return uses.flatMap((use) => {
    const owner = uses.find((u) => u.collection === use.collection);
    return owner !== undefined && owner.service !== use.service
      ? [
          {
            path: use.path,
            line: use.line,
            rule: `the collection ${use.collection} belongs to services/${owner.service}; ask it over the bus`,
          },
        ]
      : [];
  });
}

/** Every collection that a service opens. */
export function collectionsOf(
  files: readonly Source[],
): { collection: string; service: string; path: string; line: number }[] {
  return files.flatMap((file) => {
    const service = serviceOf(file.path);
    if (service === null || !isTypeScript(file.path)) return [];
    return [
      ...codeOf(file.text).code.matchAll(/\.\s*(?:model|collection)\s*(?:<[^(]*>)?\s*\(\s*["'`]([^"'`]+)["'`]/g),
    ].map((m) => ({ collection: m[1] ?? "", service, path: file.path, line: lineAt(file.text, m.index) }));
  });
}

/** Section 4, 6: a lead's status moves only in the machine. */
export const statusMovesInTheMachine = (files: readonly Source[]): Violation[] =>
  matches(
    files.filter(
      (f) =>
        isTypeScript(f.path) &&
        serviceOf(f.path) === "leads" &&
        f.path !== "services/leads/rules/lead-state-machine.ts",
    ),
    new RegExp(
      String.raw`\bstatus\s*:\s*["'](?:${LEAD_STATES})["']|\$set\s*:\s*\{[^}]*\bstatus\b|\.status\s*=(?!=)|["']status["']\s*[:\]]`,
      "g",
    ),
    "a lead's status is written outside lead-machine.ts",
    "code",
  );

/** No way around the compiler. */
export const compilerIsBelieved = (files: readonly Source[]): Violation[] => {
  const code = files.filter((f) => isTypeScript(f.path));
  return [
    ...matches(code, /\bas\s+any\b|<any\s*[,>]|[:,|&]\s*any\s*(?=[;,)=\]|&{]|$)/gm, "any"),
    ...matches(
      code.filter((f) => f.path !== "test/shared/bus-types.check.ts" && f.path !== "test/client/shapes.check.ts"),
      /^\s*(?:\/\/|\/?\*)\s*@ts-(?:ignore|nocheck|expect-error)\b/gm,
      "a compiler error is silenced",
      "text",
    ),
  ];
};

/** Nothing of the project depends on folders outside it. `names` are the words to look for; `allowed` may hold them. */
export const standsAlone = (files: readonly Source[], names: readonly string[], allowed: string): Violation[] =>
  files
    .filter((f) => f.path !== allowed)
    .flatMap((file) =>
      names
        .filter((name) => file.text.includes(name))
        .map((name) => ({
          path: file.path,
          line: lineAt(file.text, file.text.indexOf(name)),
          rule: `names ${name}, which a stranger's machine does not have`,
        })),
    );
