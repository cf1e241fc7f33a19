import type { paths } from "./api.ts";

/** Methods of the API, as HTTP writes them. */
export type Method = "GET" | "POST" | "PUT" | "DELETE";

type OperationOf<P extends keyof paths, M extends Method> =
  paths[P] extends Record<Lowercase<M>, infer O> ? NonNullable<O> : never;

/** Paths that take this method, with `{name}` where a value goes. */
export type PathsWith<M extends Method> = {
  [P in keyof paths]: [OperationOf<P, M>] extends [never] ? never : P;
}[keyof paths];

type JsonOf<C> = C extends { content: { "application/json": infer J } } ? J : never;
type Field<O, K extends string> = O extends { [N in K]?: infer V } ? NonNullable<V> : never;
/** A part of a request: absent where there is none, optional where nothing in it must be given. */
type Part<K extends string, V> = [V] extends [never] ? object : object extends V ? Partial<Record<K, V>> : Record<K, V>;
type ParametersOf<O> = Field<O, "parameters">;

/** What is given with a request, as the document has it: values of the path, the query, headers and the body. */
export type Given<M extends Method, P extends PathsWith<M>> = Part<
  "path",
  Field<ParametersOf<OperationOf<P, M>>, "path">
> &
  Part<"query", Field<ParametersOf<OperationOf<P, M>>, "query">> &
  Part<"headers", Field<ParametersOf<OperationOf<P, M>>, "header">> &
  Part<"body", JsonOf<Field<OperationOf<P, M>, "requestBody">>>;

/** What a request is answered with when it succeeds; undefined where there is no body. */
export type AnswerOf<M extends Method, P extends PathsWith<M>> =
  OperationOf<P, M> extends { responses: infer R }
    ? R extends Record<200, infer A> | Record<201, infer A>
      ? JsonOf<A>
      : undefined
    : never;
