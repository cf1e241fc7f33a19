import { setHttpStage, type HttpStage } from "../../fixtures/http-stage.ts";

/** How bodies are written: byte order marks, charsets, kinds of JSON, and numbers that its readers change. */
let http: HttpStage;
beforeAll(async () => {
  http = await setHttpStage();
});
afterAll(async () => {
  await http.stop();
});
beforeEach(() => {
  http.calls.length = 0;
});

const lead = () => ({
  request_id: "o-1",
  template_id: "7f9c24e8-3b12-4fef-91e0-5a4d8c2b1a00",
  reseller_id: http.reseller_id,
  payload: {},
});

test.each([
  ["a byte order mark", Buffer.from('\ufeff{"name":"Ünïcode"}'), "application/json"],
  ["a parameter", Buffer.from('{"name":"Ünïcode"}'), "application/json;odata=verbose"],
  ["a format built on JSON", Buffer.from('{"name":"Ünïcode"}'), "application/vnd.api+json; charset=utf-8"],
  [
    "a charset that is a part of UTF-8",
    Buffer.from('{"name":"\\u00dcn\\u00efcode"}'),
    "application/json; charset=us-ascii",
  ],
])("%s is taken", async (_what, body, type) => {
  const { body: made } = await http.ask("POST", "/resellers", { body, headers: { "Content-Type": type } });
  expect(made["name"]).toBe("Ünïcode");
});

test.each<[string, Buffer, string, number, string]>([
  ["latin1", Buffer.from('{"name":"Jos\u00e9"}', "latin1"), "application/json; charset=ISO-8859-1", 415, "iso-8859-1"],
  ["UTF-16 by its Content-Type", Buffer.from("{}", "utf16le"), "application/json;charset=utf-16", 415, "utf-16"],
  ["UTF-16 by its mark", Buffer.from("\ufeff{}", "utf16le"), "application/json", 400, "UTF-16LE"],
  ["text/json", Buffer.from("{}"), "text/json", 415, "application/json"],
  ["a type that only begins like it", Buffer.from("{}"), "application/jsonx", 415, "application/json"],
])("%s is refused by its name", async (_what, body, type, status, name) => {
  const answer = await http.ask("POST", "/resellers", { body, headers: { "Content-Type": type } });
  expect([answer.status, answer.body["detail"]]).toEqual([status, expect.stringContaining(name)]);
});

test.each([
  ["7615917337495251231", '"order_id":7615917337495251231', "payload.order_id"],
  ["1e400", '"items":[{"amount":1e400}]', "payload.items.0.amount"],
  ["a fraction of more digits than a number has", '"amount":0.1000000000000000055511151231257827', "payload.amount"],
])("%s is refused with its path, and nothing is pushed", async (_what, field, path) => {
  const body = JSON.stringify(lead()).replace('"payload":{}', `"payload":{${field}}`);
  const answer = await http.ask("POST", "/leads", { body });
  expect([answer.status, answer.body["errors"], http.calls]).toEqual([
    422,
    [{ path, message: expect.stringContaining("as a text") }],
    [],
  ]);
});
