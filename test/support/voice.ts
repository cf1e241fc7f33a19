import { randomUUID } from "node:crypto";
import type { RequestSummary } from "../../deploy/local/models/server.ts";
import { readWav } from "../../deploy/local/speech/wav.ts";
import { decodeSpeech } from "../../deploy/local/speech/modem.ts";
import type { Provider } from "../../shared/contracts/configuration.ts";
import type { FlowNode } from "../../shared/contracts/template.ts";
import type { LedgerLine, Product } from "./product.ts";
import { startPushing, type Pusher } from "./pushing.ts";
import { until } from "./stage.ts";

/** Who may be reached by a transfer. */
export const DESK = "+14155558801";
/** A number that is nobody's business. */
export const PIN = "482915";
/** Said at once when the call is answered. */
export const GREETING = "Hello, this is Mia.";
/** Long enough to be talked over, coughed into and hummed to. */
export const STORY =
  "I have some news about the order that was made in spring and was sent to your neighbours in summer. Do you confirm it?";
/** Left on machines. */
export const MESSAGE = "Please call Northwind.";

const GOODBYE: FlowNode = {
  name: "done",
  say: "Thank you. Goodbye!",
  on_enter: [{ type: "end_call" }],
  interruptible: false,
};

/** A node from which all ways lead that these tests take, saying this. */
const asking = (prompt: string): FlowNode => ({
  name: "ask",
  role_prompt: "You are Mia of Northwind.",
  prompt,
  functions: [
    { name: "confirm_order", description: "The customer confirms.", next_node: "done", outcome: "confirmed" },
    {
      name: "press_extension_code",
      description: "They ask for the extension code.",
      action: "send_digits",
      digits: "42#",
      next_node: "done",
      outcome: "pressed",
    },
    {
      name: "transfer_to_human",
      description: "They want a human.",
      action: "transfer",
      transfer_to: "{{desk}}",
      outcome: "transferred",
    },
  ],
  transitions: [{ when: { digits: "1" }, next_node: "done", outcome: "keyed" }],
});

/** Asks for something that is keyed and nobody's business. */
const KEYING: FlowNode = {
  name: "ask",
  prompt: 'Say "Please key your pin."',
  collect: "dtmf",
  collection: { max_digits: PIN.length, secret: true },
  transitions: [{ when: { digits: "[0-9]{6}" }, set: { pin: "{{digits}}" }, next_node: "done", outcome: "keyed" }],
};

/** The talks of these tests: what their first node is. */
export const TALKS = {
  short: asking("Ask whether they confirm the order."),
  long: asking(`Say "${STORY}"`),
  /** A short sentence, and then a long one. */
  news: asking(`Say "There are good news. ${STORY}"`),
  secret: KEYING,
} satisfies Record<string, FlowNode>;

/** What a campaign may be given beside its talk. */
export interface CampaignMore {
  template?: Record<string, unknown>;
  configuration?: Record<string, unknown>;
}

/** A lead that was pushed, and who it calls. */
export interface Called {
  lead_id: string;
  number: string;
}

/** A step of a person's script (deploy/local/people/scripted.ts). */
export type ScriptStep = Record<string, string | number | boolean>;

/** A product that talks over sound, with what tests of talks need. */
export interface VoiceStage {
  product: Product;
  pusher: Pusher;
  /** Makes a template and its configuration; the template's id. */
  campaign(name: string, provider: Provider, talk: FlowNode, more?: CampaignMore): Promise<string>;
  /** Tells the person behind a number what to do. */
  script(number: string, script: readonly ScriptStep[]): Promise<void>;
  /** Pushes a lead for somebody of their own number, who behaves by its last two digits where there is no script. */
  call(template_id: string, script: readonly ScriptStep[] | string): Promise<Called>;
  finished(lead_id: string): Promise<Lead>;
  /** What the carrier wrote of a lead's calls, oldest first. */
  linesOf(lead_id: string): Promise<LedgerLine[]>;
  /** Somebody calls the first of a provider's numbers, which this template answers; the call's name at the carrier, once it is over. */
  callIn(provider: Provider, template_id: string, script: readonly ScriptStep[]): Promise<string>;
  /** What the models were asked for. */
  requests(): Promise<RequestSummary[]>;
  order(what: "faults" | "delays", body: Record<string, unknown>): Promise<void>;
  /** A recording's two sides as words: the customer left, the agent right. */
  recording(call_id: string): Promise<{ customer: string; agent: string; seconds: number }>;
}

/** What tests read of a lead. */
export interface Lead {
  status: string;
  outcome: string | null;
  call_id: string | null;
  attempt_count: number;
  metaData: Record<string, unknown>;
  recording_url: string | null;
}

/** A line of a transcript. */
export interface Spoken {
  role: string;
  content: string;
}

/** How each carrier is told where calls to its numbers go, and the beginning of the sample's numbers there. */
const INBOUND: Record<Provider, { carrier: string; path: string; status: string | null; numbers: string }> = {
  PROVIDER_ONE: { carrier: "twilio", path: "inbound/new", status: "status/inbound", numbers: "+1415555010" },
  PROVIDER_TWO: { carrier: "plivo", path: "inbound/new", status: "status/inbound", numbers: "+1415555011" },
  PROVIDER_THREE: { carrier: "telnyx", path: "event/inbound", status: null, numbers: "+1415555012" },
};
const FINISH_MS = 100_000;
const POLL_MS = 300;
const FIRST_NUMBER = 3_000_000;
const HUNDRED = 100;
const MS_PER_SECOND = 1000;
const RATES = [8000, 16_000, 24_000, 48_000] as const;

/** A transcript's lines. */
export function transcriptOf(lead: Pick<Lead, "metaData">): Spoken[] {
  const lines = lead.metaData["transcription"];
  return Array.isArray(lines) ? lines.map((line: Spoken) => ({ role: line.role, content: line.content })) : [];
}

/** All that the agent said, as the transcript has it. */
export const agentOf = (lead: Pick<Lead, "metaData">): string =>
  transcriptOf(lead)
    .filter((l) => l.role === "assistant")
    .map((l) => l.content)
    .join(" ");
/** All that the customer said. */
export const customerOf = (lead: Pick<Lead, "metaData">): string =>
  transcriptOf(lead)
    .filter((l) => l.role === "user")
    .map((l) => l.content)
    .join(" ");
/** Whether two texts are the same but for a letter here and there: on a machine that stands still for a moment sound has holes. */
export function alike(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => text.toLowerCase().match(/[a-z]+/g) ?? []);
  if (!a || !b || Math.abs(a.length - b.length) > Math.max(1, a.length / 8)) return false;
  const known = new Set(b);
  return a.filter((word) => !known.has(word)).length <= Math.max(1, a.length / 5);
}

/** What the person heard of the agent. */
export const heardOf = (lines: readonly LedgerLine[]): string =>
  lines
    .filter((l) => l.kind === "heard" && l["text"] !== "")
    .map((l) => String(l["text"]))
    .join(" ");

async function post(url: string, body: unknown): Promise<string> {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${text}`);
  return text;
}

/** The two sides of a WAV file. */
function sidesOf(file: Uint8Array): { customer: string; agent: string; seconds: number } {
  const sound = readWav(file);
  const [left, right] = sound?.channels ?? [];
  const rate = RATES.find((r) => r === sound?.rate);
  if (left === undefined || right === undefined || rate === undefined)
    throw new Error("the recording is no stereo WAV");
  return { customer: decodeSpeech(left, rate), agent: decodeSpeech(right, rate), seconds: left.length / rate };
}

/** Puts a product that has started on this stage. */
export async function voiceStage(product: Product): Promise<VoiceStage> {
  const pusher = await startPushing(product);
  const { admin, sample, stack, sink } = product;
  const scope = { reseller_id: sample.reseller_id, merchant_id: sample.merchant_id };
  const models = stack.children.get("models")?.url.replace(/\/v1$/, "") ?? "";
  const { token } = await admin.ask("POST", "/s2s-token", {
    body: { name: "voice tests", role: "merchant", ...scope },
  });
  let people = 0;
  const nextNumber = (who: string): string => `+1212${FIRST_NUMBER + people++ * HUNDRED + Number(who)}`;
  const script = async (number: string, steps: readonly ScriptStep[]): Promise<void> => {
    await post(`${stack.carrierUrl}/people`, { number, script: steps });
  };
  return {
    product,
    pusher,
    script,
    async campaign(name, calling_provider, talk, { template = {}, configuration = {} } = {}) {
      const { id } = await admin.ask("POST", "/templates", {
        body: {
          ...scope,
          name,
          is_active: true,
          variables: ["pin"],
          initial_node: "ask",
          greeting: GREETING,
          voicemail_message: MESSAGE,
          language: "en-US",
          nodes: [talk, GOODBYE],
          payload_schema: {
            type: "object",
            properties: {
              customer_mobile_number: { type: "string" },
              desk: { type: "string" },
              reporting_webhook_url: { type: "string" },
            },
          },
          limits: { max_call_seconds: 60, idle_seconds: 5, max_age_seconds: 86_400 },
          ...template,
        },
      });
      await admin.ask("POST", "/configurations", {
        body: {
          template_id: id,
          initial_offset: 0,
          retry_offset: 1,
          call_start_time: "00:00",
          call_end_time: "00:00",
          max_retry: 0,
          calling_provider,
          ...configuration,
        },
      });
      return id;
    },
    async call(template_id, who) {
      const number = nextNumber(typeof who === "string" ? who : "01");
      if (typeof who !== "string") await script(number, who);
      const { lead_call_tracker_id } = await pusher.client.ask("POST", "/leads", {
        body: {
          request_id: randomUUID(),
          template_id,
          ...scope,
          reporting_webhook_url: sink.url,
          payload: { customer_mobile_number: number, desk: DESK },
        },
      });
      return { lead_id: lead_call_tracker_id, number };
    },
    finished: (lead_id) =>
      until(
        "the lead to end",
        async () => {
          const lead = await pusher.client.ask("GET", "/leads/{lead_id}", { path: { lead_id } });
          return lead.status === "FINISHED" ? { ...lead, metaData: { ...lead.metaData } } : undefined;
        },
        FINISH_MS,
        POLL_MS,
      ),
    async linesOf(lead_id) {
      const sids = new Set(
        (await product.ledgerCalls()).filter((c) => c.reference?.startsWith(lead_id)).map((c) => c.sid),
      );
      return (await product.ledger()).filter((l) => l.call_sid !== undefined && sids.has(l.call_sid));
    },
    async callIn(provider, template_id, steps) {
      const { carrier, path, status, numbers } = INBOUND[provider];
      const { numbers: all } = await admin.ask("GET", "/numbers", { query: {} });
      const ours = all.find((n) => n.phone_number.startsWith(numbers));
      await admin.ask("PUT", "/numbers/{number_id}", {
        path: { number_id: ours?.id ?? "" },
        query: { force: true },
        body: { inbound_template_id: template_id },
      });
      const at = `${stack.httpUrl}/carriers/${provider}`;
      await post(`${stack.carrierUrl}/inbound-address`, {
        carrier,
        url: `${at}/${path}`,
        ...(status === null ? {} : { status_url: `${at}/${status}` }),
      });
      const from = nextNumber("01");
      await script(from, steps);
      const { sid } = JSON.parse(
        await post(`${stack.carrierUrl}/inbound`, { carrier, from, to: ours?.phone_number }),
      ) as { sid: string };
      await until(
        "the call to be over",
        async () => (await product.ledgerCalls()).find((c) => c.sid === sid && c.ended_at !== null),
        FINISH_MS,
        POLL_MS,
      );
      return sid;
    },
    requests: async () =>
      ((await (await fetch(`${models}/requests`)).json()) as { requests: RequestSummary[] }).requests,
    order: async (what, body) => {
      await post(`${models}/${what}`, body);
    },
    recording: (call_id) =>
      until(
        "the recording to be served",
        async () => {
          const answer = await fetch(`${stack.baseUrl}/leads/recording/${call_id}`, {
            headers: { authorization: `Bearer ${token}` },
          });
          return answer.status === 200 ? sidesOf(new Uint8Array(await answer.arrayBuffer())) : undefined;
        },
        15_000,
        MS_PER_SECOND,
      ),
  };
}
