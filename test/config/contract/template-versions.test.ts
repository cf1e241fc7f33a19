import { asAdmin, asMerchant, asReseller, asUser } from "../../../local/harness/stage.ts";
import { configCalls, failing, tenant } from "../fixtures/config-calls.ts";
import { configStage } from "../fixtures/config-stage.ts";

const stage = configStage();
const { save, put, versions } = configCalls(stage);

describe("versions", () => {
  test("come newest first in pages that stay right while others are saved; strangers see none", async () => {
    const r = tenant();
    const { id } = await save(r, { merchant_id: `${r}.m` });
    for (let i = 2; i <= 5; i++) await put(asAdmin, id, { name: `v${i}` });
    const first = await versions(asUser(r, `${r}.m`), id, { limit: 2 });
    await put(asAdmin, id, { name: "v6" });
    const second = await versions(asUser(r, `${r}.m`), id, { limit: 2, cursor: first.next_cursor! });
    const third = await versions(asUser(r, `${r}.m`), id, { limit: 2, cursor: second.next_cursor! });
    expect([first, second, third].map((p) => p.versions.map((v) => v.version))).toEqual([[5, 4], [3, 2], [1]]);
    expect([first.count, third.count, third.next_cursor]).toEqual([2, 1, null]);
    expect(first.versions[0]).toMatchObject({ id, name: "v5", reseller_id: r });
    for (const by of [asReseller(tenant()), asMerchant(r, `${r}.n`)])
      expect((await failing(versions(by, id))).code).toBe("TEMPLATE_NOT_FOUND");
  });

  test("a page of large ones ends before it is too large for the bus", async () => {
    const { id } = await save(tenant());
    const nodes = [
      {
        name: "a",
        say: "Hello.",
        on_enter: [{ type: "end_call" as const }],
        functions: Array.from({ length: 30 }, (_, i) => ({
          name: `f${i}`,
          description: "d".repeat(2000),
          outcome: "x",
        })),
      },
    ];
    for (let i = 0; i < 16; i++) await put(asAdmin, id, { nodes, name: `v${i}` });
    const seen: number[] = [];
    let pages = 0;
    for (let cursor: string | null | undefined; cursor !== null; pages++) {
      const page: { versions: { version: number }[]; next_cursor: string | null } = await versions(asAdmin, id, {
        limit: 500,
        ...(cursor === undefined ? {} : { cursor }),
      });
      expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThan(512 * 1024);
      seen.push(...page.versions.map((v) => v.version));
      cursor = page.next_cursor;
    }
    expect([pages, seen]).toEqual([3, Array.from({ length: 17 }, (_, i) => 17 - i)]);
  });
});
