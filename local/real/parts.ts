import { asyncapi } from "./asyncapi/asyncapi.ts";
import { browser } from "./browser/browser.ts";
import { documentdb } from "./documentdb/documentdb.ts";
import { kubernetes } from "./kubernetes/kubernetes.ts";
import { livekit } from "./livekit/livekit.ts";
import { mongoTools } from "./mongo-tools/mongo-tools.ts";
import { nats, natsCli } from "./nats/nats.ts";
import { opentelemetry } from "./opentelemetry/opentelemetry.ts";
import { receivers } from "./receivers/receivers.ts";
import { prometheus } from "./prometheus/prometheus.ts";
import { schemathesis } from "./schemathesis/schemathesis.ts";
import type { Part } from "./part.ts";
import { s3Server } from "./s3/s3.ts";
import { speech } from "./speech/speech.ts";

/** Every real server there is. */
export const PARTS: readonly Part[] = [
  documentdb,
  mongoTools,
  nats,
  natsCli,
  livekit,
  speech,
  browser,
  receivers,
  asyncapi,
  prometheus,
  opentelemetry,
  kubernetes,
  s3Server,
  schemathesis,
];

/** What a part misses on this machine. */
export const missingFor = (part: Part): string[] =>
  part.needs.filter((need) => !need.isThere()).map((need) => need.missing);
