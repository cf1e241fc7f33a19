import type { IncomingMessage, ServerResponse } from "node:http";
import type { Service, ServiceSchema } from "moleculer";
import ApiGateway, { type Alias, type IncomingRequest, type Route } from "moleculer-web";
import { busOf } from "../../shared/bus.ts";
import { contracts } from "../../shared/contracts/index.ts";
import { Failure } from "../../shared/errors.ts";
import { depsOf } from "../../shared/process-deps.ts";
import { buildGateway, type Gateway } from "./gateway.ts";
import type { Handler } from "./http/exchange.ts";
import { openHttpServer, type HttpServer } from "./http/server.ts";
import { BASE_PATH } from "../../shared/base-path.ts";

/** How long requests under way may take after the stop was asked for. */
const MAX_GRACE_MS = 3000;

/** What moleculer-web and this file put on the service. */
interface Web {
  aliases: Alias[];
  addRoute(route: object): Route;
  httpHandler(req: IncomingMessage, res: ServerResponse): Promise<void>;
  /** The listening server, for whoever must learn the port. */
  server?: HttpServer["server"];
  http?: HttpServer;
  gateway: Gateway;
}
type Self = Service & Web;

const exchangeOf = (req: IncomingRequest, res: ServerResponse) => ({
  req,
  res,
  bus: busOf(req.$ctx),
  request_id: req.$ctx.requestID ?? req.$ctx.id,
  target: req.originalUrl,
  path: (req.$params as { params?: Record<string, string> }).params ?? {},
});

/** A handler as moleculer-web calls it. It never calls `next`: the exchange is over when the answer is sent. */
const asAlias =
  (handle: Handler) =>
  (req: IncomingRequest, res: ServerResponse): void => {
    void handle(exchangeOf(req, res));
  };

const ROUTE = {
  mappingPolicy: "restrict",
  mergeParams: false,
  bodyParsers: false,
  logging: false,
  pathToRegexpOptions: { sensitive: true },
} as const;
const routeOf = (name: string, path: string, handlers: Record<string, Handler>): object => ({
  ...ROUTE,
  name,
  path,
  aliases: Object.fromEntries(Object.entries(handlers).map(([at, handle]) => [at, asAlias(handle)])),
});

/** Methods that some endpoint answers at this path. */
function methodsAt(self: Self, path: string): string[] {
  const at = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
  try {
    return [
      ...new Set(
        self.aliases
          .filter((alias) => (alias as unknown as { match(url: string): unknown }).match(at))
          .map((alias) => alias.method),
      ),
    ].sort();
  } catch {
    return []; // broken percent-encoding
  }
}

const pathOf = (req: IncomingMessage): string => (req.url ?? "/").split("?")[0] ?? "/";

function notFound(self: Self, req: IncomingMessage): Failure {
  const target = (req as Partial<IncomingRequest>).originalUrl ?? req.url ?? "/";
  const allow = methodsAt(self, target.split("?")[0] ?? "/");
  if (allow.length === 0) return new Failure("ROUTE_NOT_FOUND", "There is no such endpoint; /docs lists them all.");
  return new Failure("METHOD_NOT_ALLOWED", `This endpoint takes ${allow.join(", ")}, not ${req.method ?? "this"}.`, {
    allow,
  });
}

/** moleculer-web words its own faults by HTTP status; the catalogue has ours. */
function translated(error: unknown): unknown {
  const type = typeof error === "object" && error !== null && "type" in error ? error.type : undefined;
  return type === "UNABLE_DECODE_PARAM"
    ? new Failure("ROUTE_NOT_FOUND", "The path holds a % that begins no encoded character.")
    : error;
}

function refuse(self: Self, req: IncomingMessage, res: ServerResponse, error: unknown): void {
  self.gateway.refused({ req, res, request_id: String(req.headers["x-request-id"]) }, translated(error), {
    answers: "plain",
  });
}

function create(self: Self): void {
  const deps = depsOf(self.broker);
  const visible = (): Set<string> =>
    new Set(self.broker.registry.getServiceList({ onlyAvailable: true }).map((s) => s.name));
  self.gateway = buildGateway({ ...deps, log: deps.log.child({ service: "gateway" }) }, busOf(self.broker), visible);
  self.addRoute(routeOf("api", BASE_PATH, self.gateway.api));
  self.addRoute(routeOf("beside", "/", self.gateway.root));
}

async function start(self: Self): Promise<void> {
  const { env, ids } = depsOf(self.broker);
  self.http = await openHttpServer({
    host: env.HTTP_HOST,
    port: env.HTTP_PORT,
    ids,
    https: env.PUBLIC_HTTP_URL.startsWith("https:"),
    handle: (req, res) => {
      self.gateway.setCorsHeaders({ req, res });
      // moleculer-web would run an OPTIONS request as the method it asks about
      if (req.method === "OPTIONS") self.gateway.options({ req, res }, methodsAt(self, pathOf(req)));
      else void self.httpHandler(req, res);
    },
  });
  self.server = self.http.server;
  self.gateway.listening(self.http.url);
}

async function stop(self: Self): Promise<void> {
  await self.http?.close(Math.min(MAX_GRACE_MS, depsOf(self.broker).env.SHUTDOWN_GRACE_SECONDS * 1000));
  self.gateway.close();
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
