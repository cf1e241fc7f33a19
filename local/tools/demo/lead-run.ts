import { ApiFailure, apiClient, type Client } from "../api-client.ts";
import type { Sample } from "../sample/seed.ts";
import type { Row } from "./leads-csv.ts";
import type { RecordingSink } from "../sink/recording-sink.ts";

/** How one row fares. `state` is a lead status, `refused`, or `pushing`. */
export interface Progress {
  row: Row;
  lead_id: string | null;
  state: string;
  outcome: string | null;
  attempts: number;
  reported: boolean;
}

const PARALLEL_PUSHES = 8;
const POLL_MS = 250;
const PAGE = 500;
/** How long the demo waits for its leads before it calls them stuck. */
export const DEADLINE_MS = 150_000;

interface Summary {
  id: string;
  request_id: string;
  status: string;
  outcome: string | null;
  attempt_count: number;
}

/** A row is done when it ended: refused, finished with its report received, or resting in BACKLOG as expected. */
export const isDone = (p: Progress): boolean =>
  p.state === "refused" ||
  (p.state === "FINISHED" && p.reported) ||
  (p.row.expected === "BACKLOG" && p.state === "BACKLOG");

/** How a row ended, in the words of the file's last column. */
export const ending = (p: Progress): string =>
  p.state === "FINISHED" || p.state === "refused" ? (p.outcome ?? "?") : p.state;

/** True when every row ended as its last column says. */
export const asExpected = (p: Progress): boolean => isDone(p) && p.row.expected.split(" or ").includes(ending(p));

async function pushRow(client: Client, sample: Sample, sink: RecordingSink, p: Progress): Promise<void> {
  const { session } = p.row;
  // by turns through every carrier of the sample
  const campaign = sample.campaigns[p.row.line % sample.campaigns.length];
  try {
    const { lead_call_tracker_id } = await client.ask("POST", "/leads", {
      body: {
        request_id: p.row.request_id,
        template_id: session?.template_id ?? campaign?.template_id ?? "",
        ...(session ? { execution_mode: session.mode } : {}),
        reseller_id: sample.reseller_id,
        merchant_id: sample.merchant_id,
        payload: p.row.payload,
        reporting_webhook_url: sink.url,
      },
    });
    p.lead_id = lead_call_tracker_id;
    p.state = "BACKLOG";
    void session?.hold(client, lead_call_tracker_id).catch((error: unknown) => {
      console.error(`${p.row.request_id}: ${error instanceof Error ? error.message : String(error)}`);
    });
  } catch (error) {
    p.state = "refused";
    p.outcome = error instanceof ApiFailure ? `${error.status} ${error.code}` : String(error);
  }
}

async function refresh(client: Client, byLead: Map<string, Progress>, sink: RecordingSink): Promise<void> {
  let cursor: string | null = null;
  do {
    const page: { readonly leads: readonly Summary[]; readonly next_cursor: string | null } = await client.ask(
      "GET",
      "/leads",
      { query: { limit: PAGE, include_test: true, ...(cursor === null ? {} : { cursor }) } },
    );
    for (const lead of page.leads) {
      const p = byLead.get(lead.id);
      if (p) {
        p.state = lead.status;
        p.outcome = lead.outcome;
        p.attempts = lead.attempt_count;
        p.reported = sink.reports.has(lead.id);
      }
    }
    cursor = page.next_cursor;
  } while (cursor !== null);
}

/** A demo that ran before on this database has listed the number already. */
function unlessListed(error: unknown): void {
  if (!(error instanceof ApiFailure && error.code === "NUMBER_EXISTS")) throw error;
}

/** Pushes the rows through the REST API with a merchant's own token and follows them to their end or the deadline. */
export async function runRows(
  admin: Client,
  baseUrl: string,
  sample: Sample,
  sink: RecordingSink,
  rows: Row[],
  onChange: (all: Progress[]) => void,
): Promise<Progress[]> {
  const all = rows.map((row): Progress => ({
    row,
    lead_id: null,
    state: "pushing",
    outcome: null,
    attempts: 0,
    reported: false,
  }));
  const listed = rows
    .filter((r) => r.expected.endsWith("NUMBER_BLACKLISTED"))
    .map((r) => r.payload["customer_mobile_number"] ?? "");
  if (listed.length > 0) await admin.ask("POST", "/blacklist", { body: { phone_numbers: listed } }).catch(unlessListed);
  const { token } = await admin.ask("POST", "/s2s-token", {
    body: { name: "demo", role: "merchant", reseller_id: sample.reseller_id, merchant_id: sample.merchant_id },
  });
  const client = apiClient(baseUrl, token);

  const queue = [...all];
  await Promise.all(
    Array.from({ length: PARALLEL_PUSHES }, async () => {
      for (let p = queue.shift(); p; p = queue.shift()) {
        await pushRow(client, sample, sink, p);
        onChange(all);
      }
    }),
  );
  const byLead = new Map(all.flatMap((p) => (p.lead_id ? [[p.lead_id, p] as const] : [])));
  const end = performance.now() + DEADLINE_MS;
  while (!all.every(isDone) && performance.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    await refresh(client, byLead, sink).catch(() => undefined); // the services may be restarting; the deadline bounds it
    onChange(all);
  }
  return all;
}
