import { randomBytes } from "node:crypto";
import type { Reply, Request } from "../http/messages.ts";
import { recordLeg, type LegRecorder } from "../exchange/leg-recording.ts";
import type { SimTime } from "../exchange/simulated-time.ts";
import type { Callbacks } from "./callbacks.ts";
import { twilioError } from "./errors.ts";
import { recordingParams, type RecordParams } from "./params.ts";
import { API_VERSION } from "./call-resource.ts";
import type { Account, TwilioCall } from "./twilio-call.ts";
import { resourceOf, type TwilioRecording } from "./recording-resource.ts";

/** The recordings of all accounts. */
export interface Recordings {
  /** Records the call from now until its end, then reports. */
  start(twilioCall: TwilioCall, params: RecordParams): TwilioRecording;
  /** Answers a REST request about recordings; null when it is about something else. */
  answer(request: Request, account: Account, call: (sid: string) => TwilioCall | undefined): Reply | null;
}

/** Making the file takes this long, simulated ms. */
const MAKING_MS = 1_000;
/** The oldest are forgotten beyond this many. */
const MAX_KEPT = 10_000;
const PATH = new RegExp(
  `^/${API_VERSION}/Accounts/([^/]+)/(?:Calls/([^/]+)/)?Recordings(?:/(RE[0-9a-f]{32}))?(\\.json|\\.wav|\\.mp3)?$`,
);
const PAGE_SIZE = 50;
const MAX_PAGE_SIZE = 1_000;
const WAV_HEADER_BYTES = 44;
const FRAME_BYTES = 4;

/** Both voices in one channel. */
function mixed(wav: Buffer): Buffer {
  const frames = (wav.length - WAV_HEADER_BYTES) / FRAME_BYTES;
  const out = Buffer.alloc(WAV_HEADER_BYTES + frames * 2);
  wav.copy(out, 0, 0, WAV_HEADER_BYTES);
  out.writeUInt32LE(out.length - 8, 4);
  out.writeUInt16LE(1, 22);
  out.writeUInt32LE(wav.readUInt32LE(28) / 2, 28);
  out.writeUInt16LE(2, 32);
  out.writeUInt32LE(frames * 2, 40);
  for (let n = 0; n < frames; n += 1) {
    const at = WAV_HEADER_BYTES + n * FRAME_BYTES;
    out.writeInt16LE(Math.round((wav.readInt16LE(at) + wav.readInt16LE(at + 2)) / 2), WAV_HEADER_BYTES + n * 2);
  }
  return out;
}

function fileOf({ status, made, params }: TwilioRecording, { query }: Request): Reply | null {
  if (status !== "completed" || !made) return null; // not yet there is answered as not there
  const asked = Number(query.get("RequestedChannels") ?? params.channels);
  if (asked > params.channels) return twilioError(400, 20001, "RequestedChannels: the recording has one channel");
  return { status: 200, body: asked === 2 ? made.wav : mixed(made.wav), headers: { "content-type": "audio/x-wav" } };
}

/** The newest recordings of a call, on one page: nothing here makes more than fit. */
function listed(recordings: readonly TwilioRecording[], { path, query }: Request): Reply {
  const asked = Number(query.get("PageSize") ?? PAGE_SIZE);
  const page_size = Number.isSafeInteger(asked) && asked > 0 ? Math.min(asked, MAX_PAGE_SIZE) : PAGE_SIZE;
  const rows = [...recordings].reverse().slice(0, page_size).map(resourceOf);
  return {
    status: 200,
    body: {
      recordings: rows,
      page: 0,
      page_size,
      start: 0,
      end: Math.max(0, rows.length - 1),
      first_page_uri: `${path}?PageSize=${page_size}&Page=0`,
      previous_page_uri: null,
      next_page_uri: null,
      uri: `${path}?PageSize=${page_size}&Page=0`,
    },
  };
}

/** No recordings at first. */
export const createRecordings = (deps: RecordingDeps): Recordings => new TwilioRecordings(deps);

/** What recordings need: simulated time, and the callbacks that report them. */
interface RecordingDeps {
  time: SimTime;
  callbacks: Pick<Callbacks, "recording">;
}

class TwilioRecordings implements Recordings {
  readonly #deps: RecordingDeps;
  readonly #kept = new Map<string, TwilioRecording>();

  constructor(deps: RecordingDeps) {
    this.#deps = deps;
  }

  start(twilioCall: TwilioCall, params: RecordParams): TwilioRecording {
    const { call } = twilioCall;
    const recording: TwilioRecording = {
      sid: `RE${randomBytes(16).toString("hex")}`,
      twilioCall,
      params,
      startedAt: new Date(),
      status: "in-progress",
      made: null,
    };
    const recorder = recordLeg(call);
    this.#kept.set(recording.sid, recording);
    const oldest = this.#kept.keys().next();
    if (this.#kept.size > MAX_KEPT && !oldest.done) this.#kept.delete(oldest.value);
    this.#deps.callbacks.recording(recording);
    call.over.addEventListener("abort", () => this.#make(recording, recorder), { once: true });
    return recording;
  }

  #make(recording: TwilioRecording, recorder: LegRecorder): void {
    const { time, callbacks } = this.#deps;
    recording.status = "processing";
    const made = recorder.stop();
    time.after(MAKING_MS, () => {
      Object.assign(recording, made.seconds > 0 ? { status: "completed", made } : { status: "absent" });
      callbacks.recording(recording);
    });
  }

  answer(request: Request, account: Account, call: (sid: string) => TwilioCall | undefined): Reply | null {
    const [whole, accountSid, callSid, sid, ending = ".json"] = PATH.exec(request.path) ?? [];
    if (whole === undefined) return null;
    const missing = twilioError(404, 20404, `The requested resource ${request.path} was not found`);
    const twilioCall = callSid === undefined ? undefined : call(callSid);
    if (accountSid !== account.sid || (callSid !== undefined && twilioCall?.account.sid !== account.sid))
      return missing;
    if (sid === undefined) return twilioCall ? this.#answerCall(request, twilioCall) : missing;
    return this.#answerOne(request, account, sid, ending) ?? missing;
  }

  #answerCall(request: Request, twilioCall: TwilioCall): Reply {
    const { order, phase } = twilioCall.call;
    if (request.method !== "POST") {
      const ofCall = [...this.#kept.values()].filter((r) => r.twilioCall.call.order.sid === order.sid);
      return listed(ofCall, request);
    }
    if (phase !== "answered") return twilioError(400, 21220, "Requested resource is not eligible for recording");
    const recording = this.start(twilioCall, recordingParams(request.form, "StartCallRecordingAPI"));
    return { status: 201, body: resourceOf(recording) };
  }

  #answerOne(request: Request, account: Account, sid: string, ending: string): Reply | null {
    const recording = this.#kept.get(sid);
    if (!recording || recording.twilioCall.account.sid !== account.sid) return null;
    if (request.method === "DELETE") {
      this.#kept.delete(sid);
      return { status: 204 };
    }
    if (request.method !== "GET") return twilioError(405, 20004, `Method ${request.method} is not allowed here`);
    return ending === ".json" ? { status: 200, body: resourceOf(recording) } : fileOf(recording, request);
  }
}
