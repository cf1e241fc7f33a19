import type { Bus, ParamsOf, ResultOf, ServiceDeps } from "../../../shared/bus.ts";
import type { PushOutcome } from "../../../shared/contracts/lead-views.ts";
import { PushInput } from "../../../shared/contracts/leads.ts";
import { crashPoint } from "../../../shared/crash.ts";
import { Failure, type ValidationIssue } from "../../../shared/errors.ts";
import { issueChecker } from "../../../shared/validator.ts";
import { announce } from "../queues/queue-notice.ts";
import { checkSameBody, keyedPush, type KeyedPush } from "./idempotency.ts";
import {
  checkAsked,
  checkListed,
  checkRefusal,
  checkTemplate,
  documentOf,
  messageFor,
  phoneOf,
  questionOf,
  withId,
  type Input,
  type Resolved,
} from "./lead-document.ts";
import type { LeadDoc } from "../leads.model.ts";
import type { PushKeyDoc } from "./push-keys.model.ts";
import { keyDocument, type Shelf } from "./single-push.ts";

type Params = ParamsOf<"leads.pushMany">;
type By = Params["by"];

/** A row on its way: what is known of it so far. Rows that are answered leave the way. */
interface Row {
  index: number;
  lead: Input;
  key: KeyedPush | null;
  held?: PushKeyDoc;
  resolved?: Resolved;
  phone?: string | null;
  doc?: LeadDoc;
}

/** Answers of a batch by place, and how many were queued by pushes before this one. */
interface Board {
  results: PushOutcome[];
  queued: number;
  replayed: number;
}

const inputFaults = issueChecker(PushInput);
const isInput = (value: unknown, faults: readonly ValidationIssue[]): value is Input =>
  typeof value === "object" && value !== null && faults.length === 0;

const isFault = (v: unknown): v is ValidationIssue =>
  typeof v === "object" && v !== null && "path" in v && "message" in v;
const isRecord = (v: unknown): v is Record<string, unknown> => typeof v === "object" && v !== null;

const refuse = (
  board: Board,
  index: number,
  code: string,
  message: string,
  errors: readonly ValidationIssue[] = [],
): void => {
  board.results[index] = {
    index,
    status: "refused",
    code,
    message,
    ...(errors.length > 0 ? { errors: [...errors] } : {}),
  };
};

function queue(board: Board, row: Row, key: Pick<PushKeyDoc, "lead_id" | "message">, replayed: boolean): void {
  board.results[row.index] = {
    index: row.index,
    status: "queued",
    lead_call_tracker_id: key.lead_id,
    order_id: row.lead.request_id,
    message: key.message,
  };
  board.queued++;
  if (replayed) board.replayed++;
}

/** Runs a check of each row; rows it fails are refused and left out. What is no failure of ours is thrown on. */
function sift<T extends Row>(board: Board, rows: readonly T[], check: (row: T, place: number) => void): T[] {
  return rows.filter((row, place) => {
    try {
      check(row, place);
      return true;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const errors: unknown = isRecord(error.data) ? error.data["errors"] : undefined;
      refuse(board, row.index, error.type, error.message, Array.isArray(errors) ? errors.filter(isFault) : []);
      return false;
    }
  });
}

/** Rows that have the shape of a lead and lie in the asker's scope. */
function shaped(board: Board, { by, rows, idempotency_key }: Params): Row[] {
  const leads = rows.flatMap((value, index): Row[] => {
    const faults = isRecord(value) ? inputFaults(value) : [{ path: "", message: "must be a JSON object" }];
    if (isInput(value, faults))
      return [
        {
          index,
          lead: value,
          key: idempotency_key === undefined ? null : keyedPush(by, idempotency_key, value, index),
        },
      ];
    refuse(
      board,
      index,
      "VALIDATION_FAILED",
      `The row is no lead: ${faults
        .map((f) => `${f.path || "it"} ${f.message}`)
        .slice(0, 3)
        .join("; ")}.`,
      faults,
    );
    return [];
  });
  return sift(board, leads, (row) => checkAsked(by, row.lead));
}

/** Answers the rows that were pushed before; the others remain. */
async function unanswered(ground: ServiceDeps, shelf: Shelf, board: Board, rows: readonly Row[]): Promise<Row[]> {
  const ids = rows.flatMap((r) => r.key?.id ?? []);
  const earlier = ids.length === 0 ? new Map<string, PushKeyDoc>() : await shelf.keys.find(ids, ground.clock.now());
  if (earlier.size === 0) return [...rows];
  const written = await shelf.leads.existing([...earlier.values()].map((k) => k.lead_id));
  return sift(board, rows, ({ key }) => {
    const known = key && earlier.get(key.id);
    if (known) checkSameBody(known, key);
  }).filter((row) => {
    const known = row.key && earlier.get(row.key.id);
    if (!known || !written.has(known.lead_id)) return true;
    queue(board, row, known, true);
    return false;
  });
}

/** Every check that needs others: one question each for the whole batch. */
async function judged(ground: ServiceDeps, bus: Bus, board: Board, by: By, asked: readonly Row[]): Promise<Row[]> {
  if (asked.length === 0) return [];
  const { results } = await bus.call("config.resolveManyForPush", { pushes: asked.map((r) => questionOf(by, r.lead)) });
  let rows = asked.filter((row, i) => {
    const { resolved, refusal } = results[i] ?? { resolved: null, refusal: null };
    if (resolved) row.resolved = resolved;
    else
      refuse(
        board,
        row.index,
        refusal?.code ?? "INTERNAL",
        refusal?.message ?? "the template could not be looked up",
        refusal?.errors,
      );
    return resolved !== null;
  });
  rows = sift(board, rows, (row) => {
    if (row.resolved) checkTemplate(by, row.resolved);
    row.phone = phoneOf(row.lead.payload);
  });
  const urls = [...new Set(rows.flatMap((r) => r.lead.reporting_webhook_url ?? []))];
  const refusals = urls.length === 0 ? [] : (await bus.call("webhook.checkAddresses", { urls })).refusals;
  const refusalOf = new Map(urls.map((url, i) => [url, refusals[i]]));
  rows = sift(board, rows, (row) => checkRefusal(refusalOf.get(row.lead.reporting_webhook_url ?? "")));
  const dialled = rows.flatMap((r) => (r.phone ? [{ reseller_id: r.lead.reseller_id, phone_number: r.phone }] : []));
  const listed = dialled.length === 0 ? [] : (await bus.call("blacklist.check", { pairs: dialled })).listed;
  let next = 0;
  rows = sift(board, rows, (row) => {
    if (row.phone) checkListed(listed[next++]);
  });
  const now = ground.clock.now();
  for (const row of rows)
    if (row.resolved) row.doc = documentOf(ground.ids.uuid(), by, row.lead, row.resolved, row.phone ?? null, now);
  return rows;
}

/** Takes the keys of the rows, which may give their leads other ids; rows whose key stands for something else are refused. */
async function keyed(ground: ServiceDeps, { keys }: Shelf, board: Board, rows: readonly Row[]): Promise<Row[]> {
  const now = ground.clock.now();
  const wanted = rows.flatMap(({ key, doc }) => (key && doc ? [keyDocument(key, doc, now)] : []));
  if (wanted.length === 0) return [...rows];
  const held = await keys.reserve(wanted, now);
  return sift(board, rows, (row) => {
    const mine = row.key && held.get(row.key.id);
    if (!mine || !row.doc) return;
    checkSameBody(mine, { id: mine._id, body_hash: row.key?.body_hash ?? "" });
    row.doc = withId(row.doc, mine.lead_id);
  });
}

/** The durable writes, all in one go; each row is answered by what became of its own. */
async function write(ground: ServiceDeps, { leads }: Shelf, board: Board, rows: readonly Row[]): Promise<void> {
  const docs = rows.flatMap((r) => r.doc ?? []);
  if (docs.length === 0) return;
  const written = await leads.insert(docs).catch((error: unknown) => {
    ground.log.error(
      { event: "lead.write_failed", rows: docs.length, name: error instanceof Error ? error.name : "unknown" },
      "pushed leads could not be written",
    );
    return docs.map(() => "failed" as const);
  });
  crashPoint(ground.env, "K0");
  rows.forEach((row, i) => {
    if (!row.doc) return;
    if (written[i] === "failed")
      refuse(board, row.index, "STORE_UNAVAILABLE", "the lead could not be written and is not queued; push it again");
    else queue(board, row, { lead_id: row.doc._id, message: messageFor(row.doc) }, written[i] === "present");
  });
  const made = docs.filter((_, i) => written[i] === "written");
  announce(ground, made);
  ground.log.info({ event: "leads.queued", leads: made.length, first: made[0]?._id ?? null }, "leads queued");
}

/** Bulk push: every row judged by itself, a few questions and writes for all of them. Rejects only where nothing can be said of any row. */
export async function pushMany(
  ground: ServiceDeps,
  shelf: Shelf,
  bus: Bus,
  params: Params,
): Promise<ResultOf<"leads.pushMany">> {
  const board: Board = { results: [], queued: 0, replayed: 0 };
  const fresh = await unanswered(ground, shelf, board, shaped(board, params));
  await write(
    ground,
    shelf,
    board,
    await keyed(ground, shelf, board, await judged(ground, bus, board, params.by, fresh)),
  );
  return { results: board.results, replayed: board.queued > 0 && board.replayed === board.queued };
}
