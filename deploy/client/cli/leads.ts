import { UsageError, type ValuesOf } from "../../../shared/process/command-line.ts";
import type { Client } from "../client.ts";
import { each } from "../pages.ts";
import { watch, type Lead } from "../watch.ts";
import type { ABORT, LEADS, PUSH } from "./commands.ts";
import { masked, objectIn, printList, type Shell } from "./shell.ts";
import { templateOf } from "./template-store.ts";

/** Items of a page at most. */
const PAGE = 200;

/** The variables of a lead: the file's, then those of the line, then the number. UsageError. */
function payloadOf(asked: ValuesOf<typeof PUSH>): Record<string, unknown> {
  const given = asked.var.map((text): [string, string] => {
    const at = text.indexOf("=");
    if (at < 1) throw new UsageError(`--var must be name=value, not "${text}".`);
    return [text.slice(0, at), text.slice(at + 1)];
  });
  return {
    ...(asked.payload === undefined ? {} : objectIn(asked.payload)),
    ...Object.fromEntries(given),
    ...(asked.to === undefined ? {} : { customer_mobile_number: asked.to }),
  };
}

const numberIn = (payload: Readonly<Record<string, unknown>>): string => {
  const number = payload["customer_mobile_number"];
  return typeof number === "string" ? masked(number) : "no number";
};

/** A lead's state in a line. */
const stateOf = (lead: Pick<Lead, "status" | "outcome" | "attempt_count">): string =>
  [lead.status, lead.outcome ?? "", lead.attempt_count > 0 ? `attempt ${lead.attempt_count}` : ""]
    .filter(Boolean)
    .join("  ");

const linesOf = (lead: Lead): readonly { role: string; content: string }[] => {
  const lines: unknown = lead.metaData["transcription"];
  return Array.isArray(lines) ? lines : [];
};
/** Whether somebody was spoken with: the transcript has words of theirs. */
const wasSpokenWith = (lead: Lead): boolean => linesOf(lead).some(({ role }) => role === "user");

/** Prints each change of a lead until it is over; the exit status. */
export async function watched(shell: Shell, client: Client, lead_id: string, json: boolean): Promise<number> {
  let last: Lead | undefined;
  for await (const lead of watch(client, lead_id, { signal: shell.signal })) {
    last = lead;
    const waits = lead.status === "BACKLOG" || lead.status === "RETRY";
    const why = waits && !json ? await client.ask("GET", "/leads/{lead_id}/explain", { path: { lead_id } }) : null;
    // asked a moment later: what it says may be of the lead's next state, which comes with its own line
    const said = why === null || why.status !== lead.status ? [] : [why.summary];
    const line = [lead.updated_at, stateOf(lead), ...said].join("  ");
    shell.screen.out(json ? JSON.stringify(lead) : line);
  }
  return last !== undefined && wasSpokenWith(last) ? 0 : 1;
}

/** Pushes a lead; the exit status. */
export async function push(shell: Shell, client: Client, asked: ValuesOf<typeof PUSH>): Promise<number> {
  const payload = payloadOf(asked);
  if (asked.mode === "TELEPHONY" && payload["customer_mobile_number"] === undefined)
    throw new UsageError("Whom to call? Give --to NUMBER; for a conversation in a browser --mode RTC_TEST.");
  const template = await templateOf(client, asked.template);
  const merchant_id = asked.merchant ?? template.merchant_id;
  const pushed = await client.ask("POST", "/leads", {
    headers: { "Idempotency-Key": asked.key ?? shell.newId() },
    body: {
      request_id: asked.request ?? `cli-${shell.newId()}`,
      template_id: template.id,
      reseller_id: template.reseller_id,
      ...(merchant_id === null ? {} : { merchant_id }),
      execution_mode: asked.mode,
      ...(asked.webhook === undefined ? {} : { reporting_webhook_url: asked.webhook }),
      payload,
    },
  });
  const lead_id = pushed.lead_call_tracker_id;
  const link =
    asked.mode === "TELEPHONY" ? null : await client.ask("POST", "/leads/{lead_id}/join-link", { path: { lead_id } });
  if (asked.json) shell.screen.out(JSON.stringify({ ...pushed, ...(link === null ? {} : { join_link: link }) }));
  else shell.screen.out(link === null ? lead_id : `${lead_id}  ${link.url}`);
  return asked.watch ? watched(shell, client, lead_id, asked.json) : 0;
}

/** Lists leads; the exit status. */
export async function listLeads(shell: Shell, client: Client, asked: ValuesOf<typeof LEADS>): Promise<number> {
  const template = asked.template === undefined ? undefined : await templateOf(client, asked.template);
  const leads = each(client, "/leads", {
    ...(asked.status === undefined ? {} : { status: asked.status }),
    ...(asked.outcome === undefined ? {} : { outcome: asked.outcome }),
    ...(template === undefined ? {} : { template_id: template.id }),
    ...(asked.phone === undefined ? {} : { phone: asked.phone }),
    ...(asked.test ? { include_test: true } : {}),
    limit: Math.min(asked.limit, PAGE),
  });
  const heads = ["id", "request", "status", "outcome", "attempts", "created"];
  return printList(shell.screen, leads, asked, heads, (lead) => [
    lead.id,
    lead.request_id,
    lead.status,
    lead.outcome ?? "",
    String(lead.attempt_count),
    lead.created_at,
  ]);
}

/** Shows a lead with its transcript; the exit status. */
export async function showLead(shell: Shell, client: Client, lead_id: string, json: boolean): Promise<number> {
  const lead = await client.ask("GET", "/leads/{lead_id}", { path: { lead_id } });
  const { out } = shell.screen;
  if (json) {
    out(JSON.stringify(lead, null, 2));
    return 0;
  }
  out(`${lead.id}  ${stateOf(lead)}`);
  out(`request ${lead.request_id}, template ${lead.template}, ${numberIn(lead.payload)}`);
  for (const { role, content } of linesOf(lead)) out(`  ${role}: ${content}`);
  const summary: unknown = lead.metaData["summary"];
  if (typeof summary === "string") out(`summary: ${summary}`);
  return 0;
}

const SIGNS: Readonly<Record<string, string>> = { pass: "+", hold: "-", drop: "x", not_judged: "?" };
/** Width of the longest name of a gate. */
const GATE_WIDTH = 16;

/** Says why a lead has not been called yet; the exit status. */
export async function explain(shell: Shell, client: Client, lead_id: string, json: boolean): Promise<number> {
  const explanation = await client.ask("GET", "/leads/{lead_id}/explain", { path: { lead_id } });
  const { out } = shell.screen;
  if (json) {
    out(JSON.stringify(explanation, null, 2));
    return 0;
  }
  out(explanation.summary);
  // the first gate that does not pass is the one that decides
  const decides = explanation.gates.find(({ verdict }) => verdict === "hold" || verdict === "drop");
  for (const one of explanation.gates) {
    const { gate, verdict, detail, until } = one;
    const mark = one === decides ? ">" : " ";
    out(`${mark} ${SIGNS[verdict]} ${gate.padEnd(GATE_WIDTH)} ${detail}${until === null ? "" : ` (until ${until})`}`);
  }
  return 0;
}

/** Aborts leads; the exit status. */
export async function abort(
  shell: Shell,
  client: Client,
  ids: readonly string[],
  asked: ValuesOf<typeof ABORT>,
): Promise<number> {
  const { leads } = await client.ask("POST", "/lead/abort", {
    body: { leads: ids.map((lead_id) => ({ lead_id, cancellation_reason: asked.reason })) },
  });
  for (const one of leads)
    shell.screen.out(asked.json ? JSON.stringify(one) : `${one.id}  ${one.status}  ${one.message}`);
  return leads.every(({ status }) => status === "success" || status === "already_aborted") ? 0 : 1;
}
