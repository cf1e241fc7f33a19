import { readFileSync, writeFileSync } from "node:fs";
import { listOf, sitDown, TEMPLATE, type Person } from "./fixtures/typed-lines.ts";

let person: Person;
const type: Person["type"] = (...line) => person.type(...line);
const file = (name: string): string => person.file(name);
beforeEach(async () => {
  person = await sitDown();
});
afterEach(() => person.server.close());

const inFile = (name: string): unknown => JSON.parse(readFileSync(file(name), "utf8"));

describe("templates as files", () => {
  const pull = (template: unknown = TEMPLATE): Promise<unknown> =>
    type(["templates", "pull", "--folder", person.folder], [listOf(template)]);

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
    await type(["templates", "pull", "--folder", person.folder], [listOf(TEMPLATE, other)]);
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
    const [, , put] = person.server.requests;
    expect([put?.method, Object.keys(JSON.parse(put?.body ?? "{}"))]).toEqual([
      "PUT",
      ["name", "nodes", "initial_node", "is_active", "greeting"],
    ]);
    expect(await type(["templates", "push", path], [{ body: stored }])).toMatchObject({
      out: `${path}  version 4, unchanged`,
    });
    expect(person.server.requests).toHaveLength(4);
  });

  test("a field that was taken out of the file gets its default back; null in a new template is not said", async () => {
    await pull({ ...TEMPLATE, greeting: "Hello.", voice: null });
    const [path, { is_active: _, ...without }] = [file("order-confirmation.json"), TEMPLATE];
    writeFileSync(path, JSON.stringify(without));
    await type(
      ["templates", "push", path],
      [{ body: { ...TEMPLATE, greeting: "Hello.", voice: null } }, { body: TEMPLATE }],
    );
    const put = JSON.parse(person.server.requests.at(-1)?.body ?? "{}") as Record<string, unknown>;
    expect(put).toMatchObject({ greeting: null, initial_node: "ask" });
    expect(put).not.toHaveProperty("is_active");
    writeFileSync(path, JSON.stringify({ ...TEMPLATE, id: undefined, voice: null }));
    await type(["templates", "push", path], [listOf(), { status: 201, body: TEMPLATE }]);
    expect(JSON.parse(person.server.requests.at(-1)?.body ?? "{}")).not.toHaveProperty("voice");
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
    expect(person.server.requests.every(({ method }) => method === "GET")).toBe(true);
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
    expect(JSON.parse(person.server.requests[1]?.body ?? "{}")).toMatchObject({ is_active: false });
    expect(person.server.requests[2]).toMatchObject({ method: "DELETE", url: `/templates/${TEMPLATE.id}` });
  });

  test("a check of a new file is for whom the log-in knows: its one reseller, and its one merchant", async () => {
    const path = file("new.json");
    writeFileSync(path, JSON.stringify({ name: "new", nodes: [] }));
    const merchants = (...of: [id: string, reseller_id: string][]) => ({
      body: { merchants: of.map(([id, reseller_id]) => ({ id, reseller_id })), next_cursor: null },
    });
    const rest = [
      { status: 201, body: TEMPLATE },
      { status: 204, body: "" },
    ];
    const checked = async (...of: [string, string][]) => {
      const from = person.server.requests.length;
      const { status, err } = await type(["templates", "test", path], [merchants(...of), ...rest]);
      const post = person.server.requests.slice(from).find(({ method }) => method === "POST");
      person.server.replies.length = 0;
      return [status, post && (JSON.parse(post.body) as { reseller_id?: string; merchant_id?: string }), err] as const;
    };
    expect(await checked(["m", "r"])).toMatchObject([0, { reseller_id: "r", merchant_id: "m" }, ""]);
    const [status, body] = await checked(["m", "r"], ["n", "r"]);
    expect([status, body?.reseller_id, body?.merchant_id]).toEqual([0, "r", undefined]);
    expect(await checked(["m", "r"], ["n", "s"])).toMatchObject([
      2,
      undefined,
      expect.stringContaining("Give --reseller ID"),
    ]);
  });
});
