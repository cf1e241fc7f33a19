import { randomUUID } from "node:crypto";
import type { Bus } from "../../shared/bus.ts";
import type { AttemptFacts } from "../../shared/contracts/attempt.ts";
import type { Preparation, Prepared as Ready } from "../../shared/contracts/conversation.ts";
import type { TemplateRecord } from "../../shared/contracts/template.ts";
import { codeOf, fail } from "../../shared/errors.ts";
import { callRef } from "../../shared/ids.ts";
import { RelayCaller } from "./relay-caller.ts";
import type { Question, Reply } from "./scripted-model.ts";
import { standIn, until, type Stage } from "./stage.ts";
import { PAYLOAD, talkTemplate } from "./talk-template.ts";

/** What the leads service was told at the end of a talk. */
export interface Settled {
  lead_id: string;
  claim_no: number;
  facts: AttemptFacts;
}

/** The services around the conversation, as the test wants them. */
export class World {
  readonly settled: Settled[] = [];
  readonly calls: string[] = [];
  readonly paths: string[] = [];
  extends = 0;
  templatesAsked = 0;
  go = true;
  /** What the dialler knows of a machine when media joins. */
  machine = false;
  beep = false;
  tellsBeep = true;
  done = true;
  settleFails = 0;
  joinFails = 0;
  verifyFails = false;
  transferFails = false;
  /** What happens while the dialler hands a call over, before its answer. */
  whileJoining: (call_ref: string) => Promise<unknown> = () => Promise.resolve();
  templates = new Map<string, TemplateRecord>();

  readonly services = [
    standIn("config", {
      templateVersion: ({ template_id }) => (
        this.templatesAsked++,
        this.templates.get(template_id) ?? fail("TEMPLATE_NOT_FOUND", "There is no such template version.")
      ),
    }),
    standIn("dialer", {
      verifyUpgrade: ({ path, headers }) => {
        if (this.verifyFails) fail("TIMEOUT", "The dialer is slow.");
        this.paths.push(path);
        return { valid: headers["x-twilio-signature"] === "good" };
      },
      joined: async ({ call_ref, node_id }) => {
        if (this.joinFails-- > 0) fail("DEPENDENCY_DOWN", "The store is down.");
        this.calls.push(`joined ${call_ref} ${node_id}`);
        await this.whileJoining(call_ref);
        return {
          go: this.go,
          reason: null,
          answered_at: "2026-11-21T10:00:00.000Z",
          machine: this.machine,
          beep: this.beep,
          tells_beep: this.tellsBeep,
        };
      },
      hangUp: ({ call_ref }) => {
        this.calls.push(`hangUp ${call_ref}`);
        return {};
      },
      sendDtmf: ({ call_ref, digits }) => {
        this.calls.push(`keys ${call_ref} ${digits}`);
        return {};
      },
      transfer: ({ call_ref, to }) => {
        if (this.transferFails) fail("CALL_REFUSED", "The carrier refused the transfer.");
        this.calls.push(`transfer ${call_ref} ${to}`);
        return {};
      },
    }),
    standIn("leads", {
      extend: () => {
        this.extends++;
        return { done: this.done };
      },
      settle: (settled) => {
        if (this.settleFails-- > 0) fail("STORE_UNAVAILABLE", "The store is down.");
        this.settled.push(settled);
        return { done: true, status: "FINISHED", outcome: "x" };
      },
    }),
  ];

  /** Prepares a talk of a template of its own. */
  async prepare(
    stage: Stage,
    template: Partial<TemplateRecord> = {},
    order: Partial<
      Pick<
        Preparation,
        | "max_call_seconds"
        | "ttl_seconds"
        | "voicemail_action"
        | "provider"
        | "payload"
        | "carrier"
        | "engine"
        | "record"
      >
    > = {},
  ): Promise<Prepared> {
    const template_id = this.template(template);
    const lead_id = randomUUID();
    const call_ref = callRef(lead_id, 1);
    const { media_url, token } = await prepareOne(stage.bus, {
      call_ref,
      lead_id,
      claim_no: 1,
      provider: "PROVIDER_ONE",
      template_id,
      template_version: 1,
      voicemail_action: "hangup",
      carrier: "twilio",
      engine: null,
      record: false,
      payload: PAYLOAD,
      max_call_seconds: 60,
      ttl_seconds: 60,
      ...order,
    });
    return { call_ref, lead_id, media_url, token };
  }

  /** A template that the config stand-in knows; its id. */
  template(over: Partial<TemplateRecord> = {}): string {
    const id = randomUUID();
    this.templates.set(id, talkTemplate({ id, ...over }));
    return id;
  }

  settledOf(lead_id: string): Promise<Settled> {
    return until("the talk to be settled", () => this.settled.find((s) => s.lead_id === lead_id));
  }
  hungUp(call_ref: string): Promise<true> {
    return until("the carrier's call to be hung up", () => this.calls.includes(`hangUp ${call_ref}`) || undefined);
  }
}

/** Has one call made ready; a refusal is thrown. */
export async function prepareOne(bus: Bus, call: Preparation): Promise<Ready> {
  const [result] = (await bus.call("conversation.prepareMany", { calls: [call] })).results;
  return (
    result?.prepared ??
    fail(codeOf({ type: result?.refusal?.code }), result?.refusal?.message ?? "neither prepared nor refused")
  );
}

/** A prepared talk. */
export interface Prepared {
  call_ref: string;
  lead_id: string;
  media_url: string;
  token: string;
}

/** An obedient little model: it understands a few words of the customer. */
export const obedient = (q: Question): Reply => {
  const last = q.messages.at(-1);
  const can = (name: string) => q.tools?.some((t) => t.function.name === name);
  if (last?.role !== "user")
    return {
      text: /Ask which day/.test(q.messages[0]?.content ?? "")
        ? "Which day suits you?"
        : q.tools
          ? "Ada, do you confirm order A-17?"
          : "Thank you, see you Friday. Goodbye!",
    };
  const words = last.content ?? "";
  if (/^\[keypad\] 1|yes/i.test(words) && can("confirm")) return { calls: [{ name: "confirm" }] };
  if (/another day/i.test(words)) return { calls: [{ name: "another_day" }] };
  if (/friday/i.test(words) && can("set_day")) return { calls: [{ name: "set_day", arguments: { day: "Friday" } }] };
  if (/person/i.test(words)) return { text: "I put you through.", calls: [{ name: "agent" }] };
  if (/who/i.test(words)) return { text: "I am Mia of Northwind. Do you confirm order A-17?" };
  return { text: "I see. Do you confirm?" };
};

/** How an upgrade is answered: "answered 401", or "let in". */
export const refused = (url: string, headers?: Record<string, string>): Promise<string> =>
  RelayCaller.connect(url, headers).then(
    () => "let in",
    (error: Error) => error.message,
  );

/** A caller that has heard the opening. */
export async function opened(p: Prepared): Promise<RelayCaller> {
  const caller = await RelayCaller.connect(p.media_url);
  caller.setup();
  await caller.hears("do you confirm");
  return caller;
}
