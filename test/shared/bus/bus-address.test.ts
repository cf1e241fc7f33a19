import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { busServers, type BusAddress } from "../../../shared/bus/bus-address.ts";
import { natsOptions } from "../../../shared/bus/nats-options.ts";
import { readEnv } from "../../../shared/process/env.ts";

const folder = mkdtempSync(join(tmpdir(), "callagent-bus-"));
const file = join(folder, "some.pem");
writeFileSync(file, "-----BEGIN");
afterAll(() => rmSync(folder, { recursive: true }));

const at = (TRANSPORTER: string, more: BusAddress = {}): BusAddress => ({ TRANSPORTER, ...more });

describe("the address of the bus", () => {
  test.each<[string, BusAddress, object | null]>([
    ["none: all services in this process", {}, null],
    ["one server", at("nats://bus:4222"), { servers: ["bus:4222"] }],
    ["the port left out, which the client knows", at("nats://bus"), { servers: ["bus"] }],
    [
      "a cluster, the user at its first server",
      at("nats://leads:pw@a:4222, nats://b:4223,nats://[::1]:4222/"),
      { servers: ["a:4222", "b:4223", "[::1]:4222"], user: "leads", pass: "pw" },
    ],
    [
      "a password of any characters",
      at("nats://l%40x:p%40ss%2Fw%23%3F%2C%25%C3%A9:@bus:4222"),
      { servers: ["bus:4222"], user: "l@x", pass: "p@ss/w#?,%é:" },
    ],
    ["TLS", at("tls://bus:4222,tls://b:4222"), { servers: ["bus:4222", "b:4222"], tls: {} }],
    [
      "TLS with files of our own",
      at("tls://bus", { NATS_CA_FILE: file, NATS_CERT_FILE: file, NATS_KEY_FILE: file }),
      { servers: ["bus"], tls: { caFile: file, certFile: file, keyFile: file } },
    ],
  ])("%s", (_what, address, options) => {
    expect(busServers(address).issues).toEqual([]);
    expect(natsOptions(address)).toEqual(options);
  });

  test.each(["NATS_NKEY_FILE", "NATS_CREDS_FILE"])("%s proves who we are in place of a password", (name) => {
    const address = at("nats://bus", { [name]: file });
    expect(busServers(address).issues).toEqual([]);
    expect(natsOptions(address)).toEqual({ servers: ["bus"], authenticator: expect.any(Function) });
  });
});

describe("an address that can't be used says at start what is wrong", () => {
  test.each<[string, BusAddress, string]>([
    ["another system", at("redis://bus:6379"), "address 1 of TRANSPORTER is no address of a NATS server"],
    ["a server without a scheme", at("nats://a:4222,b:4222"), "address 2 of TRANSPORTER is no address"],
    ["an empty place in the list", at("nats://a:4222,"), "address 2 of TRANSPORTER is no address"],
    ["a port that is none", at("nats://a:99999"), "address 1 of TRANSPORTER is no address"],
    ["a # in a password", at("nats://leads:p#w@bus:4222"), "# is %23"],
    ["a path", at("nats://bus:4222/leads"), "address 1 of TRANSPORTER has something behind its port"],
    ["a % that stands alone", at("nats://leads:100%@bus"), "write %25"],
    ["half of the list in plain text", at("tls://a:4222,nats://b:4222"), "mixes nats:// and tls://"],
    ["two users", at("nats://a:x@a:4222,nats://b:x@b:4222"), "names several users"],
    ["a file that is not there", at("tls://a", { NATS_CA_FILE: "/gone/ca.pem" }), "NATS_CA_FILE names /gone/ca.pem"],
    ["a certificate without its key", at("tls://a", { NATS_CERT_FILE: file }), "go together"],
    ["TLS files for plain text", at("nats://a", { NATS_CA_FILE: file }), "write tls:// in place of nats://"],
    ["a user and an nkey", at("nats://u:p@a", { NATS_NKEY_FILE: file }), "a user in TRANSPORTER and NATS_NKEY_FILE"],
  ])("%s", (_what, address, said) => {
    expect(() => readEnv({ ...address })).toThrow(said);
    try {
      readEnv({ ...address });
    } catch (error) {
      expect(String(error)).not.toMatch(/p#w|100%@/);
    }
  });
});
