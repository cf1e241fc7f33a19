import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ApiFailure } from "../../local/tools/api-client.ts";
import { sampleTemplates } from "../../local/tools/sample/templates.ts";
import { ROOT } from "../../local/tools/stack/project-root.ts";
import type { Explanation } from "../../shared/contracts/records/explanation.ts";
import { startProduct, type Product } from "../../local/harness/product.ts";
import { until } from "../../local/harness/stage.ts";

const START_MS = 90_000;
const RUN_MS = 120_000;
const WAIT_MS = 30_000;
const TALKING = "05";
const page = readFileSync(join(ROOT, "docs", "tools.md"), "utf8");

/** Ids and times differ from run to run; the page shows them as `…`. */
const plain = (text: string): string =>
  text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "…").replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "…");

describe("explain, one lead of each kind", () => {
  let product: Product;
  beforeAll(async () => {
    product = await startProduct({ env: { LEASE_SECONDS: "5" } });
  }, START_MS);
  afterAll(async () => {
    if (product) await product.stop();
  }, START_MS);

  const scope = (): { reseller_id: string; merchant_id: string } => ({
    reseller_id: product.sample.reseller_id,
    merchant_id: product.sample.merchant_id,
  });
  let pushed = 0;
  /** A template of its own with this configuration. */
  async function template(configuration: Record<string, unknown> | null): Promise<string> {
    const [sample] = sampleTemplates;
    if (!sample) throw new Error("there is no sample template");
    const { id } = await product.admin.ask("POST", "/templates", {
      body: { ...scope(), ...sample, name: `${sample.name}-${pushed++}` },
    });
    if (configuration) {
      await product.admin.ask("POST", "/configurations", {
        body: {
          template_id: id,
          initial_offset: 0,
          retry_offset: 600,
          call_start_time: "00:00",
          call_end_time: "00:00",
          max_retry: 1,
          calling_provider: "PROVIDER_ONE",
          ...configuration,
        } as never,
      });
    }
    return id;
  }
  async function push(template_id: string, to: string | null): Promise<string> {
    const payload = {
      ...(to === null ? {} : { customer_mobile_number: to }),
      customer_name: "Ada",
      order_id: "A-17",
      amount: "42.00",
      delivery_date: "Monday, June 9",
    };
    const { lead_call_tracker_id } = await product.admin.ask("POST", "/leads", {
      body: { request_id: `explain-${pushed++}`, template_id, ...scope(), payload },
    });
    return lead_call_tracker_id;
  }
  const explain = (lead_id: string): Promise<Explanation> =>
    product.admin.ask("GET", "/leads/{lead_id}/explain", { path: { lead_id } }) as Promise<Explanation>;
  /** The same as a client asks: after a 503 it asks again. */
  const explained = (lead_id: string): Promise<Explanation | undefined> =>
    explain(lead_id).catch((error: unknown) => {
      if (error instanceof ApiFailure && error.status === 503) return undefined;
      throw error;
    });

  test(
    "docs/tools.md shows what it says",
    async () => {
      const rows: string[] = [];
      const show = async (kind: string, lead_id: string, wanted: (e: Explanation) => boolean): Promise<void> => {
        const e = await until(
          `explain of a lead that ${kind}`,
          async () => {
            const found = await explained(lead_id);
            return found && wanted(found) ? found : undefined;
          },
          WAIT_MS,
        );
        const gate = e.gates.find((g) => g.verdict === "hold" || g.verdict === "drop");
        rows.push(
          `| ${kind} | ${gate ? `\`${gate.gate}\`` : ""} | ${plain(e.summary)} | ${e.next_eligible_at === null ? "" : "an instant"} |`,
        );
      };
      const held =
        (gate: string) =>
        (e: Explanation): boolean =>
          !e.eligible && e.gates.find((g) => g.verdict !== "pass")?.gate === gate;
      const to = (n: number, digits = "01"): string => `+1415555${String(70 + n)}${digits}`;
      const night = { call_start_time: "03:00", call_end_time: "03:01", timezone: "Asia/Tokyo" };
      const shut = await template({ ...night, respect_callee_timezone: false });
      const abroad = await template(night);
      const off = await template({ enable_calling: false });
      const bare = await template(null);
      const limited = await template({
        rate_limit_enabled: true,
        rate_limit_max_calls: 1,
        rate_limit_window_seconds: 3600,
      });
      const lineless = await template({ calling_provider: "PROVIDER_TWO" });
      const later = await template({ initial_offset: 3600 });
      const plainOne = await template({});

      await show("has no number to dial", await push(plainOne, null), held("phone_number"));
      await show("was pushed with an initial_offset", await push(later, to(1)), held("due"));
      await show("waits for its calling window", await push(shut, to(2)), held("window"));
      await show("is never in the window where it is", await push(abroad, to(11)), held("window"));
      await show("has calling switched off", await push(off, to(3)), held("calling_enabled"));
      await show("has a template without a configuration", await push(bare, to(4)), held("configuration"));
      await show("has a provider without a number", await push(lineless, to(5)), held("line"));
      await push(limited, to(6));
      await show("has used up its rate limit", await push(limited, to(7)), held("rate_limit"));
      await show("is being talked to", await push(plainOne, to(8, TALKING)), (e) => e.status === "PROCESSING");
      await show(
        "did not answer and is to be called again",
        await push(plainOne, to(9, "06")),
        (e) => e.status === "RETRY",
      );
      await product.admin.ask("POST", "/merchants/{id}/pause", {
        path: { id: product.sample.merchant_id },
        body: { reason: "stock-taking" },
      });
      const paused = await push(plainOne, to(10));
      await show("belongs to a paused merchant", paused, held("merchant"));
      await product.admin.ask("POST", "/deployment/pause", { body: { reason: "carrier maintenance" } });
      await show("waits because the deployment is paused", paused, held("deployment"));
      await product.admin.ask("POST", "/blacklist", { body: { phone_numbers: [to(10)] } as never });
      await product.admin.ask("POST", "/deployment/resume");
      await product.admin.ask("POST", "/merchants/{id}/resume", { path: { id: product.sample.merchant_id } });
      await show("was blacklisted while it waited", paused, (e) => e.status === "FINISHED");

      const missing = rows.filter((row) => !page.includes(row));
      expect(missing).toEqual([]);
    },
    RUN_MS,
  );
});
