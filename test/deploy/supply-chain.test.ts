import { execFileSync } from "node:child_process";
import { createHash, generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { productionBill, type Bill } from "../../deploy/supply-chain/bill.ts";
import { faultsOfImages, imagesIn, IMAGE_FILES, pinned, withDigests } from "../../deploy/supply-chain/images.ts";
import {
  faultsOfPackages,
  type LockedPackage,
  type Lockfile,
  type Manifest,
} from "../../deploy/supply-chain/lockfile.ts";
import { digestOf, RegistryError } from "../../deploy/supply-chain/registry.ts";
import { secretsIn } from "../../deploy/supply-chain/secrets.ts";
import { ROOT } from "../house/sources.ts";
import { read } from "./compose-file.ts";

const HASH = `sha512-${"A".repeat(86)}==`;
const FINE: LockedPackage = { version: "1.0.0", integrity: HASH, license: "MIT" };
const manifest = (over: Partial<Manifest> = {}): Manifest => ({
  dependencies: { a: "1.0.0" },
  devDependencies: { native: "npm:@scope/typescript@7.0.2" },
  overrides: {},
  allowScripts: {},
  ...over,
});
const lock = (folder: string, found: Partial<LockedPackage>, without: keyof LockedPackage | null = null): Lockfile => {
  const whole = { ...FINE, ...found };
  if (without !== null) delete whole[without];
  return { packages: { "": { version: "1.0.0" }, [folder]: whole } };
};

describe("what an installation brings", () => {
  test("this tree's packages are hashed, known and allowed", () => {
    const found = JSON.parse(read("package-lock.json")) as Lockfile;
    expect(Object.keys(found.packages).length).toBeGreaterThan(700);
    expect(faultsOfPackages(found, JSON.parse(read("package.json")) as Manifest)).toEqual([]);
  });

  test.each<[string, Lockfile, Manifest, RegExp]>([
    ["no hash", lock("node_modules/a", {}, "integrity"), manifest(), /^a@1\.0\.0 has no sha512 hash.*supply:hashes/],
    ["a weak hash", lock("node_modules/a", { integrity: "sha1-abc=" }), manifest(), /^a@1\.0\.0 has no sha512 hash/],
    ["an address", lock("node_modules/a", { resolved: "https://evil.example/a.tgz" }), manifest(), /download address/],
    [
      "a script",
      lock("node_modules/b/node_modules/@x/a", { hasInstallScript: true }),
      manifest(),
      /^@x\/a@.*allowScripts/,
    ],
    ["a licence", lock("node_modules/a", { license: "AGPL-3.0-only" }), manifest(), /AGPL-3.0-only, which is not/],
    ["both of two licences", lock("node_modules/a", { license: "(MIT AND GPL-2.0)" }), manifest(), /under \(MIT AND/],
    ["no licence", lock("node_modules/a", {}, "license"), manifest(), /names no licence/],
    [
      "a range",
      lock("node_modules/a", {}),
      manifest({ dependencies: { a: "^1.0.0" } }),
      /^a is asked for as "\^1\.0\.0"/,
    ],
    ["latest", lock("node_modules/a", {}), manifest({ overrides: { a: "latest" } }), /^a is asked for as "latest"/],
    ["an alias's range", lock("node_modules/a", {}), manifest({ overrides: { a: "npm:b@7" } }), /^a is asked for/],
    ["an idle script", lock("node_modules/a", {}), manifest({ allowScripts: { a: true } }), /runs no script/],
  ])("%s is refused", (_, locked, asked, said) => {
    expect(faultsOfPackages(locked, asked)).toEqual([expect.stringMatching(said)]);
  });

  test.each(["(MIT OR GPL-2.0)", "(MIT AND Zlib)", "BlueOak-1.0.0"])("%s is allowed", (license) => {
    expect(faultsOfPackages(lock("node_modules/a", { license }), manifest())).toEqual([]);
  });

  test("a script that is known is allowed, run or not", () => {
    for (const run of [true, false])
      expect(
        faultsOfPackages(lock("node_modules/a", { hasInstallScript: true }), manifest({ allowScripts: { a: run } })),
      ).toEqual([]);
  });
});

describe("the bill of materials", () => {
  const bill = (): Bill =>
    JSON.parse(execFileSync("npm", ["run", "--silent", "supply:sbom"], { cwd: ROOT, encoding: "utf8" })) as Bill;

  test("MPL-2.0 is for tools alone", () => {
    const license = "MPL-2.0";
    expect(faultsOfPackages(lock("node_modules/a", { license, dev: true }), manifest())).toEqual([]);
    expect(faultsOfPackages(lock("node_modules/a", { license }), manifest())).toEqual([
      expect.stringMatching(/MPL-2.0, which is not/),
    ]);
  });

  test("npm run supply:sbom names each package of production once, with hash and licence, and no tool", () => {
    const { bomFormat, specVersion, metadata, components, dependencies } = bill();
    expect([bomFormat, specVersion, metadata.component]).toEqual([
      "CycloneDX",
      "1.5",
      expect.objectContaining({ name: "callagent", type: "application" }),
    ]);
    const names = components.map(({ name }) => name);
    const { dependencies: asked } = JSON.parse(read("package.json")) as Manifest;
    expect(names).toEqual(expect.arrayContaining(Object.keys(asked)));
    expect(names.filter((name) => ["jest", "oxlint", "typescript", "node"].includes(name))).toEqual([]);
    expect(new Set(components.map(({ purl }) => purl)).size).toBe(components.length);
    for (const component of components) {
      // CycloneDX 1.5: one licence, or an SPDX expression
      expect(JSON.stringify(component)).toMatch(/"licenses":\[\{"(?:license|expression)":/);
      expect(component).toMatchObject({
        type: "library",
        purl: expect.stringMatching(/^pkg:npm\/(?:%40[\w.-]+\/)?[\w.-]+@\d/),
        hashes: [{ alg: "SHA-512", content: expect.stringMatching(/^[0-9a-f]{128}$/) }],
      });
    }
    const refs = new Set([...components.map((component) => component["bom-ref"]), "callagent@0.3.0"]);
    expect(
      dependencies.flatMap(({ ref, dependsOn = [] }) => [ref, ...dependsOn]).filter((ref) => !refs.has(ref)),
    ).toEqual([]);
    expect(dependencies.length).toBe(components.length + 1);
  });

  test("a package that npm forgets, or lists with another hash, is no bill", () => {
    const component = { "bom-ref": "a@1.0.0", name: "a", version: "1.0.0", purl: "pkg:npm/a@1.0.0" };
    const of = (components: Bill["components"]): Bill => ({
      bomFormat: "CycloneDX",
      specVersion: "1.5",
      metadata: { component: { name: "x" } },
      components,
      dependencies: [],
    });
    const content = Buffer.from(HASH.slice("sha512-".length), "base64").toString("hex");
    const good = of([{ ...component, hashes: [{ alg: "SHA-512", content }] }]);
    const locked = lock("node_modules/a", {});
    expect(productionBill(good, locked, "x").components).toHaveLength(1);
    for (const bad of [of([]), of([{ ...component, hashes: [{ alg: "SHA-512", content: "00" }] }])])
      expect(() => productionBill(bad, locked, "x")).toThrow("pkg:npm/a@1.0.0");
  });
});

describe("images", () => {
  test("this tree names one release each", () => {
    expect(IMAGE_FILES.flatMap((path) => imagesIn(read(path))).map((image) => image.repository)).toEqual([
      "library/nats",
      "livekit/livekit-server",
      "library/mongo",
      "library/node",
    ]);
    expect(IMAGE_FILES.flatMap((path) => faultsOfImages(path, read(path)))).toEqual([]);
  });

  test.each(["nats", "nats:latest", "nats:2", "nats:2.10-alpine", "registry.example:5000/a/b:stable"])(
    "%s is refused",
    (name) => {
      expect(faultsOfImages("docker-compose.yml", `    image: ${name}\n`)).toEqual([expect.stringContaining(name)]);
    },
  );

  test("a name says registry, repository, tag and digest", () => {
    const digest = `sha256:${"0a".repeat(32)}`;
    expect(imagesIn(`FROM registry.example:5000/a/b:1.2.3@${digest}\n  image: \${OWN:-callagent:latest}\n`)).toEqual([
      {
        registry: "https://registry.example:5000",
        repository: "a/b",
        tag: "1.2.3",
        digest,
        written: `registry.example:5000/a/b:1.2.3@${digest}`,
      },
    ]);
  });

  describe("pinned by what a registry answers", () => {
    const DIGEST = `sha256:${"1b".repeat(32)}`;
    let server: Server;
    let base = "";
    let gate: "open" | "token" | "basic" = "open";
    const asked: string[] = [];

    beforeAll(async () => {
      server = createServer((req, res) => {
        asked.push(`${req.method} ${req.url}`);
        if (req.url?.startsWith("/token")) return res.end(JSON.stringify({ token: "pull-token" }));
        if (gate !== "open" && req.headers.authorization !== "Bearer pull-token")
          return res
            .writeHead(401, {
              "www-authenticate":
                gate === "basic"
                  ? 'Basic realm="registry"'
                  : `Bearer realm="${base}/token",service="registry",scope="repository:library/nats:pull"`,
            })
            .end();
        if (!req.url?.endsWith("/library/nats/manifests/2.10.29-alpine")) return res.writeHead(404).end();
        return res.writeHead(200, { "docker-content-digest": DIGEST }).end();
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const at = server.address();
      base = `http://127.0.0.1:${typeof at === "object" && at !== null ? at.port : 0}`;
    });
    afterAll(() => server.close());
    beforeEach(() => asked.splice(0));

    const [nats] = imagesIn("image: nats:2.10.29-alpine");
    const [unknown] = imagesIn("image: nats:9.9.9");
    if (!nats || !unknown) throw new Error("the images of this test are not read");

    test.each(["open", "token"] as const)("with a registry whose gate is %s", async (how) => {
      gate = how;
      const digest = await digestOf(nats, base);
      expect(digest).toBe(DIGEST);
      expect(asked.some((line) => line.includes("scope=repository%3Alibrary%2Fnats%3Apull"))).toBe(how === "token");
      const text = "services:\n  nats:\n    image: nats:2.10.29-alpine # the bus\n";
      const written = withDigests(text, new Map([[nats.written, pinned(nats, digest)]]));
      expect(written).toBe(`services:\n  nats:\n    image: nats:2.10.29-alpine@${DIGEST} # the bus\n`);
      const [again] = imagesIn(written);
      expect(again && pinned(again, digest)).toBe(`nats:2.10.29-alpine@${DIGEST}`);
    });

    test("unknown, shut and absent registries are told apart, and name the image or the host", async () => {
      gate = "open";
      await expect(digestOf(unknown, base)).rejects.toThrow(/answers 404 for nats:9\.9\.9/);
      gate = "basic";
      await expect(digestOf(nats, base)).rejects.toThrow(/asks for a log-in .*Basic/);
      await expect(digestOf(nats, "http://127.0.0.1:1")).rejects.toThrow(RegistryError);
    });
  });
});

describe("secrets in the tree", () => {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "callagent-secrets-"));
  });
  afterAll(() => rmSync(folder, { recursive: true }));
  const scan = async (text: string): Promise<string[]> => {
    const file = join(folder, "settings.ts");
    writeFileSync(file, text);
    return await secretsIn([file]);
  };

  const AS_PEM = {
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  } as const;

  /** Made here or written in two parts, so that this file has none. */
  test.each([
    ["a private key", generateKeyPairSync("rsa", { modulusLength: 2048, ...AS_PEM }).privateKey.toString()],
    ["a token of GitHub", `const t = "ghp_${""}aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789";`],
    [
      "a key of Amazon's",
      `AWS_SECRET_ACCESS_KEY=${createHash("sha256").update("a key").digest("base64").slice(0, 40)}`,
    ],
    ["a password in an address", `const db = "mongodb://root:hunter2${""}secret@db.production.internal/";`],
  ])("%s is named with its line, and not shown", async (_, text) => {
    const found = await scan(`// settings\n${text}\n`);
    expect(found).toEqual([expect.stringMatching(/settings\.ts:2 found /i)]);
    expect(found.join("")).not.toContain(text.slice(40, 60));
  });

  test("what tests make up is no secret", async () => {
    expect(await scan('const url = "http://user:pass@example.com/";\nconst key = "simulated-auth-token";\n')).toEqual(
      [],
    );
  });
});

test("the image's node is the one that the tests run on", () => {
  const { devDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as Manifest;
  expect(read("deploy/docker/Dockerfile")).toContain(`FROM node:${devDependencies["node"]}-slim`);
});
