import { createPrivateKey } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createContext, runInContext } from "node:vm";
import { isCollection, isScalar, parseDocument, visit } from "yaml";
import { makeSecretFiles, SECRET_FILES } from "../../deploy/docker/secret-files.ts";
import { makeBusUsers } from "../../shared/bus/bus-keys.ts";
import { contracts } from "../../shared/contracts/index.ts";
import { VARIABLES, type Variable } from "../../shared/process/variables.ts";
import { ROOT } from "../house/sources.ts";
import { interpolate, read, readCompose, variablesOf } from "./compose-file.ts";

/** What docker-compose.yml keeps secret, and how its database comes to its users. Docker, Compose and MongoDB themselves are not run here. */
const folders: string[] = [];
const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "callagent-secrets-"));
  folders.push(folder);
  return folder;
};
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

test("no secret is in a container's environment but those of the room server and of the simulators", () => {
  const secret = Object.entries<Variable>(VARIABLES).flatMap(([name, v]) => (v.secret ? [name] : []));
  const open = Object.entries(readCompose().services).flatMap(([name, { environment = {} }]) =>
    [...secret, "MONGODB_ROOT_PASSWORD"]
      .filter((s) => s in environment && s !== "TRANSPORTER")
      .map((s) => `${name} ${s}`),
  );
  expect(open).toEqual(["gateway LIVEKIT_API_SECRET", "conversation LIVEKIT_API_SECRET", "carrier TWILIO_AUTH_TOKEN"]);
  expect(readCompose().services["gateway"]?.environment?.["TRANSPORTER"]).not.toContain("@");
});

test("the files are what npm run compose:secrets makes; a service sees its own alone, the NATS server none", () => {
  const compose = readCompose();
  const [users, folder] = [newFolder(), newFolder()];
  makeBusUsers(users, "callagent");
  makeSecretFiles(folder, {});
  const fileOf = ({ file }: { file: string }): string =>
    interpolate(file, { NATS_USERS: users, SECRETS_FOLDER: folder });
  const made = [users, folder].flatMap((at) => readdirSync(at).map((name) => join(at, name)));
  const { "nats-server": server, "mongo-ready": ready, ...others } = compose.configs;
  for (const ours of [server, ready]) expect(existsSync(join(ROOT, ours?.file ?? "?"))).toBe(true);
  expect([...Object.values(compose.secrets), ...Object.values(others)].map(fileOf).sort()).toEqual(made.sort());
  const names = Object.keys(contracts);
  for (const name of names) {
    const own = compose.services[name];
    if (!own) throw new Error(`docker-compose.yml has no ${name}`);
    const [bus, keys, ...more] = (own.secrets ?? []).map(({ source }) => source);
    expect([bus, keys]).toEqual([`bus-${name}`, "bus-keys"]);
    // no more secrets than it has variables for
    expect(more.filter((source) => !variablesOf(own).includes(source))).toEqual([]);
  }
  const withFiles = Object.entries(compose.services).flatMap(([name, c]) => (c.secrets ? [name] : []));
  expect(withFiles.filter((name) => !names.includes(name))).toEqual(["mongo", "migrate"]);
  expect(compose.services["nats"]?.configs?.map(({ target }) => target)).toEqual([
    "/etc/nats/server.conf",
    "/etc/nats/users.conf",
  ]);
});

// Compose reads YAML by go-yaml, whose version 3 ends a plain word in a list or mapping in brackets at a question mark; this project's parser does not.
function unreadable(text: string): string[] {
  const found: string[] = [];
  visit(parseDocument(text, { merge: true }), {
    Collection: (_key, node) => {
      if (!isCollection(node) || !node.flow) return;
      visit(node, {
        Scalar: (_at, inner) => {
          if (isScalar(inner) && inner.type === "PLAIN" && String(inner.source).includes("?"))
            found.push(String(inner.source));
        },
      });
    },
  });
  return [...new Set(found)];
}
test.each([
  ["a: [x/y?z=1]", ["x/y?z=1"]],
  ['a: ["x/y?z=1"]', []],
  ["a: x/y?z=1", []],
])("what Compose can't read is found in %s", (text, expected) => expect(unreadable(text)).toEqual(expected));
test("docker-compose.yml has nothing that Compose can't read", () =>
  expect(unreadable(read("docker-compose.yml"))).toEqual([]));

describe("npm run compose:secrets", () => {
  const contents = (folder: string): Record<string, string> =>
    Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "utf8").trim()]));

  test("makes a file for every secret, in a folder closed to others: our own keys, and an empty one for what is the operator's", () => {
    const folder = newFolder();
    const done = makeSecretFiles(folder, {});
    expect(Object.keys(contents(folder)).sort()).toEqual([...SECRET_FILES].sort());
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(done.made).toEqual([
      "MONGODB_ROOT_PASSWORD",
      "MONGODB_URI",
      "JWT_PRIVATE_KEY",
      "SECRETS_KEY",
      "ERASURE_KEY",
    ]);
    const made = contents(folder);
    expect(createPrivateKey(made["JWT_PRIVATE_KEY"] ?? "").asymmetricKeyType).toBe("ed25519");
    for (const name of ["SECRETS_KEY", "ERASURE_KEY"]) expect(Buffer.from(made[name] ?? "", "base64")).toHaveLength(32);
    expect(made["ERASURE_KEY"]).not.toBe(made["SECRETS_KEY"]);
    expect(done.empty.map((name) => made[name])).toEqual(done.empty.map(() => ""));
  });

  test("moves secrets out of .env, and changes nothing that is there", () => {
    const folder = newFolder();
    const given = { TWILIO_AUTH_TOKEN: "from-env", ADMIN_EMAIL: "admin@example.com" };
    expect(makeSecretFiles(folder, given)).toMatchObject({ taken: ["TWILIO_AUTH_TOKEN"] });
    const before = contents(folder);
    expect([before["TWILIO_AUTH_TOKEN"], before["ADMIN_PASSWORD"]?.length]).toEqual(["from-env", 32]);
    writeFileSync(join(folder, "OPENAI_API_KEY"), "by hand\n");
    expect(makeSecretFiles(folder, { TWILIO_AUTH_TOKEN: "another" })).toMatchObject({ taken: [], made: [] });
    expect(contents(folder)).toEqual({ ...before, OPENAI_API_KEY: "by hand" });
  });

  test("gives a deployment that went without SECRETS_KEY none, for that one comes in steps", () => {
    const folder = newFolder();
    makeSecretFiles(folder, { JWT_PRIVATE_KEY: "-----BEGIN PRIVATE KEY-----" });
    expect(contents(folder)["SECRETS_KEY"]).toBe("");
  });

  test("gives a deployment from before, whose ERASURE_KEY is empty, one, and leaves the one that erased numbers are known by", () => {
    const folder = newFolder();
    writeFileSync(join(folder, "ERASURE_KEY"), "");
    expect(makeSecretFiles(folder, { JWT_PRIVATE_KEY: "-----BEGIN PRIVATE KEY-----" }).made).toContain("ERASURE_KEY");
    const own = contents(folder)["ERASURE_KEY"];
    expect(makeSecretFiles(folder, {}).made).not.toContain("ERASURE_KEY");
    expect(contents(folder)["ERASURE_KEY"]).toBe(own);
    const theirs = newFolder();
    makeSecretFiles(theirs, { ERASURE_KEY: "from-env" });
    expect(contents(theirs)["ERASURE_KEY"]).toBe("from-env");
  });
});

interface Member {
  /** null: no replica set was made yet. */
  primary: boolean | null;
  /** Passwords by user. */
  users: Map<string, string>;
  roles: Map<string, unknown>;
}

/** Runs the script as mongosh would on the member's own machine, as often as Docker does until it is content; how often it was run. */
function becomesReady(member: Member, secrets: Record<string, string>): number {
  const script = read("deploy/docker/mongo-ready.js");
  for (let run = 1; run <= 5; run += 1) {
    let who: string | null = null;
    const ended: number[] = [];
    /** The localhost exception ends with the first user. */
    const allowed = (): void => {
      if (who !== "root" && member.users.size > 0)
        throw Object.assign(new Error("refused"), { codeName: "Unauthorized" });
    };
    const admin = {
      auth: (user: string, pwd: string) => {
        if (member.users.get(user) !== pwd)
          throw Object.assign(new Error("refused"), { codeName: "AuthenticationFailed" });
        who = user;
        return { ok: 1 };
      },
      createUser: ({ user, pwd, roles }: { user: string; pwd: string; roles: unknown }) => {
        allowed();
        member.users.set(user, pwd);
        member.roles.set(user, roles);
      },
      getUser: (user: string) => {
        allowed();
        return member.users.has(user) ? { user } : null;
      },
      updateUser: (user: string, { pwd }: { pwd: string }) => {
        allowed();
        member.users.set(user, pwd);
      },
    };
    const quit = (status: number): never => {
      ended.push(status);
      throw new Error("quit");
    };
    const context = createContext({
      db: {
        hello: () => (member.primary === null ? {} : { setName: "rs0", isWritablePrimary: member.primary }),
        getSiblingDB: () => admin,
      },
      rs: { initiate: () => (member.primary = true) },
      fs: { readFileSync: (path: string) => secrets[path.replace("/run/secrets/", "")] ?? "" },
      quit,
    });
    try {
      runInContext(script, context);
      return run;
    } catch (error) {
      if (ended.length === 0) throw error;
    }
  }
  return Infinity;
}

describe("the database's health check", () => {
  const secrets = {
    MONGODB_ROOT_PASSWORD: "root-password\n",
    // in parts, for what looks for secrets in files takes the whole for one
    MONGODB_URI: ["mongodb://callagent", "first@mongo:27017/callagent?replicaSet=rs0&authSource=admin\n"].join(":"),
  };
  const users = { root: "root-password", callagent: "first" };
  const newMember = (primary: boolean | null, given: Record<string, string> = {}): Member => ({
    primary,
    users: new Map(Object.entries(given)),
    roles: new Map(),
  });

  test.each([
    ["a new database", newMember(null)],
    ["one from before, which has a replica set and no users", newMember(true)],
    ["one that has all", newMember(true, users)],
    ["one whose making was cut off after the first user", newMember(true, { root: "root-password" })],
    ["one whose password was changed in the file", newMember(true, { ...users, callagent: "before" })],
  ])("makes replica set and users of %s", (_what, member) => {
    expect(becomesReady(member, secrets)).toBeLessThanOrEqual(2);
    expect(Object.fromEntries(member.users)).toEqual(users);
    if (member.roles.has("callagent"))
      expect(member.roles.get("callagent")).toEqual([{ role: "readWrite", db: "callagent" }]);
  });

  test("is not content with another root password, nor with a member that is no primary", () => {
    expect(() => becomesReady(newMember(true, { root: "another" }), secrets)).toThrow("refused");
    expect(becomesReady(newMember(false, users), secrets)).toBe(Infinity);
  });

  test("makes no user for a database elsewhere", () => {
    const member = newMember(true);
    becomesReady(member, { ...secrets, MONGODB_URI: "mongodb+srv://u:p@cluster.example.com/callagent" });
    expect([...member.users.keys()]).toEqual(["root"]);
  });
});
