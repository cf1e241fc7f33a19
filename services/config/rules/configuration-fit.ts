import type { ConfigurationRecord } from "../../../shared/contracts/records/configuration.ts";
import type { TemplateInput, TemplateRecord } from "../../../shared/contracts/records/template.ts";
import type { ValidationIssue } from "../../../shared/errors.ts";
import { ALWAYS_ALLOWED } from "./payload-validation.ts";
import { functionsOf, soleVariable } from "./template-variables.ts";

/** Where a template and its configuration, each valid, do not go together: what only a call would show. Pure. */

type Content = Pick<TemplateInput, "nodes" | "global_functions"> & Pick<Partial<TemplateRecord>, "payload_schema">;
type Configuration = Partial<Pick<ConfigurationRecord, "transfer_numbers" | "enable_inbound">>;

/** Warnings of a record: as many as a reader needs to mend it. */
const MAX_WARNINGS = 20;
/** A record with what its reader should know; none: as it is. */
export const withWarnings = <T extends object>(
  record: T,
  warnings: readonly ValidationIssue[],
): T & { warnings?: ValidationIssue[] } =>
  warnings.length === 0 ? record : { ...record, warnings: warnings.slice(0, MAX_WARNINGS) };

const SHOWN = 10;

/** The variables that a template needs and nobody but a push, or the page of a website, can give. */
function requiredVariables({ payload_schema }: Pick<Content, "payload_schema">): string[] {
  const required = payload_schema?.["required"];
  return Array.isArray(required)
    ? required.filter((name): name is string => typeof name === "string" && !ALWAYS_ALLOWED.some((a) => a === name))
    : [];
}

const listed = (names: readonly string[]): string =>
  names.slice(0, SHOWN).join(", ") + (names.length > SHOWN ? ` and ${names.length - SHOWN} more` : "");

/** Functions that transfer to a number of a variable. */
const variableTransfers = (t: Content): { path: string; name: string; to: string }[] =>
  functionsOf(t).flatMap(({ path, fn }) =>
    fn.action === "transfer" && soleVariable(fn.transfer_to ?? "") !== null
      ? [{ path: `${path}.transfer_to`, name: fn.name, to: fn.transfer_to ?? "" }]
      : [],
  );

const lacksNumbers = (c: Configuration | null): boolean => (c?.transfer_numbers ?? []).length === 0;

/** What of a template will not work with its configuration; null: it has none yet. */
export const templateMisfits = (t: Content, c: Configuration | null): ValidationIssue[] =>
  lacksNumbers(c)
    ? variableTransfers(t).map(({ path, to }) => ({
        path,
        message: `transfers to ${to}, and a number of a variable is called only where the configuration's transfer_numbers has it, which is empty: no such transfer will be made`,
      }))
    : [];

/** What of a configuration will not work with its template. */
export function configurationMisfits(t: Content, c: Configuration): ValidationIssue[] {
  const transfers = lacksNumbers(c) ? variableTransfers(t) : [];
  const required = c.enable_inbound === true ? requiredVariables(t) : [];
  return [
    ...transfers.slice(0, 1).map(({ to }) => ({
      path: "transfer_numbers",
      message: `is empty, and ${listed(transfers.map(({ name }) => name))} of the template transfers to ${to}: no such transfer will be made; list each number that may be called`,
    })),
    ...(required.length === 0
      ? []
      : [
          {
            path: "enable_inbound",
            message: `lets callers in who bring no variables: ${listed(required)} of the template, which its payload_schema requires, will be empty in their calls; use a template that asks for them`,
          },
        ]),
  ];
}

/** What the pages of a website must give for a template; none: nothing. */
export function websiteMisfits(t: Content): ValidationIssue[] {
  const required = requiredVariables(t);
  return required.length === 0
    ? []
    : [
        {
          path: "template_id",
          message: `names a template whose payload_schema requires ${listed(required)}: a page that does not give them is refused`,
        },
      ];
}
