import { apiClient, ApiFailure, login, type Client } from "../api-client.ts";
import type { Folder } from "../stack/data-folder.ts";
import type { Provider } from "../../../shared/contracts/records/configuration.ts";
import type { SampleTemplate } from "./template.ts";
import { sampleTemplates } from "./templates.ts";
import type { Stack } from "../stack/stack.ts";

/** The sample tenant of a laptop installation. */
export interface Sample {
  reseller_id: string;
  merchant_id: string;
  templates: { name: string; id: string; configuration_id: string }[];
  numbers: string[];
  webhook_secret: string;
  /** The first template, once for each provider it is called through. */
  campaigns: { provider: Provider; template_id: string }[];
}

/** What a sample configuration asks for, in seconds. */
export interface SampleTimes {
  initial_offset: number;
  retry_offset: number;
}

const NUMBERS: Record<Provider, string[]> = {
  PROVIDER_ONE: ["+14155550100", "+14155550101", "+14155550102", "+14155550103"],
  PROVIDER_TWO: ["+14155550110", "+14155550111", "+14155550112", "+14155550113"],
  PROVIDER_THREE: ["+14155550120", "+14155550121", "+14155550122", "+14155550123"],
};
const SLOTS_PER_NUMBER = 10;

/** Adds a number for the sample tenant; one that a former sample tenant left behind is allotted to this one. */
async function addNumber(
  client: Client,
  number: { phone_number: string; provider: Provider },
  scope: { reseller_id: string; merchant_id: string },
): Promise<void> {
  const settings = { provider: number.provider, status: "AVAILABLE", channel: "voice", ...scope } as const;
  const body = { ...settings, max_concurrent_calls: SLOTS_PER_NUMBER };
  try {
    await client.ask("POST", "/numbers", { body: { ...body, phone_number: number.phone_number } });
  } catch (error) {
    if (!(error instanceof ApiFailure && error.status === 409)) throw error;
    const { numbers } = await client.ask("GET", "/numbers", { query: { phone_number: number.phone_number } });
    for (const { id } of numbers) await client.ask("PUT", "/numbers/{number_id}", { path: { number_id: id }, body });
  }
}

async function make(
  client: Client,
  times: SampleTimes,
  [first = "PROVIDER_ONE", ...others]: readonly Provider[],
  caller: string | null,
): Promise<Sample> {
  const reseller = await client.ask("POST", "/resellers", { body: { name: "Sample reseller" } });
  const merchant = await client.ask("POST", "/merchants", {
    body: { name: "Northwind Outfitters", reseller_id: reseller.id, contact_email: "shop@northwind.example" },
  });
  const scope = { reseller_id: reseller.id, merchant_id: merchant.id };
  const templates: Sample["templates"] = [];
  const add = async (template: SampleTemplate, calling_provider: Provider): Promise<string> => {
    const { id } = await client.ask("POST", "/templates", { body: { ...scope, ...template } });
    const configuration = await client.ask("POST", "/configurations", {
      body: {
        template_id: id,
        ...times,
        call_start_time: "00:00",
        call_end_time: "00:00",
        max_retry: 1,
        calling_provider,
      },
    });
    templates.push({ name: template.name, id, configuration_id: configuration.id });
    return id;
  };
  for (const template of sampleTemplates) await add(template, first);
  const campaigns = [{ provider: first, template_id: templates[0]?.id ?? "" }];
  const [template] = sampleTemplates;
  if (template)
    for (const provider of others)
      campaigns.push({
        provider,
        template_id: await add({ ...template, name: `${template.name}-${provider.toLowerCase()}` }, provider),
      });
  const numbers = [first, ...others].flatMap((provider) =>
    (caller === null ? NUMBERS[provider] : [caller]).map((phone_number) => ({ provider, phone_number })),
  );
  for (const number of numbers) await addNumber(client, number, scope);
  const { secret } = await client.ask("GET", "/webhook-secret", { query: scope });
  return { ...scope, templates, campaigns, numbers: numbers.map((n) => n.phone_number), webhook_secret: secret };
}

async function stillThere(client: Client, sample: Sample): Promise<boolean> {
  const first = sample.templates[0];
  if (!first) return false;
  return client.ask("GET", "/templates/{id}", { path: { id: first.id } }).then(
    () => true,
    (error: unknown) => {
      if (error instanceof ApiFailure && error.status === 404) return false;
      throw error;
    },
  );
}

/** Logs in as the first admin and makes the sample tenant through the REST API, once per database; its first template is called through each of the providers. `caller`: the only number that it calls from; null: made-up ones. */
export async function seed(
  stack: Pick<Stack, "baseUrl"> & { secrets: Pick<Stack["secrets"], "admin_email" | "admin_password"> },
  folder: Folder,
  times: SampleTimes,
  providers: readonly Provider[] = ["PROVIDER_ONE"],
  caller: string | null = null,
): Promise<{ sample: Sample; client: Client }> {
  const client = apiClient(
    stack.baseUrl,
    await login(stack.baseUrl, stack.secrets.admin_email, stack.secrets.admin_password),
  );
  const known = folder.readJson<Sample>("sample.json");
  if (known && (await stillThere(client, known)) && (caller === null || known.numbers.includes(caller)))
    return { sample: known, client };
  const sample = await make(client, times, providers, caller);
  folder.writeJson("sample.json", sample);
  return { sample, client };
}

/** Shell variables of the sample tenant, for the README's walkthrough: `. .callagent/sample.env`. */
export const shellVariables = (stack: Stack, sample: Sample): string =>
  [
    `BASE=${stack.baseUrl}`,
    `EMAIL=${stack.secrets.admin_email}`,
    `PASSWORD=${stack.secrets.admin_password}`,
    `RESELLER_ID=${sample.reseller_id}`,
    `MERCHANT_ID=${sample.merchant_id}`,
    `TEMPLATE_ID=${sample.templates[0]?.id ?? ""}`,
    `CONFIGURATION_ID=${sample.templates[0]?.configuration_id ?? ""}`,
    `WEBHOOK_SECRET=${sample.webhook_secret}`,
    `LEDGER=${stack.carrierUrl}/ledger`,
    "",
  ].join("\n");
