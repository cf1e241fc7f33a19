import type { ActionName, ParamsOf } from "../../../shared/bus/bus.ts";
import type { By, Role } from "../../../shared/contracts/records/identity.ts";
import type { ErrorCode } from "../../../shared/errors.ts";
import type { Answering } from "../http/http-errors.ts";

/** The parts of the API, in the order of the documentation. */
export const TAGS = {
  Authentication:
    "Access tokens for people (log-in, minutes) and for programs (server-to-server, months), and their revocation.",
  Users: "People who log in, each with a role inside a reseller or merchant.",
  Audit: "Who did what and when.",
  "Resellers and merchants": "The tenants: a reseller has merchants, a merchant has templates and leads.",
  Deployment: "The switch for all calling, for the operator of the deployment.",
  Templates: "What is said in a call: nodes, functions, variables and limits. Every save is a new version.",
  Configurations:
    "When and how a template's leads are called: window, retries, rate limit, provider, inbound rules, pre-checks.",
  Doors: "Calls of visitors of a website, by a button: which websites, and how many calls they take.",
  Secrets:
    "Credentials for the servers that pre-checks and functions ask: written once, used as {{secrets.NAME}}, never shown again.",
  "Outbound numbers": "The numbers that calls come from.",
  Blacklist: "Numbers that must not be called.",
  "Inbound calls": "Calls of people to your numbers: which were taken, which were blocked, and why.",
  Leads: "Requests to call somebody: push them, follow them, abort them.",
  Events: "What happens to leads, told once and in order: read in pages, or followed as a stream.",
  Recordings: "What was said, as audio.",
  Analytics: "Sums over leads.",
  Webhooks:
    "The reports of finished leads on their way to you, the secret that signs them, and endpoints that hear of other events.",
  Erasures: "Forgetting a person: all that is known of a phone number is erased, and the number is never called again.",
  "Legal holds": "What must be kept as evidence: neither ended by its age nor erased until the hold is lifted.",
  Retention: "How long records are kept: what is older ends by itself. Where nothing is set, nothing ends.",
} as const;
/** Name of a part of the API. */
export type Tag = keyof typeof TAGS;

/** One endpoint. The asker goes into `by` where the action takes it; names in `{}` of the path become parameters of the same name. */
export interface Row {
  method: "GET" | "POST" | "PUT" | "DELETE";
  /** Below BASE_PATH, with `{name}` for path parameters. */
  path: string;
  /** The action that answers; its contract says what it takes and gives. */
  action: ActionName;
  /** Called first, with the path's parameters: its failure is the answer. For actions that leave the scope to the owner of the resource. */
  guard?: ActionName;
  roles: "public" | readonly Role[];
  /** 204: the action's result is not sent. Of any other result a boolean `replayed` goes into the header Idempotency-Replayed instead of the body. */
  success: 200 | 201 | 202 | 204;
  /** "*": the body's fields are the parameters; a name: the whole body is that parameter. Absent: no body. */
  body?: string;
  /**
   * The parameter that `body` names is a list, sent as NDJSON or as an array. Batches go to the action; `results` is streamed
   * back (bulk/push-endpoint.ts). One item is the parameter `row` of this action.
   */
  bulk?: { action: ActionName; row: string };
  /** The action answers in pages (`limit`, `cursor`, `next_cursor`); the client gets the list in this field whole, streamed (api/whole-list.ts). */
  wholeList?: string;
  /** The action gives events behind a cursor (`after`); a client may follow them as a stream (api/event-stream.ts). */
  follows?: boolean;
  /** Each item of this list in the body gets its own result, and one that the action would refuse an `error` instead (api/item-results.ts). `id`: the field that names an item. */
  perItem?: { list: string; id: string };
  /** The answer is a file of one of these content types, read where the action says it is (recording-download.ts); ranges of it can be requested. */
  download?: readonly string[];
  /** Query parameters. */
  query?: readonly string[];
  /** Request headers (lower case) -> the parameter each becomes; an absent header gives none. */
  headers?: Readonly<Record<string, string>>;
  /** The parameter that the client's address becomes (http/request-limits.ts). */
  clientAddress?: string;
  /** The parameter that the presented bearer token becomes. The action voids it: this gateway knows it no more once that was done. */
  bearer?: string;
  /** Units of the tenant's allowance of a minute that a request costs; absent: 1. Of a bulk body each ten rows cost one more. */
  cost?: number;
  /** How invalid input is answered (http/http-errors.ts). */
  answers: Answering;
  tag: Tag;
  summary: string;
  /** Error codes of its own, beside those every endpoint of its kind has. */
  errors?: readonly ErrorCode[];
}

type Untagged = Omit<Row, "tag">;
type Keys<N extends ActionName> = Exclude<keyof ParamsOf<N> & string, "by">;
/** What a row says beside method, path, action, roles and status; the compiler checks its names against the action. `answers` defaults to plain. */
type Details<N extends ActionName> = Pick<
  Row,
  "summary" | "guard" | "cost" | "bulk" | "wholeList" | "follows" | "perItem" | "download" | "errors"
> &
  Partial<Pick<Row, "answers">> & {
    body?: "*" | Keys<N>;
    query?: readonly Keys<N>[];
    headers?: Readonly<Record<string, Keys<N>>>;
    clientAddress?: Keys<N>;
    bearer?: Keys<N>;
  };

/** Declares one row of the table. */
export const row = <N extends ActionName>(
  method: Row["method"],
  path: string,
  action: N,
  roles: Row["roles"],
  success: Row["success"],
  details: Details<N>,
): Untagged => ({ answers: "plain", method, path, action, roles, success, ...details });

/** Puts rows into one part of the API. */
export const tagged = (tag: Tag, rows: readonly Untagged[]): Row[] => rows.map((untagged) => ({ ...untagged, tag }));

/** Every role. */
export const ALL: readonly Role[] = ["admin", "reseller", "merchant", "user"];
/** Roles that change things of a merchant. */
export const WRITERS: readonly Role[] = ["admin", "reseller", "merchant"];
/** Roles that own merchants. */
export const OWNERS: readonly Role[] = ["admin", "reseller"];
/** The operator of the deployment. */
export const ADMIN: readonly Role[] = ["admin"];
/** What requests cost that are dearer than the others, in units. */
export const COST = {
  /** Reads many items, or all of them. */ list: 5,
  /** Sends a file, hashes a password, or reads what grows with a lead's history. */ heavy: 50,
  /** Sends reports to another's server again. */ replay: 100,
  /** Reads all leads of a period. */ sum: 500,
} as const;
/** Query parameters of every paged list. */
export const PAGE = ["limit", "cursor"] as const;

/** Parameters of a row's action that something else than the body gives. */
export const besideBody = (row: Row): Set<string> =>
  new Set([
    "by",
    ...pathNames(row.path),
    ...(row.query ?? []),
    ...Object.values(row.headers ?? {}),
    ...[row.clientAddress, row.bearer].filter((name) => name !== undefined),
  ]);

/** Names of the path parameters, in order. */
export const pathNames = (path: string): string[] => [...path.matchAll(/\{([a-z_]+)\}/g)].map(([, name = ""]) => name);

/** Why an asker is refused at a row; null: it may proceed. The service that owns the resource judges the scope, with the same `by`. */
export function refuse(row: Pick<Row, "roles">, by: By): string | null {
  if (row.roles === "public") return null;
  if (!row.roles.includes(by.role))
    return `A token of role ${by.role} can't do this; it takes one of role ${row.roles.join(", ")}.`;
  const scopeless =
    (by.role !== "admin" && by.reseller_id === null) ||
    ((by.role === "merchant" || by.role === "user") && by.merchant_id === null);
  return scopeless
    ? "The token's role needs a reseller or merchant that the token does not name; ask for a new one."
    : null;
}
