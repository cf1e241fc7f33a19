import { readEnv } from "../../../shared/process/env.ts";
import { errorForLog, rootLog } from "../../../shared/process/log.ts";

/** What a line of the log of a service holds for these fields. */
function lineOf(fields: Record<string, unknown>): Record<string, unknown> {
  const lines: string[] = [];
  const log = rootLog(readEnv({ NODE_ENV: "test" }), { write: (line) => void lines.push(line) });
  log.child({ service: "leads" }).info(fields, "said");
  const {
    level: _level,
    time: _time,
    node: _node,
    service: _service,
    msg: _msg,
    ...rest
  } = JSON.parse(lines[0] ?? "{}");
  return rest;
}

describe("figures in a line of the log", () => {
  test("have three decimals at most, in records and lists too", () => {
    expect(lineOf({ event: "one", total_ms: 179.96790299999975, parts: { ears_ms: [0.0004, -1.23456] } })).toEqual({
      event: "one",
      total_ms: 179.968,
      parts: { ears_ms: [0, -1.235] },
    });
  });

  test("that are whole stay exact, and so do texts, dates, null and what is hidden", () => {
    const at = new Date(0);
    const fields = { epoch_ms: 1_795_788_000_123, text: "1.23456789", at, none: null, token: 1.23456, yes: true };
    expect(lineOf(fields)).toEqual({ ...fields, at: at.toISOString(), token: "[hidden]" });
  });

  test("an error keeps its name, message and stack", () => {
    const error = new RangeError("took 1.23456 s");
    expect(lineOf({ error: errorForLog(error) })).toEqual({
      error: { name: "RangeError", message: "took 1.23456 s", stack: error.stack },
    });
    expect(lineOf({ err: error })["err"]).toMatchObject({ type: "RangeError", message: "took 1.23456 s" });
  });

  test("a record that holds itself does not stop the line", () => {
    const round: Record<string, unknown> = { ms: 1.23456 };
    round["self"] = round;
    expect(lineOf({ round })["round"]).toMatchObject({ ms: 1.235 });
  });
});
