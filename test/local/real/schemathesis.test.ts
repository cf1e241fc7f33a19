import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../../local/tools/stack/project-root.ts";
import { differences, readSummary } from "../../real/schemathesis-step.ts";

const summary = (more: string): string => `
API Operations:
  Selected: 65/66
  Tested: 65

Test Phases:
  ✅ Examples
  ❌ Coverage

${more}
Test cases:
  5130 generated, 2 found 2 unique failures
`;

describe("what schemathesis says", () => {
  test("every operation that was tested has passed where nothing was found", () => {
    expect(readSummary(summary(""), 0)).toEqual({ passed: 65, failed: 0, skipped: [], said: "" });
  });
  test("failures and errors count, and are told with the operation", () => {
    const found = `____ POST /leads/bulk ____
1. Test Case ID: hKMiUx

- ST103 Undocumented status code

    Received: 422
${summary("Failures:\n  ❌ ST101 Server error: 1\n  ❌ ST103 Undocumented status code: 2\n\nErrors:\n  🚫 Serialization not possible: 1\n")}`;
    expect(readSummary(found, 1)).toEqual({
      passed: 65,
      failed: 4,
      skipped: [],
      said: "____ POST /leads/bulk ____\n- ST103 Undocumented status code\n    Received: 422",
    });
  });
  test("a run that ended badly, or tested nothing, has failed", () => {
    expect(readSummary(summary(""), 2)).toMatchObject({ failed: 1 });
    expect(readSummary("", 0)).toMatchObject({ passed: 0, failed: 1 });
  });
});

test("another tenant's records are compared byte for byte", () => {
  expect(differences({ a: "1", b: "2" }, { a: "1", b: "2 " })).toEqual(["b"]);
  expect(differences({ a: "1" }, {})).toEqual(["a"]);
});

test("every package that is installed is pinned with its hashes", () => {
  const text = readFileSync(join(ROOT, "local/real/schemathesis/requirements.txt"), "utf8");
  const packages = text.split(/\n(?=[a-z])/).filter((entry) => !entry.startsWith("#"));
  expect(packages.length).toBeGreaterThan(20);
  for (const entry of packages)
    expect(entry).toMatch(/^[a-z0-9_.-]+==\S+ \\\n( +--hash=sha256:[0-9a-f]{64}( \\)?\n?)+/);
});
