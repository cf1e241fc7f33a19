import type { Bus, ParamsOf, ResultOf, ServiceDeps } from "../../../shared/bus/bus.ts";
import { PushInput } from "../../../shared/contracts/records/pushed-lead.ts";
import { crashPoint } from "../../../shared/process/crash.ts";
import { boundedRows, failAs, refusal, type Refusal } from "../../../shared/errors.ts";
import { isRecord } from "../../../shared/json.ts";
import type { NewTrace, TraceStart } from "../../../shared/tracing/tracer.ts";
import { tracePush } from "../lead-spans.ts";
import { maskPhone } from "../../../shared/process/log.ts";
import { issueChecker } from "../../../shared/validator.ts";
import type { LeadDoc, NewLead } from "../leads.model.ts";
import type { LeadsRepository } from "../leads.repository.ts";
import { announceQueues } from "../queues/queue-notice.ts";
import { duplicateAnswer, onceDocument, oncePush, type FirstLead, type OncePush } from "./duplicates.ts";
import { keyDocument, keyedPush, reusedKeyRefusal, type KeyedPush } from "./idempotency.ts";
import { documentOf, merchantOf, messageFor, withId, type PushedLead } from "./lead-document.ts";
import { checkLead, PUSH_CHECKS, type CheckDeps, type CheckedRow } from "./push-checks.ts";
import type { PushKeyDoc } from "./push-keys.model.ts";
import type { PushKeys } from "./push-keys.repository.ts";

/** What a push needs of the service. */
export interface PushDeps extends Pick<ServiceDeps, "bus" | "clock" | "env" | "ids" | "log" | "traces"> {
  leads: LeadsRepository;
  keys: PushKeys;
}

/** One lead on its way through a push. */
interface Row extends CheckedRow {
  key: KeyedPush | null;
  doc?: NewLead;
  /** Of its request_id one lead is made. */
  once?: OncePush | null;
  /** The traceparent of its request, and whether its lead goes on in that trace. */
  trace: TraceStart;
  begun?: NewTrace | undefined;
  /** Its lead's id is that of an earlier push of its request_id, which broke off or is being written. */
  contested?: boolean;
}

/** A queued lead; `replayed`: it was there before this push. */
interface Queued extends Pick<PushKeyDoc, "lead_id" | "message"> {
  replayed: boolean;
}
type Answer = Queued | FirstLead | Refusal;

/** A step of the push: for each row in order its answer, or null where the row goes on to the next step. */
type Step = (rows: readonly Row[], deps: PushDeps & CheckDeps) => (Answer | null)[] | Promise<(Answer | null)[]>;

const notWritten = (): Refusal =>
  refusal("STORE_UNAVAILABLE", "the lead could not be written and is not queued; push it again");

/** Answers rows that an earlier push under their key queued already. */
const answerEarlierPushes: Step = async (rows, { keys, leads, clock }) => {
  const ids = rows.flatMap((row) => row.key?.id ?? []);
  const earlier = ids.length === 0 ? new Map<string, PushKeyDoc>() : await keys.find(ids, clock.now());
  if (earlier.size === 0) return [];
  const written = await leads.existing([...earlier.values()].map((key) => key.lead_id));
  return rows.map(({ key }) => {
    const known = key && earlier.get(key.id);
    if (!known) return null;
    const { lead_id, message } = known;
    return reusedKeyRefusal(known, key) ?? (written.has(lead_id) ? { lead_id, message, replayed: true } : null);
  });
};

/**
 * Makes the documents, then takes the Idempotency-Keys of their rows. A key that was taken before fixes the lead's id, so
 * repeated pushes make one lead.
 */
const makeDocuments: Step = async (rows, { by, keys, clock, ids, traces }) => {
  const now = clock.now();
  for (const row of rows)
    if (row.template) {
      row.begun = traces.begin(row.trace);
      const merchant_id = merchantOf(by, row.lead) ?? null;
      const doc = documentOf(ids.uuid(), merchant_id, row.lead, row.template, row.phone ?? null, now);
      row.doc = { ...doc, ...(row.begun && { trace: row.begun.trace }) };
    }
  const wanted = rows.flatMap(({ key, doc }) => (key && doc ? [keyDocument(key, doc, now)] : []));
  const taken = wanted.length === 0 ? new Map<string, PushKeyDoc>() : await keys.reserve(wanted, now);
  return rows.map((row) => {
    const own = row.key && taken.get(row.key.id);
    if (!row.key || !own || !row.doc) return null;
    row.doc = withId(row.doc, own.lead_id);
    return reusedKeyRefusal(own, row.key);
  });
};

/**
 * Takes the request_ids of rows whose configuration lets each make one lead. One that was taken before stands for its lead; where that is not there, its
 * push broke off, or is at the same step: this one goes on under its id, so that of all of them one is written.
 */
const answerDuplicates: Step = async (rows, { keys, leads, clock }) => {
  const now = clock.now();
  for (const row of rows) if (row.template && row.doc) row.once = oncePush(row.lead, row.template, row.doc);
  const wanted = rows.flatMap(({ once, doc }) => (once && doc ? [onceDocument(once, doc, now)] : []));
  if (wanted.length === 0) return [];
  const taken = await keys.reserve(wanted, now);
  const firstOf = ({ once, doc }: Row): string | null => {
    const first = once ? taken.get(once.id)?.lead_id : undefined;
    return first === undefined || first === doc?._id ? null : first;
  };
  const firsts = rows.flatMap((row) => firstOf(row) ?? []);
  const written = firsts.length === 0 ? new Set<string>() : await leads.existing(firsts);
  return rows.map((row) => {
    const first = firstOf(row);
    if (first === null || !row.once || !row.doc) return null;
    if (written.has(first)) return duplicateAnswer(row.once, first);
    row.doc = withId(row.doc, first);
    row.contested = true;
    return null;
  });
};

/** The durable writes, all in one go; each row is answered by what became of its own. */
const write: Step = async (rows, { leads, log }) => {
  const docs = rows.flatMap((row) => row.doc ?? []);
  const written = await leads.insert(docs).catch((error: unknown) => {
    log.error(
      { event: "lead.write_failed", leads: docs.length, name: error instanceof Error ? error.name : "unknown" },
      "pushed leads could not be written",
    );
    return docs.map(() => "failed" as const);
  });
  return rows.map(({ doc, key, once, contested }, i): Answer => {
    if (doc && once && written[i] === "present" && (contested || !key)) return duplicateAnswer(once, doc._id);
    // without a key no other push can have made this lead
    if (!doc || written[i] === "failed" || (written[i] === "present" && !key)) return notWritten();
    return { lead_id: doc._id, message: messageFor(doc), replayed: written[i] === "present" };
  });
};

/** The steps of a push, in order. */
const STEPS: readonly Step[] = [answerEarlierPushes, ...PUSH_CHECKS, makeDocuments, answerDuplicates, write];

/** Takes rows through the steps; their answers in order. Rejects only where nothing can be said of any row. */
async function pushRows(
  deps: PushDeps,
  asked: CheckDeps,
  rows: readonly Row[],
  steps: readonly Step[] = STEPS,
): Promise<{ answers: Answer[]; made: LeadDoc[] }> {
  const answers = new Map<Row, Answer>();
  const began = deps.clock.now();
  for (const step of steps) {
    const open = rows.filter((row) => !answers.has(row));
    if (open.length === 0) break;
    (await step(open, { ...deps, ...asked })).forEach((answer, i) => {
      const row = open[i];
      if (row && answer) answers.set(row, answer);
    });
  }
  const made = rows.flatMap((row) => {
    const answer = answers.get(row);
    return row.doc && answer && "lead_id" in answer && !answer.replayed && !("duplicate" in answer) ? [row.doc] : [];
  });
  if (made.length > 0) crashPoint(deps.env, "K0");
  const [ended, written] = [deps.clock.now(), new Set(made)];
  for (const { doc, begun } of rows) if (doc && written.has(doc)) tracePush(deps.traces, begun, doc, began, ended);
  announceQueues(deps, made);
  return { answers: rows.map((row) => answers.get(row) ?? notWritten()), made };
}

/** POST /leads: every check, then one durable write; nothing is changed when a check fails. */
export async function push(deps: PushDeps, bus: Bus, params: ParamsOf<"leads.push">): Promise<ResultOf<"leads.push">> {
  const { by, lead, idempotency_key, traceparent: given } = params;
  const key = idempotency_key === undefined ? null : keyedPush(by, idempotency_key, lead);
  const { answers, made } = await pushRows(deps, { by, bus }, [{ lead, key, trace: { given, joins: true } }]);
  const answer = answers[0] ?? notWritten();
  if ("code" in answer) return failAs(answer);
  for (const doc of made) {
    const { _id, request_id, phone_number, due_at = null } = doc;
    const to = phone_number && maskPhone(phone_number);
    deps.log.info({ event: "lead.queued", lead_id: _id, request_id, to, due_at }, "lead queued");
  }
  const { lead_id, message, replayed } = answer;
  return {
    status: "queued",
    lead_call_tracker_id: lead_id,
    order_id: lead.request_id,
    message,
    replayed,
    ...("duplicate" in answer ? { duplicate: true } : {}),
  };
}

/** Longest name of a push that is said again. */
const MAX_ORDER_ID = 200;
const inputIssues = issueChecker(PushInput);
const isPushedLead = (value: unknown): value is PushedLead => isRecord(value) && inputIssues(value).length === 0;

/** Why a row that has not the shape of a lead is refused. VALIDATION_FAILED. */
function shapeRefusal(value: unknown): Refusal {
  const issues = isRecord(value) ? inputIssues(value) : [{ path: "", message: "must be a JSON object" }];
  const first = issues.map(({ path, message }) => `${path || "it"} ${message}`).slice(0, 3);
  return refusal("VALIDATION_FAILED", `The row is no lead: ${first.join("; ")}.`, issues);
}

/** The client's own name for a row that is refused, by which it finds the row again. */
const orderIdIn = (value: unknown): { order_id?: string } => {
  const request_id = isRecord(value) ? value["request_id"] : undefined;
  return typeof request_id === "string" ? { order_id: request_id.slice(0, MAX_ORDER_ID) } : {};
};

/** Bulk push: every row is judged by itself, with a few requests and writes for all of them. */
export async function pushMany(
  deps: PushDeps,
  bus: Bus,
  { by, rows: values, idempotency_key: key, traceparent: given }: ParamsOf<"leads.pushMany">,
): Promise<ResultOf<"leads.pushMany">> {
  // a trace of thousands of leads could not be read: each has its own, with a link to the client's
  const trace = { given, joins: false };
  const rows = values.map((lead, index): Row | null =>
    isPushedLead(lead) ? { lead, key: key === undefined ? null : keyedPush(by, key, lead, index), trace } : null,
  );
  const leads = rows.filter((row) => row !== null);
  // a row outside the asker's scope is refused before its key is looked up
  const { answers, made } = await pushRows(deps, { by, bus }, leads, [checkLead, ...STEPS]);
  const answerOf = new Map(leads.map((row, i) => [row, answers[i]]));
  if (made.length > 0)
    deps.log.info({ event: "leads.queued", leads: made.length, first: made[0]?._id ?? null }, "leads queued");
  const results = rows.map((row, index) => {
    const answer = row === null ? shapeRefusal(values[index]) : (answerOf.get(row) ?? notWritten());
    if ("code" in answer) {
      const { code, message, errors } = answer;
      const given = orderIdIn(values[index]);
      return { index, status: "refused" as const, ...given, code, message, ...(errors.length > 0 ? { errors } : {}) };
    }
    const { lead_id, message } = answer;
    const order_id = row?.lead.request_id ?? "";
    const duplicate = "duplicate" in answer ? { duplicate: true } : {};
    return { index, status: "queued" as const, lead_call_tracker_id: lead_id, order_id, message, ...duplicate };
  });
  const queued = answers.filter((answer) => "lead_id" in answer);
  return { results: boundedRows(results), replayed: queued.length > 0 && queued.every((answer) => answer.replayed) };
}
