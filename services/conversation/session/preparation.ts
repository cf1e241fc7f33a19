import type { Bus, ResultOf } from "../../../shared/bus/bus.ts";
import type { Clock } from "../../../shared/time/clock.ts";
import type { Preparation, Prepared } from "../../../shared/contracts/conversation.ts";
import type { Engine } from "../../../shared/contracts/records/models.ts";
import { codeOf, messageOf } from "../../../shared/errors.ts";
import { sha256, type Ids } from "../../../shared/ids.ts";
import { choosePipeline, mediaKindOf, type PipelineChoice, type PipelineEnv } from "../pipelines/pipeline-choice.ts";
import type { CompiledTemplates, CompiledTemplate } from "./compiled-templates.ts";
import { mediaPath } from "../transport/media-server.ts";
import type { NewSession, SessionsRepository } from "./sessions.repository.ts";
import type { PreparedSessions } from "./prepared-sessions.ts";
import type { SpeechCacheWarmer } from "../pipelines/cascaded/speech-cache-warmer.ts";

type Result = ResultOf<"conversation.prepareMany">["results"][number];
type Refusal = NonNullable<Result["refusal"]>;

/** What conversations are prepared with. `url`: where carriers find the media server. */
export interface PreparationDeps {
  env: PipelineEnv;
  clock: Clock;
  ids: Ids;
  sessions: SessionsRepository;
  prepared: PreparedSessions;
  templates: CompiledTemplates;
  warmer: Pick<SpeechCacheWarmer, "warm">;
  url(): string;
}

const TOKEN_BYTES = 16;

const refusalOf = (error: unknown): Refusal => ({
  code: codeOf(error),
  message: messageOf(error),
});

/** Each template version once, whatever the number of calls; what can't be had is a refusal for its calls only. */
async function compiledTemplatesOf(
  { templates: flows }: PreparationDeps,
  bus: Bus,
  calls: readonly Preparation[],
): Promise<(CompiledTemplate | Refusal)[]> {
  const asked = new Map<string, Promise<CompiledTemplate | Refusal>>();
  return Promise.all(
    calls.map(({ template_id, template_version }) => {
      const key = `${template_id}:${template_version}`;
      const found = asked.get(key) ?? flows.get(bus, template_id, template_version).catch(refusalOf);
      asked.set(key, found);
      return found;
    }),
  );
}

/** A template with its conversations' engine; the deployment may lack what that needs. */
function withEngine(
  ready: CompiledTemplate | Refusal,
  configured: Engine | null,
  env: PipelineEnv,
): (CompiledTemplate & { engine: Engine }) | Refusal {
  if (!("template" in ready)) return ready;
  const choice: PipelineChoice = choosePipeline(ready.template, configured, env);
  return "engine" in choice ? { ...ready, engine: choice.engine } : { code: "NOT_AVAILABLE", message: choice.refused };
}

/** Prepares conversations, each by itself: a session with a one-use token, all written in one request. In the order of the calls. */
export async function prepareMany(parts: PreparationDeps, bus: Bus, calls: readonly Preparation[]): Promise<Result[]> {
  const { ids, sessions, clock, url, env, warmer: warm, prepared: awaited } = parts;
  const templates = (await compiledTemplatesOf(parts, bus, calls)).map((ready, at) =>
    withEngine(ready, calls[at]?.engine ?? null, env),
  );
  const wanted: { at: number; prepared: Prepared; session: NewSession }[] = calls.flatMap(
    ({ call_ref, stream = null, ...call }, at) => {
      const ready = templates[at];
      if (ready === undefined || !("template" in ready)) return [];
      const token = ids.hex(TOKEN_BYTES);
      const {
        template: { language, voice },
        engine,
      } = ready;
      const prepared = {
        media_url: `${url()}${mediaPath(call.provider, token)}`,
        token,
        kind: mediaKindOf(engine),
        language,
        voice,
      };
      return [{ at, prepared, session: { _id: call_ref, ...call, stream, engine, token_hash: sha256(token) } }];
    },
  );
  const made = await sessions.prepare(
    wanted.map((w) => w.session),
    clock.now(),
  );
  for (const [i, { at, session }] of wanted.entries()) {
    if (made[i] !== true) continue;
    awaited.add(session);
    const ready = templates[at];
    if (session.engine === "cascade" && ready !== undefined && "template" in ready)
      warm.warm(ready.template, session.payload);
  }
  const done = new Map(wanted.map(({ at, prepared }, i) => [at, made[i] === true ? prepared : null]));
  return calls.map(({ call_ref }, at): Result => {
    const ready = templates[at];
    if (ready !== undefined && "code" in ready) return { prepared: null, refusal: ready };
    const prepared = done.get(at) ?? null;
    return {
      prepared,
      refusal:
        prepared === null
          ? { code: "BUSY", message: `The talk of ${call_ref} has begun already; it can't be prepared again.` }
          : null,
    };
  });
}
