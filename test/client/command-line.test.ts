import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { COMMANDS } from "../../deploy/client/cli/commands.ts";
import { overview } from "../../deploy/client/cli/run.ts";
import { helpOf } from "../../shared/process/command-line.ts";
import { aLead } from "./fixtures/answering-server.ts";
import { listOf, sitDown, TEMPLATE, type Person } from "./fixtures/typed-lines.ts";

let person: Person;
const type: Person["type"] = (...line) => person.type(...line);
const file = (name: string): string => person.file(name);
beforeEach(async () => {
  person = await sitDown();
});
afterEach(() => person.server.close());

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
    [
      ["templates", "pish", "x.json"],
      "There is no command templates pish; did you mean templates push? See callagent --help.",
    ],
    [["templates", "push", "not-there.json"], "not-there.json: there is no such file."],
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
    expect(person.server.requests).toEqual([]);
  });

  test("keeps a log-in for its owner alone, and uses it at that address alone", async () => {
    person.password = "pass-word";
    const env = { CALLAGENT_URL: person.server.url };
    const login = await type(["login", "--email", "a@shop.example"], [{ body: { access_token: "kept-token" } }], env);
    expect(login).toMatchObject({ status: 0, err: "" });
    expect(person.server.requests[0]?.body).toBe('{"email":"a@shop.example","password":"pass-word"}');
    const session = join(person.folder, "config", "callagent", "session.json");
    expect(statSync(session).mode & 0o777).toBe(0o600);
    expect(login.out).toBe(`Kept in ${session}.`);
    expect((await type(["templates"], [listOf()], {})).status).toBe(0);
    expect(person.server.requests[1]?.headers["authorization"]).toBe("Bearer kept-token");
    expect(await type(["templates", "--url", "http://127.0.0.1:9"], [], {})).toMatchObject({
      status: 2,
      err: expect.stringMatching(/^Who are you at http:\/\/127.0.0.1:9\?/),
    });
  });

  test("an address without the API's path is told from one where nothing is", async () => {
    const env = { CALLAGENT_URL: person.server.url };
    person.password = "pass-word";
    const problem = { code: "ROUTE_NOT_FOUND", detail: "There is no such endpoint.", request_id: "r-1" };
    expect(await type(["login", "--email", "a@shop.example"], [{ status: 404, body: problem }], env)).toEqual({
      status: 2,
      out: "",
      err: `A callagent answers at ${person.server.url}, but its API is not there: the address ends with /agent/voice/callagent.`,
    });
  });

  test("asks nobody for a password where there is no terminal", async () => {
    expect(await type(["login", "--email", "a@shop.example"], [], { CALLAGENT_URL: person.server.url })).toMatchObject({
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
    expect(person.server.requests[1]?.headers["idempotency-key"]).toBe("new-id");
    expect(JSON.parse(person.server.requests[1]?.body ?? "")).toEqual({
      request_id: "cli-new-id",
      template_id: TEMPLATE.id,
      reseller_id: "r-1",
      merchant_id: "m-1",
      execution_mode: "TELEPHONY",
      payload: { name: "Ada=1", customer_mobile_number: "+14155552602" },
    });
  });

  test("a lead that waits says why", async () => {
    const why = { status: "BACKLOG", summary: "The template has no configuration; add one.", gates: [] };
    const seen = await type(["watch", "l-1"], [{ body: aLead("BACKLOG") }, { body: why }, { body: aLead("FINISHED") }]);
    expect(seen.out.split("\n")[0]).toBe(`2026-03-02T09:00:00.000Z  BACKLOG  ${why.summary}`);
    // asked a moment later, when it is being called
    const later = { body: { ...why, status: "PROCESSING", summary: "The lead is being called right now." } };
    const moved = await type(["watch", "l-1"], [{ body: aLead("BACKLOG") }, later, { body: aLead("FINISHED") }]);
    expect(moved.out.split("\n")[0]).toBe("2026-03-02T09:00:00.000Z  BACKLOG");
  });

  test("of all gates the one that decides is marked", async () => {
    const gate = (name: string, verdict: string) => ({ gate: name, verdict, detail: "d", until: null });
    const gates = [gate("status", "pass"), gate("window", "hold"), gate("line", "hold")];
    const { out } = await type(["explain", "l-1"], [{ body: { summary: "It waits.", gates } }]);
    expect(out.split("\n").map((line) => line.slice(0, 3))).toEqual(["It ", "  +", "> -", "  -"]);
  });

  test("a template's configuration is printed without what is of the record, and made or changed from that", async () => {
    const stored = { id: "c-1", template_id: TEMPLATE.id, rate_window_id: "w", call_start_time: "09:00", engine: null };
    const none = { body: { count: 0, configurations: [], next_cursor: null } };
    const one = { body: { count: 1, configurations: [stored], next_cursor: null } };
    const { out } = await type(["configuration", "Order confirmation"], [listOf(TEMPLATE), one]);
    expect(JSON.parse(out)).toEqual({ call_start_time: "09:00", engine: null });
    writeFileSync(file("window.json"), out);
    const line = ["configuration", "push", "Order confirmation", file("window.json")];
    expect((await type(line, [listOf(TEMPLATE), none, { status: 201, body: stored }])).out).toMatch(/^c-1 {2}made for/);
    expect(JSON.parse(person.server.requests.at(-1)?.body ?? "")).toEqual({
      call_start_time: "09:00",
      template_id: TEMPLATE.id,
    });
    expect((await type(line, [listOf(TEMPLATE), one, { body: stored }])).out).toMatch(/^c-1 {2}changed for/);
    expect(JSON.parse(person.server.requests.at(-1)?.body ?? "")).toEqual({ call_start_time: "09:00", engine: null });
    expect(await type(["configuration", "Order confirmation"], [listOf(TEMPLATE), none])).toMatchObject({
      status: 2,
      err: expect.stringMatching(/has no configuration: its leads wait/),
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
