import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { commandOf } from "../../../../local/tools/converse/keyboard-conversation.ts";
import { ROOT } from "../../../../local/tools/stack/project-root.ts";
import { folder, PAYLOAD, run } from "./run-converse.ts";

const files = folder();
afterAll(() => files.remove());

describe("at the keyboard", () => {
  test("a conversation is typed, looked at, and kept as a script that holds", async () => {
    const saved = files.path("saved.yaml");
    const { code, out } = await run(["order-confirmation"], {
      typed: ["/state", "/interrupt 2 Who is it?", "/press 1", `/save ${saved}`],
    });
    expect(code).toBe(0);
    expect(out).toContain("node ask_confirmation · path ask_confirmation");
    expect(out).toContain('interrupted after "Good day,"');
    expect(out).toMatch(/outcome confirmed · ended by agent/);
    expect(readFileSync(saved, "utf8")).toContain("template: order-confirmation");
    expect(await run([saved])).toMatchObject({ code: 0, out: expect.stringContaining("all met") });
  });
  test("answers of web functions are typed, and kept too; the template is found from where the script is", async () => {
    const saved = files.path("web.yaml");
    const template = files.write(
      "t.json",
      JSON.stringify({
        name: "t",
        initial_node: "a",
        nodes: [
          {
            name: "a",
            prompt: "Ask whether they confirm.",
            functions: [
              {
                name: "do_it",
                description: "The customer confirms.",
                action: "http",
                http: { method: "GET", url: "https://x.example/" },
                parameters: { type: "object" },
                outcome: "done",
                next_node: "b",
              },
            ],
          },
          { name: "b", say: "Bye.", on_enter: [{ type: "end_call" }] },
        ],
      }),
    );
    const { out } = await run([template], { typed: ["Yes, I confirm.", "7 left", `/save ${saved}`] });
    expect(out).toContain("answer of do_it (empty: it fails)> ");
    expect(readFileSync(saved, "utf8")).toMatch(/template: t\.json[\s\S]*do_it:\s+- body: 7 left/);
    expect(await run([saved])).toMatchObject({ code: 0 });
  });
  test("whoever has no more to say hangs up", async () => {
    expect((await run(["order-confirmation"], { typed: ["", "/nonsense", "/silence"] })).out).toMatch(
      /\/nonsense is no command[\s\S]*\(hangs up\)[\s\S]*ended by customer/,
    );
  });
  test("an own payload takes the place of the made-up one", async () => {
    const { out } = await run(
      ["order-confirmation", "--payload", files.write("p.yaml", PAYLOAD.replace(/^payload: /, ""))],
      { typed: ["/hangup"] },
    );
    expect(out).toContain("Hello Ada.");
    expect(
      await run(["order-confirmation", "--payload", files.write("bad.json", '{"customer_name": 5}')]),
    ).toMatchObject({ code: 2, out: expect.stringMatching(/payload\.customer_name must be string/) });
  });
  test.each([
    ["Yes.", { turn: { say: "Yes." } }],
    ["/press 12#", { turn: { press: "12#" } }],
    ["/press x", { wrong: expect.stringContaining("/press 12#") }],
    ["/interrupt", { turn: { interrupt: { after_words: 5 } } }],
    ["/interrupt 3", { turn: { interrupt: { after_words: 3 } } }],
    ["/interrupt Stop it", { turn: { interrupt: { after_words: 5, say: "Stop it" } } }],
    ["/hangup", { turn: { hang_up: true } }],
    ["/machine", { turn: { machine: true } }],
    ["/help", { show: "help" }],
    ["/save x.txt", { wrong: expect.stringContaining(".yaml") }],
    ["/", { wrong: expect.anything() }],
  ])("%s", (line, command) => expect(commandOf(line, 10)).toEqual(command));
  test("the command itself, with lines piped into it", () => {
    const { status, stdout } = spawnSync(
      process.execPath,
      ["local/tools/launch.cjs", "local/tools/converse/main.ts", "order-confirmation"],
      { cwd: ROOT, input: "Yes, please confirm.\n", encoding: "utf8" },
    );
    expect(stdout).toMatch(/> Yes, please confirm\.[\s\S]*outcome confirmed · ended by agent/);
    expect(status).toBe(0);
  });
});

describe("what is not usable is said with its place, and code 2", () => {
  const bad = (name: string, text: string) => (): string[] => ["order-confirmation", files.write(name, text)];
  const rows: [string, () => string[], RegExp][] = [
    ["nothing at all", () => [], /Name a template/],
    ["an unknown option", () => ["--fast"], /There is no option --fast\. See npm run converse -- --help/],
    ["two templates", () => ["a.json", "b.json"], /One template at a time: a\.json and b\.json/],
    [
      "no such template",
      () => ["none.json"],
      /none\.json: there is no such template file; the samples are order-confirmation and appointment-reminder/,
    ],
    [
      "a template that is no JSON",
      () => [files.write("x.json", '{"name":\n "t" 5}')],
      /x\.json:2:\d+ is no valid JSON/,
    ],
    [
      "a template of a wrong shape",
      () => [files.write("x.json", '{"name":"t","foo":1,"nodes":[{"name":"a","say":5}]}')],
      /x\.json: this is no template[\s\S]*initial_node is required[\s\S]*foo is not a known field[\s\S]*nodes\.0\.say must be string/,
    ],
    [
      "a template that can't work",
      () => [files.write("x.json", '{"name":"t","initial_node":"b","nodes":[{"name":"a","say":"{{x}}"}]}')],
      /can't work as it is[\s\S]*initial_node there is no node named b[\s\S]*nodes\.0\.say uses \{\{x\}\}/,
    ],
    ["no such script", () => ["order-confirmation", files.path("none.yaml")], /none\.yaml: there is no such file/],
    ["a folder without scripts", () => ["order-confirmation", `${ROOT}/shared/contracts/`], /there is no script in it/],
    ["a script that is no YAML", bad("s.yaml", "turns: [\n - say"), /s\.yaml:2:\d+ is no valid YAML/],
    [
      "a script of a wrong shape",
      bad("s.yaml", "turns: [bye, { press: 12a }, { say: a, press: 1 }, { silence: no }]\nexpect: { outcom: x }"),
      /turns\.0\.bye is not a known field[\s\S]*turns\.1\.press must match[\s\S]*turns\.2 must NOT have more than 1[\s\S]*turns\.3\.silence must be integer[\s\S]*expect\.outcom is not a known field/,
    ],
    ["a script of nothing", bad("s.yaml", "- a"), /holds no fields/],
    [
      "a payload that does not fit",
      bad("s.yaml", 'payload: { customer_name: "" }\nturns: []'),
      /s\.yaml: the payload does not fit payload_schema of order-confirmation[\s\S]*payload\.customer_name must NOT have fewer/,
    ],
    [
      "a script without a template",
      () => [files.write("s.yaml", "turns: []")],
      /s\.yaml: it names no template; add "template: …"/,
    ],
    [
      "no recording",
      () => ["order-confirmation", "--answers", files.path("none.json")],
      /none\.json: there is no such file; write it with --record/,
    ],
    [
      "a recording that is none",
      () => ["order-confirmation", "--answers", files.write("a.json", "{}")],
      /a\.json: this is no file of recorded answers[\s\S]*recorded is required/,
    ],
    [
      "recording what is replayed",
      () => ["order-confirmation", "--answers", "a", "--record", "b"],
      /--answers asks no model/,
    ],
    [
      "a payload beside scripts",
      () => ["order-confirmation", "s.yaml", "--payload", "p.json"],
      /a script holds its own payload/,
    ],
    ["a real model without its name", () => ["order-confirmation", "--real"], /--real needs OPENAI_MODEL/],
    [
      "a trace that can't be written",
      () => [...bad("ok.yaml", `${PAYLOAD}\nturns: [hang_up]`)(), "--trace", files.path("no/such/folder.json")],
      /ENOENT.*folder\.json/,
    ],
  ];
  test.each(rows)("%s", async (_what, argv, expected) => {
    const { code, out } = await run(argv());
    expect(out).toMatch(expected);
    expect(code).toBe(2);
  });
  test("help is no fault", async () =>
    expect(await run(["--help"])).toMatchObject({
      code: 0,
      out: expect.stringContaining("npm run converse -- [template]"),
    }));
  test("keys keep their zeros without quotes", async () => {
    await run([
      "order-confirmation",
      files.write("z.yaml", `${PAYLOAD}\nturns: [{ press: 01 }]`),
      "--trace",
      files.path("z.json"),
    ]);
    expect(existsSync(files.path("z.json"))).toBe(true);
    expect(readFileSync(files.path("z.json"), "utf8")).toMatch(/"digits": "0"[\s\S]*"digits": "1"/);
  });
});
