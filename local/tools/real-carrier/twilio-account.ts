import { openTwilio } from "../../../services/dialer/surface.ts";
import { countryOf } from "../../../shared/phone.ts";
import { UserError } from "../../../shared/process/command-line.ts";

/** An account of Twilio's, and what is to be checked of it. `from`, `to`: E.164; null: the account's first number, none. */
export interface TwilioQuestion {
  account_sid: string;
  auth_token: string;
  /** null: Twilio's own. */
  api_base: string | null;
  from: string | null;
  to: string | null;
}

/** What was found: the kind of account, and the number to call from. */
export interface TwilioAccount {
  type: string;
  from: string;
}

type Client = Awaited<ReturnType<typeof openTwilio>>;

const MOST_NUMBERS = 50;
const CONSOLE = "https://console.twilio.com";
const UNAUTHORIZED = 401;

const statusOf = (error: unknown): unknown => (error instanceof Error && "status" in error ? error.status : undefined);

/** Asks; what Twilio answers with is said in its words. UserError. */
const asked = <T>(what: string, answer: Promise<T>): Promise<T> =>
  answer.catch((error: unknown) => {
    const said = error instanceof Error ? error.message : String(error);
    throw new UserError(
      statusOf(error) === UNAUTHORIZED
        ? `Twilio refuses TWILIO_ACCOUNT_SID and TWILIO_AUTH_TOKEN (401): copy both from ${CONSOLE}.`
        : `Twilio could not be asked for ${what}: ${said}`,
      { cause: error },
    );
  });

const isVerified = async (client: Client, phoneNumber: string): Promise<boolean> =>
  (await asked("verified numbers", client.outgoingCallerIds.list({ phoneNumber, limit: 1 }))).length > 0;

/** The number to call from, or why there is none. */
async function callerOf(client: Client, from: string | null): Promise<{ from: string } | { fault: string }> {
  const held = await asked("the account's numbers", client.incomingPhoneNumbers.list({ limit: MOST_NUMBERS }));
  const voices = held.filter(({ capabilities }) => capabilities.voice).map(({ phoneNumber }) => phoneNumber);
  const [first] = voices;
  if (from === null)
    return first === undefined
      ? {
          fault: `The account has no number that can call: buy one with Voice (${CONSOLE}/us1/develop/phone-numbers/manage/search), or verify your own and name it with --from.`,
        }
      : { from: first };
  if (voices.includes(from) || (await isVerified(client, from))) return { from };
  return {
    fault: `${from} is neither a number of the account with Voice nor a verified caller id${first === undefined ? "" : `; the account has ${voices.join(", ")}`}.`,
  };
}

/** Why this number could not be called. */
async function calleeFaults(client: Client, type: string, to: string): Promise<string[]> {
  const faults: string[] = [];
  if (type === "Trial" && !(await isVerified(client, to)))
    faults.push(
      `A trial account calls verified numbers only, and ${to} is none: verify it at ${CONSOLE}/us1/develop/phone-numbers/manage/verified, or upgrade the account.`,
    );
  const country = countryOf(to);
  if (country === null) return [...faults, `The country of ${to} is unknown.`];
  const { lowRiskNumbersEnabled } = await asked(
    `its geographic permissions for ${country}`,
    client.voice.v1.dialingPermissions.countries(country).fetch(),
  );
  if (!lowRiskNumbersEnabled)
    faults.push(
      `The account's geographic permissions do not allow calls to ${country}: allow them at ${CONSOLE}/us1/develop/voice/settings/geo-permissions.`,
    );
  return faults;
}

/** Checks an account before anything is called: credentials, state, the number to call from, and whether `to` may be called. UserError names all that is wrong. */
export async function checkTwilio({ from, to, ...account }: TwilioQuestion): Promise<TwilioAccount> {
  const client = await openTwilio(account);
  const { status, type } = await asked("the account", client.api.v2010.accounts(account.account_sid).fetch());
  const caller = await callerOf(client, from);
  const faults = [
    ...(status === "active" ? [] : [`The account is ${status}, not active.`]),
    ...("fault" in caller ? [caller.fault] : []),
    ...(to === null ? [] : await calleeFaults(client, type, to)),
  ];
  if (faults.length > 0 || "fault" in caller) throw new UserError(faults.join("\n"));
  return { type, from: caller.from };
}
