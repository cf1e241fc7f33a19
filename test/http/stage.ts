import { generateKeyPairSync } from "node:crypto";
import type { AddressInfo } from "node:net";
import { ServiceBroker, type ServiceSchema } from "moleculer";
import auth from "../../services/auth/auth.service.ts";
import gateway from "../../services/gateway/gateway.service.ts";
import { BASE_PATH } from "../../services/gateway/routes.ts";
import merchants from "../../services/merchants/merchants.service.ts";
import { systemClock } from "../../shared/clock.ts";
import { contracts, type Contracts } from "../../shared/contracts/index.ts";
import { readEnv, type Env } from "../../shared/env.ts";
import { provideGround } from "../../shared/ground.ts";
import { randomIds } from "../../shared/ids.ts";
import { rootLog } from "../../shared/log.ts";
import { AjvValidator } from "../../shared/validator.ts";
import { asAdmin, setStage, standIn, type Stage } from "../support/stage.ts";

/** E-mail and password of the first admin on stage. */
export const ADMIN = { email: "root@example.com", password: "a long first password" };

/** What a stand-in's action does when it is called; absent: it answers {}. */
export type Script = Record<string, (params: Record<string, unknown>) => unknown>;

/** The gateway over real HTTP, with auth and merchants behind it on another node; the rest are stand-ins that follow a script and remember calls. */
export interface HttpStage {
  base: string;
  origin: string;
  env: Env;
  stage: Stage;
  gateway: ServiceBroker;
  script: Script;
  calls: { action: string; params: Record<string, unknown> }[];
  /** Bearer tokens by role, all of one reseller and merchant. */
  tokens: Record<"admin" | "reseller" | "merchant" | "user", string>;
  reseller_id: string;
  merchant_id: string;
  /** A request below the base path; a body that is no string is sent as JSON. */
  ask(method: string, path: string, options?: AskOptions): Promise<Answer>;
  stop(): Promise<void>;
}

/** How to ask. `token`: a role's or any other; null: none. Default: admin's. */
export interface AskOptions {
  token?: string | null;
  body?: unknown;
  headers?: Record<string, string>;
  origin?: boolean;
}

/** What came back; `body` parsed where it is JSON. */
export interface Answer {
  status: number;
  headers: Headers;
  body: Record<string, unknown>;
  text: string;
}

/** Every service but the gateway, auth and merchants. */
const OTHERS: (keyof Contracts)[] = [
  "config",
  "numbers",
  "blacklist",
  "leads",
  "webhook",
  "dialer",
  "scheduler",
  "conversation",
];
const VISIBLE_DEADLINE_MS = 30_000;

function scripted(name: keyof Contracts, script: Script, calls: HttpStage["calls"]): ServiceSchema {
  const actions = Object.fromEntries(
    Object.keys(contracts[name].actions).map((a) => [
      a,
      (params: Record<string, unknown>) => {
        calls.push({ action: `${name}.${a}`, params });
        return script[`${name}.${a}`]?.(params) ?? {};
      },
    ]),
  );
  return standIn(name, actions as Parameters<typeof standIn>[1]);
}

/** Every request of the tests comes from an address of its own, as seen by a proxy before the gateway, so that no test uses up another's tries. */
let requests = 0;
const nextAddress = (): string => `10.${(requests >> 16) & 255}.${(requests >> 8) & 255}.${requests++ & 255}`;

/** Sets the stage. The gateway stands on a node of its own, so that what it gets has crossed the wire. `real`: services to run instead of their stand-ins; `gatewayEnv`, `servicesEnv`: variables of the gateway, and of the others. */
export async function setHttpStage(
  real: ServiceSchema[] = [],
  gatewayEnv: Record<string, string> = {},
  servicesEnv: Record<string, string> = {},
): Promise<HttpStage> {
  const standing = OTHERS.filter((name) => !real.some((s) => s.name === name));
  const script: Script = {};
  const calls: HttpStage["calls"] = [];
  const pem = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const stage = await setStage({
    services: [auth, merchants, ...real, ...standing.map((name) => scripted(name, script, calls))],
    env: {
      JWT_PRIVATE_KEY: pem,
      ADMIN_EMAIL: ADMIN.email,
      ADMIN_PASSWORD: ADMIN.password,
      SWEEP_INTERVAL_MS: "60000",
      ...servicesEnv,
    },
  });
  const env = readEnv({
    NODE_ENV: "test",
    LOG_LEVEL: "silent",
    HTTP_HOST: "127.0.0.1",
    HTTP_PORT: "0",
    PUBLIC_HTTP_URL: "https://calls.example.com",
    TRUST_PROXY: "true",
    MONGODB_URI: stage.uri,
    ...gatewayEnv,
  });
  const broker = new ServiceBroker({
    namespace: stage.broker.namespace,
    nodeID: "gateway",
    transporter: "Fake",
    validator: new AjvValidator(),
    requestTimeout: 10_000,
    logger: false,
    tracking: { enabled: true },
    transit: { serviceChangedDebounceTime: 0 } as never,
  });
  provideGround(broker, { env, clock: systemClock, ids: randomIds, log: rootLog(env), random: Math.random });
  broker.createService(gateway);
  await broker.start();
  await broker.waitForServices(["auth", "merchants", ...OTHERS], VISIBLE_DEADLINE_MS);
  const service = broker.getLocalService("gateway") as unknown as { server: { address(): AddressInfo } };
  const origin = `http://127.0.0.1:${service.server.address().port}`;

  const reseller_id = (await stage.bus.call("merchants.createReseller", { by: asAdmin, name: "Acme" })).id;
  const merchant_id = (
    await stage.bus.call("merchants.create", { by: asAdmin, name: "Shop", reseller_id, contact_email: "a@example.com" })
  ).id;
  const s2s = async (role: "reseller" | "merchant" | "user") =>
    (
      await stage.bus.call("auth.issueS2s", {
        by: asAdmin,
        name: role,
        role,
        reseller_id,
        ...(role === "reseller" ? {} : { merchant_id }),
      })
    ).token;
  const tokens = {
    admin: (await stage.bus.call("auth.login", ADMIN)).access_token,
    reseller: await s2s("reseller"),
    merchant: await s2s("merchant"),
    user: await s2s("user"),
  };

  const ask = async (method: string, path: string, options: AskOptions = {}): Promise<Answer> => {
    const token = options.token === undefined ? tokens.admin : options.token;
    const sent =
      options.body === undefined
        ? null
        : typeof options.body === "string" || options.body instanceof Uint8Array
          ? (options.body as string)
          : JSON.stringify(options.body);
    const response = await fetch(`${origin}${options.origin ? "" : BASE_PATH}${path}`, {
      method,
      body: sent,
      redirect: "manual",
      headers: {
        "X-Forwarded-For": nextAddress(),
        ...(sent === null ? {} : { "Content-Type": "application/json" }),
        ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
        ...options.headers,
      },
    });
    const text = await response.text();
    const isJson = /[/+]json/.test(response.headers.get("content-type") ?? "") && text !== "";
    return {
      status: response.status,
      headers: response.headers,
      body: isJson ? (JSON.parse(text) as Record<string, unknown>) : {},
      text,
    };
  };

  return {
    base: `${origin}${BASE_PATH}`,
    origin,
    env,
    stage,
    gateway: broker,
    script,
    calls,
    tokens,
    reseller_id,
    merchant_id,
    ask,
    async stop() {
      await broker.stop();
      await stage.stop();
    },
  };
}
