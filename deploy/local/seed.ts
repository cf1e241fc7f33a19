import { apiClient, ApiFailure, login, type Client } from "./client.ts";
import type { Folder } from "./folder.ts";
import { sampleTemplates } from "./sample/templates.ts";
import type { Stack } from "./stack.ts";

/** The sample tenant of a laptop installation. */
export interface Sample {
  reseller_id: string; merchant_id: string;
  templates: { name: string; id: string; configuration_id: string }[];
  numbers: string[]; webhook_secret: string;
}

/** What a sample configuration asks for, in seconds. */
export interface SampleTimes { initial_offset: number; retry_offset: number }

const NUMBERS = ["+14155550100", "+14155550101", "+14155550102", "+14155550103"];
const LINES_PER_NUMBER = 10;

async function make(client: Client, times: SampleTimes): Promise<Sample> {
  const reseller = await client.ask("POST", "/resellers", { body: { name: "Sample reseller" } });
  const merchant = await client.ask("POST", "/merchants", { body: { name: "Northwind Outfitters", reseller_id: reseller.id, contact_email: "shop@northwind.example" } });
  const scope = { reseller_id: reseller.id, merchant_id: merchant.id };
  const templates: Sample["templates"] = [];
  for (const template of sampleTemplates) {
    const { id } = await client.ask("POST", "/templates", { body: { ...scope, ...template } });
    const configuration = await client.ask("POST", "/configurations", {
      body: { template_id: id, ...times, call_start_time: "00:00", call_end_time: "00:00", max_retry: 1, calling_provider: "PROVIDER_ONE" },
    });
    templates.push({ name: template.name, id, configuration_id: configuration.id });
  }
  for (const phone_number of NUMBERS) {
    await client.ask("POST", "/numbers", { body: { phone_number, provider: "PROVIDER_ONE", status: "AVAILABLE", channel: "voice", max_concurrent_calls: LINES_PER_NUMBER, ...scope } });
  }
  const { secret } = await client.ask("GET", "/webhook-secret", { query: scope });
  return { ...scope, templates, numbers: NUMBERS, webhook_secret: secret };
}

async function stillThere(client: Client, sample: Sample): Promise<boolean> {
  const first = sample.templates[0];
  if (!first) return false;
  return client.ask("GET", "/templates/{id}", { path: { id: first.id } }).then(() => true, (error: unknown) => {
    if (error instanceof ApiFailure && error.status === 404) return false;
    throw error;
  });
}

/** Logs in as the first admin and makes the sample tenant through the REST API, once per database. */
export async function seed(stack: Stack, folder: Folder, times: SampleTimes): Promise<{ sample: Sample; client: Client }> {
  const client = apiClient(stack.baseUrl, await login(stack.baseUrl, stack.secrets.admin_email, stack.secrets.admin_password));
  const known = folder.readJson<Sample>("sample.json");
  if (known && await stillThere(client, known)) return { sample: known, client };
  const sample = await make(client, times);
  folder.writeJson("sample.json", sample);
  return { sample, client };
}

/** Shell variables of the sample tenant, for the README's walkthrough: `. .callagent/sample.env`. */
export const shellVariables = (stack: Stack, sample: Sample): string => [
  `BASE=${stack.baseUrl}`, `EMAIL=${stack.secrets.admin_email}`, `PASSWORD=${stack.secrets.admin_password}`,
  `RESELLER_ID=${sample.reseller_id}`, `MERCHANT_ID=${sample.merchant_id}`, `TEMPLATE_ID=${sample.templates[0]?.id ?? ""}`,
  `WEBHOOK_SECRET=${sample.webhook_secret}`, `LEDGER=${stack.carrierUrl}/ledger`, "",
].join("\n");
