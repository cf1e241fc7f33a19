import { randomUUID } from "node:crypto";
import leads from "../../../services/leads/leads.service.ts";
import merchants from "../../../services/merchants/merchants.service.ts";
import { EVENTS } from "../../../shared/contracts/events/catalogue.ts";
import { CloudEvent } from "../../../shared/contracts/events/event-type.ts";
import { issueChecker } from "../../../shared/validator.ts";
import {
  asAdmin,
  asMerchant,
  asReseller,
  asUser,
  setStage,
  standIn,
  type Stage,
} from "../../../local/harness/stage.ts";
import { toldSubjects } from "../../fixtures/told-subjects.ts";

const bus = { url: "Fake", namespace: `pause-events-${randomUUID()}` };
/** The owner of pauses, and whoever takes their events, each a node with a database of its own: what goes between them is JSON. */
let owner: Stage;
let taker: Stage;
beforeAll(async () => {
  owner = await setStage({
    services: [
      merchants,
      standIn("auth", { record: () => ({}) }),
      standIn("config", { owns: () => ({ any: false }), dropSecrets: () => ({}) }),
      standIn("webhook", { dropEndpoints: () => ({}) }),
    ],
    bus,
  });
  taker = await setStage({ services: [leads], bus });
});
afterAll(async () => {
  await owner.stop();
  await taker.stop();
});

const { read, told } = toldSubjects(() => owner);
async function world(): Promise<{ r: string; m: string }> {
  const { id: r } = await owner.bus.call("merchants.createReseller", { by: asAdmin, name: "R" });
  const wanted = { name: "M", reseller_id: r, contact_email: "desk@example.com" };
  return { r, m: (await owner.bus.call("merchants.create", { by: asAdmin, ...wanted })).id };
}

test("a merchant's pause and its end are told once, to the merchant, its reseller and admins; a second pause is none", async () => {
  const { r, m } = await world();
  const by = asReseller(r);
  for (const reason of ["they asked us to stop", "again"])
    await owner.bus.call("merchants.pause", { by, id: m, reason });
  for (let times = 0; times < 2; times++) await owner.bus.call("merchants.resume", { by, id: m });
  await owner.bus.call("merchants.pause", { by, id: m });
  const events = await told(`pause:${m}`, 3);
  expect(events.map(({ seq, data, reseller, merchant }) => [seq, data, reseller, merchant])).toEqual(
    [true, false, true].map((paused, i) => [i + 1, { scope: "merchant", paused }, r, m]),
  );
  for (const event of events) {
    expect(issueChecker(CloudEvent)(event)).toEqual([]);
    expect(issueChecker(EVENTS["pause.changed"].data)(event.data)).toEqual([]);
    expect(event.source).toBe("/callagent/pauses");
  }
  expect(JSON.stringify(events)).not.toContain("asked");
  const other = await world();
  const seen = await Promise.all(
    [by, asMerchant(r, m), asUser(r, m), asMerchant(r, other.m), asReseller(other.r), asMerchant(other.r, other.m)].map(
      async (asker) => (await read(asker, `pause:${m}`)).length,
    ),
  );
  expect(seen).toEqual([3, 3, 3, 0, 0, 0]);
});

test("of many who pause the deployment at once one is told, and to admins alone", async () => {
  const { r, m } = await world();
  const pause = () => owner.bus.call("merchants.pauseDeployment", { by: asAdmin, reason: "an outage" });
  await Promise.all([pause(), pause(), pause()]);
  await owner.bus.call("merchants.resumeDeployment", { by: asAdmin });
  await pause();
  await owner.bus.call("merchants.resumeDeployment", { by: asAdmin });
  const events = await told("pause:deployment", 4);
  expect(events.map(({ seq, data, reseller }) => [seq, data["scope"], data["paused"], reseller])).toEqual(
    [true, false, true, false].map((paused, i) => [i + 1, "deployment", paused, undefined]),
  );
  for (const by of [asReseller(r), asMerchant(r, m), asUser(r, m)])
    expect(await read(by, "pause:deployment")).toEqual([]);
});

test("a merchant that is deleted right after its pause leaves no event untold", async () => {
  const { r, m } = await world();
  await owner.bus.call("merchants.pause", { by: asReseller(r), id: m });
  await owner.bus.call("merchants.remove", { by: asReseller(r), id: m });
  expect((await told(`pause:${m}`, 1)).map(({ data }) => data["paused"])).toEqual([true]);
});
