import { successRows } from "../fixtures/success-rows.ts";
import { SuccessStage } from "../fixtures/success-stage.ts";

const s = new SuccessStage();
beforeAll(() => s.start());
afterAll(() => s.http.stop());

const LEAD_FIELDS = [
  "id",
  "reseller_id",
  "merchant_id",
  "template",
  "request_id",
  "status",
  "outcome",
  "attempt_count",
  "call_id",
  "call_initiated_time",
  "call_end_time",
  "recording_url",
  "cost",
  "execution_mode",
  "call_direction",
  "outbound_number_id",
  "trace_scores",
  "payload",
  "metaData",
  "created_at",
  "updated_at",
];

describe("every endpoint answers with its status and fields", () => {
  test.each(successRows(s).map((row) => [row[0], row[1], row] as const))(
    "%s -> %i",
    async (_endpoint, status, [, , ask, shape, then]) => {
      const answer = await ask();
      expect([answer.status, answer.text.slice(0, status === answer.status ? 0 : 600)]).toEqual([status, ""]);
      expect(answer.body).toMatchObject(shape);
      if (status === 204) expect(answer.text).toBe("");
      expect(answer.headers.get("x-api-version")).toMatch(/^\d{4}-\d\d-\d\d$/);
      then?.(answer);
    },
  );

  test("the lead record has every documented field, even those not known yet", async () => {
    expect(Object.keys((await s.http.ask("GET", `/leads/${s.made["lead_id"]}`)).body)).toEqual(
      expect.arrayContaining(LEAD_FIELDS),
    );
  });
  test("an aborted lead is FINISHED, aborting it again says already_aborted", async () => {
    expect((await s.http.ask("GET", `/leads/${s.made["lead_id"]}`)).body).toMatchObject({
      status: "FINISHED",
      outcome: "ABORTED",
      metaData: { cancellation: { reason: "changed" } },
    });
    expect(
      (
        await s.http.ask("POST", "/lead/abort", {
          body: { leads: [{ lead_id: s.made["lead_id"], cancellation_reason: "x" }] },
        })
      ).body,
    ).toMatchObject({ leads: [{ status: "already_aborted" }] });
  });
});
