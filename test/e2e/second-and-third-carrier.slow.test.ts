import type { Provider } from "../../shared/contracts/records/configuration.ts";
import { campaignOf, startProduct, type Product } from "../../local/harness/product.ts";
import { callee, startPushing, type Pusher } from "../../local/harness/lead-pusher.ts";
import { until } from "../../local/harness/stage.ts";

/** Three carriers at once: PROVIDER_TWO and PROVIDER_THREE as they should be, PROVIDER_ONE with a token that its carrier does not know any more. */
const START_MS = 120_000;
const TEST_MS = 120_000;
const DEADLINE_MS = 90_000;
const POLL_MS = 250;
/** More requests than are made in these tests. */
const REFUSALS = 1000;
const PROVIDERS: readonly Provider[] = ["PROVIDER_ONE", "PROVIDER_TWO", "PROVIDER_THREE"];
/** Whose numbers the sample has: the eleventh digit tells (local/tools/sample/seed.ts). */
const NUMBERS: Record<Provider, RegExp> = {
  PROVIDER_ONE: /^\+1415555010\d$/,
  PROVIDER_TWO: /^\+1415555011\d$/,
  PROVIDER_THREE: /^\+1415555012\d$/,
};

const MESSAGE = "This is Northwind. Please call us back about order {{order_id}}.";

let product: Product;
let pusher: Pusher;
let numbers = 0;
beforeAll(async () => {
  product = await startProduct({ providers: PROVIDERS, env: { EVENTS_TURNS: "true" } });
  await product.injectFault({ kind: "refuse_credentials", times: REFUSALS });
  pusher = await startPushing(product);
}, START_MS);
afterAll(async () => {
  if (product) await product.stop();
}, START_MS);

const push = (provider: Provider, who: string): Promise<string> =>
  pusher.insist(callee(numbers++, who), { template_id: campaignOf(product, provider) });
const lead = (lead_id: string) => pusher.client.ask("GET", "/leads/{lead_id}", { path: { lead_id } });
const finished = (lead_id: string) =>
  until(
    "the lead to end",
    async () => {
      const l = await lead(lead_id);
      return l.status === "FINISHED" ? l : undefined;
    },
    DEADLINE_MS,
    POLL_MS,
  );
const callsOf = async (lead_id: string) =>
  (await product.ledgerCalls()).filter((c) => c.reference?.startsWith(lead_id));

test.each(["PROVIDER_TWO", "PROVIDER_THREE"] as const)(
  "a lead whose configuration names %s is dialled by one of its numbers only, has its conversation, recording and cost",
  async (provider) => {
    const ids = await Promise.all(["01", "02", "06"].map((who) => push(provider, who)));
    const ended = await Promise.all(ids.map(finished));
    expect(ended.map((l) => l.outcome)).toEqual(["confirmed", "rescheduled", "busy"]);
    for (const id of ids) for (const call of await callsOf(id)) expect(call.from).toMatch(NUMBERS[provider]);
    expect((await callsOf(ids[0] ?? "")).map((c) => c.rings)).toEqual([1]);

    const [talked] = ended;
    const token = await tokenOf();
    const wav = await until(
      "the recording",
      async () => {
        const answer = await fetch(`${product.stack.baseUrl}/leads/recording/${talked?.call_id}`, {
          headers: { authorization: `Bearer ${token}` },
        });
        return answer.status === 200 ? Buffer.from(await answer.arrayBuffer()) : undefined;
      },
      DEADLINE_MS,
      POLL_MS,
    );
    expect([wav.toString("latin1", 0, 4), wav.readUInt16LE(22)]).toEqual(["RIFF", 2]);
    const eventsOf = async () =>
      (await pusher.client.ask("GET", "/leads/{lead_id}/events", { path: { lead_id: ids[0] ?? "" }, query: {} }))
        .events;
    const stored = await until(
      "the event that it is stored",
      async () => (await eventsOf()).find(({ event }) => event.type === "recording.stored"),
      DEADLINE_MS,
      POLL_MS,
    );
    expect(stored.event.data).toMatchObject({ claim_no: 1, call_id: talked?.call_id });
    const told = (await eventsOf()).map(({ event }) => event);
    const turns = told.filter(({ type }) => type === "lead.turn").map(({ data }) => data["turn"]);
    const transcript: unknown = talked?.metaData["transcription"];
    expect(turns).toEqual((Array.isArray(transcript) ? transcript : []).map((_, i) => i + 1));
    expect(turns.length).toBeGreaterThan(2);
    const end = told.findIndex(({ type }) => type === "lead.ended");
    expect(told.findLastIndex(({ type }) => type === "lead.turn")).toBeLessThan(end);
    const paid = await until(
      "the price",
      async () => (await lead(ids[0] ?? "")).cost ?? undefined,
      DEADLINE_MS,
      POLL_MS,
    );
    expect(paid).toBeGreaterThan(0);
  },
  TEST_MS,
);

test.each(["PROVIDER_TWO", "PROVIDER_THREE"] as const)(
  "voicemail that answers through %s gets the template's message after its greeting, and nothing else",
  async (provider) => {
    const template_id = campaignOf(product, provider);
    const { configuration_id } = product.sample.templates.find((t) => t.id === template_id) ?? { configuration_id: "" };
    await product.admin.ask("PUT", "/templates/{id}", {
      path: { id: template_id },
      body: { voicemail_message: MESSAGE },
    });
    await product.admin.ask("PUT", "/configurations/{config_id}", {
      path: { config_id: configuration_id },
      body: { voicemail_action: "leave_message", max_retry: 0 },
    });
    const id = await push(provider, "09");
    expect((await finished(id)).outcome).toBe("voicemail");
    const [call] = await callsOf(id);
    const heard = (await product.ledger())
      .filter((l) => l.call_sid === call?.sid && l.kind === "heard")
      .map((l) => l["text"]);
    expect(heard.at(-1)).toBe("This is Northwind. Please call us back about order NW-1.");
    expect(heard.filter((text) => String(text).includes("call us back"))).toHaveLength(1);
  },
  TEST_MS,
);

test(
  "wrong credentials: one clear reason in explain, no attempt spent, no storm of requests; other carriers go on",
  async () => {
    const ids = await Promise.all(Array.from({ length: 10 }, () => push("PROVIDER_ONE", "01")));
    const held = await until(
      "explain to say so",
      async () => {
        const { gates } = await pusher.client.ask("GET", "/leads/{lead_id}/explain", {
          path: { lead_id: ids[9] ?? "" },
          query: {},
        });
        const gate = gates.find((g) => g.gate === "carrier_limit");
        return gate?.verdict === "hold" && gate.detail.includes("credentials") ? gate.detail : undefined;
      },
      DEADLINE_MS,
      POLL_MS,
    );
    expect(held).toMatch(/the carrier refuses the credentials \(HTTP 401\) of PROVIDER_ONE: check .*TWILIO_AUTH_TOKEN/);
    const well = await finished(await push("PROVIDER_TWO", "01"));
    expect(well.outcome).toBe("confirmed");
    expect((await Promise.all(ids.map(lead))).map((l) => [l.status, l.attempt_count])).toEqual(
      ids.map(() => ["BACKLOG", 0]),
    );
    expect(
      product.log.filter((l) => l.level === "error" && JSON.stringify(l).includes("refuses the credentials")).length,
    ).toBeLessThanOrEqual(2);
    expect(JSON.stringify(product.log)).not.toContain(product.stack.secrets.twilio_auth_token);
  },
  TEST_MS,
);

async function tokenOf(): Promise<string> {
  const { token } = await product.admin.ask("POST", "/s2s-token", {
    body: {
      name: "listener",
      role: "merchant",
      reseller_id: product.sample.reseller_id,
      merchant_id: product.sample.merchant_id,
    },
  });
  return token;
}
