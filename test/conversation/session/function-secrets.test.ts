import { externalEffects } from "../../../services/conversation/session/external-effects.ts";
import type { DialogueEvent } from "../../../services/conversation/dialogue/dialogue-state.ts";
import type { WebRequest } from "../../../services/conversation/providers/web-request.ts";
import { setStage, standIn } from "../../../local/harness/stage.ts";
import { rootLog } from "../../../shared/process/log.ts";

/** Headers of a function's request: filled in at the moment of it, with secrets that the dialogue and the log never see. */
const TEMPLATE = "7f9c24e8-3b12-4fef-91e0-5a4d8c2b1a00";

test("a function's headers take secrets of the template's owner; one that is not there makes no request", async () => {
  const stage = await setStage({
    services: [
      standIn("config", {
        secretValues: ({ template_id, names }) => ({
          values: template_id === TEMPLATE && names.includes("CRM") ? [{ name: "CRM", value: "CANARY" }] : [],
        }),
      }),
    ],
  });
  const lines: string[] = [];
  const requests: WebRequest[] = [];
  const events: DialogueEvent[] = [];
  const effects = externalEffects({
    bus: stage.bus,
    log: rootLog(
      { ...stage.env, LOG_LEVEL: "trace" },
      {
        write: (line) => {
          lines.push(line);
        },
      },
    ),
    web: async (request) => {
      requests.push(request);
      return { ok: true, result: "fine" };
    },
    doc: { _id: "call", template_id: TEMPLATE },
    dispatch: (event) => events.push(event),
  });
  const request = (templates: Record<string, string>) =>
    effects.request(
      {},
      {
        type: "http",
        call_id: "c",
        method: "GET",
        url: "https://crm.example.com/",
        body: null,
        headers: { templates, sources: [{ said: "{{secrets.CRM}}", name: "Ada" }] },
      },
      new AbortController().signal,
    );
  try {
    await request({ Authorization: "Bearer {{secrets.CRM}}", "X-Said": "{{said}} of {{name}}" });
    expect(requests.map(({ headers }) => headers)).toEqual([
      {
        accept: "application/json",
        "user-agent": "callagent",
        authorization: "Bearer CANARY",
        "x-said": "{{secrets.CRM}} of Ada",
      },
    ]);
    await request({ a: "{{secrets.GONE}}" });
    await request({ host: "internal" });
    expect(requests).toHaveLength(1);
    expect(events.map((event) => ("result" in event ? event.result : null))).toEqual([
      "fine",
      "SECRET_NOT_FOUND",
      "HEADER_INVALID",
    ]);
    expect(JSON.stringify([events, lines])).not.toContain("CANARY");
  } finally {
    await stage.stop();
  }
});
