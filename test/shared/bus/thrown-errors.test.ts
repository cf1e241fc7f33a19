import { randomUUID } from "node:crypto";
import mongoose from "mongoose";
import { startNats, type NatsServer } from "../../../local/harness/nats-server.ts";
import { setStage, standIn, type Stage } from "../../../local/harness/stage.ts";
import { codeOf, Failure } from "../../../shared/errors.ts";
import { isRecord } from "../../../shared/json.ts";

const { MongoBulkWriteError, MongoNetworkError } = mongoose.mongo;
/** What the driver throws where an insert of several documents does not reach the server. */
const unreached = (): Error =>
  Reflect.construct(MongoBulkWriteError, [
    new MongoNetworkError("connect ECONNREFUSED 127.0.0.1:27017"),
    { getWriteConcernError: () => undefined },
  ]) as Error;
let thrown: Error;
let nats: NatsServer;
let here: Stage;
let there: Stage;

beforeAll(async () => {
  nats = await startNats();
  const bus = { url: nats.url, namespace: `thrown-${randomUUID()}` };
  const fails = (): never => {
    throw thrown;
  };
  there = await setStage({
    bus,
    services: [standIn("leads", { inFlight: fails, heads: () => Promise.reject(thrown) })],
  });
  here = await setStage({ bus, services: [standIn("config", {})] });
  await here.broker.waitForServices("leads");
});
afterAll(async () => {
  await here?.stop();
  await there?.stop();
  await nats?.stop();
});

const told = async (asked: Promise<unknown>): Promise<unknown[]> =>
  asked.then(
    () => ["nothing"],
    (error: unknown) => [isRecord(error) && error["name"], codeOf(error)],
  );
const ask = (stage: Stage) => [
  told(stage.bus.call("leads.inFlight", {})),
  told(stage.bus.call("leads.heads", { until: new Date(0).toISOString(), own: true, after: null, limit: 1 })),
];

test("an insert of several documents that did not reach the database is its absence to whoever asked, in the same process and over the bus", async () => {
  thrown = unreached();
  for (const stage of [there, here])
    for (const said of await Promise.all(ask(stage))) expect(said).toEqual(["MongoNetworkError", "STORE_UNAVAILABLE"]);
});

test("a failure of ours stays what it is", async () => {
  thrown = new Failure("LEAD_NOT_FOUND", "for this test");
  for (const stage of [there, here])
    for (const [, code] of await Promise.all(ask(stage))) expect(code).toBe("LEAD_NOT_FOUND");
});
