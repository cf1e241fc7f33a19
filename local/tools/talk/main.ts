import { join } from "node:path";
import { parseArgs } from "node:util";
import { recordIn } from "../../../shared/json.ts";
import { apiClient, ApiFailure } from "../api-client.ts";
import { CommandFault, laptop, templateOf, withinReach } from "../deployment.ts";
import { ROOT } from "../stack/project-root.ts";
import { talkLink } from "./session-lead.ts";

/** `npm run talk`: prints the link of a page on which a person talks to the agent of a template. */

const USAGE = `npm run talk -- --template <id or name> [options]
Pushes a test lead (RTC_TEST: no phone, no analytics) and prints the link of a page on which you talk to the template's agent.

  --template <id|name>      the template whose agent you talk to
  --payload <json>          values of its variables (default: made-up ones for those that it requires)
  --merchant <id>           whose lead it is, where the template is a reseller's
  --url <url>, --token <t>  a deployment and a token of it (or CALLAGENT_TOKEN in the environment); default: the callagent that npm start runs here`;

const OPTIONS = {
  template: { type: "string" },
  payload: { type: "string", default: "{}" },
  merchant: { type: "string" },
  url: { type: "string" },
  token: { type: "string" },
  help: { type: "boolean", default: false },
} as const;
const USER_FAULT = 2;

function readArguments() {
  try {
    return parseArgs({ options: OPTIONS }).values;
  } catch (error) {
    const said = error instanceof Error ? (error.message.split(". ")[0] ?? "") : String(error);
    throw new CommandFault(`${said}. See npm run talk -- --help.`, { cause: error });
  }
}

async function run(): Promise<void> {
  const { template, payload, merchant, url, help, ...asked } = readArguments();
  if (help) return console.log(USAGE);
  if (template === undefined) throw new CommandFault("--template is missing. See npm run talk -- --help.");
  const values = recordIn(payload);
  if (values === null) throw new CommandFault(`--payload must be a JSON object, not ${payload}.`);
  const token = asked.token ?? process.env["CALLAGENT_TOKEN"] ?? "";
  if (url !== undefined && token === "") throw new CommandFault("--url needs a --token, or CALLAGENT_TOKEN.");
  const folder = process.env["CALLAGENT_DATA"] ?? join(ROOT, ".callagent");
  const at = url === undefined ? await laptop(folder) : { url, token };
  const client = apiClient(at.url, at.token);
  const made = await withinReach(
    at.url,
    templateOf(client, template).then((one) => talkLink(client, one, merchant, values)),
  );
  console.log(`${made.url}\nOpen it in a browser until ${made.expires_at}; the lead is ${made.lead_id}.`);
}

run().catch((error: unknown) => {
  if (!(error instanceof CommandFault) && !(error instanceof ApiFailure)) throw error;
  console.error(error.message);
  process.exitCode = USER_FAULT;
});
