import { mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { COMMANDS } from "../../deploy/client/cli/commands.ts";
import { overview, run } from "../../deploy/client/cli/run.ts";
import { helpOf } from "../../shared/process/command-line.ts";
import { aLead, answering, type Answering, type Reply } from "./fixtures/answering-server.ts";

const TEMPLATE = {
  id: "0198c0de-7a39-7c53-9d0f-2a2b6a3a1c11",
  version: 3,
  reseller_id: "r-1",
  merchant_id: "m-1",
  name: "Order confirmation",
  is_active: true,
  nodes: [{ name: "ask", prompt: "Ask." }],
  initial_node: "ask",
  created_at: "2026-03-02T09:00:00.000Z",
  updated_at: "2026-03-02T09:00:00.000Z",
};
const listOf = (...templates: unknown[]): Reply => ({
  body: { count: templates.length, templates, next_cursor: null },
});

let server: Answering;
let folder: string;
let typed: string | null;
beforeEach(async () => {
  server = await answering();
  folder = mkdtempSync(join(tmpdir(), "callagent-cli-"));
  typed = null;
});
afterEach(() => server.close());

/** Types a command line; what it said, where, and its exit status. */
async function type(
  argv: string[],
  replies: Reply[] = [],
  env: Record<string, string> = { CALLAGENT_URL: server.url, CALLAGENT_TOKEN: "t" },
): Promise<{ status: number; out: string; err: string }> {
  server.replies.push(...replies);
  const said: Record<"out" | "err", string[]> = { out: [], err: [] };
  const status = await run(argv, {
    env,
    configFolder: join(folder, "config"),
    screen: { out: (line) => said.out.push(line), err: (line) => said.err.push(line) },
    askPassword: () => Promise.resolve(typed),
    newId: () => "new-id",
    signal: new AbortController().signal,
  });
  return { status, out: said.out.join("\n"), err: said.err.join("\n") };
}
const file = (name: string): string => join(folder, name);
const inFile = (name: string): unknown => JSON.parse(readFileSync(file(name), "utf8"));

describe("callagent", () => {
  test("lists every command, and each says what it does and what its options are for", async () => {
    expect(await type([])).toEqual({ status: 0, out: overview(), err: "" });
    for (const command of COMMANDS) {
      expect(overview()).toContain(`  ${command.name} `);
      expect(await type([...command.name.split(" "), "--help"])).toEqual({ status: 0, out: helpOf(command), err: "" });
      expect(helpOf(command)).toMatch(new RegExp(`^callagent ${command.name}`));
    }
  });

  test.each([
    [["psh"], "There is no command psh; did you mean push? See callagent --help."],
    [["push", "--templte", "x"], "There is no option --templte; did you mean --template? See callagent push --help."],
    [["push", "--template", "x"], "Whom to call? Give --to NUMBER; for a conversation in a browser --mode RTC_TEST."],
    [["push", "--template", "x", "--to", "+1", "--var", "name"], '--var must be name=value, not "name".'],
    [["watch"], "<lead_id> is missing. See callagent watch --help."],
    [
      ["leads", "--limit", "0"],
      '--limit must be a whole number from 1 to 100000, not "0". See callagent leads --help.',
    ],
  ])("%j was called wrongly, asks nothing, and ends with 2", async (argv, err) => {
    expect(await type(argv)).toEqual({ status: 2, out: "", err });
    expect(server.requests).toEqual([]);
  });

  test("keeps a log-in for its owner alone, and uses it at that address alone", async () => {
    typed = "pass-word";
    const env = { CALLAGENT_URL: server.url };
    const login = await type(["login", "--email", "a@shop.example"], [{ body: { access_token: "kept-token" } }], env);
    expect(login).toMatchObject({ status: 0, err: "" });
    expect(server.requests[0]?.body).toBe('{"email":"a@shop.example","password":"pass-word"}');
    const session = join(folder, "config", "callagent", "session.json");
    expect(statSync(session).mode & 0o777).toBe(0o600);
    expect(login.out).toBe(`Kept in ${session}.`);
    expect((await type(["templates"], [listOf()], {})).status).toBe(0);
    expect(server.requests[1]?.headers["authorization"]).toBe("Bearer kept-token");
    expect(await type(["templates", "--url", "http://127.0.0.1:9"], [], {})).toMatchObject({
      status: 2,
      err: expect.stringMatching(/^Who are you at http:\/\/127.0.0.1:9\?/),
    });
  });

  test("asks nobody for a password where there is no terminal", async () => {
    expect(await type(["login", "--email", "a@shop.example"], [], { CALLAGENT_URL: server.url })).toMatchObject({
      status: 2,
      err: "There is no terminal to ask for the password; set CALLAGENT_PASSWORD.",
    });
  });

  test("a refusal is one line with its code and the request's id, without a stack, status 1", async () => {
    const problem = { code: "LEAD_NOT_FOUND", detail: "No lead was found", request_id: "r-9" };
    expect(await type(["explain", "l-1"], [{ status: 404, body: problem }])).toEqual({
      status: 1,
      out: "",
      err: "404 LEAD_NOT_FOUND: No lead was found (request r-9)",
    });
  });

  test("pushes by a template's name, and stays until the lead is over", async () => {
    const spoken = { metaData: { transcription: [{ role: "user", content: "Yes." }] }, outcome: "confirmed" };
    const line = ["push", "--template", "Order confirmation", "--to", "+14155552602", "--var", "name=Ada=1", "--watch"];
    const pushed = { status: "queued", lead_call_tracker_id: "l-1", order_id: "o", message: "" };
    const replies = [listOf(TEMPLATE), { status: 201, body: pushed }, { body: aLead("FINISHED", spoken) }];
    expect(await type(line, replies)).toEqual({
      status: 0,
      out: "l-1\n2026-03-02T09:00:00.000Z  FINISHED  confirmed",
      err: "",
    });
    expect(server.requests[1]?.headers["idempotency-key"]).toBe("new-id");
    expect(JSON.parse(server.requests[1]?.body ?? "")).toEqual({
      request_id: "cli-new-id",
      template_id: TEMPLATE.id,
      reseller_id: "r-1",
      merchant_id: "m-1",
      execution_mode: "TELEPHONY",
      payload: { name: "Ada=1", customer_mobile_number: "+14155552602" },
    });
  });

  test("a lead with whom nobody spoke ends a watch with 1", async () => {
    expect(await type(["watch", "l-1"], [{ body: aLead("FINISHED", { outcome: "busy" }) }])).toMatchObject({
      status: 1,
    });
  });

  test("shows numbers masked", async () => {
    const number = {
      id: "n",
      phone_number: "+14155550100",
      provider: "PROVIDER_ONE",
      status: "ACTIVE",
      max_concurrent_calls: 2,
    };
    const { out } = await type(["numbers"], [{ body: { count: 1, numbers: [number], next_cursor: null } }]);
    expect(out).toContain("+14*******00");
    expect((await type(["lead", "l-1"], [{ body: aLead("BACKLOG") }])).out).toContain("+14*******02");
  });

  test("an abort that was not possible ends with 1", async () => {
    const leads = [
      { id: "a", status: "success", message: "aborted" },
      { id: "b", status: "processing", message: "is being called" },
    ];
    expect(await type(["abort", "a", "b"], [{ body: { leads } }])).toEqual({
      status: 1,
      out: "a  success  aborted\nb  processing  is being called",
      err: "",
    });
  });
});

describe("templates as files", () => {
  const pull = (template: unknown = TEMPLATE): Promise<unknown> =>
    type(["templates", "pull", "--folder", folder], [listOf(template)]);

  test("a pulled file holds what its author writes, and is not written over when it was changed", async () => {
    await pull();
    expect(inFile("order-confirmation.json")).toEqual({
      ...TEMPLATE,
      created_at: undefined,
      updated_at: undefined,
    });
    writeFileSync(file("order-confirmation.json"), JSON.stringify({ ...TEMPLATE, initial_node: "mine" }));
    expect(await pull()).toMatchObject({ status: 1, err: expect.stringMatching(/differs from what is stored/) });
    expect(inFile("order-confirmation.json")).toMatchObject({ initial_node: "mine" });
  });

  test("two templates of one name have two files", async () => {
    const other = { ...TEMPLATE, id: "0198c0de-7a39-7c53-9d0f-2a2b6a3a1c12" };
    await type(["templates", "pull", "--folder", folder], [listOf(TEMPLATE, other)]);
    expect(inFile("order-confirmation.json")).toMatchObject({ id: TEMPLATE.id });
    expect(inFile(`order-confirmation-${other.id}.json`)).toMatchObject({ id: other.id });
  });

  test("a push stores a new version, writes it into the file, and does nothing where nothing changed", async () => {
    await pull();
    const [path, changed] = [file("order-confirmation.json"), { ...TEMPLATE, greeting: "Hello." }];
    writeFileSync(path, JSON.stringify(changed));
    const stored = { ...changed, version: 4 };
    expect(await type(["templates", "push", path], [{ body: TEMPLATE }, { body: stored }])).toMatchObject({
      status: 0,
      out: `${path}  version 4, stored`,
    });
    const [, , put] = server.requests;
    expect([put?.method, Object.keys(JSON.parse(put?.body ?? "{}"))]).toEqual([
      "PUT",
      ["name", "nodes", "initial_node", "is_active", "greeting"],
    ]);
    expect(await type(["templates", "push", path], [{ body: stored }])).toMatchObject({
      out: `${path}  version 4, unchanged`,
    });
    expect(server.requests).toHaveLength(4);
  });

  test("a field that was taken out of the file gets its default back; null in a new template is not said", async () => {
    await pull({ ...TEMPLATE, greeting: "Hello.", voice: null });
    const [path, { is_active: _, ...without }] = [file("order-confirmation.json"), TEMPLATE];
    writeFileSync(path, JSON.stringify(without));
    await type(
      ["templates", "push", path],
      [{ body: { ...TEMPLATE, greeting: "Hello.", voice: null } }, { body: TEMPLATE }],
    );
    const put = JSON.parse(server.requests.at(-1)?.body ?? "{}") as Record<string, unknown>;
    expect(put).toMatchObject({ greeting: null, initial_node: "ask" });
    expect(put).not.toHaveProperty("is_active");
    writeFileSync(path, JSON.stringify({ ...TEMPLATE, id: undefined, voice: null }));
    await type(["templates", "push", path], [listOf(), { status: 201, body: TEMPLATE }]);
    expect(JSON.parse(server.requests.at(-1)?.body ?? "{}")).not.toHaveProperty("voice");
  });

  test("what somebody changed since is not stored over, but by --force", async () => {
    await pull();
    const path = file("order-confirmation.json");
    writeFileSync(path, JSON.stringify({ ...TEMPLATE, greeting: "Mine." }));
    const theirs = { ...TEMPLATE, version: 4, greeting: "Theirs." };
    expect(await type(["templates", "push", path], [{ body: theirs }])).toMatchObject({
      status: 1,
      err: expect.stringMatching(/version 4 is stored, the file is of 3: somebody changed it since/),
    });
    expect(server.requests.every(({ method }) => method === "GET")).toBe(true);
    const forced = await type(
      ["templates", "push", "--force", path],
      [{ body: theirs }, { body: { ...theirs, version: 5 } }],
    );
    expect(forced.status).toBe(0);
  });

  test("a new file makes a template of the reseller that is named, and gets its id", async () => {
    const path = file("new.json");
    writeFileSync(path, JSON.stringify({ name: "New", nodes: [], initial_node: "ask" }));
    expect(await type(["templates", "push", path], [listOf()])).toMatchObject({
      status: 2,
      err: expect.stringMatching(/--reseller ID/),
    });
    const made = { ...TEMPLATE, name: "New", version: 1 };
    await type(["templates", "push", "--reseller", "r-1", path], [listOf(), { status: 201, body: made }]);
    expect(inFile("new.json")).toMatchObject({ id: TEMPLATE.id, version: 1 });
  });

  test("a diff names each place with both sides", async () => {
    const path = file("t.json");
    writeFileSync(
      path,
      JSON.stringify({ ...TEMPLATE, nodes: [{ name: "ask", prompt: "Ask again." }], greeting: "Hi." }),
    );
    expect(await type(["templates", "diff", path], [{ body: TEMPLATE }])).toEqual({
      status: 1,
      out: [`${path} nodes.0.prompt`, '  - "Ask."', '  + "Ask again."', `${path} greeting`, '  + "Hi."'].join("\n"),
      err: "",
    });
    writeFileSync(path, JSON.stringify(TEMPLATE));
    expect((await type(["templates", "diff", path], [{ body: TEMPLATE }])).status).toBe(0);
  });

  test("a test has each file checked as an inactive template that goes again, and names every fault with its place", async () => {
    const [good, bad] = [file("good.json"), file("bad.json")];
    for (const path of [good, bad]) writeFileSync(path, JSON.stringify({ ...TEMPLATE, id: undefined }));
    const refused = { code: "TEMPLATE_INVALID", detail: "x", errors: [{ path: "nodes.0", message: "leads nowhere" }] };
    const checked = await type(
      ["templates", "test", bad, good],
      [
        { status: 400, body: refused },
        { status: 201, body: TEMPLATE },
        { status: 204, body: "" },
      ],
    );
    expect(checked).toEqual({
      status: 1,
      out: `${good}  holds`,
      err: `${bad}: TEMPLATE_INVALID\n  nodes.0 leads nowhere`,
    });
    expect(JSON.parse(server.requests[1]?.body ?? "{}")).toMatchObject({ is_active: false });
    expect(server.requests[2]).toMatchObject({ method: "DELETE", url: `/templates/${TEMPLATE.id}` });
  });
});
