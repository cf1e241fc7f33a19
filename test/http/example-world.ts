import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { SAMPLE } from "../../services/gateway/example-records.ts";
import type { Example } from "../../services/gateway/examples.ts";
import { until } from "../support/stage.ts";
import type { Answer, HttpStage } from "./stage.ts";

/** Names of what examples speak of. */
type Name = keyof typeof SAMPLE;
/** The real value behind a name of SAMPLE, as far as it is made. */
type Made = Partial<Record<Name, string>>;

const FLOW = {
  initial_node: "ask",
  nodes: [
    {
      name: "ask",
      prompt: "Ask {{customer_name}} whether the time suits.",
      functions: [{ name: "confirm", description: "It suits.", outcome: "confirmed", action: "end_call" }],
    },
  ],
  payload_schema: {
    type: "object",
    required: ["customer_name"],
    properties: { customer_name: { type: "string" }, customer_mobile_number: { type: "string" } },
  },
  evaluators: [{ name: "politeness", question: "How polite was the agent?" }],
};
const WINDOW = {
  initial_offset: 86_400,
  retry_offset: 60,
  call_start_time: "00:00",
  call_end_time: "00:00",
  max_retry: 1,
  calling_provider: "PROVIDER_ONE",
};

/** Makes, through the API, what an example needs: each example gets things of its own, so that their order does not matter. */
export interface ExampleWorld {
  /** The example's request with real ids in place of those of SAMPLE. */
  ready(example: Example): Promise<Example>;
  close(): Promise<void>;
}

const must = (what: string, answer: Answer): Record<string, unknown> => {
  if (answer.status >= 300) throw new Error(`${what} answered ${answer.status}: ${answer.text}`);
  return answer.body;
};

/** A world on this stage, with a receiver of webhooks that takes everything. */
export async function exampleWorld(http: HttpStage): Promise<ExampleWorld> {
  const sink = createServer((req, res) => {
    req.resume().on("end", () => {
      res.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => {
    sink.listen(0, "127.0.0.1", resolve);
  });
  const hook = `http://127.0.0.1:${(sink.address() as AddressInfo).port}/`;
  let counter = 0;
  const next = (): string => String(++counter).padStart(4, "0");
  const post = async (path: string, body: unknown): Promise<Record<string, unknown>> =>
    must(`POST ${path}`, await http.ask("POST", path, { body }));
  const push = async (made: Made, request_id: string): Promise<string> =>
    String(
      (
        await post("/leads", {
          request_id,
          template_id: await get("template_id", made),
          reseller_id: made.reseller_id,
          merchant_id: made.merchant_id,
          reporting_webhook_url: hook,
          payload: { customer_name: "Ada", customer_mobile_number: await get("customer", made) },
        })
      )["lead_call_tracker_id"],
    );

  const makers: Partial<Record<Name, (made: Made) => Promise<string>>> = {
    reseller_id: async () => String((await post("/resellers", { name: `Acme ${next()}` }))["id"]),
    merchant_id: async (made) =>
      String(
        (
          await post("/merchants", {
            name: `Northwind ${next()}`,
            reseller_id: await get("reseller_id", made),
            contact_email: "a@example.com",
          })
        )["id"],
      ),
    template_id: async (made) => {
      const merchant_id = await get("merchant_id", made);
      return String(
        (await post("/templates", { ...FLOW, name: `flow ${next()}`, reseller_id: made.reseller_id, merchant_id }))[
          "id"
        ],
      );
    },
    configuration_id: async (made) =>
      String((await post("/configurations", { ...WINDOW, template_id: await get("template_id", made) }))["id"]),
    number_id: async () =>
      String((await post("/numbers", { phone_number: `+1415556${next()}`, provider: "PROVIDER_ONE" }))["id"]),
    email: async (made) => {
      const email = `ada-${next()}@example.com`;
      const merchant_id = await get("merchant_id", made);
      made.user_id = String(
        (
          await post("/users", {
            email,
            password: SAMPLE.password,
            role: "merchant",
            reseller_id: made.reseller_id,
            merchant_id,
          })
        )["id"],
      );
      return email;
    },
    user_id: async (made) => {
      await get("email", made);
      return made.user_id ?? "";
    },
    s2s_token_id: async (made) => {
      const name = `token ${next()}`;
      const merchant_id = await get("merchant_id", made);
      await post("/s2s-token", { name, role: "merchant", reseller_id: made.reseller_id, merchant_id });
      const { s2s_tokens } = must(
        "GET /s2s-tokens",
        await http.ask("GET", `/s2s-tokens?merchant_id=${merchant_id}`),
      ) as { s2s_tokens: { id: string; name: string }[] };
      return s2s_tokens.find((t) => t.name === name)?.id ?? "";
    },
    lead_id: async (made) => push(made, await get("request_id", made)),
    finished_lead_id: async (made) => {
      const id = await push(made, `order-${next()}`);
      await post("/lead/abort", { leads: [{ lead_id: id, cancellation_reason: "done with it" }] });
      await until("its report to be delivered", async () => {
        const { deliveries } = (await http.ask("GET", `/leads/${id}/deliveries`)).body as {
          deliveries: { state: string }[];
        };
        return deliveries.some((d) => d.state === "delivered") ? true : undefined;
      });
      return id;
    },
    request_id: async () => `order-${next()}`,
    new_email: async () => `grace-${next()}@example.com`,
    outbound: async () => `+1415557${next()}`,
    unlisted: async () => `+1415558${next()}`,
    customer: async () => `+1415559${next()}`,
    listed: async () => {
      const phone = `+1415553${next()}`;
      await post("/blacklist", { phone_numbers: [phone] });
      return phone;
    },
  };
  const get = async (name: Name, made: Made): Promise<string> =>
    (made[name] ??= await (makers[name]?.(made) ?? Promise.resolve(SAMPLE[name])));

  return {
    async ready({ response: _answer, needs = [], ...asked }) {
      const made: Made = {};
      let text = JSON.stringify(asked);
      for (const name of Object.keys(SAMPLE) as Name[]) {
        if (text.includes(JSON.stringify(SAMPLE[name])))
          text = text.replaceAll(JSON.stringify(SAMPLE[name]), JSON.stringify(await get(name, made)));
      }
      for (const name of needs) await get(name, made);
      return JSON.parse(text) as Example;
    },
    async close() {
      await new Promise((resolve) => sink.close(resolve));
    },
  };
}
