import { createConfig, lintFromString } from "@redocly/openapi-core";
import { openApi } from "../../../services/gateway/docs/openapi.ts";
import { ROUTES } from "../../../services/gateway/routes/index.ts";

/** The API has these next to /leads/{lead_id}/…; OpenAPI matches the literal segment first. */
const GIVEN_BY_THE_CONTRACT = ["/leads/request/{request_id}", "/leads/recording/{call_sid}"];

async function lint(document: object): Promise<string[]> {
  const problems = await lintFromString({
    source: JSON.stringify(document),
    absoluteRef: "openapi.json",
    config: await createConfig({ extends: ["recommended"] }),
  });
  return problems
    .filter((p) => p.ruleId !== "no-ambiguous-paths" || !GIVEN_BY_THE_CONTRACT.some((path) => p.message.includes(path)))
    .map((p) => `${p.severity} ${p.ruleId} ${p.location.map((l) => l.pointer ?? "").join(" ")}: ${p.message}`);
}

test("the document passes Redocly's recommended rules without an error or a warning", async () => {
  expect(await lint(openApi(ROUTES, "2026-11-21"))).toEqual([]);
});

test("the linter notices what is wrong", async () => {
  const document = { ...openApi(ROUTES, "2026-11-21"), security: [{ nobodys: [] }], tags: "none" };
  expect(await lint(document)).toEqual(
    expect.arrayContaining([expect.stringMatching(/^error security-defined/), expect.stringMatching(/^error struct/)]),
  );
});
