import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../../../local/tools/stack/project-root.ts";
import { entriesOf } from "../../../../local/tools/converse/text-conversation.ts";
import { startScriptedModel, type ScriptedModel } from "../../../conversation/fixtures/scripted-model.ts";
import { folder, PAYLOAD, run } from "./run-converse.ts";

const files = folder();
let model: ScriptedModel;
beforeAll(async () => {
  model = await startScriptedModel();
});
afterAll(async () => {
  files.remove();
  await model.close();
});

const script = (name: string, rest: string): string => files.write(name, `${PAYLOAD}\n${rest}\n`);
const results = (out: string) =>
  JSON.parse(out) as {
    passed: boolean;
    path: string[];
    outcome: string;
    call_ended_by: string;
    checks: { what: string; actual: string; ok: boolean }[];
    transcription: { role: string; content: string }[];
    variables: Record<string, unknown>;
    errors: { code: string }[];
  }[];
const played = async (rest: string, argv: string[] = [], template = "order-confirmation") => {
  const { out } = await run([template, script("one.yaml", rest), "--json", ...argv]);
  return results(out)[0]!;
};

test("the examples hold", async () => {
  const { code, out } = await run([join(ROOT, "local/tools/converse/examples")]);
  expect(out).not.toContain("✗");
  expect(out).toMatch(/✓ 8 scripts, \d+ expectations, all met/);
  expect(code).toBe(0);
});

test("the script in docs/tools.md holds", async () => {
  const shown =
    /```yaml\n(template: [\s\S]*?)```/.exec(readFileSync(join(ROOT, "docs", "tools.md"), "utf8"))?.[1] ?? "";
  expect((await run([files.write("shown.yaml", shown)])).out).toMatch(/✓ 1 script, 7 expectations, all met/);
});

test("what is not met is shown with what came instead, and fails", async () => {
  const file = script(
    "miss.yaml",
    `turns: [{ say: "Yes, please confirm." }]
expect:
  path: [ask_confirmation, declined]
  outcome: declined
  call_ended_by: customer
  variables: { new_delivery_date: Friday }
  transcript: { contains: [nobody says this], not_contains: [goodbye] }
  errors: [HTTP_FAILED]`,
  );
  const { code, out } = await run(["order-confirmation", file]);
  expect(code).toBe(1);
  expect(out).toMatch(/✗ path +ask_confirmation → declined +but: ask_confirmation → confirmed/);
  expect(out).toMatch(/✗ outcome +declined +but: confirmed/);
  expect(out).toMatch(/✗ call_ended_by +customer +but: agent/);
  expect(out).toMatch(/✗ variable new_delivery_date +Friday +but: not set/);
  expect(out).toMatch(/✗ transcript +"nobody says this" +but: not in it/);
  expect(out).toMatch(/✗ transcript +no "goodbye" +but: Thank you, Ada/);
  expect(out).toMatch(/✗ errors +\["HTTP_FAILED"\] +but: \[\]/);
  expect(out).toMatch(/✗ 1 script, 7 expectations, 1 script failed/);
});

describe("turns", () => {
  test("an interruption keeps what was heard; what can't be interrupted is heard to its end", async () => {
    const { transcription } = await played(
      "turns: [{ interrupt: { after_words: 2, say: Who is this? } }, { say: Yes please confirm }, { interrupt: { after_words: 1 } }]",
    );
    expect(transcription[0]).toEqual({ role: "assistant", content: "Good day," });
    // a greeting that was cut is said to its end before the answer
    expect(transcription[1]).toMatchObject({
      role: "assistant",
      content: expect.stringMatching(/^Good day, this is Mia/),
    });
    expect(transcription[2]).toEqual({ role: "user", content: "Who is this?" });
    expect(transcription.at(-1)?.content).toMatch(/^Thank you, Ada\. .*Goodbye!$/);
  });
  test("silence, hanging up, the length and a machine have their outcomes", async () => {
    expect(await played("turns: [{ silence: 3 }]")).toMatchObject({ outcome: "silence", call_ended_by: "timeout" });
    expect(await played("turns: [silence, { say: Yes please confirm it }]")).toMatchObject({ outcome: "confirmed" });
    expect(await played("turns: [hang_up]")).toMatchObject({ outcome: "customer_hangup", call_ended_by: "customer" });
    expect(await played("turns: [time_up]")).toMatchObject({ outcome: "call_timeout", call_ended_by: "timeout" });
    expect(await played("turns: [machine]")).toMatchObject({ outcome: "voicemail", call_ended_by: "agent" });
  });
  test("a message is left on a machine where the script wants it", async () => {
    const template = files.write(
      "voicemail.json",
      JSON.stringify({
        name: "v",
        initial_node: "a",
        voicemail_message: "Please call back.",
        nodes: [{ name: "a", say: "Hello?", functions: [{ name: "bye", description: "Enough.", action: "end_call" }] }],
      }),
    );
    const { out } = await run([
      template,
      files.write(
        "v.yaml",
        "voicemail_action: leave_message\nturns: [machine]\nexpect: { outcome: voicemail, transcript: { contains: [Please call back.] } }",
      ),
    ]);
    expect(out).toContain("all met");
  });
  test("a script that ends before the conversation says so; one that goes on after it fails", async () => {
    expect(await played("turns: []\nexpect: { call_ended_by: agent }")).toMatchObject({
      passed: false,
      checks: [{ actual: "(the talk is not over)" }],
    });
    expect(await played("turns: [hang_up, { say: Hello? }]")).toMatchObject({
      passed: false,
      checks: [{ what: "turn 2", actual: "it was over, with 1 of 2 turns left" }],
    });
  });
  test.each([
    ["12#3", null, ["1", "2", "#", "3"]],
    ["12#3", "#", ["12", "3"]],
    ["#", "#", ["#"]],
    ["12345", "none", ["1234", "5"]],
  ])("keys %s with %s", (keys, end, entries) => {
    expect(
      entriesOf(
        keys,
        end === null ? null : { max_digits: 4, end_key: end === "none" ? null : end, pause_ms: 1, secret: false },
      ),
    ).toEqual(entries);
  });
});

describe("the world around", () => {
  const fn = (over: object) => ({ name: "do_it", description: "The customer confirms.", outcome: "done", ...over });
  const template = (over: object) =>
    files.write(
      "world.json",
      JSON.stringify({
        name: "w",
        initial_node: "a",
        nodes: [
          {
            name: "a",
            prompt: "Ask whether they confirm.",
            functions: [fn(over)],
            transitions: [{ when: { digits: "9" }, next_node: "bye" }],
          },
          { name: "bye", say: "Goodbye.", on_enter: [{ type: "end_call" }] },
        ],
      }),
    );
  const http = {
    action: "http",
    http: { method: "GET", url: "https://shop.example/x" },
    parameters: { type: "object", properties: {} },
  };
  const yes = "turns: [{ say: Yes I confirm }]";
  const outcome = async (over: object, rest: string) =>
    results((await run([template(over), files.write("w.yaml", rest), "--json"])).out)[0]!;

  test("web requests are answered by the script: text, JSON, a list of them, a failure", async () => {
    expect(await outcome(http, `${yes}\nweb: { do_it: { body: fine } }`)).toMatchObject({
      outcome: "done",
      errors: [],
    });
    expect(
      await outcome(
        http,
        `turns: [{ say: Yes I confirm }, { say: Yes I confirm }]\nweb: { do_it: [{ status: 500 }, { body: { n: 1 } }] }`,
      ),
    ).toMatchObject({ outcome: "done", errors: [{ code: "HTTP_FAILED", detail: "HTTP_500" }] });
  });
  test("a request without an answer fails the script and says what to add", async () => {
    expect(await outcome(http, yes)).toMatchObject({
      passed: false,
      checks: [{ what: "web do_it", actual: "none; add web.do_it to the script" }],
    });
  });
  test("transfers work unless the script says otherwise", async () => {
    const transfer = { action: "transfer", transfer_to: "+14155550100" };
    expect(await outcome(transfer, yes)).toMatchObject({ outcome: "done", call_ended_by: "agent" });
    expect(await outcome(transfer, `${yes}\ntransfer: fails`)).toMatchObject({ errors: [{ code: "TRANSFER_FAILED" }] });
  });
});

describe("models", () => {
  const confirm = "turns: [{ say: Yes please confirm }]\nexpect: { outcome: confirmed }";
  test("answers are recorded once, and replayed without any model; a changed script has no recording", async () => {
    const recorded = files.path("answers.json");
    expect(await run(["order-confirmation", script("r.yaml", confirm), "--record", recorded])).toMatchObject({
      code: 0,
    });
    expect(await run(["order-confirmation", script("r.yaml", confirm), "--answers", recorded])).toMatchObject({
      code: 0,
    });
    const { code, out } = await run([
      "order-confirmation",
      script("r.yaml", confirm.replace("Yes please", "Yes do")),
      "--answers",
      recorded,
    ]);
    expect(code).toBe(1);
    expect(out).toMatch(
      /✗ recorded answer .*has no answer to this question \(its last message is "user: Yes do confirm"\).*record anew with --record/,
    );
  });
  test("the same script gives the same trace, byte for byte", async () => {
    const trace = async (name: string): Promise<string> => {
      await run([join(ROOT, "local/tools/converse/examples"), "--trace", files.path(name)]);
      return readFileSync(files.path(name), "utf8");
    };
    const first = await trace("1.json");
    expect(await trace("2.json")).toBe(first);
    expect(JSON.parse(first)).toHaveLength(8);
  });
  test("a real endpoint is asked with the variables of the environment; one that fails is an error of the conversation", async () => {
    model.reply = ({ messages }) =>
      messages.at(-1)?.role === "user" ? { calls: [{ name: "confirm_order" }] } : { text: "Do you confirm?" };
    const env = { OPENAI_BASE_URL: model.url, OPENAI_MODEL: "m", OPENAI_API_KEY: "k" };
    expect(await run(["order-confirmation", script("r.yaml", confirm), "--real"], { env })).toMatchObject({ code: 0 });
    expect(model.questions[0]?.model).toBe("m");
    model.reply = () => ({ status: 401 });
    const { code, out } = await run(["order-confirmation", script("r.yaml", confirm), "--real"], { env });
    expect(code).toBe(1);
    expect(out).toMatch(/no answer: the model answered 401; check OPENAI/);
  });
});
