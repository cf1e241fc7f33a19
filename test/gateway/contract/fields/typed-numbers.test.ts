import blacklist from "../../../../services/blacklist/blacklist.service.ts";
import config from "../../../../services/config/config.service.ts";
import leads from "../../../../services/leads/leads.service.ts";
import numbers from "../../../../services/numbers/numbers.service.ts";
import webhook from "../../../../services/webhook/webhook.service.ts";
import { namedReminder, createdId, setHttpStage, type Answer, type HttpStage } from "../../fixtures/http-stage.ts";

/** A number as a spreadsheet or an address book writes it is read alike wherever the API takes one. */
let http: HttpStage;
let template: string;
let configuration: string;
let serial = 0;

const fresh = (): string => `+9198765${String(serial++).padStart(5, "0")}`;
const payloadOf = (number: string) => ({ customer_name: "Ada", customer_mobile_number: number });
const leadWith = (number: string) => ({
  request_id: `typed-${serial}`,
  template_id: template,
  reseller_id: http.reseller_id,
  merchant_id: http.merchant_id,
  payload: payloadOf(number),
});
const post = (path: string, body: unknown): Promise<Answer> => http.ask("POST", path, { body });
const put = (path: string, body: unknown): Promise<Answer> => http.ask("PUT", path, { body });
const filtered = (path: string, name: string, number: string): Promise<Answer> =>
  http.ask("GET", `${path}?${name}=${encodeURIComponent(number)}`);
const reseller = () => ({ reseller_id: http.reseller_id });

/** Inputs that take a number: how it is sent, where it is shown as it was read, and how a refusal names it. `before`: what a filter finds. */
const INPUTS: Record<
  string,
  {
    ask: (number: string) => Promise<Answer>;
    read: (answer: Answer) => Promise<unknown> | unknown;
    path: string;
    before?: (number: string) => Promise<Answer>;
  }
> = {
  "POST /leads": {
    ask: (number) => post("/leads", leadWith(number)),
    read: async ({ body }) => {
      const lead = await http.ask("GET", `/leads/${String(body["lead_call_tracker_id"])}`);
      return (lead.body["payload"] as Record<string, unknown>)["customer_mobile_number"];
    },
    path: "payload.customer_mobile_number",
  },
  "POST /leads/bulk": {
    ask: async (number) => {
      const answer = await post("/leads/bulk", [leadWith(number)]);
      const [row = {}] = JSON.parse(answer.text) as Record<string, unknown>[];
      return { ...answer, status: Number(row["http_status"] ?? 201), body: row };
    },
    read: async ({ body }) => {
      const lead = await http.ask("GET", `/leads/${String(body["lead_call_tracker_id"])}`);
      return (lead.body["payload"] as Record<string, unknown>)["customer_mobile_number"];
    },
    path: "payload.customer_mobile_number",
  },
  "POST /blacklist": {
    ask: (number) => post("/blacklist", { phone_numbers: [number], ...reseller() }),
    read: ({ body }) => (body["phone_numbers"] as string[])[0],
    path: "phone_numbers.0",
  },
  "GET /blacklist": {
    before: (number) => post("/blacklist", { phone_numbers: [number], ...reseller() }),
    ask: (number) => filtered("/blacklist", "phone_number", number),
    read: ({ body }) => (body["entries"] as { phone_number: string }[])[0]?.phone_number,
    path: "phone_number",
  },
  "GET /leads": {
    before: (number) => post("/leads", leadWith(number)),
    ask: (number) => filtered("/leads", "phone", number),
    read: async ({ body }) => {
      const [found] = body["leads"] as { id: string }[];
      const lead = await http.ask("GET", `/leads/${found?.id ?? ""}`);
      return (lead.body["payload"] as Record<string, unknown> | undefined)?.["customer_mobile_number"];
    },
    path: "phone",
  },
  "POST /legal-holds": {
    ask: (number) => post("/legal-holds", { ...reseller(), phone_number: number, reason: "case 1" }),
    read: ({ body }) => body["phone_number"],
    path: "phone_number",
  },
  "POST /numbers": {
    ask: (number) => post("/numbers", { phone_number: number, provider: "PROVIDER_ONE" }),
    read: ({ body }) => body["phone_number"],
    path: "phone_number",
  },
  "GET /numbers": {
    before: (number) => post("/numbers", { phone_number: number, provider: "PROVIDER_ONE" }),
    ask: (number) => filtered("/numbers", "phone_number", number),
    read: ({ body }) => (body["numbers"] as { phone_number: string }[])[0]?.phone_number,
    path: "phone_number",
  },
  test_numbers: {
    ask: (number) => put(`/merchants/${http.merchant_id}`, { test_numbers: [number] }),
    read: ({ body }) => (body["test_numbers"] as string[])[0],
    path: "test_numbers.0",
  },
  ...Object.fromEntries(
    ["transfer_numbers", "rate_limit_whitelist"].map((name) => [
      name,
      {
        ask: (number: string) => put(`/configurations/${configuration}`, { [name]: [number] }),
        read: ({ body }: Answer) => (body[name] as string[])[0],
        path: `${name}.0`,
      },
    ]),
  ),
  inbound_redirect_number: {
    ask: (number) => put(`/configurations/${configuration}`, { inbound_redirect_number: number }),
    read: ({ body }) => body["inbound_redirect_number"],
    path: "inbound_redirect_number",
  },
};

beforeAll(async () => {
  http = await setHttpStage([blacklist, config, leads, numbers, webhook]);
  const owner = { reseller_id: http.reseller_id, merchant_id: http.merchant_id };
  template = await createdId(http, "/templates", namedReminder(owner));
  configuration = await createdId(http, "/configurations", {
    template_id: template,
    initial_offset: 0,
    retry_offset: 60,
    call_start_time: "00:00",
    call_end_time: "00:00",
    max_retry: 1,
    calling_provider: "PROVIDER_ONE",
  });
});
afterAll(async () => {
  await http.stop();
});

describe.each(Object.entries(INPUTS))("%s", (_name, { ask, read, path, before }) => {
  test.each([
    ["a decimal", (number: string) => `${number}.0`],
    ["two decimals in a formula", (number: string) => `="${number}.00"`],
    ["an apostrophe", (number: string) => `'${number}`],
    [
      "no-break and zero-width spaces",
      (number: string) => `\u00a0${number.slice(0, 3)}\u200b\u00a0${number.slice(3)} `,
    ],
    ["the scheme of a link", (number: string) => `tel:${number.slice(0, 3)}-${number.slice(3)}`],
  ])("takes %s off the number", async (_what, written) => {
    const number = fresh();
    await before?.(number);
    const answer = await ask(written(number));
    expect([answer.status < 300, await read(answer)]).toEqual([true, number]);
  });

  test.each([
    ["scientific notation", "9.19877E+11", "scientific notation"],
    ["a number without its plus", "919876543210.0", "no plus and country code"],
    ["digits that may be decimals", "+919876543210.5", "may be a spreadsheet's decimals"],
    ["an extension", "+919876543210;ext=5", "holds ;"],
  ])("refuses %s with the reason and its path", async (_what, written, reason) => {
    const { status, body } = await ask(written);
    expect([[400, 422].includes(status), body["errors"]]).toEqual([
      true,
      [{ path, message: expect.stringContaining(reason) }],
    ]);
  });
});

test("a number that is no text is refused with the reason: its plus is lost", async () => {
  const { status, body } = await post("/leads", {
    ...leadWith(""),
    payload: { customer_name: "Ada", customer_mobile_number: 919_876_543_210 },
  });
  expect([status, body["errors"]]).toEqual([
    422,
    [{ path: "payload.customer_mobile_number", message: expect.any(String) }],
  ]);
});

test("an erasure finds the number that a spreadsheet wrote", async () => {
  const number = fresh();
  await post("/leads", leadWith(number));
  expect((await post("/erasures", { ...reseller(), phone_number: `'${number}.0` })).status).toBe(202);
  const listed = await filtered("/blacklist", "phone_number", number);
  expect((listed.body["entries"] as { source: string }[]).map((e) => e.source)).toEqual(["erasure"]);
  const refused = await post("/erasures", { ...reseller(), phone_number: "9.19877E+11" });
  expect([refused.status, refused.body["errors"]]).toEqual([
    400,
    [{ path: "phone_number", message: expect.stringContaining("scientific notation") }],
  ]);
});

test("what is lifted from the blacklist may be written as it was listed", async () => {
  const number = fresh();
  await post("/blacklist", { phone_numbers: [number], ...reseller() });
  const lifted = await http.ask("DELETE", "/blacklist", { body: { phone_numbers: [`${number}.00`], ...reseller() } });
  expect(lifted.status).toBe(204);
});
