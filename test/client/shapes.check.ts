import type { AnswerOf } from "../../deploy/client/shapes.ts";
import type { Client } from "../../local/tools/api-client.ts";

/** Negative type tests of the client: tsc fails when one of these stops being an error. */
export async function check(client: Client): Promise<void> {
  const { leads } = await client.ask("GET", "/leads", { query: { status: "RETRY", limit: 5 } });
  const outcome: string | null | undefined = leads[0]?.outcome;
  void outcome;
  const nothing: undefined = await client.ask("DELETE", "/merchants/{id}", { path: { id: "m" } });
  void nothing;
  const status: AnswerOf<"POST", "/leads">["status"] = "queued";
  void status;
  await client.ask("GET", "/resellers");
  // @ts-expect-error no such path
  await client.ask("GET", "/lead");
  // @ts-expect-error the path has no such method
  await client.ask("DELETE", "/leads", {});
  // @ts-expect-error the path's value is missing
  await client.ask("GET", "/leads/{lead_id}");
  // @ts-expect-error no such word
  await client.ask("GET", "/leads", { query: { status: "DONE" } });
  // @ts-expect-error the body lacks fields
  await client.ask("POST", "/leads", { body: { request_id: "o-1" } });
  // @ts-expect-error a body where there is none
  await client.ask("GET", "/resellers", { body: {} });
}
