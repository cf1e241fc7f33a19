import { MongoClient } from "mongodb";
import { ambiguousZones } from "../../../services/config/configurations/configuration-zones.ts";
import {
  configurationSchema,
  type ConfigurationDoc,
} from "../../../services/config/configurations/configurations.model.ts";
import { asAdmin, asReseller } from "../../../local/harness/stage.ts";
import { openStore } from "../../../shared/database/mongo.ts";
import { configCalls, failing, tenant } from "../fixtures/config-calls.ts";
import { configStage } from "../fixtures/config-stage.ts";

const stage = configStage();
const { save, configure, change } = configCalls(stage);

test("a configuration that was saved with an abbreviation works on, is listed with what it is read as, and is changed to a place", async () => {
  const r = tenant();
  const { id, template_id } = await configure((await save(r)).id, { timezone: "Europe/London" });
  await configure((await save(r)).id, { timezone: "Asia/Kolkata" });
  const client = await MongoClient.connect(stage.uri);
  const store = openStore(stage.uri);
  try {
    const model = store.model<ConfigurationDoc>("configurations", configurationSchema);
    await store.open();
    expect(await ambiguousZones(model)).toEqual([]);
    const kept = client.db().collection<ConfigurationDoc>("configurations");
    const { settings = "" } = (await kept.findOne({ _id: id })) ?? {};
    await kept.updateOne({ _id: id }, { $set: { settings: settings.replace("Europe/London", "BST") } });

    expect(await ambiguousZones(model)).toEqual([
      expect.stringContaining("configurations: "),
      `  ${id}, template ${template_id}: timezone "BST" is read as Asia/Dhaka`,
      expect.stringContaining("PUT /configurations"),
    ]);
    expect((await stage.bus.call("config.getConfiguration", { by: asAdmin, config_id: id })).timezone).toBe("BST");
    expect(await failing(change(asReseller(r), id, { max_retry: 1 }))).toMatchObject({ paths: ["timezone"] });
    await change(asReseller(r), id, { max_retry: 1, timezone: "Europe/London" });
    expect(await ambiguousZones(model)).toEqual([]);
  } finally {
    await store.close();
    await client.close();
  }
});
