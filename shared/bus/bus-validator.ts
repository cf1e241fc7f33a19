import { Validators } from "moleculer";
import type { TSchema } from "../contracts/define.ts";
import { isRecord, textOf } from "../json.ts";
import { depsOf } from "../process/process-deps.ts";
import { tolerantReader } from "./tolerant-reader.ts";
import { unknownFields, type UnknownFields } from "./unknown-fields.ts";

const isJsonSchema = (s: Record<string, unknown>): boolean =>
  s["type"] === "object" && typeof s["properties"] === "object";

/**
 * Reads what comes over the bus by the contracts' JSON Schemas, in Moleculer's validator slot; Moleculer's own $node actions keep theirs. Fields that
 * a contract does not name are left out, counted and logged: their sender is of a later version.
 */
export class BusValidator extends Validators.Fastest {
  #counted: UnknownFields | null = null;

  constructor() {
    super({ paramName: "params" });
  }

  /** Counted by the broker's own clock and log, which are there once it has services. */
  get #unknown(): UnknownFields {
    return (this.#counted ??= unknownFields(depsOf(this.broker)));
  }

  override compile(schema: Record<string, unknown>): Validators.Base.CheckerFunction {
    if (!isJsonSchema(schema)) return super.compile(schema);
    const read = tolerantReader(schema as unknown as TSchema);
    const checker = (params: unknown, { meta: context }: { meta: unknown }) => {
      const { value, unknown, issues } = read(params);
      if (unknown.length > 0 && isRecord(context)) {
        context["params"] = value;
        const action = isRecord(context["action"]) ? textOf(context["action"]["name"]) : "";
        this.#unknown.count(action, textOf(context["nodeID"]), unknown);
      }
      return issues.length === 0 || issues;
    };
    return checker as unknown as Validators.Base.CheckerFunction; // moleculer types the checker's answer and options narrower than they are
  }
}
