import { join } from "node:path";
import { recordIn } from "../../../shared/json.ts";
import { runCommand, UsageError } from "../../../shared/process/command-line.ts";
import { apiClient } from "../api-client.ts";
import { TALK } from "../commands.ts";
import { configFolderOf, keptToken } from "../../../deploy/client/cli/shell.ts";
import { templateOf } from "../../../deploy/client/cli/template-store.ts";
import { laptop, withinReach } from "../deployment.ts";
import { ROOT } from "../stack/project-root.ts";
import { talkLink } from "./session-lead.ts";

/** `npm run talk`: prints the link of a page on which a person talks to the agent of a template. */
await runCommand(TALK, async ({ values: { template, payload, merchant, url, json, ...asked } }) => {
  const values = recordIn(payload);
  if (values === null) throw new UsageError(`--payload must be a JSON object, not ${payload}.`);
  const kept = url === undefined ? undefined : keptToken(configFolderOf(process.env), url);
  const token = asked.token ?? (process.env["CALLAGENT_TOKEN"] || kept) ?? "";
  if (url !== undefined && token === "")
    throw new UsageError("--url needs a token: callagent login there, --token, or CALLAGENT_TOKEN.");
  const folder = process.env["CALLAGENT_DATA"] ?? join(ROOT, ".callagent");
  const at = url === undefined ? await laptop(folder) : { url, token };
  const client = apiClient(at.url, at.token);
  const made = await withinReach(
    at.url,
    templateOf(client, template).then((one) => talkLink(client, one, merchant, values)),
  );
  console.log(
    json
      ? JSON.stringify(made)
      : `${made.url}\nOpen it in a browser until ${made.expires_at}; the lead is ${made.lead_id}.`,
  );
});
