import { readFileSync } from "node:fs";
import { join } from "node:path";
import { previousTree, type PreviousTree } from "../../local/harness/previous-version.ts";
import { ROOT } from "../../local/tools/stack/project-root.ts";
import { contracts } from "../../shared/contracts/index.ts";
import { isRecord, textOf } from "../../shared/json.ts";
import { contractChanges, wrongSince } from "./contract-changes.ts";

/** The contracts of this version against those of the version that may run beside it. */
const EXTRACT_MS = 60_000;
let previous: PreviousTree;
let old: unknown;
beforeAll(async () => {
  previous = await previousTree();
  old = await previous.contracts();
}, EXTRACT_MS);
afterAll(() => previous.remove());

const now: unknown = JSON.parse(JSON.stringify(contracts));
const version = (): string => {
  const file: unknown = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  return isRecord(file) ? textOf(file["version"]) : "";
};

/**
 * Changes that are meant. Only a client writes these, and what it writes is passed on by the gateway: a request over the new bound is refused with
 * the field's name by whichever version knows the bound, and no lead or configuration that is stored is touched by it.
 */
const MEANT = [
  // a password of blanks alone
  "auth.createUser.password has another pattern",
  "auth.updateUser.password has another pattern",
  "config.createConfiguration.configuration.pre_checks has another x-maxBytes",
  "config.updateConfiguration.configuration.pre_checks has another x-maxBytes",
  // a session has no provider: a conversation node of 0.2.0 refuses to prepare it, and the join is answered 503
  "conversation.prepareMany.calls[].provider has another enum",
  // a reason more: the answer is passed on to the client as it is
  "dialer.inboundCalls →.inbound_calls[].reason has another enum",
  "leads.push.lead.payload has another x-maxBytes",
  // null counts as absent; a version that does not know that refuses it by its name
  "leads.push.lead.configurations_override has another type",
  "leads.push.lead.configurations_override has other shapes",
  // a gate more: the answer is passed on to the client as it is
  "leads.explain →.gates[].gate has another enum",
  // 0.2.0 answers NOT_AVAILABLE and has no answer of another shape
  ...["transport", "url", "token", "room_name", "expires_at"].map(
    (field) => `leads.join →.${field} is new and required`,
  ),
  ...["status", "utterance_id", "at"].map((field) => `leads.speak →.${field} is new and required`),
  // as long as the ids that leads keep: a longer one was looked for in vain
  "leads.recording.call_sid has another maxLength",
  // a word more that counts as one of the others; 0.2.0 refuses it as it always did
  "numbers.create.status has another enum",
  "scheduler.explain →.gates[].gate has another enum",
];

/** Bounds of what only our own services write, and write within them: who asks (ids that auth gave out), and the lead that leads have explained. */
const OWN_VALUES =
  /^(?:[a-z]+\.[A-Za-z0-9]+\.by\.(?:id|reseller_id|merchant_id)|scheduler\.explain\.lead\.[a-z_]+) has another maxLength$/;

/** A name of blanks alone, which 0.2.0 answers with 500 or keeps, is not valid. */
const WRITTEN_NAMES =
  /^(?:auth\.issueS2s|config\.(?:create|update)Template\.template|merchants\.[A-Za-z]+)\.name has another (?:minLength|pattern)$/;

/** What clients write as phone numbers, which whichever version reads them judges (shared/phone.ts); what is stored is E.164 in both. */
const WRITTEN_NUMBERS =
  /\.(?:phone|phone_number|phone_numbers\[\]|inbound_redirect_number|rate_limit_whitelist\[\]) has another (?:minLength|maxLength|pattern)$/;

test("services of the previous version and of this one understand each other", () => {
  const changes = contractChanges(old, now);
  expect(
    changes.filter((change) => ![OWN_VALUES, WRITTEN_NAMES, WRITTEN_NUMBERS].some((meant) => meant.test(change))),
  ).toEqual(MEANT);
});

test("a new action names the version that has it first", () => {
  expect(wrongSince(old, now, version())).toEqual([]);
});

test("the previous version is one minor version older", () => {
  const [major, minor] = version().split(".").map(Number);
  expect(previous.version).toMatch(new RegExp(`^${major}\\.${(minor ?? 0) - 1}\\.`));
  expect(JSON.parse(readFileSync(join(previous.root, "package.json"), "utf8"))).toMatchObject({
    version: previous.version,
  });
});

describe("a change that a neighbour would misunderstand is found", () => {
  type Action = { params: Record<string, unknown>; result: Record<string, unknown>; since?: string };
  type All = Record<string, { actions: Record<string, Action> }>;
  const text = { type: "string", maxLength: 5 };
  const base = (): All => ({
    dialer: {
      actions: {
        dial: {
          params: {
            type: "object",
            required: ["to"],
            properties: { to: text, why: text },
            additionalProperties: false,
          },
          result: {
            type: "object",
            required: ["taken"],
            properties: {
              taken: { type: "array", items: { type: "object", required: ["id"], properties: { id: text } } },
              of: { anyOf: [{ type: "object", required: [], properties: {} }, { type: "null" }] },
              by: { type: "object", patternProperties: { "^.*$": { enum: ["a"] } } },
            },
          },
        },
      },
    },
  });
  const at = (all: All): Action => all["dialer"]?.actions["dial"] ?? { params: {}, result: {} };
  const set = (target: unknown, key: string, value: unknown): void => {
    if (isRecord(target)) target[key] = value;
  };
  const inside = (schema: unknown, ...keys: string[]): unknown =>
    keys.reduce<unknown>(
      (found, key) => (isRecord(found) || Array.isArray(found) ? Reflect.get(found, key) : null),
      schema,
    );

  const rows: [string, (action: Action) => void, string[]][] = [
    ["nothing", () => undefined, []],
    ["a field more that may be left out", (a) => set(inside(a.params, "properties"), "later", text), []],
    ["a field more in an answer", (a) => set(inside(a.result, "properties", "taken", "items", "properties"), "later", text), []], // prettier-ignore
    ["a field of a request less, that could be left out", (a) => Reflect.deleteProperty(inside(a.params, "properties") as object, "why"), []], // prettier-ignore
    ["another bound in an answer", (a) => set(inside(a.result, "properties", "taken"), "maxItems", 7), []],
    ["a required field more", (a) => { set(inside(a.params, "properties"), "later", text); a.params["required"] = ["to", "later"]; }, ["dialer.dial.later is new and required"]], // prettier-ignore
    ["a required field less", (a) => { Reflect.deleteProperty(inside(a.params, "properties") as object, "to"); a.params["required"] = []; }, ["dialer.dial.to is gone"]], // prettier-ignore
    ["a field that must be given now", (a) => set(a.params, "required", ["to", "why"]), ["dialer.dial.why is now required"]], // prettier-ignore
    ["another bound in a request", (a) => set(inside(a.params, "properties"), "why", { ...text, maxLength: 4 }), ["dialer.dial.why has another maxLength"]], // prettier-ignore
    ["another type in an answer's list", (a) => set(inside(a.result, "properties", "taken", "items", "properties"), "id", { type: "integer" }), ["dialer.dial →.taken[].id has another type"]], // prettier-ignore
    ["a field of an answer less", (a) => Reflect.deleteProperty(inside(a.result, "properties") as object, "of"), ["dialer.dial →.of is gone"]], // prettier-ignore
    ["a shape more", (a) => set(inside(a.result, "properties"), "of", { anyOf: [{ type: "null" }] }), ["dialer.dial →.of has other shapes"]], // prettier-ignore
    ["a required field more in a shape", (a) => { set(inside(a.result, "properties", "of", "anyOf", "0"), "properties", { x: text }); set(inside(a.result, "properties", "of", "anyOf", "0"), "required", ["x"]); }, ["dialer.dial →.of.x is new and required"]], // prettier-ignore
    ["a word more in a map's values", (a) => set(inside(a.result, "properties", "by"), "patternProperties", { "^.*$": { enum: ["a", "b"] } }), ["dialer.dial →.by.* has another enum"]], // prettier-ignore
  ];
  test.each(rows)("%s", (_what, change, found) => {
    const changed = base();
    change(at(changed));
    expect(contractChanges(base(), changed)).toEqual(found);
  });

  test("an action that is gone, one that is new and does not say so, one that claims to be", () => {
    expect(contractChanges(base(), { dialer: { actions: {} } })).toEqual(["dialer.dial is gone"]);
    const more = base();
    (more["dialer"]?.actions ?? {})["ring"] = { params: {}, result: {} };
    expect(wrongSince(base(), more, "0.9.0")).toEqual(["dialer.ring is new: since 0.9.0"]);
    at(more).since = "0.9.0";
    (more["dialer"]?.actions ?? {})["ring"] = { params: {}, result: {}, since: "0.9.0" };
    expect(wrongSince(base(), more, "0.9.0")).toEqual(["dialer.dial was there before 0.9.0"]);
  });
});
