import type { ActionName } from "../../../shared/bus/bus.ts";
import type { ActionContract } from "../../../shared/contracts/define.ts";
import { contractOf } from "../../../shared/contracts/index.ts";
import type { ValidationIssue } from "../../../shared/errors.ts";
import { isRecord } from "../../../shared/json.ts";
import { issueChecker } from "../../../shared/validator.ts";

/** A JSON Schema as plain data. */
export type Schema = Record<string, unknown>;

/** A contract's schema as plain data. */
export const plain = (schema: unknown): Schema => JSON.parse(JSON.stringify(schema)) as Schema;

function contractFor(action: ActionName): ActionContract {
  const contract = contractOf(action);
  if (!contract) throw new Error(`no contract has the action ${action}`);
  return contract;
}

/** What an action takes and gives, as plain JSON Schemas without the library's own marks. */
export function schemasOf(action: ActionName): { params: Schema; result: Schema } {
  const { params, result } = contractFor(action);
  return { params: plain(params), result: plain(result) };
}

/** A check of what an action is given against its contract, to the letter: unknown fields are issues. */
export const paramsChecker = (action: ActionName): ((params: unknown) => ValidationIssue[]) =>
  issueChecker(contractFor(action).params);

/** Of a list that an action takes: how many items, and what is wrong with one of them. */
export interface ItemSchema {
  maxItems: number;
  issuesOf(item: unknown): ValidationIssue[];
}

/** The items of a list among an action's parameters, by its contract. */
export function itemSchemaOf(action: ActionName, list: string): ItemSchema {
  const { maxItems, items } = propertiesOf(schemasOf(action).params)[list] ?? {};
  if (typeof maxItems !== "number" || !isRecord(items)) throw new Error(`${action} takes no bounded list ${list}`);
  return { maxItems, issuesOf: issueChecker(items) };
}

/** The properties of an object schema; empty where it has none. */
export const propertiesOf = (schema: Schema): Record<string, Schema> => {
  const properties = schema["properties"];
  return isRecord(properties)
    ? Object.fromEntries(Object.entries(properties).filter((e): e is [string, Schema] => isRecord(e[1])))
    : {};
};

/** Names of the required properties. */
export const requiredOf = (schema: Schema): string[] => {
  const required = schema["required"];
  return Array.isArray(required) ? required.filter((r) => typeof r === "string") : [];
};
