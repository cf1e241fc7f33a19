import type { LeadDoc } from "../../services/leads/leads.model.ts";
import { lookAtLink, type LinkDeps } from "../../services/leads/sessions/join-link.ts";
import type { Bus } from "../../shared/bus/bus.ts";
import { fail } from "../../shared/errors.ts";
import { sha256 } from "../../shared/ids.ts";

const LINK = "a-link-of-24-letters-and";
const NAME = "Northwind Outfitters";

/** What the page is told where the lead of the link is this one; null: there is none. */
function look(lead: Partial<LeadDoc> | null, named: () => string | null = () => NAME) {
  const asked: unknown[] = [];
  const call = (action: string, params: unknown): Promise<unknown> => {
    asked.push([action, params]);
    return Promise.resolve().then(() => ({ name: named() }));
  };
  const byLink = (hash: string): Promise<Partial<LeadDoc> | null> =>
    Promise.resolve(hash === sha256(LINK) ? lead : null);
  // reading by a link is all that is done with the leads
  const leads = { byLink } as unknown as LinkDeps["leads"];
  return lookAtLink({ leads }, { call } as unknown as Bus, { link: LINK }).then((seen) => ({ seen, asked }));
}
const LEAD = { reseller_id: "r", merchant_id: "m", status: "BACKLOG" } as const;

describe("the page behind a link, before its button is pressed", () => {
  test.each([
    ["leads nowhere", null, { refused: "LEAD_NOT_FOUND", name: null }],
    ["waits", LEAD, { refused: null, name: NAME }],
    ["somebody has joined", { ...LEAD, status: "PROCESSING" }, { refused: "SESSION_TAKEN", name: NAME }],
    ["is over", { ...LEAD, status: "FINISHED" }, { refused: "SESSION_OVER", name: NAME }],
    ["is a reseller's own", { ...LEAD, merchant_id: null }, { refused: null, name: null }],
  ] as const)("its session %s", async (_what, lead, told) => {
    expect((await look(lead)).seen).toEqual(told);
  });

  test("asks for the merchant's name alone, and does without it", async () => {
    expect((await look(LEAD)).asked).toEqual([["merchants.named", { reseller_id: "r", merchant_id: "m" }]]);
    const { seen } = await look(LEAD, () => fail("STORE_UNAVAILABLE", "away"));
    expect(seen).toEqual({ refused: null, name: null });
  });
});
