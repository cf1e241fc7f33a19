import { generateKeyPairSync } from "node:crypto";
import { MongoClient, type Db } from "mongodb";
import auth from "../../../services/auth/auth.service.ts";
import { MAX_ENDED_SESSIONS } from "../../../services/auth/users/users.model.ts";
import { asAdmin, setStage, standIn, type Stage } from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const PASSWORD = "correct horse battery";
const TTL_MS = 3_600_000;
const clock = virtualClock();
const merchants = standIn("merchants", {
  lookup: () => ({ reseller: true, merchant: true }),
  active: () => ({ active: true }),
});

let stage: Stage;
let client: MongoClient;
let db: Db;
beforeAll(async () => {
  const pem = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const env = { JWT_PRIVATE_KEY: pem, ACCESS_TOKEN_TTL_SECONDS: String(TTL_MS / 1000) };
  stage = await setStage({ services: [auth, merchants], env, clock });
  client = await MongoClient.connect(stage.uri);
  db = client.db();
});
afterAll(async () => {
  await client.close();
  await stage.stop();
});

let count = 0;
async function person() {
  const email = `p${++count}@example.com`;
  const wanted = { email, password: PASSWORD, role: "reseller", reseller_id: "r1" } as const;
  const { id } = await stage.bus.call("auth.createUser", { by: asAdmin, ...wanted });
  const session = async () => (await stage.bus.call("auth.login", { email, password: PASSWORD })).access_token;
  const kept = async () => {
    const user = await db.collection<{ _id: string; ended_sessions?: { jti: string }[] }>("users").findOne({ _id: id });
    return user?.ended_sessions ?? [];
  };
  return { id, session, kept };
}
const logOut = (token: string) => stage.bus.call("auth.logOut", { token });
const isKnown = (token: string) =>
  stage.bus.call("auth.identify", { token }).then(
    () => true,
    () => false,
  );

test("an ended session is kept no longer than its token would have lived", async () => {
  const { session, kept } = await person();
  await logOut(await session());
  expect(await kept()).toHaveLength(1);
  await clock.advance(TTL_MS);
  const next = await session();
  await logOut(next);
  expect(await kept()).toHaveLength(1);
  expect(await isKnown(next)).toBe(false);
});

test("one more ended session than are kept ends all of the user's, and none comes back", async () => {
  const { id, session, kept } = await person();
  const [first, staying] = [await session(), await session()];
  await logOut(first);
  const until = new Date(clock.now().getTime() + TTL_MS);
  const ended = Array.from({ length: MAX_ENDED_SESSIONS - 1 }, (_, i) => ({ jti: `ended-${i}`, until }));
  await db
    .collection<{ _id: string; ended_sessions: object[] }>("users")
    .updateOne({ _id: id }, { $push: { ended_sessions: { $each: ended } } });
  expect([await isKnown(staying), (await kept()).length]).toEqual([true, MAX_ENDED_SESSIONS]);
  await logOut(await session());
  expect([await isKnown(first), await isKnown(staying), (await kept()).length]).toEqual([false, false, 0]);
  expect(await isKnown(await session())).toBe(true);
});

test("of two changes of a password at once one takes effect, and the other is told", async () => {
  const { session } = await person();
  const token = await session();
  const change = (new_password: string) =>
    stage.bus.call("auth.changePassword", { token, current_password: PASSWORD, new_password }).then(
      () => "changed",
      (error: { type: string }) => error.type,
    );
  const answers = (await Promise.all([change("the first new one"), change("the second new one")])).sort();
  expect(answers.filter((said) => said === "changed")).toHaveLength(1);
  expect(["BUSY", "INVALID_CREDENTIALS", "UNAUTHENTICATED"]).toContain(answers.find((said) => said !== "changed"));
});
