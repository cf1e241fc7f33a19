import twilio from "twilio";
import { parseXml } from "../../../../local/carriers/http/xml.ts";
import { translate } from "../../../../services/dialer/carriers/twilio/callbacks.ts";
import { callerOf, inboundDocument, readInbound } from "../../../../services/dialer/carriers/twilio/inbound.ts";
import { fileAddress } from "../../../../services/dialer/carriers/twilio/recordings.ts";
import type { CallbackKind, InboundDecision } from "../../../../services/dialer/carriers/carrier-port.ts";

const sid = `CA${"0".repeat(32)}`;
const RE = `RE${"1".repeat(32)}`;
const raw = (fields: Record<string, string>) => ({
  method: "POST" as const,
  path: "/x",
  headers: {},
  body: new URLSearchParams({ CallSid: sid, ...fields }).toString(),
});
const of = (kind: CallbackKind, fields: Record<string, string>) => translate(kind, raw(fields));

describe("calls to our numbers", () => {
  test.each([
    ["+14155550101", "+14155550101"],
    ["+266696687", null],
    ["anonymous", null],
    ["+7378742833", null],
    ["Restricted", null],
    ["", null],
    [null, null],
    ["sip:a@b", null],
  ])("from %s is %s", (from, caller) => {
    expect(callerOf(from)).toBe(caller);
  });
  test("the voice webhook is read; one of our own calls is none", () => {
    expect(readInbound(raw({ Direction: "inbound", From: "+14155550101", To: "+14155550999" }))).toEqual({
      call_id: sid,
      leg_id: null,
      from: "+14155550101",
      to: "+14155550999",
    });
    expect(readInbound(raw({ Direction: "outbound-api", From: "+14155550101", To: "+14155550999" }))).toBeNull();
    expect(() => readInbound(raw({ Direction: "inbound", From: "+14155550101", To: "shop" }))).toThrow(/To is missing/);
  });
  const HEAD = '<?xml version="1.0" encoding="UTF-8"?><Response>';
  const media = { kind: "text" as const, url: "wss://m/t", token: "t", language: "en-US", voice: null };
  const connect = (record: boolean): InboundDecision => ({
    kind: "connect",
    call_ref: "r.1",
    media,
    callback_base: "https://p/carriers/PROVIDER_ONE",
    record,
    talk_seconds: 60,
    greeting: null,
  });
  test.each<[string, InboundDecision, string]>([
    ["rejected without a word", { kind: "reject", message: null, language: "en-US" }, "<Reject/>"],
    [
      "rejected with a message",
      { kind: "reject", message: "Closed <now> & later", language: "de-DE" },
      '<Say language="de-DE">Closed &lt;now&gt; &amp; later</Say><Hangup/>',
    ],
    [
      "redirected",
      { kind: "redirect", to: "+14155550777", message: null, language: "en-US" },
      "<Dial><Number>+14155550777</Number></Dial>",
    ],
    [
      "redirected with a message",
      { kind: "redirect", to: "+14155550777", message: "One moment", language: "de-DE" },
      '<Say language="de-DE">One moment</Say><Dial><Number>+14155550777</Number></Dial>',
    ],
  ])("%s", (_name, decision, inside) => {
    expect(inboundDocument(decision)).toBe(`${HEAD}${inside}</Response>`);
  });
  test("connected, recorded where that is wanted", () => {
    expect(inboundDocument(connect(false))).toMatch(
      /<Response><Connect action="https:\/\/p\/carriers\/PROVIDER_ONE\/relay-end\/r\.1"><ConversationRelay url="wss:\/\/m\/t"/,
    );
    expect(inboundDocument(connect(true))).toContain(
      '<Response><Start><Recording channels="dual" trim="do-not-trim" recordingStatusCallback="https://p/carriers/PROVIDER_ONE/recording/r.1"',
    );
  });
  test("the documents are those that the SDK would write", () => {
    const { VoiceResponse } = twilio.twiml;
    const read = (text: string) => parseXml(text);
    const say = new VoiceResponse();
    say.say({ language: "de-DE" }, "Closed <now> & later");
    say.hangup();
    expect(read(inboundDocument({ kind: "reject", message: "Closed <now> & later", language: "de-DE" }))).toEqual(
      read(say.toString()),
    );
    const silent = new VoiceResponse();
    silent.reject();
    expect(read(inboundDocument({ kind: "reject", message: null, language: "en-US" }))).toEqual(
      read(silent.toString()),
    );
    const on = new VoiceResponse();
    on.say({ language: "en-GB" }, "One moment");
    on.dial().number("+14155550777");
    expect(
      read(inboundDocument({ kind: "redirect", to: "+14155550777", message: "One moment", language: "en-GB" })),
    ).toEqual(read(on.toString()));
    const talk = new VoiceResponse();
    talk.start().recording({
      channels: "dual",
      trim: "do-not-trim",
      recordingStatusCallback: "https://p/carriers/PROVIDER_ONE/recording/r.1",
      recordingStatusCallbackMethod: "POST",
      recordingStatusCallbackEvent: ["completed", "absent"],
    });
    talk.connect({ action: "https://p/carriers/PROVIDER_ONE/relay-end/r.1" }).conversationRelay({
      url: "wss://m/t",
      language: "en-US",
      dtmfDetection: true,
      interruptible: "any",
      reportInputDuringAgentSpeech: "any",
      events: "speaker-events",
    } as object);
    expect(read(inboundDocument(connect(true)))).toEqual(read(talk.toString()));
    const sound = new VoiceResponse();
    sound.start().recording({
      channels: "dual",
      trim: "do-not-trim",
      recordingStatusCallback: "https://p/carriers/PROVIDER_ONE/recording/r.1",
      recordingStatusCallbackMethod: "POST",
      recordingStatusCallbackEvent: ["completed", "absent"],
    });
    sound.connect({ action: "https://p/carriers/PROVIDER_ONE/stream/r.1" }).stream({ url: "wss://m/t" });
    expect(read(inboundDocument({ ...connect(true), media: { ...media, kind: "audio" } } as InboundDecision))).toEqual(
      read(sound.toString()),
    );
  });
  test("a relay session that failed is told with the carrier's code, one that ended is not", () => {
    const failed = { CallStatus: "in-progress", Direction: "outbound-api", SessionStatus: "failed" };
    expect(of("relay-end", { ...failed, ErrorCode: "64107" }).progress).toMatchObject([
      { type: "relay_failed", code: "64107" },
    ]);
    expect(of("relay-end", failed).progress).toMatchObject([{ type: "relay_failed", code: "RELAY_FAILED" }]);
    expect(of("relay-end", { ...failed, SessionStatus: "ended" }).progress).toEqual([]);
  });
  test("their end is told by the document's own end too", () => {
    expect(of("relay-end", { CallStatus: "completed", Direction: "inbound", CallDuration: "7" }).progress).toEqual([
      expect.objectContaining({ type: "ended", end: "completed", seconds: 7 }),
    ]);
    expect(of("relay-end", { CallStatus: "completed", Direction: "outbound-api" }).progress).toEqual([]);
    expect(of("relay-end", { CallStatus: "in-progress", Direction: "inbound" }).progress).toEqual([]);
    expect(of("stream", { CallStatus: "completed", Direction: "inbound", CallDuration: "7" }).progress).toEqual([
      expect.objectContaining({ type: "ended", end: "completed", seconds: 7 }),
    ]);
    expect(of("stream", { CallStatus: "completed", Direction: "outbound-api" }).progress).toEqual([]);
  });
  test("a stream that is over while the call goes on may never have begun", () => {
    for (const Direction of ["inbound", "outbound-api"])
      expect(of("stream", { CallStatus: "in-progress", Direction }).progress).toEqual([
        expect.objectContaining({ type: "media_lost" }),
      ]);
  });
});

describe("machines and recordings in our words", () => {
  test.each([
    ["machine_start", ["machine"]],
    ["machine_end_beep", ["machine", "beep"]],
    ["machine_end_silence", ["machine", "beep"]],
    ["machine_end_other", ["machine", "beep"]],
    ["human", ["machine"]],
    ["fax", ["machine"]],
    ["", []],
  ])("%s", (AnsweredBy, types) => {
    expect(of("amd", { AnsweredBy }).progress.map((p) => p.type)).toEqual(types);
  });
  const made = {
    RecordingSid: RE,
    RecordingStatus: "completed",
    RecordingUrl: `https://api.twilio.com/2010-04-01/Accounts/AC1/Recordings/${RE}`,
    RecordingDuration: "12",
    RecordingChannels: "2",
  };
  test("a recording that is made, absent, or under way", () => {
    expect(of("recording", made).recording).toEqual({
      recording_id: RE,
      url: made.RecordingUrl,
      seconds: 12,
      channels: 2,
    });
    expect(of("recording", { ...made, RecordingStatus: "absent" }).recording).toMatchObject({
      recording_id: RE,
      url: null,
    });
    expect(of("recording", { ...made, RecordingStatus: "in-progress" }).recording).toBeNull();
    expect(() => of("recording", { ...made, RecordingSid: "../x" })).toThrow(/RecordingSid/);
  });

  const account_sid = `AC${"a".repeat(32)}`;
  const at = (origin: string, account = account_sid, id = RE) =>
    `${origin}/2010-04-01/Accounts/${account}/Recordings/${id}`;
  const options = { account_sid, auth_token: "secret", api_base: "http://127.0.0.1:4010" };
  test.each<[string, string, string | null]>([
    [
      "Twilio's own address, at the origin we use",
      at("https://api.twilio.com"),
      `${at("http://127.0.0.1:4010")}.wav?RequestedChannels=2`,
    ],
    ["the origin we use", at("http://127.0.0.1:4010"), `${at("http://127.0.0.1:4010")}.wav?RequestedChannels=2`],
    ["with an ending", `${at("https://api.twilio.com")}.mp3`, `${at("http://127.0.0.1:4010")}.wav?RequestedChannels=2`],
    ["another host", at("https://evil.example.com"), null],
    ["one that ends alike", at("https://evil-api.twilio.com.example.com"), null],
    ["http", at("http://api.twilio.com"), null],
    ["credentials in it", at("https://api.twilio.com@evil.example.com"), null],
    ["another account", at("https://api.twilio.com", `AC${"b".repeat(32)}`), null],
    ["another path", "https://api.twilio.com/2010-04-01/Accounts", null],
    ["a way up", `${at("https://api.twilio.com")}/../../x`, null],
    ["no address", "nonsense", null],
  ])("asked for at %s", (_name, url, expected) => {
    expect(fileAddress(options, url, ".wav")?.toString() ?? null).toBe(expected);
  });
  test("without another origin, at Twilio", () => {
    expect(String(fileAddress({ ...options, api_base: null }, at("https://api.twilio.com"), ".wav"))).toBe(
      `${at("https://api.twilio.com")}.wav?RequestedChannels=2`,
    );
    expect(fileAddress({ ...options, api_base: null }, at("http://127.0.0.1:4010"), ".wav")).toBeNull();
  });
});
