import { recordAudit } from "../../../shared/audit.ts";
import type { Bus, Handlers, ServiceDeps } from "../../../shared/bus/bus.ts";
import { DOOR_DEFAULTS } from "../../../shared/contracts/records/session.ts";
import { scopeOf, type By } from "../../../shared/contracts/records/identity.ts";
import { codeOf, fail, failAs, type Refusal } from "../../../shared/errors.ts";
import { readPage } from "../../../shared/page.ts";
import { MS_PER_SECOND } from "../../../shared/time/clock.ts";
import type { ConfigurationsRepository } from "../configurations/configurations.repository.ts";
import { settingsOf } from "../plans/call-plans.ts";
import type { PushTargets } from "../push/push-targets.ts";
import type { TemplateDoc } from "../templates/templates.model.ts";
import type { TemplatesRepository } from "../templates/templates.repository.ts";
import { websiteMisfits, withWarnings } from "../rules/configuration-fit.ts";
import { mayOwn, mayWrite, requireOwner } from "../tenancy.ts";
import { toDoor, type DoorDoc } from "./doors.model.ts";
import type { DoorsRepository, DoorWindow } from "./doors.repository.ts";

/** Most doors of one merchant, or of one reseller itself. */
const MAX_DOORS_OF_OWNER = 100;
/** Bytes of randomness in a key: nobody finds a door by trying. */
const KEY_BYTES = 18;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** What doors lead to. */
export interface DoorTargets {
  templates: TemplatesRepository;
  configurations: ConfigurationsRepository;
  targets: PushTargets;
}

const doorNotFound = (): never =>
  fail("DOOR_NOT_FOUND", "There is no such door, or it is not yours; list yours with GET /doors.");
const closed = (): never => fail("SESSION_HELD", "Calls are not taken at the moment.");

/** What a page is told that may not begin a session: of the tenant behind the door nothing but what its own variables lack. */
const refused = (why: Refusal): never => {
  const code = codeOf({ type: why.code });
  return code === "PAYLOAD_INVALID" || code === "RATE_LIMITED" ? failAs(why) : closed();
};

const windowOf = (name: string, lengthMs: number, max: number, now: Date): DoorWindow => {
  const number = Math.floor(now.getTime() / lengthMs);
  return { name: `${name} ${number}`, max, ends_at: new Date((number + 1) * lengthMs) };
};

/** RATE_LIMITED until the window ends. */
async function takeOne(doors: DoorsRepository, window: DoorWindow, now: Date): Promise<void> {
  if (await doors.take(window)) return;
  const retry_after_seconds = Math.ceil((window.ends_at.getTime() - now.getTime()) / MS_PER_SECOND);
  fail("RATE_LIMITED", "As many calls as are taken from this website have been made; try again later.", {
    retry_after_seconds,
  });
}

/** The door that its maker names, and its template: one of the asker's scope, for its owner. FORBIDDEN, TEMPLATE_NOT_FOUND, MERCHANT_NOT_FOUND, VALIDATION_FAILED. */
async function newDoor(
  { clock, ids }: ServiceDeps,
  templates: TemplatesRepository,
  bus: Bus,
  { by, door: asked }: Parameters<Handlers<"config", "createDoor">["createDoor"]>[0],
): Promise<{ door: DoorDoc; template: TemplateDoc }> {
  mayWrite(by);
  const unknown = { errors: [{ path: "template_id", message: "is unknown" }] };
  const template =
    (await templates.head(scopeOf(by), asked.template_id)) ??
    fail("TEMPLATE_NOT_FOUND", "template_id names no template of yours; list them with GET /templates.", unknown);
  const { reseller_id } = template;
  const owner = { reseller_id, merchant_id: template.merchant_id ?? asked.merchant_id ?? null };
  if (asked.merchant_id !== undefined && asked.merchant_id !== owner.merchant_id)
    fail("TEMPLATE_NOT_FOUND", "The template belongs to another merchant than merchant_id.", unknown);
  mayOwn(by, owner);
  if (template.merchant_id === null && owner.merchant_id !== null) await requireOwner(bus, owner);
  const odd = asked.origins.findIndex((origin) => URL.parse(origin)?.origin !== origin);
  if (odd >= 0)
    fail("VALIDATION_FAILED", `origins.${odd} is not an origin as browsers send it.`, {
      errors: [{ path: `origins.${odd}`, message: "must be an origin as browsers send it, without a default port" }],
    });
  const door: DoorDoc = {
    _id: ids.uuid(),
    key: ids.base64url(KEY_BYTES),
    ...owner,
    template_id: template._id,
    origins: asked.origins,
    calls_per_address_hour: asked.calls_per_address_hour ?? DOOR_DEFAULTS.calls_per_address_hour,
    calls_per_origin_hour: asked.calls_per_origin_hour ?? DOOR_DEFAULTS.calls_per_origin_hour,
    calls_per_day: asked.calls_per_day ?? null,
    created_at: clock.now(),
  };
  return { door, template };
}

/** Doors as their owners see them. */
export function doorChanges(
  deps: ServiceDeps,
  doors: DoorsRepository,
  { templates }: Pick<DoorTargets, "templates">,
): Handlers<"config", "createDoor" | "listDoors" | "deleteDoor"> {
  const audited = (bus: Bus, by: By, action: "door.made" | "door.withdrawn", door: DoorDoc): Promise<void> => {
    const { _id: subject, reseller_id, merchant_id, template_id, origins } = door;
    return recordAudit(deps, bus, {
      by,
      action,
      subject,
      reseller_id,
      merchant_id,
      details: { template_id, origins },
    });
  };
  return {
    async createDoor(params, { bus }) {
      const { door, template } = await newDoor(deps, templates, bus, params);
      if ((await doors.countOf(door)) >= MAX_DOORS_OF_OWNER)
        fail("RESOURCE_IN_USE", `There are ${MAX_DOORS_OF_OWNER} doors already; withdraw some that you do not use.`);
      await doors.insert(door);
      await audited(bus, params.by, "door.made", door);
      const [content] = await templates.current([template]);
      return withWarnings(toDoor(door), content ? websiteMisfits(content) : []);
    },
    async listDoors({ by, limit, cursor, template_id, ...owner }) {
      const filter = { ...owner, ...(template_id === undefined ? {} : { template_id: template_id.toLowerCase() }) };
      const { items, next_cursor } = await readPage(
        { limit, cursor },
        (after, size) => doors.page(scopeOf(by), filter, after, size),
        toDoor,
      );
      return { count: items.length, doors: items, next_cursor };
    },
    async deleteDoor({ by, id }, { bus }) {
      mayWrite(by);
      const door = (await doors.remove(scopeOf(by), id)) ?? doorNotFound();
      await audited(bus, by, "door.withdrawn", door);
      return {};
    },
  };
}

/** Doors as visitors come through them. */
export function doorEntries(
  { clock }: Pick<ServiceDeps, "clock">,
  doors: DoorsRepository,
  { configurations, targets }: DoorTargets,
): Handlers<"config", "doorByKey" | "resolveDoor" | "countDoor"> {
  return {
    async doorByKey({ key }) {
      const door = await doors.byKey(key);
      if (door === null) return { door: null };
      const { origins, calls_per_address_hour } = door;
      return { door: { origins, calls_per_address_hour } };
    },
    async resolveDoor({ key, origin, payload }, { bus }) {
      const door = (await doors.byKey(key)) ?? doorNotFound();
      const { _id: door_id, template_id, reseller_id, merchant_id } = door;
      if (!door.origins.includes(origin)) fail("FORBIDDEN", "Calls are not taken from this website.");
      const whose = { reseller_id, ...(merchant_id === null ? {} : { merchant_id }) };
      if (!(await bus.call("merchants.active", whose)).active) closed();
      const [found] = await targets.resolve([{ template_id, ...whose, payload }], bus);
      if (found === undefined || "code" in found) return found === undefined ? closed() : refused(found);
      const [doc] = await configurations.ofTemplates([template_id]);
      const reporting_webhook_url = doc ? (settingsOf(doc).inbound_webhook_url ?? null) : null;
      return { door_id, merchant_id, template: found, reporting_webhook_url };
    },
    async countDoor({ door_id, origin }) {
      const door = (await doors.find(door_id)) ?? doorNotFound();
      const now = clock.now();
      await takeOne(doors, windowOf(`${door_id} ${origin}`, HOUR_MS, door.calls_per_origin_hour, now), now);
      if (door.calls_per_day !== null) await takeOne(doors, windowOf(door_id, DAY_MS, door.calls_per_day, now), now);
      return {};
    },
  };
}
