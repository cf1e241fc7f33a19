import { MongoClient } from "mongodb";
import webhook from "../../../services/webhook/webhook.service.ts";
import { asAdmin, freshDatabase, setStage, standIn, type Stage } from "../../../local/harness/stage.ts";
import { codeOf } from "../../../shared/errors.ts";

/** Signing secrets as they lie in the database, before and after the deployment has a key to encrypt them with. */
const R = "11111111-1111-4111-8111-111111111111";
const [ONE, TWO] = [1, 2].map((of) => Buffer.alloc(32, of).toString("base64"));

test("signing secrets are encrypted from the first SECRETS_KEY on, stay the same to receivers, and outlive a change of keys", async () => {
  const database = await freshDatabase();
  const client = await MongoClient.connect(database.uri);
  const stored = async (): Promise<string[]> => {
    const all = client.db().collection<{ _id: string; secrets: { value: string }[] }>("webhook_secrets");
    return (await all.find().toArray()).flatMap((doc) => doc.secrets.map((s) => s.value));
  };
  /** Does this with a process of these keys. */
  const within = async <T>(keys: Record<string, string | undefined>, run: (stage: Stage) => Promise<T>): Promise<T> => {
    const env = Object.fromEntries(Object.entries(keys).flatMap(([name, value]) => (value ? [[name, value]] : [])));
    const stage = await setStage({
      services: [
        webhook,
        standIn("merchants", { lookup: () => ({ reseller: true, merchant: true }) }),
        standIn("auth", { record: () => ({}) }),
      ],
      env: { ...env, MONGODB_URI: database.uri },
    });
    return run(stage).finally(() => stage.stop());
  };
  const owner = { by: asAdmin, reseller_id: R };
  const read = async (stage: Stage) => (await stage.bus.call("webhook.secret", owner)).secret;
  const rotate = async (stage: Stage) => (await stage.bus.call("webhook.rotateSecret", owner)).secret;
  try {
    const first = await within({}, read);
    expect(await stored()).toEqual([first]);
    const second = await within({ SECRETS_KEY: ONE }, async (stage) => {
      expect(await read(stage)).toBe(first);
      return rotate(stage);
    });
    const sealed = await stored();
    expect(sealed.map((value) => value.startsWith("sealed:v1:"))).toEqual([true, true]);
    expect(sealed.join()).not.toContain(first.slice("whsec_".length));
    expect(await within({ SECRETS_OTHER_KEY: ONE }, read)).toBe(second);
    expect(await within({ SECRETS_KEY: TWO, SECRETS_OTHER_KEY: ONE }, read)).toBe(second);
    const refused = await within({ SECRETS_KEY: TWO }, (stage) => read(stage).catch((error: unknown) => codeOf(error)));
    expect([refused, await stored()]).toEqual(["NOT_AVAILABLE", sealed]);
  } finally {
    await client.close();
    await database.drop();
  }
});
