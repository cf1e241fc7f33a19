import * as fc from "fast-check";
import { Errors } from "moleculer";
import { problemOf, statusOf, type Answering } from "../../../services/gateway/http/http-errors.ts";
import { CATALOGUE, Failure, type ErrorCode } from "../../../shared/errors.ts";

const context = (answers: Answering = "plain", body?: string) => ({
  answers,
  body,
  request_id: "r-1",
  docs: "https://x/docs",
});
const CODES = Object.keys(CATALOGUE) as ErrorCode[];

describe("statuses", () => {
  test.each(CODES)("%s has an error status in every style, and its problem is whole", (code) => {
    for (const answers of ["plain", "unprocessable", "push", "carrier"] as const) {
      const { status, body, headers } = problemOf(new Failure(code, "said by us"), context(answers));
      expect(status).toBeGreaterThanOrEqual(400);
      expect(status).toBeLessThan(600);
      expect(body).toMatchObject({
        type: `https://x/docs#${code}`,
        title: CATALOGUE[code].title,
        status,
        code,
        request_id: "r-1",
      });
      expect(headers["Content-Type"]).toBe("application/problem+json");
    }
  });

  test("what may succeed later says when", () => {
    for (const code of ["RATE_LIMITED", "BUSY", "STORE_UNAVAILABLE", "DEPENDENCY_DOWN"] as const)
      expect(problemOf(new Failure(code, "x"), context()).headers["Retry-After"]).toMatch(/^[1-9]\d*$/);
    expect(
      problemOf(new Failure("RATE_LIMITED", "x", { retry_after_seconds: 41.2 }), context()).headers["Retry-After"],
    ).toBe("42");
  });

  const at = (...paths: [string, string][]) => paths.map(([path, message]) => ({ path, message }));
  test.each([
    ["plain", at(["a.b", "must be string"]), 400],
    ["unprocessable", at(["email", "is required"]), 422],
    ["push", at(["request_id", "is required"]), 400],
    ["push", at(["extra", "is not a known field"]), 400],
    ["push", at(["execution_mode", "must be one of A, B"]), 400],
    ["push", at(["merchant_id", "is required: the template belongs to a merchant"]), 400],
    ["push", at(["template_id", "must NOT have fewer than 1 characters"]), 400],
    ["push", at(["template_id", "must be string"]), 422],
    ["push", at(["request_id", "must be string"]), 422],
    ["push", at(["payload.name", "is required"]), 422],
    ["push", at(["payload.x", "is not a known field"]), 422],
    ["push", at(["payload", "must be object"], ["request_id", "is required"]), 400],
    ["push", at(["", "must be a JSON object"]), 400],
    ["push", [], 400],
  ] as const)("VALIDATION_FAILED, %s, %j: %i", (answers, faults, status) => {
    expect(statusOf("VALIDATION_FAILED", answers, faults)).toBe(status);
  });
});

describe("the problem a client gets", () => {
  test("the bus validator's issues lose the parameter's name, the node and the action", () => {
    const error = new Errors.ValidationError("Parameters validation error!", "VALIDATION_ERROR", [
      { path: "lead.request_id", message: "is required", nodeID: "n-1", action: "leads.push" },
      { path: "lead", message: "must be object" },
      { path: "leader", message: "x" },
    ]);
    const { body } = problemOf(error, context("push", "lead"));
    expect(body.errors).toEqual([
      { path: "request_id", message: "is required" },
      { path: "", message: "must be object" },
      { path: "leader", message: "x" },
    ]);
    expect(body.detail).toBe("request_id is required; the body must be object; leader x.");
  });

  test("a failure keeps its sentence and its own paths", () => {
    const { body } = problemOf(
      new Failure("PAYLOAD_INVALID", "said by us", { errors: [{ path: "lead.x", message: "m" }] }),
      context("push", "lead"),
    );
    expect([body.detail, body.errors]).toEqual(["said by us", [{ path: "lead.x", message: "m" }]]);
  });

  test("many issues are counted, a few are named in the sentence", () => {
    const errors = Array.from({ length: 7 }, (_, i) => ({ path: `f${i}`, message: "is required" }));
    const { body } = problemOf(new Errors.ValidationError("x", "VALIDATION_ERROR", errors), context());
    expect(body.detail).toBe("f0 is required; f1 is required; f2 is required; and 4 more.");
    expect(body.errors).toHaveLength(7);
  });

  test("an error that is no Failure reveals nothing, whatever is thrown", () => {
    const secret = "mongodb://secret at node-7";
    const thrown = fc.oneof(
      fc.constant(new Error(secret)),
      fc.constant(secret),
      fc.constant(new Errors.MoleculerError(secret, 418, "SOMETHING", { errors: secret })),
      fc.constant(new Errors.ServiceNotFoundError({ action: secret, nodeID: secret })),
      fc.constant(new Errors.RequestTimeoutError({ action: secret, nodeID: secret })),
      fc.constant(Object.assign(new Error(secret), { name: "MongoNetworkError" })),
      fc.constant({ type: "INTERNAL", message: secret, data: [{ path: 1, message: secret }] }),
      fc.constantFrom(null, undefined, 7),
      fc.object(),
    );
    fc.assert(
      fc.property(thrown, fc.constantFrom<Answering>("plain", "unprocessable", "push", "carrier"), (error, answers) => {
        const problem = problemOf(error, context(answers));
        return !JSON.stringify(problem).includes("secret") && problem.status >= 400 && problem.status < 600;
      }),
    );
  });

  test("only the unexpected is unexpected", () => {
    expect(problemOf(new TypeError("x"), context())).toMatchObject({ status: 500, code: "INTERNAL", unexpected: true });
    expect(problemOf(new Failure("LEAD_NOT_FOUND", "x"), context()).unexpected).toBe(false);
  });

  test("401 asks for a token, and says so when the one sent was no good; 405 lists the methods", () => {
    const stranger = new Failure("UNAUTHENTICATED", "x");
    expect(problemOf(stranger, context()).headers["WWW-Authenticate"]).toBe('Bearer realm="callagent"');
    expect(problemOf(stranger, { ...context(), token_sent: true }).headers["WWW-Authenticate"]).toBe(
      'Bearer realm="callagent", error="invalid_token"',
    );
    expect(
      problemOf(new Failure("METHOD_NOT_ALLOWED", "x", { allow: ["GET", "POST"] }), context()).headers["Allow"],
    ).toBe("GET, POST");
  });
});
