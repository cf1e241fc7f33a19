import type { IncomingMessage, ServerResponse } from "node:http";
import type { Alias, IncomingRequest, Route } from "moleculer-web";
import { busOf } from "../../../shared/bus/bus.ts";
import { Failure } from "../../../shared/errors.ts";
import type { Handler } from "./exchange.ts";

/** What moleculer-web puts on the service. */
export interface WebService {
  aliases: Alias[];
  addRoute(route: object): Route;
  httpHandler(req: IncomingMessage, res: ServerResponse): Promise<void>;
}

const exchangeOf = (req: IncomingRequest, res: ServerResponse) => ({
  req,
  res,
  bus: busOf(req.$ctx, req.$ctx.broker),
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
/** Handlers, by `METHOD /path`, as a route of moleculer-web. */
export const routeOf = (name: string, path: string, handlers: Record<string, Handler>): object => ({
  ...ROUTE,
  name,
  path,
  aliases: Object.fromEntries(Object.entries(handlers).map(([at, handle]) => [at, asAlias(handle)])),
});

/** An alias as moleculer-web has it, which its types do not tell. */
interface MatchingAlias {
  method: string;
  fullPath: string;
  match(path: string): unknown;
}

/**
 * Methods of the endpoint at this path, sorted; none where there is no endpoint. Of several paths that match the first counts, which is the most exact
 * one: /leads/bulk is not the lead of that name.
 */
export function methodsAt(web: Pick<WebService, "aliases">, path: string): string[] {
  const aliases = web.aliases as unknown as readonly MatchingAlias[];
  const at = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
  try {
    const endpoint = aliases.find((alias) => alias.match(at));
    return aliases
      .filter((alias) => alias.fullPath === endpoint?.fullPath)
      .map((alias) => alias.method)
      .sort();
  } catch {
    return []; // broken percent-encoding
  }
}

/** The path of a request, without its query. */
export const pathOf = (req: IncomingMessage): string => (req.url ?? "/").split("?")[0] ?? "/";

/** Why nothing answers a request: no endpoint at the path, or none for the method. */
export function notFound(web: Pick<WebService, "aliases">, req: IncomingMessage): Failure {
  const target = (req as Partial<IncomingRequest>).originalUrl ?? req.url ?? "/";
  return refusedMethod(methodsAt(web, target.split("?")[0] ?? "/"), req);
}

/** Why a request is not served whose path takes these methods. */
export function refusedMethod(allow: string[], req: IncomingMessage): Failure {
  if (allow.length === 0) return new Failure("ROUTE_NOT_FOUND", "There is no such endpoint; /docs lists them all.");
  return new Failure("METHOD_NOT_ALLOWED", `This endpoint takes ${allow.join(", ")}, not ${req.method ?? "this"}.`, {
    allow,
  });
}

/** moleculer-web names its own errors by HTTP status; here by the catalogue. */
export function translated(error: unknown): unknown {
  const type = typeof error === "object" && error !== null && "type" in error ? error.type : undefined;
  return type === "UNABLE_DECODE_PARAM"
    ? new Failure("ROUTE_NOT_FOUND", "The path holds a % that begins no encoded character.")
    : error;
}
