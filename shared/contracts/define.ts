import {
  Type,
  type Static,
  type TNull,
  type TObject,
  type TOptional,
  type TProperties,
  type TSchema,
  type TUnion,
} from "typebox";

/** One action of a contract: JSON Schemas of what it takes and gives. Only `params` is checked at run time, in the callee. */
export interface ActionContract<P extends TSchema = TSchema, R extends TSchema = TSchema> {
  params: P;
  result: R;
  timeout_ms?: number;
  since?: string;
}

/**
 * Declares an action. `timeout_ms` overrides the bus's time-out where the work is known to be long. `since`: the version that has it first, of those
 * that came after 0.2.0. What an action means never changes: another meaning is another action, beside which the old one stays for a version.
 */
export const action = <P extends TSchema, R extends TSchema>(
  params: P,
  result: R,
  options: { timeout_ms?: number; since?: string } = {},
): ActionContract<P, R> => ({ params, result, ...options });

/** An object that refuses unknown fields: for everything that comes in. */
export const Strict = <T extends TProperties>(properties: T): TObject<T> =>
  Type.Object(properties, { additionalProperties: false });

/** What a reader is told of a field beside its meaning. `default`: what holds where it is left out; a fact, which no check fills in. */
export interface Told {
  default?: string | number | boolean | readonly unknown[];
  example?: unknown;
  /** What the service checks itself, with words of its own for what is wrong. */
  pattern?: string;
}

/** A copy of a schema with more keywords; the marks that the library hides in it stay. */
function withKeywords<T extends TSchema>(schema: T, keywords: Record<string, unknown>): T {
  const hidden = Object.entries(Object.getOwnPropertyDescriptors(schema)).filter(([, mark]) => !mark.enumerable);
  return Object.defineProperties({ ...schema, ...keywords }, Object.fromEntries(hidden));
}

/**
 * A schema with what it means: for readers of the OpenAPI document and of /docs, which show it; no check looks at it, and it does not travel on the bus.
 * Every field of the REST API has one (test/gateway/docs/described-fields.test.ts).
 */
export const described = <T extends TSchema>(text: string, schema: T, told: Told = {}): T =>
  withKeywords(schema, {
    description: text,
    ...(told.default === undefined ? {} : { "x-default": told.default }),
    ...(told.pattern === undefined ? {} : { "x-pattern": told.pattern }),
    ...(told.example === undefined ? {} : { examples: [told.example] }),
  });

/** A schema that stands once in the OpenAPI document, under this name, and is referred to elsewhere. */
export const named = <T extends TSchema>(title: string, about: string, schema: T): T =>
  withKeywords(schema, { title, "x-about": about });

/** A closed set of values with the meaning of each. */
export const valued = <const V extends string>(values: readonly V[], meanings: Record<V, string>) =>
  Type.Enum([...values], { "x-meanings": meanings });

/** Fields that mean what the fields of the same names in `as` do, unless they say it themselves. */
export const describedAs = <T extends TProperties>(as: TProperties, fields: T): T => ({
  ...fields,
  ...Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]) => {
      const text = as[name] && "description" in as[name] ? as[name].description : undefined;
      return typeof text !== "string" || "description" in field ? [] : [[name, described(text, field)]];
    }),
  ),
});

/** Keywords of these schemas that are for readers, and no part of JSON Schema. */
export const READERS_KEYWORDS = ["x-default", "x-about", "x-meanings", "x-pattern"] as const;

/** A value or null. */
export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** Fields that a change may leave out, or set to null to go back to what holds where nothing was set. */
export const Clearable = <T extends TProperties>(fields: T) =>
  Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, Type.Optional(Nullable(schema))])) as {
    [K in keyof T]: TOptional<TUnion<[T[K], TNull]>>;
  };

/** A change of some fields: any of them, but one at least; unknown fields are refused. */
export const Patch = <T extends TProperties>(fields: T): TObject<T> =>
  Type.Object(fields, { additionalProperties: false, minProperties: 1 });

/** A free-form JSON object. */
export const Json = Type.Record(Type.String(), Type.Unknown());

/** Of a schema: the value is at most so many bytes as JSON (shared/validator.ts checks it). */
export const upToBytes = (bytes: number) => ({ "x-maxBytes": bytes, description: `At most ${bytes} bytes as JSON.` });

/** UTC time as ISO 8601 text with milliseconds: times on the bus are never Date objects. */
export const IsoTime = Type.String({ format: "date-time" });

/** A UUID in text. */
export const Uuid = Type.String({ format: "uuid" });

/** A pattern: a time of day. */
export const HOUR_MINUTE = "^([01][0-9]|2[0-3]):[0-5][0-9]$";

/** Of a schema of texts: something stands in it besides blanks. shared/validator.ts says so in words. */
export const NOT_BLANK = "\\S";

/** The name of a variable, a node and the like. */
export const FieldName = Type.String({ pattern: "^[A-Za-z][A-Za-z0-9_]{0,63}$" });

/** A non-empty text with an upper bound on its length. */
export const Text = (maxLength: number) => Type.String({ minLength: 1, maxLength });

/** A text in which something is written: it is not empty and not of blanks alone. */
export const Label = (maxLength: number) => Type.String({ maxLength, pattern: NOT_BLANK });

/** An object with any number of fields, whose names are names of variables. */
export const Named = <V extends TSchema>(value: V) => Type.Record(FieldName, value, { additionalProperties: false });

/** A text that is a phone number in E.164, ASCII only. */
export const E164 = Type.String({ pattern: "^\\+[1-9][0-9]{6,14}$" });

/** A text of an answer, of so many characters at most; it may be empty. */
export const UpTo = (maxLength: number) => Type.String({ maxLength });

/** An id in an answer: a UUID, or one of the same kind of another thing. */
export const Id = UpTo(64);

/** Nothing of interest. */
export const Nothing = Type.Object({});

/** What every phone number that a person or program writes has: a plus, and seven digits behind it. What may stand between and around them says shared/phone.ts. */
export const WRITTEN_PHONE = "\\+[^0-9]*[1-9](?:[^0-9]*[0-9]){6}";
/** Longest text that is read as a phone number: fifteen digits with a separator between any two, and what a spreadsheet puts around them. */
export const MAX_PHONE_TEXT = 64;
/** A phone number as a client writes it; what is wrong with it says shared/phone.ts. */
export const PhoneText = withKeywords(Text(MAX_PHONE_TEXT), { "x-pattern": WRITTEN_PHONE });

export { Type, type Static, type TSchema };
