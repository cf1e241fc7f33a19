import { MAX_SECRETS_OF_REQUEST } from "../../../shared/contracts/records/secret.ts";
import type { ValidationIssue } from "../../../shared/errors.ts";
import { isRecord } from "../../../shared/json.ts";
import { secretNames, secretReferences } from "../../../shared/placeholders.ts";

/** Requests to clients' servers, of pre-checks and functions: what of them may hold credentials, who sees it, and where a secret may stand. Pure. */

type Request = Readonly<Record<string, unknown>>;

/** What is shown in place of a header's value, a body, and the query of an address, to those who may not write them. */
export const MASK = "***";

const maskedUrl = (url: unknown): unknown => (typeof url === "string" ? url.replace(/\?[^]*$/, `?${MASK}`) : url);

/** The request as it is shown to those who may not write it: without all that may hold a credential. */
export const masked = <R extends Request>(request: R): R => ({
  ...request,
  ...("url" in request ? { url: maskedUrl(request["url"]) } : {}),
  ...(isRecord(request["headers"])
    ? { headers: Object.fromEntries(Object.keys(request["headers"]).map((name) => [name, MASK])) }
    : {}),
  ...(request["body"] === undefined ? {} : { body: MASK }),
});

/** An address whose host a variable decides, and so whoever pushes leads. */
const OPEN_HOST = /^https?:\/\/[^/?#]*\{\{/i;

const isMasked = (value: unknown): boolean => value === MASK;

/** Where a request holds what stands for a value that is not shown, as it would be stored in its place. */
const maskIssues = ({ url, headers, body }: Request, path: string): ValidationIssue[] => {
  const at = [
    ...(typeof url === "string" && url.endsWith(`?${MASK}`) ? ["url"] : []),
    ...Object.entries(isRecord(headers) ? headers : {}).flatMap(([name, value]) =>
      isMasked(value) ? [`headers.${name}`] : [],
    ),
    ...(isMasked(body) ? ["body"] : []),
  ];
  return at.map((field) => ({
    path: `${path}.${field}`,
    message: `is ${MASK}, which stands for a value that is not shown; write the value, or {{secrets.NAME}}`,
  }));
};

/** What keeps a request from being stored: a secret in its address or for a host that is open, too many of them, the mask in place of a value. */
export function requestIssues(request: Request, path: string): ValidationIssue[] {
  const { url, headers, body } = request;
  const names = secretNames(headers, body);
  return [
    ...secretReferences(url, `${path}.url`).map((reference) => ({
      path: reference.path,
      message: "can't hold a secret, since servers log addresses; put it into a header or the body",
    })),
    ...(names.length > 0 && typeof url === "string" && OPEN_HOST.test(url)
      ? [{ path: `${path}.url`, message: "must have a host without variables, since the request uses a secret" }]
      : []),
    ...(names.length > MAX_SECRETS_OF_REQUEST
      ? [{ path, message: `uses more than ${MAX_SECRETS_OF_REQUEST} secrets` }]
      : []),
    ...maskIssues(request, path),
  ];
}
