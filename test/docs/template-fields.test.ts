import { plain, propertiesOf, type Schema } from "../../services/gateway/api/action-schema.ts";
import { DEFAULT_LIMITS, TemplateInput } from "../../shared/contracts/records/template.ts";
import { pageAt } from "./pages.ts";

/** The table "Beside the nodes" of docs/templates.md. */
const section =
  pageAt("docs/templates.md")
    .split(/^## /m)
    .find((text) => text.startsWith("Beside the nodes")) ?? "";
const rows = [...section.matchAll(/^\| `([a-z_.]+)` \| [^|]+ \| ([^|]+) \| ([^|]*) ?\|$/gm)].map(
  ([, name = "", usual = "", bounds = ""]) => ({ name, usual: usual.trim(), bounds: bounds.trim() }),
);
const fields = propertiesOf(plain(TemplateInput));
const limits = propertiesOf(fields["limits"] ?? {});
const schemaOf = (name: string): Schema => (name.startsWith("limits.") ? limits[name.slice(7)] : fields[name]) ?? {};

/** Bounds as the table writes them. */
function boundsOf({ minimum, maximum, maxLength, maxItems }: Schema): string {
  if (typeof minimum === "number") return `${minimum} to ${String(maximum)}`;
  if (typeof maxLength === "number") return `${maxLength} characters`;
  return typeof maxItems === "number" ? `${maxItems}` : "";
}

test("the table has the fields beside the nodes, and every limit, with the bounds and defaults of the contract", () => {
  expect(rows.map(({ name }) => name)).toEqual([
    "language",
    "payload_schema",
    "variables",
    "greeting",
    ...Object.keys(limits).map((name) => `limits.${name}`),
  ]);
  for (const { name, bounds } of rows) expect([name, bounds]).toEqual([name, boundsOf(schemaOf(name))]);
  for (const [name, seconds] of Object.entries(DEFAULT_LIMITS))
    expect(rows.find((row) => row.name === `limits.${name}`)?.usual).toBe(String(seconds));
  expect(rows[0]?.usual).toBe(fields["language"]?.["x-default"]);
});
