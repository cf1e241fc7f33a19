import { MongoClient } from "mongodb";
import webhook from "../../../services/webhook/webhook.service.ts";
import { endpointSchema } from "../../../services/webhook/endpoints/endpoints.model.ts";
import { resealEndpointSecrets } from "../../../services/webhook/endpoints/endpoints.repository.ts";
import { asAdmin, freshDatabase, setStage, standIn, type Stage } from "../../../local/harness/stage.ts";
import { openStore } from "../../../shared/database/mongo.ts";
import { randomIds } from "../../../shared/ids.ts";
import { secretSeal } from "../../../shared/process/secret-seal.ts";

const R = "11111111-1111-4111-8111-111111111111";
const [ONE, TWO] = [Buffer.alloc(32, 1).toString("base64"), Buffer.alloc(32, 2).toString("base64")];
const services = () => [
  webhook,
  standIn("leads", { eventsAfter: () => ({ events: [], next: 0, more: false, expired: false }) }),
  standIn("merchants", { lookup: () => ({ reseller: true, merchant: true }) }),
  standIn("auth", { record: () => ({}) }),
];
const create = (stage: Stage, url: string) =>
  stage.bus.call("webhook.createEndpoint", { by: asAdmin, reseller_id: R, url, types: ["lead.finished"] });

test("private, loopback and metadata addresses, names without a dot and http are refused, when an endpoint is made and when it changes", async () => {
  const stage = await setStage({ services: services() });
  try {
    const refused = { type: "WEBHOOK_ADDRESS_REFUSED", data: { errors: [{ path: "url" }] } };
    const { id } = await create(stage, "https://hooks.example.com/");
    for (const url of [
      "https://127.0.0.1/",
      "https://10.1.2.3/",
      "https://192.168.0.1/",
      "https://169.254.169.254/latest/meta-data",
      "https://[::1]/",
      "https://localhost/",
      "http://hooks.example.com/",
      "ftp://hooks.example.com/",
      "no address",
    ]) {
      await expect(create(stage, url)).rejects.toMatchObject(refused);
      await expect(stage.bus.call("webhook.updateEndpoint", { by: asAdmin, id, url })).rejects.toMatchObject(refused);
    }
    expect((await stage.bus.call("webhook.getEndpoint", { by: asAdmin, id })).url).toBe("https://hooks.example.com/");
  } finally {
    await stage.stop();
  }
});

test("an endpoint's secret lies sealed in its own document, where there is a key, and is sealed anew under another one", async () => {
  const database = await freshDatabase();
  const client = await MongoClient.connect(database.uri);
  const stored = async (): Promise<string[]> => {
    const all = client.db().collection<{ _id: string; secrets: { value: string }[] }>("webhook_endpoints");
    return (await all.find().toArray()).flatMap((doc) => doc.secrets.map((s) => s.value));
  };
  try {
    const stage = await setStage({ services: services(), env: { SECRETS_KEY: ONE, MONGODB_URI: database.uri } });
    const { secret } = await create(stage, "https://hooks.example.com/").finally(() => stage.stop());
    const [before = ""] = await stored();
    expect(before).toMatch(/^sealed:v1:/);
    expect(before).not.toContain(secret.slice("whsec_".length));
    const store = openStore(database.uri);
    await store.open();
    const seal = secretSeal({ SECRETS_KEY: TWO, SECRETS_OTHER_KEY: ONE }, randomIds);
    const count = await resealEndpointSecrets(store.model("webhook_endpoints", endpointSchema), seal);
    await store.close();
    const [after = ""] = await stored();
    expect([count, after === before, after.startsWith("sealed:v1:")]).toEqual([1, false, true]);
  } finally {
    await client.close();
    await database.drop();
  }
});
