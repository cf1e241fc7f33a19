import type { IncomingMessage, ServerResponse } from "node:http";
import type { Context, Service, ServiceSchema } from "moleculer";
import ApiGateway from "moleculer-web";
import { busOf, type EventOf } from "../../shared/bus/bus.ts";
import { MS_PER_SECOND } from "../../shared/time/clock.ts";
import { drainOf } from "../../shared/bus/drain.ts";
import { metricsOf } from "../../shared/metrics/metrics.ts";
import { readinessOf } from "../../shared/metrics/readiness.ts";
import { contracts } from "../../shared/contracts/index.ts";
import type { Loop } from "../../shared/time/loop.ts";
import { depsOf } from "../../shared/process/process-deps.ts";
import { trustOf } from "../../shared/bus/bus-trust.ts";
import { buildGateway, type Gateway } from "./gateway.ts";
import { timeOfLeads } from "./health.ts";
import {
  methodsAt,
  notFound,
  pathOf,
  refusedMethod,
  routeOf,
  translated,
  type WebService,
} from "./http/moleculer-web.ts";
import { watchAnswer } from "./http/answer-watch.ts";
import { openHttpServer, type HttpServer } from "./http/server.ts";
import { BASE_PATH } from "../../shared/base-path.ts";

/** How long requests under way may take after the stop was asked for. */
const MAX_GRACE_MS = 3000;

/** The members that this file adds to the service. */
type Self = Service &
  WebService & {
    /** The listening server, whose port tests and tools read. */
    server?: HttpServer["server"];
    http?: HttpServer;
    gateway: Gateway;
    loops?: Loop[];
    /** Ends the reading of the deployment's time. */
    unfollow?: () => Promise<void>;
  };

function refuse(self: Self, req: IncomingMessage, res: ServerResponse, error: unknown): void {
  self.gateway.refused({ req, res, request_id: String(req.headers["x-request-id"]) }, translated(error), {
    answers: "plain",
  });
}

function create(self: Self): void {
  const deps = depsOf(self.broker);
  trustOf(self.broker).mustBe("gateway");
  drainOf(self.broker).add({ service: "gateway" });
  readinessOf(self.broker).add("gateway", () => (self.server?.listening ? null : "it does not listen yet"));
  const visible = (): Set<string> =>
    new Set(self.broker.registry.getServiceList({ onlyAvailable: true }).map((s) => s.name));
  self.gateway = buildGateway({ ...deps, log: deps.log.child({ service: "gateway" }) }, busOf(self.broker), visible);
  self.addRoute(routeOf("api", BASE_PATH, self.gateway.api));
  self.addRoute(routeOf("root", "/", self.gateway.root));
}

async function start(self: Self): Promise<void> {
  const { clock, env, ids, log, storeClock } = depsOf(self.broker);
  const watch = { metrics: metricsOf(self.broker), log: log.child({ service: "gateway" }), clock, all: env.ACCESS_LOG };
  const unfollow = await storeClock?.follow(timeOfLeads(busOf(self.broker)));
  if (unfollow) self.unfollow = unfollow;
  self.http = await openHttpServer({
    host: env.HTTP_HOST,
    port: env.HTTP_PORT,
    ids,
    https: env.PUBLIC_HTTP_URL.startsWith("https:"),
    refuse: (req, res, failure) => {
      refuse(self, req, res, failure);
    },
    problemOf: self.gateway.problemOf,
    handle: (req, res) => {
      watchAnswer(watch, req, res);
      self.gateway.prepare({ req, res });
      const methods = methodsAt(self, pathOf(req));
      // moleculer-web would run an OPTIONS request as the method it asks about, and a GET of /leads/bulk as one of a lead
      if (req.method === "OPTIONS") self.gateway.options({ req, res }, methods);
      else if (methods.length > 0 && !methods.includes(String(req.method)))
        refuse(self, req, res, refusedMethod(methods, req));
      else void self.httpHandler(req, res);
    },
  });
  self.server = self.http.server;
  self.loops = [self.gateway.farewells.start(), self.gateway.allowances.start()];
  self.gateway.listening(self.http.url);
}

async function stop(self: Self): Promise<void> {
  await drainOf(self.broker).run();
  self.gateway.streams.close();
  await Promise.all((self.loops ?? []).map((loop) => loop.stop()));
  await self.unfollow?.();
  await self.http?.close(Math.min(MAX_GRACE_MS, depsOf(self.broker).env.SHUTDOWN_GRACE_SECONDS * MS_PER_SECOND));
}

/** HTTP in, bus out. moleculer-web routes and keeps the trace; every alias is a row of routes/index.ts, and nothing else can be reached. */
const schema: ServiceSchema = {
  name: contracts.gateway.name,
  mixins: [ApiGateway],
  settings: {
    // routes null, not []: an empty list makes moleculer-web publish every action there is
    server: false,
    routes: null,
    optimizeOrder: false,
    logRequest: null,
    logRequestParams: null,
    logResponse: null,
    logRouteRegistration: null,
    rootCallOptions: { tracking: false }, // the HTTP server itself waits for requests under way
  } as NonNullable<ServiceSchema["settings"]>,
  actions: { listAliases: false, addRoute: false, removeRoute: false },
  methods: {
    send404(this: Self, req: IncomingMessage, res: ServerResponse) {
      refuse(this, req, res, notFound(this, req));
    },
    sendError(this: Self, req: IncomingMessage, res: ServerResponse, error: unknown) {
      refuse(this, req, res, error);
    },
    errorHandler(this: Self, req: IncomingMessage, res: ServerResponse, error: unknown) {
      refuse(this, req, res, error);
    },
  },
  events: {
    "database.command_refused"(this: Service, ctx: Context<EventOf<"database.command_refused">>) {
      if (trustOf(this.broker).hears("database.command_refused", ctx))
        (this as unknown as Self).gateway.commandRefused(ctx.params);
    },
    "events.published"(this: Service, ctx: Context<EventOf<"events.published">>) {
      if (trustOf(this.broker).hears("events.published", ctx))
        (this as unknown as Self).gateway.streams.published(ctx.params.resellers);
    },
    "allowance.spent"(this: Service, ctx: Context<EventOf<"allowance.spent">>) {
      if (trustOf(this.broker).hears("allowance.spent", ctx))
        (this as unknown as Self).gateway.allowances.note(ctx.params);
    },
  },
  created() {
    create(this as unknown as Self);
  },
  started() {
    return start(this as unknown as Self);
  },
  stopped() {
    return stop(this as unknown as Self);
  },
};
export default schema;
