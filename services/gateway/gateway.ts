import type { IncomingMessage, ServerResponse } from "node:http";
import type { Bus } from "../../shared/bus/bus.ts";
import { Failure } from "../../shared/errors.ts";
import type { ProcessDeps } from "../../shared/process/process-deps.ts";
import { sparseLog } from "../../shared/process/sparse-log.ts";
import { recordingStores } from "../../shared/storage/recordings.ts";
import { createAllowanceNotices, type AllowanceNotices } from "./allowance-notices.ts";
import { createFarewells, type Farewells } from "./carrier-farewells.ts";
import { identifier, type Identifier } from "./api/bearer.ts";
import { bulkEndpoint } from "./bulk/push-endpoint.ts";
import { carrierCallbacks } from "./carrier-callbacks.ts";
import { corsHeaders, originsOf, preflightHeaders } from "./http/cors.ts";
import { doorway, isDoorPath, type Doorway } from "./session-page/doorway.ts";
import { sessionPage } from "./session-page/session-page.ts";
import { sessionRecording } from "./session-page/session-recording.ts";
import { homePage } from "./docs/home-page.ts";
import { docsPage } from "./docs/html-page.ts";
import { DOCS_POLICY } from "./docs/page-assets.ts";
import { endpoint, type EndpointParts } from "./api/endpoint.ts";
import { eventStreamEndpoint, type StreamDeps } from "./api/event-stream.ts";
import { itemResultsEndpoint } from "./api/item-results.ts";
import { openStreams, type OpenStreams } from "./api/open-streams.ts";
import { wholeListEndpoint } from "./api/whole-list.ts";
import {
  answer,
  answerJson,
  answerText,
  refuser,
  type Exchange,
  type Handler,
  type Refuser,
  withHead,
} from "./http/exchange.ts";
import { carrierChecks, readiness, refusedCommands, type RefusedCommands } from "./health.ts";
import { problemOf, statusOf, type Problem } from "./http/http-errors.ts";
import { API_VERSION } from "./http/server.ts";
import { proxyNotice } from "./http/proxy-notice.ts";
import { isLoopback, limitsOf, type Limits } from "./http/request-limits.ts";
import { livekitWebhook } from "./livekit-webhook.ts";
import { openApi } from "./docs/openapi.ts";
import { recordingEndpoint, recordingSender, type RecordingSender } from "./recording-download.ts";
import { inMatchingOrder, ROUTES } from "./routes/index.ts";
import type { Row } from "./routes/row.ts";

/** Every handler, by `METHOD /path` as the router takes it. */
export interface Gateway {
  /** Below the base path: the table. */
  api: Record<string, Handler>;
  /** At the root: health, documentation, carrier callbacks. */
  root: Record<string, Handler>;
  /** Looks at each request first, and sets the headers that let scripts of allowed origins read the answer. */
  prepare(exchange: { req: IncomingMessage; res: ServerResponse }): void;
  /** Answers OPTIONS with the methods of the path. */
  options(exchange: { req: IncomingMessage; res: ServerResponse }, methods: readonly string[]): void;
  refused: Refuser;
  /** What answers bytes that are no request. */
  problemOf(failure: Failure, request_id: string): Problem;
  /** A service announced that the database refuses a command, or takes it again. */
  commandRefused: RefusedCommands["note"];
  listening(url: string): void;
  farewells: Farewells;
  streams: OpenStreams;
  allowances: AllowanceNotices;
}

const CARRIER_PATH = "/carriers/:provider/:kind/:ref";

const asPattern = (path: string): string => path.replaceAll(/\{([a-z_]+)\}/g, ":$1");

function healthHandlers(
  deps: Pick<ProcessDeps, "clock">,
  bus: Bus,
  visible: () => ReadonlySet<string>,
  notices: Pick<RefusedCommands, "checks">,
  mayKnow: (exchange: Exchange) => Promise<boolean>,
): Record<string, Handler> {
  const ready = readiness(ROUTES, bus, deps.clock, visible, notices);
  const answerReady: Handler = async (exchange) => {
    const found = await ready();
    const shown = (await mayKnow(exchange)) ? found : { status: found.status };
    answerJson(exchange.res, found.status === "not_ready" ? statusOf("DEPENDENCY_DOWN", "plain") : 200, shown);
  };
  return {
    ...withHead("/health/live", async ({ res }) => {
      answerJson(res, 200, { status: "live" });
    }),
    ...withHead("/health/ready", answerReady),
    ...withHead("/health", answerReady),
  };
}

/** Says at start that tokens, and what is said in calls, may go over a network in clear, which in production they are not to. */
export function warnOfPlainHttp({ env, log }: Pick<ProcessDeps, "env" | "log">): void {
  if (env.NODE_ENV === "production" && env.PUBLIC_HTTP_URL.startsWith("http:"))
    log.warn(
      { event: "gateway.plain_http" },
      "PUBLIC_HTTP_URL is http: tokens and callbacks go in clear; put TLS before the gateway and set an https address",
    );
}

/** Whether a request comes from the gateway's own machine, and through no proxy there, or from an admin: others learn no more than whether it works. */
const operators =
  (who: Identifier, limits: Pick<Limits, "checkBadTokens">) =>
  async ({ req, bus }: Exchange): Promise<boolean> => {
    if (isLoopback(req.socket.remoteAddress) && req.headers["x-forwarded-for"] === undefined) return true;
    if (req.headers.authorization === undefined) return false;
    return who
      .identify(bus, req.headers.authorization, () => limits.checkBadTokens(req))
      .then(
        ({ role }) => role === "admin",
        () => false,
      );
  };

/** Made at the first request, and kept: a gateway starts without waiting for them. */
function documentation(base: string): Record<string, Handler> {
  let document: string | undefined;
  let page: string | undefined;
  return {
    ...withHead("/openapi.json", async ({ res }) => {
      document ??= JSON.stringify(openApi(ROUTES, API_VERSION));
      answerText(
        res,
        200,
        { "Content-Type": "application/json; charset=utf-8", "Cache-Control": "no-cache" },
        document,
      );
    }),
    ...withHead("/docs", async ({ res }) => {
      page ??= docsPage(ROUTES, API_VERSION, base);
      answerText(
        res,
        200,
        {
          "Content-Type": "text/html; charset=utf-8",
          "Content-Security-Policy": DOCS_POLICY,
          "Cache-Control": "no-cache",
        },
        page,
      );
    }),
  };
}

const answerOptions =
  (origins: ReturnType<typeof originsOf>, doors: Doorway, refused: Refuser): Gateway["options"] =>
  ({ req, res }, methods) => {
    if (isDoorPath(req)) void doors.preflight({ req, res });
    else if (methods.length > 0)
      answer(res, 204, { Allow: methods.join(", "), ...preflightHeaders(req.headers.origin, origins, methods) }, "");
    else
      refused(
        { req, res, request_id: String(req.headers["x-request-id"]) },
        new Failure("ROUTE_NOT_FOUND", "There is no such endpoint; /docs lists them all."),
        { answers: "plain" },
      );
  };

/** Handlers of the table's rows. */
function rowHandlers(parts: EndpointParts, sendRecording: RecordingSender, following: StreamDeps): Gateway["api"] {
  const handlerOf = (row: Row): Handler => {
    if (row.download) return recordingEndpoint(row, parts, sendRecording);
    if (row.wholeList !== undefined) return wholeListEndpoint(row, row.wholeList, parts);
    if (row.follows === true) return eventStreamEndpoint(row, parts, following);
    if (row.perItem) return itemResultsEndpoint(row, row.perItem, parts);
    return (row.bulk ? bulkEndpoint : endpoint)(row, parts);
  };
  return Object.assign(
    {},
    ...inMatchingOrder(ROUTES).map((row) => {
      const handle = handlerOf(row);
      return row.method === "GET"
        ? withHead(asPattern(row.path), handle)
        : { [`${row.method} ${asPattern(row.path)}`]: handle };
    }),
  ) as Record<string, Handler>;
}

/** Builds the gateway's handlers. `visible`: names of the services on the bus at this moment. */
export function buildGateway(deps: ProcessDeps, bus: Bus, visible: () => ReadonlySet<string>): Gateway {
  const docs = `${deps.env.PUBLIC_HTTP_URL}/docs`;
  const refused = refuser(deps.log, docs, sparseLog(deps.clock));
  const who = identifier(deps.clock);
  const limits = limitsOf(deps.env, deps.clock);
  const origins = originsOf(deps.env.CORS_ORIGINS);
  const farewells = createFarewells(deps, bus);
  const callbacks = carrierCallbacks(refused, farewells, deps);
  const doors = doorway(bus, deps.clock, limits, refused);
  const commands = refusedCommands(deps.clock);
  const proxy = proxyNotice(deps);
  const notices = { checks: () => [...carrierChecks(deps.env), ...commands.checks(), ...proxy.checks()] };
  const parts = { identifier: who, limits, refused };
  const sendRecording = recordingSender({ stores: recordingStores(deps), log: deps.log });
  const streams = openStreams(deps.clock);
  return {
    api: rowHandlers(parts, sendRecording, { clock: deps.clock, bus, streams }),
    root: {
      ...healthHandlers(deps, bus, visible, notices, operators(who, limits)),
      ...homePage(deps.env),
      ...documentation(deps.env.PUBLIC_HTTP_URL),
      ...livekitWebhook(deps, bus, limits, refused),
      ...sessionPage(deps.env, limits, refused),
      ...sessionRecording(deps.clock, limits, refused, sendRecording),
      ...doors.handlers,
      ...withHead(CARRIER_PATH, callbacks),
      [`POST ${CARRIER_PATH}`]: callbacks,
    },
    prepare: ({ req, res }) => {
      proxy.note(req);
      // a door lets in the origins of its own
      if (isDoorPath(req)) return;
      for (const [name, value] of Object.entries(corsHeaders(req.headers.origin, origins))) res.setHeader(name, value);
    },
    options: answerOptions(origins, doors, refused),
    refused,
    problemOf: (failure, request_id) => problemOf(failure, { answers: "plain", request_id, docs }),
    commandRefused: commands.note,
    farewells,
    streams,
    allowances: createAllowanceNotices(deps, limits, (notice) => {
      bus.broadcast("allowance.spent", notice);
    }),
    listening: (url) => {
      deps.log.info({ event: "gateway.listening", url }, "the gateway listens");
      warnOfPlainHttp(deps);
    },
  };
}
