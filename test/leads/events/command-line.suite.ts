import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { EVENT_STREAM } from "../../../shared/contracts/events/event-subjects.ts";
import { ROOT } from "../../house/sources.ts";
import { readerStage, type ReaderStage } from "./fixtures/reader-stage.ts";

// The `nats` command line, which `npm run test:real -- nats-cli` installs: docs/events.md says how a reader uses it.

const run = promisify(execFile);
const COMMAND = /```sh\n(nats [^`]*)```/.exec(readFileSync(join(ROOT, "docs/events.md"), "utf8"))?.[1] ?? "";
/** Where the program is, as the part `nats` says. */
const CLI = process.env["NATS_CLI"] ?? "";

let stage: ReaderStage;
beforeAll(async () => {
  stage = await readerStage();
  await stage.forward("all,acme=acme-id");
});
afterAll(() => stage.stop());

/** The lines that the command of the page prints, run as `reader`. */
async function printed(reader: string, command = COMMAND): Promise<string[]> {
  const text = command
    .replace("nats://nats:4222", stage.url)
    .replace("reader-billing.nk", stage.keyOf(reader))
    .replaceAll("billing", reader)
    .replace("--count 10", "--count 2");
  const { stdout } = await run("sh", ["-c", text], {
    env: { ...process.env, PATH: `${dirname(CLI)}:${process.env["PATH"] ?? ""}` },
  });
  return stdout.split("\n").filter((line) => line !== "");
}
const requestOf = (line: string): string => (JSON.parse(line) as { data: { request_id: string } }).data.request_id;

test("the command of docs/events.md prints a tenant's events and no others, and they are taken", async () => {
  expect((await printed("acme")).map(requestOf)).toEqual(["order-0", "order-2"]);
  const consumer = await (
    await stage.connectAs("acme")
  )
    .jetstream({ checkAPI: false })
    .consumers.get(EVENT_STREAM, "acme");
  expect(await consumer.info()).toMatchObject({ num_pending: 0, num_ack_pending: 0 });
});

test("it goes on where the reader was", async () => {
  expect((await printed("all")).map(requestOf)).toEqual(["order-0", "order-1"]);
  expect((await printed("all")).map(requestOf)).toEqual(["order-2", "order-3"]);
});

test("it is refused what is not this reader's", () =>
  expect(printed("acme", COMMAND.replace(`${EVENT_STREAM} billing`, `${EVENT_STREAM} all`))).rejects.toThrow(
    /ermissions|timeout|no responders/i,
  ));
