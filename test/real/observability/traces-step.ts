import { spawn } from "node:child_process";
import { openSync, readFileSync, writeFileSync } from "node:fs";
import { COLLECTOR_VARIABLE } from "../../../local/real/opentelemetry/opentelemetry.ts";
import { callee, startPushing } from "../../../local/harness/lead-pusher.ts";
import { startProduct } from "../../../local/harness/product.ts";
import { until } from "../../../local/harness/stage.ts";
import { freePort } from "../../../local/tools/stack/ports.ts";
import { SPANS } from "../../../shared/tracing/spans.ts";
import type { Step } from "../outcome.ts";
import { outcomeOf, type Found } from "./prometheus-step.ts";

const LIMIT_MS = 60_000;
const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CLIENT = "b7ad6b7169203331";
/** Rings twice: who is behind 08 answers the second call. */
const ANSWERS_LATER = "08";

/** A span as the collector wrote it into its log. */
interface Written {
  trace: string;
  parent: string;
  id: string;
  name: string;
}

const WRITTEN = /Trace ID +: (\S+)\s+Parent ID +: (\S*)\s+ID +: (\S+)\s+Name +: (\S+)/g;
const writtenIn = (text: string): Written[] =>
  [...text.matchAll(WRITTEN)].map(([, trace = "", parent = "", id = "", name = ""]) => ({ trace, parent, id, name }));

/** A collector that takes OTLP over HTTP on a free port. */
async function startCollector(program: string, log: string) {
  const endpoint = `127.0.0.1:${await freePort()}`;
  const config = `${log}.config.json`;
  const pipelines = { traces: { receivers: ["otlp"], exporters: ["debug"] } };
  writeFileSync(
    config,
    JSON.stringify({
      receivers: { otlp: { protocols: { http: { endpoint } } } },
      exporters: { debug: { verbosity: "detailed" } },
      service: { pipelines, telemetry: { metrics: { level: "none" } } },
    }),
  );
  const written = `${log}.collector`;
  const out = openSync(written, "w");
  const child = spawn(program, ["--config", `file:${config}`], { stdio: ["ignore", out, out] });
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
  });
  const text = (): string => readFileSync(written, "utf8");
  await until("the collector", () => Promise.resolve(text().includes("Everything is ready") || undefined), LIMIT_MS);
  return {
    url: `http://${endpoint}`,
    text,
    async stop() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

/** The split product sends a real collector the trace of a lead that is called twice: nothing of it is missing, and its report carries it on. */
export const tracesStep: Step = {
  name: "traces",
  isShort: false,
  async run(env, log) {
    const collector = await startCollector(env[COLLECTOR_VARIABLE] ?? "otelcol", log);
    const product = await startProduct({
      split: true,
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_TRACES_SAMPLER_ARG: "0" },
      retryOffsetSeconds: 1,
    });
    try {
      const { push } = await startPushing(product);
      await push(callee(1, "01"));
      await push(callee(2, ANSWERS_LATER), { traceparent: `00-${TRACE}-${CLIENT}-01` });
      const spans = (): Written[] => writtenIn(collector.text());
      await until("the report", () => Promise.resolve(product.sink.delivered.length === 2 || undefined), LIMIT_MS);
      const isWhole = (): boolean => Object.keys(SPANS).every((name) => spans().some((span) => span.name === name));
      await until("all spans", () => Promise.resolve(isWhole() || undefined), LIMIT_MS).catch(() => undefined);
      const [all, carried] = [spans(), product.sink.delivered.map(({ traceparent }) => traceparent)];
      const ids = new Set([CLIENT, ...all.map(({ id }) => id)]);
      const count = (name: string): number => all.filter((span) => span.name === name).length;
      const last = all.find(({ name }) => name === "webhook.try");
      const found: Found = {
        "every sort of span": isWhole() ? null : `there are ${all.map(({ name }) => name).join(", ")}`,
        "two attempts": count("lead.attempt") === 2 && count("call") === 2 ? null : `${count("lead.attempt")}`,
        "the client's trace alone": all.every(({ trace }) => trace === TRACE) ? null : "another trace",
        "no parent is missing": all.every(({ parent }) => ids.has(parent)) ? null : "a parent is missing",
        "the report carries it on": carried.includes(`00-${TRACE}-${last?.id}-01`) ? null : carried.join(", "),
        "no phone number": /\+?1212\d{7}/.test(collector.text()) ? "there is one" : null,
      };
      return outcomeOf(found);
    } finally {
      await product.stop();
      await collector.stop();
    }
  },
};
