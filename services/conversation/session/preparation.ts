import type { Bus, ResultOf } from "../../../shared/bus/bus.ts";
import type { Clock } from "../../../shared/time/clock.ts";
import type { Preparation, Prepared } from "../../../shared/contracts/conversation.ts";
import type { Engine } from "../../../shared/contracts/records/models.ts";
import { codeOf, messageOf } from "../../../shared/errors.ts";
import { sha256 } from "../../../shared/ids.ts";
import { BROWSER, type MediaAccess } from "../../../shared/contracts/records/session.ts";
import {
  choosePipeline,
  chooseSessionPipeline,
  mediaKindOf,
  type PipelineChoice,
  type PipelineEnv,
} from "../pipelines/pipeline-choice.ts";
import type { CompiledTemplates, CompiledTemplate } from "./compiled-templates.ts";
import type { MediaAddresses } from "../browser/media-addresses.ts";
import type { NewSession, SessionsRepository } from "./sessions.repository.ts";
import type { PreparedSessions } from "./prepared-sessions.ts";
import type { SpeechCacheWarmer } from "../pipelines/cascaded/speech-cache-warmer.ts";

type Result = ResultOf<"conversation.prepareMany">["results"][number];
type Refusal = NonNullable<Result["refusal"]>;

/** What conversations are prepared with. `full`: there is room for no more. */
export interface PreparationDeps {
  env: PipelineEnv;
  clock: Clock;
  sessions: SessionsRepository;
  prepared: PreparedSessions;
  templates: CompiledTemplates;
  warmer: Pick<SpeechCacheWarmer, "warm">;
  addresses: Pick<MediaAddresses, "issue">;
  /** The client of a session is awaited with this token, where it comes by a room. */
  expect(call_ref: string, token: string): void;
  full(): boolean;
}

const NO_PLACE: Refusal = { code: "BUSY", message: "No place is free for another session; try again soon." };

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
  { engine: configured, provider, client_led }: Pick<Preparation, "engine" | "provider" | "client_led">,
  env: PipelineEnv,
): (CompiledTemplate & { engine: Engine }) | Refusal {
  if (!("template" in ready)) return ready;
  const choose = provider === BROWSER ? chooseSessionPipeline : choosePipeline;
  // a realtime model answers by itself, so that what the client says is spoken by the cascaded pipeline
  const template = client_led ? { ...ready.template, engine: "cascade" as const } : ready.template;
  const choice: PipelineChoice = choose(template, configured, env);
  return "engine" in choice ? { ...ready, engine: choice.engine } : { code: "NOT_AVAILABLE", message: choice.refused };
}

/** Where the media of each call connect; an address that can't be had makes its call's template a refusal. */
async function addressesOf(
  { addresses }: Pick<PreparationDeps, "addresses">,
  calls: readonly Preparation[],
  templates: (CompiledTemplate | Refusal)[],
): Promise<(MediaAccess | null)[]> {
  return Promise.all(
    calls.map(async (call, at) => {
      const ready = templates[at];
      if (ready === undefined || !("template" in ready)) return null;
      return addresses.issue(call.call_ref, call).catch((error: unknown) => {
        templates[at] = refusalOf(error);
        return null;
      });
    }),
  );
}

/** Prepares conversations, each by itself: a session with a one-use token, all written in one request. In the order of the calls. */
export async function prepareMany(parts: PreparationDeps, bus: Bus, calls: readonly Preparation[]): Promise<Result[]> {
  const { sessions, clock, env, warmer: warm, prepared: awaited } = parts;
  const isFull = parts.full();
  const templates = (await compiledTemplatesOf(parts, bus, calls)).map((ready, at) => {
    const call = calls[at];
    // a carrier's call has another node to join; a client waits for its answer
    if (isFull && call?.provider === BROWSER) return NO_PLACE;
    return withEngine(ready, call ?? { engine: null, provider: "PROVIDER_ONE" }, env);
  });
  const addresses = await addressesOf(parts, calls, templates);
  const wanted: { at: number; prepared: Prepared; session: NewSession }[] = calls.flatMap(
    ({ call_ref, stream = null, via: _via, ...call }, at) => {
      const ready = templates[at];
      const address = addresses[at];
      if (ready === undefined || !("template" in ready) || !address) return [];
      const {
        template: { language, voice },
        engine,
      } = ready;
      const prepared = {
        ...address,
        kind: mediaKindOf(engine),
        language,
        voice,
      };
      return [{ at, prepared, session: { _id: call_ref, ...call, stream, engine, token_hash: sha256(address.token) } }];
    },
  );
  const made = await sessions.prepare(
    wanted.map((w) => w.session),
    clock.now(),
  );
  for (const [i, { at, session, prepared }] of wanted.entries()) {
    if (made[i] !== true) continue;
    if (prepared.transport === "livekit") parts.expect(session._id, prepared.token);
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
