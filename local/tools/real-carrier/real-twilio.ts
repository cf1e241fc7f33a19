import type { Engine } from "../../../shared/contracts/records/models.ts";
import { numberIssue, toE164 } from "../../../shared/phone.ts";
import { UsageError } from "../../../shared/process/command-line.ts";
import { checkTwilio, type TwilioAccount } from "./twilio-account.ts";

type Variables = Readonly<Record<string, string | undefined>>;

/** What `npm start -- --carrier twilio` needs of the environment, and where it comes from. */
const NEEDED: Readonly<Record<string, string>> = {
  TWILIO_ACCOUNT_SID: "the account's SID, AC…, from https://console.twilio.com",
  TWILIO_AUTH_TOKEN: "its auth token, from the same page",
  PUBLIC_HTTP_URL: "an https address that leads to HTTP_PORT of this machine, such as a tunnel's",
  PUBLIC_WS_URL: "a wss address that leads to MEDIA_PORT of this machine",
};
/** The models that a conversation over real sound needs, by the engine: simulated ones hear and speak tones. */
const NEEDED_MODELS: Readonly<Record<Engine, readonly string[]>> = {
  relay: [],
  cascade: ["STT_BASE_URL", "TTS_BASE_URL"],
  realtime: ["REALTIME_BASE_URL"],
};

/** What was asked for. */
export interface RealCall {
  engine: Engine;
  real: boolean;
  from: string | undefined;
  to: string | undefined;
}

const given = (env: Variables, name: string): string => (env[name] ?? "").trim();

function number(name: string, text: string | undefined): string | null {
  const e164 = text === undefined ? null : toE164(text);
  if (text !== undefined && e164 === null)
    throw new UsageError(`--${name} must be a phone number: "${text}" ${numberIssue(text) ?? ""}.`);
  return e164;
}

/** Everything that is missing, each in a line. Addresses of a simulator's account (TWILIO_API_BASE) may be of this machine. */
function missing(env: Variables, { engine, real }: RealCall): string[] {
  const simulated = given(env, "TWILIO_API_BASE") !== "";
  const insecure = ([name, scheme]: readonly [string, string]): string[] =>
    given(env, name) !== "" && !simulated && !given(env, name).startsWith(scheme)
      ? [`${name}: it must begin with ${scheme}, not "${given(env, name)}"`]
      : [];
  const absent = (name: string): boolean => given(env, name) === "";
  return [
    ...Object.entries(NEEDED).flatMap(([name, what]) => (absent(name) ? [`${name}: ${what}`] : [])),
    ...[["PUBLIC_HTTP_URL", "https://"] as const, ["PUBLIC_WS_URL", "wss://"] as const].flatMap(insecure),
    ...NEEDED_MODELS[engine].flatMap((name) =>
      real && !absent(name) ? [] : [`${name}, with --real: the engine ${engine} speaks to real people by it`],
    ),
  ];
}

/** The account and addresses of a real Twilio account, after all of it was checked that can be before the services run. UsageError names all that is missing, UserError what Twilio says. */
export async function realTwilio(
  env: Variables,
  call: RealCall,
): Promise<{ variables: Record<string, string>; account: TwilioAccount }> {
  const lacking = missing(env, call);
  if (lacking.length > 0)
    throw new UsageError(
      `--carrier twilio needs these (docs/first-real-call.md):\n${lacking.map((line) => `  ${line}`).join("\n")}`,
    );
  const base = given(env, "TWILIO_API_BASE");
  const account = await checkTwilio({
    account_sid: given(env, "TWILIO_ACCOUNT_SID"),
    auth_token: given(env, "TWILIO_AUTH_TOKEN"),
    api_base: base === "" ? null : base,
    from: number("from", call.from),
    to: number("to", call.to),
  });
  const names = [...Object.keys(NEEDED), ...(base === "" ? [] : ["TWILIO_API_BASE"])];
  return { variables: Object.fromEntries(names.map((name) => [name, given(env, name).replace(/\/$/, "")])), account };
}
