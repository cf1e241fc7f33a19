import { command } from "../../shared/process/command-line.ts";
import { ENGINES } from "../../shared/process/variables.ts";

/** `npm start` and `npm run start:split`. */
export const START = command({
  name: "start",
  about: "Starts callagent with simulated carriers, people and models on this machine, until Ctrl-C.",
  options: {
    fresh: { kind: "flag", about: "starts with empty data" },
    restored: {
      kind: "flag",
      about:
        "the data folder was put back from a copy: parks the leads that may have been called since, as npm run restore:park does",
    },
    real: {
      kind: "flag",
      about: "uses the models of OPENAI_…, STT_…, TTS_… and REALTIME_… in the environment, which may cost money",
    },
    split: { kind: "flag", about: "one process per service over NATS" },
    carrier: {
      kind: "enum",
      values: ["simulated", "twilio"],
      default: "simulated",
      about: "twilio: a real account, whose calls ring real phones and cost money (docs/first-real-call.md)",
    },
    from: {
      kind: "text",
      value: "number",
      about: "with --carrier twilio: the number to call from; absent: the account's first",
    },
    to: {
      kind: "text",
      value: "number",
      about: "with --carrier twilio: checks whether the account may call this number",
    },
    engine: {
      kind: "enum",
      values: ENGINES,
      default: "relay",
      about: "how conversations are held: by the carrier's speech (relay), or over real sound",
    },
  },
  notes: "Variables: CALLAGENT_DATA, HTTP_PORT, MEDIA_PORT, CARRIER_PORT and more in docs/configuration.md.",
});

/** `npm run demo`. */
export const DEMO = command({
  name: "demo",
  about: "Calls the leads of a CSV file with simulated carriers, people and models, and checks how each ended.",
  operands: [{ name: "leads.csv" }],
  options: {
    carrier: {
      kind: "enum",
      values: ["twilio", "plivo", "telnyx", "all"],
      default: "twilio",
      about: "the simulated carrier; all: by turns",
    },
    engine: { kind: "enum", values: ENGINES, default: "relay", about: "how conversations are held" },
    real: {
      kind: "flag",
      about: "uses the models of OPENAI_…, STT_…, TTS_… and REALTIME_… in the environment, which may cost money",
    },
    rtc: { kind: "flag", about: "ten clients join sessions instead; in LiveKit rooms where LIVEKIT_URL is set" },
    json: { kind: "flag", about: "prints how each lead ended for machines" },
  },
  notes:
    "Without a file the leads of local/tools/sample/leads.csv are called. Status 1: a lead ended otherwise than expected.",
});

/** `npm run listen`. */
export const LISTEN = command({
  name: "listen",
  about: "Turns a recording of the simulators, whose words are tones, into one that a person can listen to.",
  operands: [{ name: "recording.wav", needed: true }, { name: "out.wav" }],
  options: {
    language: { kind: "text", value: "code", default: "en", about: "language of the voices, such as en or de" },
    json: { kind: "flag", about: "prints the words with their times for machines" },
  },
  notes: "SPEECH=espeak or flite chooses who speaks.",
});

/** `npm run talk`. */
export const TALK = command({
  name: "talk",
  about:
    "Pushes a test lead (RTC_TEST: no phone, no analytics) and prints the link of a page on which you talk to the template's agent.",
  options: {
    template: { kind: "text", value: "id|name", needed: true, about: "the template whose agent you talk to" },
    payload: {
      kind: "text",
      value: "json",
      default: "{}",
      about: "values of its variables; made-up ones stand for those that it requires",
    },
    merchant: { kind: "text", value: "id", about: "whose lead it is, where the template is a reseller's" },
    url: { kind: "text", value: "url", about: "a deployment's API; absent: the callagent that npm start runs here" },
    token: {
      kind: "text",
      value: "t",
      about: "a token of it, or CALLAGENT_TOKEN in the environment; absent: that of callagent login at this address",
    },
    json: { kind: "flag", about: "prints the link for machines" },
  },
});

/** `npm run models`. */
export const MODELS = command({
  name: "models",
  about:
    "check: asks every model endpoint of the environment for an answer, a function call, a sound and a transcription, and prints how long each took. It may cost a cent.",
  operands: [{ name: "what", needed: true, values: ["check"] }],
  options: {
    language: {
      kind: "text",
      value: "code",
      default: "en",
      about: "language of what is said and heard, such as en or de",
    },
    json: { kind: "flag", about: "prints the findings for machines" },
  },
  notes:
    "The variables are those of the services (docs/models.md). Status 1: an endpoint did not do what a conversation needs; 2: none is named.",
});
