import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { IS_LONG_FORM } from "../fixtures/long-form.ts";
import { runScript } from "./fixtures/npm-scripts.ts";

const LONG_MS = 120_000;

describe("npm run demo", () => {
  // the other carriers lead calls to the same ends in e2e/second-and-third-carrier too
  test.each(IS_LONG_FORM ? ["twilio", "all"] : ["twilio"])(
    "the shipped leads all end as expected (--carrier %s)",
    async (carrier) => {
      const r = runScript("local/tools/demo.ts", ["--carrier", carrier], {});
      // together, so that a failure shows which lead ended how
      expect([await r.ended, r.output()]).toEqual([0, expect.stringContaining("40 of 40 leads ended as expected")]);
      expect(r.output()).toMatch(/Transcript of demo-\d+/);
    },
    LONG_MS,
  );

  test(
    "a carrier that there is not is refused before anything starts",
    async () => {
      const r = runScript("local/tools/demo.ts", ["--carrier", "vonage"], {});
      expect(await r.ended).toBe(2);
      expect(r.output()).toContain('--carrier must be one of twilio, plivo, telnyx, all, not "vonage"');
      expect(r.output()).not.toContain("starting callagent");
    },
    LONG_MS,
  );

  test(
    "a lead that ends otherwise makes it fail and says which",
    async () => {
      const file = join(mkdtempSync(join(tmpdir(), "callagent-csv-")), "mine.csv");
      writeFileSync(
        file,
        "request_id,customer_mobile_number,customer_name,order_id,amount,delivery_date,expected\nmine-1,+14155552606,Ada,A-1,1.00,Monday,confirmed\n",
      );
      const r = runScript("local/tools/demo.ts", [file], {});
      expect(await r.ended).toBe(1);
      expect(r.output()).toContain("line 2 (mine-1): expected confirmed, got busy");
    },
    LONG_MS,
  );

  test.each([
    ["a missing column", "request_id,customer_mobile_number\na,+14155552601\n", "expected missing"],
    [
      "a short row",
      "request_id,customer_mobile_number,expected\na,+14155552601\n",
      "line 2: 2 values, the header names 3",
    ],
    [
      "a repeated request_id",
      "request_id,customer_mobile_number,expected\na,+14155552601,confirmed\na,+14155552601,confirmed\n",
      "line 3: request_id a stands twice",
    ],
    ["no rows", "request_id,customer_mobile_number,expected\n", "has no rows"],
    ["broken quotes", 'request_id,customer_mobile_number,expected\n"a,+1,confirmed\n', "is no CSV file"],
  ])(
    "a file with %s is refused before anything starts",
    async (_name, text, said) => {
      const file = join(mkdtempSync(join(tmpdir(), "callagent-csv-")), "bad.csv");
      writeFileSync(file, text);
      const r = runScript("local/tools/demo.ts", [file], {});
      expect(await r.ended).toBe(2);
      expect(r.output()).toContain(said);
      expect(r.output()).not.toContain("starting callagent");
    },
    LONG_MS,
  );

  test(
    "a file that is not there",
    async () => {
      const r = runScript("local/tools/demo.ts", ["/nowhere/leads.csv"], {});
      expect(await r.ended).toBe(2);
      expect(r.output().trim()).toBe("/nowhere/leads.csv can't be read (ENOENT).");
    },
    LONG_MS,
  );
});
