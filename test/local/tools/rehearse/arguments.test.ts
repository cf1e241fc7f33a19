import { readCommand, UsageError } from "../../../../shared/process/command-line.ts";
import { REHEARSE, rehearsalOf } from "../../../../local/tools/rehearse/arguments.ts";

const now = new Date("2026-11-21T12:00:00Z");
const read = (line: string, token?: string) =>
  rehearsalOf(readCommand(REHEARSE, line === "" ? [] : line.split(" "))!, now, token);

describe("the command line of a rehearsal", () => {
  test("defaults", () => {
    expect(read("--template reminder --leads 500")).toEqual({
      template: "reminder",
      to: null,
      json: false,
      url: null,
      token: null,
      calls_per_second: null,
      price_per_minute: null,
      rehearsal: {
        at: now,
        leads: 500,
        seed: 1,
        spread: 0.5,
        answer_rate: 0.6,
        call_seconds: 60,
        ring_seconds: 10,
        ring_timeout_seconds: 40,
      },
    });
  });

  test("everything given", () => {
    expect(
      read(
        "--template x --leads 1 --at 2026-11-23T08:00:00+01:00 --answer-rate 0.25 --call-seconds 90 --ring-seconds 0 --ring-timeout 30 --calls-per-second 0 --price-per-minute 0.02 --to +14155550123 --seed 9 --url https://a.example/api/ --token t",
      ),
    ).toEqual({
      template: "x",
      to: "+14155550123",
      json: false,
      url: "https://a.example/api",
      token: "t",
      calls_per_second: 0,
      price_per_minute: 0.02,
      rehearsal: {
        at: new Date("2026-11-23T07:00:00Z"),
        leads: 1,
        seed: 9,
        spread: 0.5,
        answer_rate: 0.25,
        call_seconds: 90,
        ring_seconds: 0,
        ring_timeout_seconds: 30,
      },
    });
    expect(read("--template x --leads 1 --url https://a.example", "from the environment")).toMatchObject({
      token: "from the environment",
    });
  });

  test.each([
    ["", /--template is missing/],
    ["--template x", /--leads is missing/],
    ["--template x --leads 0", /--leads must be a whole number from 1 to 1000000, not "0"/],
    ["--template x --leads 1.5", /--leads must be a whole number/],
    ["--template x --leads many", /not "many"/],
    ["--template x --leads 1e9", /--leads must be/],
    ["--template x --leads 1 --at tomorrow", /--at must be a time/],
    ["--template x --leads 1 --at 2026-11-23T08:00:00", /with its offset/],
    ["--template x --leads 1 --at 2026-13-45T08:00:00Z", /--at must be/],
    ["--template x --leads 1 --answer-rate 60", /--answer-rate must be a number from 0 to 1/],
    ["--template x --leads 1 --call-seconds 0", /--call-seconds must be a number from 1/],
    ["--template x --leads 1 --calls-per-second 201", /--calls-per-second/],
    ["--template x --leads 1 --price-per-minute -1", /--price-per-minute/],
    ["--template x --leads 1 --to 12345", /--to must be a phone number/],
    ["--template x --leads 1 --url calls.example.com", /--url must be the API's address/],
    ["--template x --leads 1 --url https://a.example", /--url needs a token/],
    ["--template x --leads 1 --fast", /There is no option --fast.*--help/],
    ["--template x --leads 1 more", /--help/],
  ])("%s", (line, said) => {
    expect(() => read(line)).toThrow(UsageError);
    expect(() => read(line)).toThrow(said);
  });
});
