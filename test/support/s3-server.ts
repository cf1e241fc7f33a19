import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A small storage that speaks S3 as far as recordings need it: PUT, GET with Range, HEAD and DELETE of objects below /<bucket>/, each request signed (SigV4). */
export interface S3Server {
  url: string;
  objects: Map<string, { body: Buffer; content_type: string }>;
  /** Every request taken: `METHOD key`. */
  asked: string[];
  /** Answers 503 this many times before it works again. */
  failing: number;
  /** Breaks answers off after so many bytes; null: never. */
  breakAfter: number | null;
  /** Answers that their reader did not wait for the end of. */
  cut: number;
  /** Answers under way. */
  open(): number;
  stop(): Promise<void>;
}

/** The access key the server takes, and the bucket there is. */
export const S3_ACCOUNT = {
  access_key_id: "test-access-key",
  secret_access_key: "test-secret-key",
  bucket: "recordings",
} as const;

const SIGNED = new RegExp(
  `^AWS4-HMAC-SHA256 Credential=${S3_ACCOUNT.access_key_id}/\\d{8}/[a-z0-9-]+/s3/aws4_request, ?SignedHeaders=[a-z0-9;-]*host[a-z0-9;-]*, ?Signature=[0-9a-f]{64}$`,
);

const refuse = (response: ServerResponse, status: number, code: string): void => {
  response
    .writeHead(status, { "content-type": "application/xml" })
    .end(`<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`);
};

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk)));
  return Buffer.concat(chunks);
}

function send(
  server: S3Server,
  request: IncomingMessage,
  response: ServerResponse,
  { body, content_type }: { body: Buffer; content_type: string },
): void {
  const asked = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "");
  const [start, end] = asked ? [Number(asked[1]), Math.min(body.length - 1, Number(asked[2]))] : [0, body.length - 1];
  if (asked && start >= body.length) {
    refuse(response, 416, "InvalidRange");
    return;
  }
  const part = body.subarray(start, end + 1);
  response.writeHead(asked ? 206 : 200, {
    "content-type": content_type,
    "content-length": part.length,
    etag: '"e"',
    "accept-ranges": "bytes",
    ...(asked ? { "content-range": `bytes ${start}-${end}/${body.length}` } : {}),
  });
  if (request.method === "HEAD") {
    response.end();
    return;
  }
  if (server.breakAfter === null) {
    response.end(part);
    return;
  }
  response.write(part.subarray(0, server.breakAfter), () => response.destroy());
}

async function serve(server: S3Server, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, bucket, ...rest] = decodeURIComponent((request.url ?? "/").split("?")[0] ?? "/").split("/");
  const key = rest.join("/");
  const body = await bodyOf(request);
  server.asked.push(`${request.method} ${key}`);
  if (server.failing > 0) {
    server.failing -= 1;
    refuse(response, 503, "SlowDown");
    return;
  }
  if (
    !SIGNED.test(request.headers.authorization ?? "") ||
    request.headers["x-amz-date"] === undefined ||
    request.headers["x-amz-content-sha256"] === undefined
  ) {
    refuse(response, 403, "AccessDenied");
    return;
  }
  if (bucket !== S3_ACCOUNT.bucket) {
    refuse(response, 404, "NoSuchBucket");
    return;
  }
  if (request.method === "PUT") {
    if (request.headers["content-length"] === undefined) {
      refuse(response, 411, "MissingContentLength");
      return;
    }
    server.objects.set(key, { body, content_type: request.headers["content-type"] ?? "" });
    response.writeHead(200, { etag: '"e"' }).end();
    return;
  }
  if (request.method === "DELETE") {
    server.objects.delete(key);
    response.writeHead(204).end();
    return;
  }
  const found = server.objects.get(key);
  if (!found) refuse(response, 404, "NoSuchKey");
  else send(server, request, response, found);
}

/** Starts it on a free port. */
export async function startS3(): Promise<S3Server> {
  let open = 0;
  const http = createServer((request, response) => {
    open += 1;
    response.once("close", () => {
      open -= 1;
      if (!response.writableFinished) box.cut += 1;
    });
    serve(box, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => {
    http.listen(0, "127.0.0.1", resolve);
  });
  const box: S3Server = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    objects: new Map(),
    asked: [],
    failing: 0,
    breakAfter: null,
    cut: 0,
    open: () => open,
    stop: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
  return box;
}
