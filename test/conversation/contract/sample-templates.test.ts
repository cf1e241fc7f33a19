import { randomUUID } from "node:crypto";
import { startModels } from "../../../local/models/server.ts";
import { sampleTemplates } from "../../../local/tools/sample/templates.ts";
import conversation from "../../../services/conversation/conversation.service.ts";
import { FLOW } from "../../../services/gateway/docs/example-records.ts";
import type { ConversationFacts } from "../../../shared/contracts/records/attempt.ts";
import { DEFAULT_LIMITS, type TemplateRecord } from "../../../shared/contracts/records/template.ts";
import { callRef } from "../../../shared/ids.ts";
import { RelayCaller } from "../fixtures/relay-caller.ts";
import { setStage, standIn, until, type Stage } from "../../../local/harness/stage.ts";
import { prepareOne } from "../fixtures/conversation-world.ts";

/** The example templates, held by the model simulator through the official openai package, over real sockets. */

const PAYLOADS: Record<string, Record<string, unknown>> = {
  "order-confirmation": {
    customer_name: "Ada Lindqvist",
    order_id: "NW-10320",
    amount: "82.25",
    delivery_date: "Saturday, June 14",
  },
  "appointment-reminder": {
    customer_name: "Ada Lindqvist",
    doctor: "Dr. Ito",
    appointment_day: "Thursday, June 12",
    appointment_time: "9:30 am",
  },
  "delivery reminder": { customer_name: "Ada Lindqvist" },
};

/** Every template that is shown to somebody: the samples and the one of the API's documentation. Those of converse hold their scripts (test/local/tools/converse). */
const EXAMPLES: readonly object[] = [
  ...sampleTemplates,
  { ...FLOW, voicemail_message: null, global_functions: [], limits: DEFAULT_LIMITS },
];

let models: Awaited<ReturnType<typeof startModels>>;
let stage: Stage;
const settled = new Map<string, ConversationFacts | null>();
const templates = new Map<string, TemplateRecord>();

beforeAll(async () => {
  models = await startModels({ port: 0 });
  for (const sample of EXAMPLES) {
    const record: TemplateRecord = {
      ...(structuredClone(sample) as unknown as TemplateRecord),
      id: randomUUID(),
      version: 1,
      reseller_id: "r",
      merchant_id: null,
      retry_on: null,
      engine: null,
      models: {},
      evaluators: [],
      summary: false,
      evaluation_wait_seconds: 0,
      created_at: "2026-11-21T10:00:00.000Z",
      updated_at: "2026-11-21T10:00:00.000Z",
    };
    templates.set(record.id, record);
  }
  stage = await setStage({
    env: { OPENAI_BASE_URL: models.url, OPENAI_MODEL: "callagent-sim", OPENAI_API_KEY: "any" },
    services: [
      conversation,
      standIn("config", { templateVersion: ({ template_id }) => templates.get(template_id)! }),
      standIn("dialer", {
        verifyUpgrade: () => ({ valid: true }),
        joined: () => ({ go: true, reason: null, answered_at: null, machine: false, beep: false, tells_beep: false }),
        hangUp: () => ({}),
      }),
      standIn("leads", {
        extend: () => ({ done: true }),
        settle: ({ lead_id, facts }) => {
          settled.set(lead_id, facts.talk);
          return { done: true, status: "FINISHED", outcome: "x" };
        },
      }),
    ],
  });
});
afterAll(async () => {
  await stage?.stop();
  await models?.close();
});

/** Holds a conversation: each line is said after the agent's next question; "#1" presses a key. */
async function hold(name: string, says: string[]): Promise<{ talk: ConversationFacts; heard: readonly string[] }> {
  const template = [...templates.values()].find((t) => t.name === name)!;
  const lead_id = randomUUID();
  const { media_url } = await prepareOne(stage.bus, {
    call_ref: callRef(lead_id, 1),
    lead_id,
    claim_no: 1,
    provider: "PROVIDER_ONE",
    template_id: template.id,
    template_version: 1,
    voicemail_action: "hangup",
    carrier: "twilio",
    engine: null,
    record: false,
    payload: PAYLOADS[name]!,
    max_call_seconds: 60,
    ttl_seconds: 60,
  });
  const caller = await RelayCaller.connect(media_url);
  caller.setup();
  let from = 1; // after the greeting
  for (const line of says) {
    const at = from;
    await until(
      `the agent to speak before "${line}"; it said ${JSON.stringify(caller.heard)}`,
      () => caller.heard.length > at || undefined,
    );
    from = caller.heard.length;
    if (line.startsWith("#")) caller.press(line.slice(1));
    else caller.speak(line);
  }
  await caller.over();
  const talk = await until("the talk to be settled", () => settled.get(lead_id) ?? undefined);
  return { talk, heard: caller.heard };
}

test.each([
  {
    template: "order-confirmation",
    says: ["Yes, please confirm it."],
    decided: "confirmed",
    path: ["ask_confirmation", "confirmed"],
  },
  { template: "order-confirmation", says: ["#1"], decided: "confirmed", path: ["ask_confirmation", "confirmed"] },
  {
    template: "order-confirmation",
    says: ["Who is calling?", "Yes, that is fine, please confirm."],
    decided: "confirmed",
    path: ["ask_confirmation", "confirmed"],
  },
  {
    template: "order-confirmation",
    says: ["That doesn't suit me, can we move it?", "Friday, please."],
    decided: "rescheduled",
    path: ["ask_confirmation", "ask_day", "rescheduled"],
  },
  {
    template: "order-confirmation",
    says: ["No, please cancel the order."],
    decided: "declined",
    path: ["ask_confirmation", "declined"],
  },
  {
    template: "order-confirmation",
    says: ["You have the wrong number."],
    decided: "wrong_person",
    path: ["ask_confirmation", "say_sorry"],
  },
  {
    template: "appointment-reminder",
    says: ["Yes, please confirm it, I will be there."],
    decided: "confirmed",
    path: ["remind", "confirmed"],
  },
  {
    template: "appointment-reminder",
    says: ["I'm afraid I can't make it then. Could we move the appointment?", "Next Tuesday at 5 pm please."],
    decided: "rescheduled",
    path: ["remind", "ask_new_day", "rescheduled"],
  },
  { template: "delivery reminder", says: ["Yes, tomorrow suits."], decided: "confirmed", path: ["ask", "goodbye"] },
  {
    template: "delivery reminder",
    says: ["That doesn't suit me. Friday, please."],
    decided: "rescheduled",
    path: ["ask", "goodbye"],
  },
])("$template: $says gives $decided", async ({ template, says, decided, path }) => {
  const { talk, heard } = await hold(template, says);
  expect(talk).toMatchObject({ decided, node_traversal: path, ended_by: "agent", user_turns: says.length, errors: [] });
  expect(talk.transcription.filter((l) => l.role === "assistant").map((l) => l.content)).toEqual(
    heard.map((h) => h.trim()),
  );
  expect(heard[0]).toMatch(/^(Good day|Hello)/);
  expect(heard.at(-1)).toMatch(/goodbye/i);
  if (decided === "rescheduled") expect(Object.values(talk.variables).join()).toMatch(/Friday|Tuesday/);
});
