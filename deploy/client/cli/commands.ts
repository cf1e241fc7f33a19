import { command, type Command } from "../../../shared/process/command-line.ts";

const program = "callagent";
const JSON_OPTION = { kind: "flag", about: "prints the answer for machines" } as const;
/** Where: else what `callagent login` has kept. */
const WHERE = {
  url: {
    kind: "text",
    value: "address",
    about: "the API, with /agent/voice/callagent; else CALLAGENT_URL, else that of the log-in",
  },
} as const;
const LEAD = [{ name: "lead_id", needed: true }] as const;
const FILES = [{ name: "file.json", needed: true, many: true }] as const;
const MOST = { kind: "number", value: "n", min: 1, max: 100_000, whole: true, about: "how many at most" } as const;
const WHOSE = {
  reseller: { kind: "text", value: "id", about: "whose a new template is, where the file does not say" },
  merchant: { kind: "text", value: "id", about: "the merchant of a new template; absent: all of the reseller" },
} as const;
const BY_NAME = {
  "by-name": { kind: "flag", about: "finds templates by their name, not by the id in the file: another deployment" },
} as const;

/** `callagent login`. */
export const LOGIN = command({
  name: "login",
  program,
  about:
    "Keeps where the API is and a token for it, readable by you alone. The password is asked for, or read from CALLAGENT_PASSWORD.",
  options: {
    ...WHERE,
    email: { kind: "text", value: "address", about: "who you are; absent: the token of CALLAGENT_TOKEN is kept" },
  },
});

/** `callagent push`. */
export const PUSH = command({
  name: "push",
  program,
  about: "Pushes a lead: somebody to call. The same --key again makes no second lead.",
  options: {
    ...WHERE,
    template: { kind: "text", value: "id or name", needed: true, about: "what the conversation is about" },
    to: { kind: "text", value: "number", about: "whom to call, with + and country" },
    var: { kind: "text", value: "name=value", many: true, about: "a variable of the template; may be given again" },
    payload: { kind: "text", value: "file.json", about: "variables as a JSON object" },
    request: { kind: "text", value: "id", about: "your own id of the order; absent: a made-up one" },
    key: { kind: "text", value: "text", about: "the Idempotency-Key; absent: a new one" },
    merchant: {
      kind: "text",
      value: "id",
      about: "the merchant; needed where neither the template nor the token is of one",
    },
    mode: {
      kind: "enum",
      values: ["TELEPHONY", "RTC", "RTC_TEST"],
      default: "TELEPHONY",
      about: "RTC, RTC_TEST: nobody is called; prints the link that a person talks behind",
    },
    webhook: { kind: "text", value: "address", about: "where the report of the finished lead is sent" },
    watch: { kind: "flag", about: "stays until the lead is over; status 1 where nobody was spoken with" },
    json: JSON_OPTION,
  },
});

/** `callagent watch`. */
export const WATCH = command({
  name: "watch",
  program,
  about: "Shows each change of a lead until it is over. Status 1: nobody was spoken with.",
  operands: LEAD,
  options: { ...WHERE, json: JSON_OPTION },
});

/** `callagent explain`. */
export const EXPLAIN = command({
  name: "explain",
  program,
  about: "Says why a lead has not been called yet, gate by gate.",
  operands: LEAD,
  options: { ...WHERE, json: JSON_OPTION },
});

/** `callagent lead`. */
export const LEAD_SHOWN = command({
  name: "lead",
  program,
  about: "Shows a lead with its transcript.",
  operands: LEAD,
  options: { ...WHERE, json: JSON_OPTION },
});

/** `callagent leads`. */
export const LEADS = command({
  name: "leads",
  program,
  about: "Lists leads, the newest first.",
  options: {
    ...WHERE,
    status: { kind: "enum", values: ["BACKLOG", "PROCESSING", "RETRY", "FINISHED"], about: "only leads in it" },
    outcome: { kind: "text", value: "word", about: "only leads that ended so" },
    template: { kind: "text", value: "id or name", about: "only leads of this template" },
    phone: { kind: "text", value: "number", about: "only leads to it" },
    test: { kind: "flag", about: "shows test and playground leads too" },
    limit: { ...MOST, default: 50 },
    json: { kind: "flag", about: "prints each as a line of JSON" },
  },
});

/** `callagent abort`. */
export const ABORT = command({
  name: "abort",
  program,
  about: "Aborts leads that wait. Status 1: one of them could not be.",
  operands: [{ name: "lead_id", needed: true, many: true }],
  options: {
    ...WHERE,
    reason: { kind: "text", value: "text", default: "callagent abort", about: "kept with each lead" },
    json: JSON_OPTION,
  },
});

/** `callagent templates`. */
export const TEMPLATES = command({
  name: "templates",
  program,
  about: "Lists the templates.",
  options: {
    ...WHERE,
    limit: { ...MOST, default: 500 },
    json: { kind: "flag", about: "prints each as a line of JSON" },
  },
});

/** `callagent templates pull`. */
export const TEMPLATES_PULL = command({
  name: "templates pull",
  program,
  about: "Writes templates into files, one each, named after the template. Without a name: all of them.",
  operands: [{ name: "id or name", many: true }],
  options: {
    ...WHERE,
    folder: { kind: "text", value: "path", default: "templates", about: "where the files go" },
    force: { kind: "flag", about: "writes over files that differ" },
  },
});

/** `callagent templates push`. */
export const TEMPLATES_PUSH = command({
  name: "templates push",
  program,
  about:
    "Stores templates from files: a new version of the template whose id the file has, else a new template. Refused where somebody changed it since it was pulled.",
  operands: FILES,
  options: {
    ...WHERE,
    ...WHOSE,
    ...BY_NAME,
    force: { kind: "flag", about: "stores it although somebody changed it since" },
  },
});

/** `callagent templates diff`. */
export const TEMPLATES_DIFF = command({
  name: "templates diff",
  program,
  about: "Says in what files differ from what is stored. Status 1: they do.",
  operands: FILES,
  options: { ...WHERE, ...BY_NAME },
});

/** `callagent templates test`. */
export const TEMPLATES_TEST = command({
  name: "templates test",
  program,
  about:
    "Has the service check files: each is stored as an inactive template that is deleted at once. Status 1: one has a fault, named with its place.",
  operands: FILES,
  options: { ...WHERE, ...WHOSE },
  notes: "Scripted conversations: npm run converse, in the repository of callagent.",
});

/** `callagent configuration`. */
export const CONFIGURATION = command({
  name: "configuration",
  program,
  about: "Prints when and how a template's leads are called: window, retries, carrier, limits.",
  operands: [{ name: "template", needed: true }],
  options: WHERE,
  notes: "callagent configuration push takes what this prints, for this template or another one.",
});

/** `callagent configuration push`. */
export const CONFIGURATION_PUSH = command({
  name: "configuration push",
  program,
  about: "Stores when and how a template's leads are called, from a file. Without a configuration nobody is called.",
  operands: [
    { name: "template", needed: true },
    { name: "file.json", needed: true },
  ],
  options: WHERE,
});

/** `callagent numbers`. */
export const NUMBERS = command({
  name: "numbers",
  program,
  about: "Lists the numbers that calls are made from.",
  options: {
    ...WHERE,
    limit: { ...MOST, default: 500 },
    json: { kind: "flag", about: "prints each as a line of JSON" },
  },
});

/** Every command, in the order in which `callagent --help` lists them. */
export const COMMANDS: readonly Command[] = [
  LOGIN,
  PUSH,
  WATCH,
  EXPLAIN,
  LEAD_SHOWN,
  LEADS,
  ABORT,
  TEMPLATES,
  TEMPLATES_PULL,
  TEMPLATES_PUSH,
  TEMPLATES_DIFF,
  TEMPLATES_TEST,
  CONFIGURATION,
  CONFIGURATION_PUSH,
  NUMBERS,
];
