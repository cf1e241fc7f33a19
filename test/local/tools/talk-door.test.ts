import { openTalkDoor, type TalkDoor } from "../../../local/tools/talk/talk-door.ts";
import { createClient } from "../../../deploy/client/client.ts";

const SAMPLE = {
  reseller_id: "reseller",
  merchant_id: "merchant",
  webhook_secret: "whsec_x",
  numbers: [],
  campaigns: [],
  templates: [{ id: "11111111-1111-4111-8111-111111111111", name: "order-confirmation", configuration_id: "c" }],
};
const OWN = { id: "22222222-2222-4222-8222-222222222222", name: "an <author's>" };
const template = ({ id, name }: { id: string; name: string }, is_active = true) => ({
  id,
  name,
  is_active,
  reseller_id: "reseller",
  merchant_id: null,
  payload_schema: null,
});
const LINK = "http://127.0.0.1:3000/r/a-link";

/** The API of a product that has these templates, and makes a link of each lead. */
const answers: Record<string, () => unknown> = {
  "GET /templates": () => ({
    templates: [template(OWN), template(SAMPLE.templates[0]!), template({ id: "old", name: "switched off" }, false)],
    next_cursor: null,
  }),
  "POST /leads": () => ({ status: "queued", lead_call_tracker_id: "lead", order_id: "o", message: "" }),
  "POST /leads/lead/join-link": () => ({ url: LINK, expires_at: "2026-01-01T00:00:00.000Z" }),
};
const asked: string[] = [];
const api: typeof fetch = (input, init) => {
  const { pathname } = new URL(input instanceof Request ? input.url : input);
  const what = `${init?.method ?? "GET"} ${pathname}`;
  asked.push(what);
  return Promise.resolve(Response.json(answers[what]?.() ?? {}));
};
const client = () => Promise.resolve(createClient({ base: "http://api.example", token: "t", fetch: api }));

let door: TalkDoor;
beforeEach(async () => {
  asked.length = 0;
  door = await openTalkDoor(client, SAMPLE, { port: 0, home: "http://127.0.0.1:3000/" });
});
afterEach(() => door.close());

/** The Origin of a page's own form by the page's referrer policy: what a browser sends (Fetch standard, "append a request Origin header"). */
const originOf = (page: Response): string =>
  page.headers.get("referrer-policy") === "no-referrer" ? "null" : new URL(page.url).origin;
const press = (path: string, origin: string | null) =>
  fetch(new URL(path, door.url), {
    method: "POST",
    redirect: "manual",
    headers: { ...(origin !== null && { origin }), "sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate" },
  });

describe("the page of npm start on which a person talks to an agent", () => {
  test("a button leads to a fresh conversation, pressed as a browser presses it", async () => {
    const page = await fetch(door.url);
    const actions = [...(await page.text()).matchAll(/action="([^"]+)"/g)].map(([, action]) => action);
    expect(actions).toEqual([`/${SAMPLE.templates[0]!.id}`, `/${OWN.id}`]);
    const pressed = await press(actions[0]!, originOf(page));
    expect([pressed.status, pressed.headers.get("location")]).toEqual([303, LINK]);
  });

  test("it has a button for each template that is switched on, the samples first, their names made safe", async () => {
    const text = await (await fetch(door.url)).text();
    expect(text).toContain("Talk to an &lt;author&#39;s&gt;");
    expect(text.indexOf("order-confirmation")).toBeLessThan(text.indexOf("author"));
    expect(text).not.toContain("switched off");
  });

  test.each(["null", "https://elsewhere.example"])("a form of the origin %s begins nothing", async (origin) => {
    expect((await press(`/${OWN.id}`, origin)).status).toBe(403);
    expect(asked).toEqual([]);
  });

  test("a template that is gone is named so, with those that there are", async () => {
    const gone = await press("/33333333-3333-4333-8333-333333333333", null);
    expect([gone.status, await gone.text()]).toEqual([404, expect.stringContaining("not there any more")]);
  });

  test("who begins more than a person does is told what to do, and from when", async () => {
    const pressed = await Promise.all(Array.from({ length: 40 }, () => press(`/${OWN.id}`, null)));
    const refused = pressed.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(10);
    expect(refused[0]?.headers.get("retry-after")).toBe("60");
    expect(await refused[0]?.text()).toContain("Wait a minute, then press again.");
  });

  test("its policy lets in its own style and icon, and nothing else", async () => {
    const { headers } = await fetch(door.url);
    expect(headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; img-src data:;/,
    );
  });
});
