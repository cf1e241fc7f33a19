import { startProduct, type Product } from "../../local/harness/product.ts";
import { until } from "../../local/harness/stage.ts";

const START_MS = 90_000;
const RUN_MS = 120_000;

/** A client of the documented API alone: it uses no extension. Ids of reseller and template are what an operator would hand to its author. */
class InterfaceClient {
  readonly #base: string;
  #token = "";
  constructor(base: string) {
    this.#base = base;
  }

  async ask(method: string, path: string, body?: unknown): Promise<{ status: number; body: Record<string, unknown> }> {
    const answer = await fetch(`${this.#base}${path}`, {
      method,
      headers: {
        ...(this.#token ? { Authorization: `Bearer ${this.#token}` } : {}),
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === "" ? {} : (JSON.parse(text) as Record<string, unknown>) };
  }

  use(token: unknown): void {
    this.#token = String(token);
  }
}

describe("a client written from the API document alone", () => {
  let product: Product;
  let client: InterfaceClient;
  beforeAll(async () => {
    product = await startProduct();
    client = new InterfaceClient(product.stack.baseUrl);
  }, START_MS);
  afterAll(async () => {
    if (product) await product.stop();
  }, START_MS);

  test(
    "logs in, issues a token, creates, pushes, polls, aborts, lists and deletes",
    async () => {
      const { reseller_id, merchant_id, templates } = product.sample;
      const { secrets } = product.stack;

      const login = await client.ask("POST", "/login", {
        email: secrets.admin_email,
        password: secrets.admin_password,
      });
      expect(login).toMatchObject({
        status: 200,
        body: {
          access_token: expect.any(String),
          token_type: "bearer",
          user: { id: expect.any(String), email: secrets.admin_email, role: "admin" },
        },
      });
      client.use(login.body["access_token"]);

      const issued = await client.ask("POST", "/s2s-token", { name: "shop backend", role: "reseller", reseller_id });
      expect(issued).toMatchObject({
        status: 200,
        body: {
          token: expect.any(String),
          name: "shop backend",
          role: "reseller",
          reseller_id,
          created_at: expect.stringMatching(/Z$/),
        },
      });
      client.use(issued.body["token"]);

      const merchant = await client.ask("POST", "/merchants", {
        name: "Second shop",
        reseller_id,
        contact_email: "two@shop.example",
      });
      expect(merchant).toMatchObject({
        status: 201,
        body: { id: expect.any(String), name: "Second shop", reseller_id },
      });
      const renamed = await client.ask("PUT", `/merchants/${String(merchant.body["id"])}`, {
        name: "Second shop, renamed",
      });
      expect(renamed).toMatchObject({ status: 200, body: { name: "Second shop, renamed" } });

      const outbound = {
        phone_number: "+14155550177",
        provider: "PROVIDER_ONE",
        status: "AVAILABLE",
        channel: "voice",
        reseller_id,
      };
      expect(await client.ask("POST", "/numbers", outbound)).toMatchObject({ status: 403 });
      client.use(login.body["access_token"]);
      const number = await client.ask("POST", "/numbers", outbound);
      expect(number).toMatchObject({
        status: 201,
        body: { id: expect.any(String), phone_number: "+14155550177", status: "AVAILABLE", reseller_id },
      });
      expect(await client.ask("POST", "/numbers", outbound)).toMatchObject({ status: 409 });
      client.use(issued.body["token"]);
      expect((await client.ask("GET", "/numbers")).body["numbers"]).toEqual(
        expect.arrayContaining([expect.objectContaining({ phone_number: "+14155550177" })]),
      );

      const template_id = templates[0]!.id;
      const configuration = {
        template_id,
        initial_offset: 0,
        retry_offset: 1,
        call_start_time: "00:00",
        call_end_time: "00:00",
        max_retry: 1,
        calling_provider: "PROVIDER_ONE",
      };
      expect(await client.ask("POST", "/configurations", configuration)).toMatchObject({ status: 409 });
      const configurations = await client.ask("GET", `/configurations?template_id=${template_id}`);
      const config_id = (configurations.body["configurations"] as { id: string }[])[0]!.id;
      expect(await client.ask("PUT", `/configurations/${config_id}`, { max_retry: 0 })).toMatchObject({
        status: 200,
        body: { id: config_id, calling_provider: "PROVIDER_ONE", enable_calling: true },
      });

      const lead = (request_id: string, phone: string) => ({
        request_id,
        template_id,
        reseller_id,
        merchant_id,
        payload: {
          customer_mobile_number: phone,
          customer_name: "Ada",
          order_id: "A-1",
          amount: "1.00",
          delivery_date: "Monday",
        },
      });
      const pushed = await client.ask("POST", "/leads", lead("order-1", "+14155552601"));
      expect(pushed).toMatchObject({
        status: 201,
        body: {
          status: "queued",
          lead_call_tracker_id: expect.any(String),
          order_id: "order-1",
          message: expect.any(String),
        },
      });
      const id = String(pushed.body["lead_call_tracker_id"]);
      const finished = await until(
        "the lead to finish",
        async () => {
          const polled = await client.ask("GET", `/leads/${id}`);
          return polled.body["status"] === "FINISHED" ? polled.body : undefined;
        },
        60_000,
      );
      expect(finished).toMatchObject({
        id,
        outcome: "confirmed",
        attempt_count: 1,
        request_id: "order-1",
        metaData: { transcription: expect.any(Array), call_ended_by: "agent" },
      });
      expect(await client.ask("GET", "/leads/request/order-1")).toMatchObject({
        status: 200,
        body: { request_id: "order-1", count: 1, leads: [{ id, status: "FINISHED" }] },
      });
      expect(await client.ask("GET", "/leads/request/never")).toMatchObject({ status: 404 });

      expect(await client.ask("PUT", `/configurations/${config_id}`, { enable_calling: false })).toMatchObject({
        status: 200,
        body: { enable_calling: false },
      });
      const waiting = String(
        (await client.ask("POST", "/leads", lead("order-2", "+14155552701"))).body["lead_call_tracker_id"],
      );
      expect(
        await client.ask("POST", "/lead/abort", {
          leads: [
            { lead_id: waiting, cancellation_reason: "customer cancelled" },
            { lead_id: id, cancellation_reason: "x" },
            { lead_id: "nope", cancellation_reason: "x" },
          ],
        }),
      ).toMatchObject({
        status: 200,
        body: {
          leads: [
            { id: waiting, status: "success" },
            { id, status: "already_aborted" },
            { id: "nope", status: "error" },
          ],
        },
      });
      expect(await client.ask("GET", `/leads/${waiting}`)).toMatchObject({
        body: { status: "FINISHED", outcome: "ABORTED" },
      });

      expect(await client.ask("POST", "/blacklist", { phone_numbers: ["+14155552888"] })).toMatchObject({
        status: 201,
      });
      expect(await client.ask("POST", "/leads", lead("order-3", "+14155552888"))).toMatchObject({ status: 403 });
      expect(await client.ask("GET", "/blacklist")).toMatchObject({ status: 200 });
      expect(await client.ask("DELETE", "/blacklist", { phone_numbers: ["+14155552888"] })).toMatchObject({
        status: 204,
      });
      expect(await client.ask("POST", "/leads", lead("order-3", "+14155552888"))).toMatchObject({ status: 201 });

      const number_id = String(number.body["id"]);
      expect(await client.ask("PUT", `/numbers/${number_id}`, { status: "DISABLED" })).toMatchObject({
        status: 200,
        body: { status: "DISABLED" },
      });
      expect(await client.ask("DELETE", `/numbers/${number_id}`)).toMatchObject({ status: 204 });
      expect(await client.ask("DELETE", `/numbers/${number_id}`)).toMatchObject({ status: 404 });
      expect(await client.ask("DELETE", `/merchants/${String(merchant.body["id"])}`)).toMatchObject({ status: 204 });
      expect(await client.ask("GET", "/merchants")).toMatchObject({
        status: 200,
        body: { merchants: expect.any(Array) },
      });
      client.use("nothing");
      expect(await client.ask("GET", `/leads/${id}`)).toMatchObject({ status: 401 });
    },
    RUN_MS,
  );
});
