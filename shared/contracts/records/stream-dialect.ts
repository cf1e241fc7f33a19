import { Json, Nullable, Strict, Text, Type, type Static } from "../define.ts";

/** Way to a value inside a frame: field names joined by dots, from the root. */
const Path = Type.String({ pattern: "^[A-Za-z0-9_]+(\\.[A-Za-z0-9_]+){0,3}$", maxLength: 100 });
/** A value of a frame's `event` field. */
const EventName = Text(64);
const EventNames = Type.Array(EventName, { maxItems: 16 });

/**
 * How a carrier's media stream works, as data: the carrier's adapter describes it, the conversation service follows it. Frames are JSON objects
 * with an `event` name. Paths that find nothing give an empty text, or no number.
 */
export const StreamDialect = Strict({
  /** How DTMF goes to the callee: as a message of the stream (`send.dtmf`), by the dialer's command, or as tones in the audio. */
  dtmf: Type.Enum(["message", "command", "tones"]),
  /** The carrier sends back the marks that a clear threw away; otherwise they count as cleared at once. */
  returns_cleared_marks: Type.Boolean(),
  /** What `{content_type}` stands for, by codec; null where the carrier wants none. */
  content_types: Nullable(Strict({ pcmu: Text(64), pcma: Text(64), s16le: Text(64) })),
  /** Frames of the carrier. An event that is not named here is a protocol error. */
  receive: Strict({
    /**
     * The stream begins. `call_id` null: the stream does not carry the call id that the dialer knows. `stream_id`: the first of these that is not
     * empty.
     */
    start: Strict({
      event: EventName,
      call_id: Nullable(Path),
      stream_id: Type.Array(Path, { maxItems: 4 }),
      encoding: Path,
      sample_rate: Path,
      channels: Path,
    }),
    /** Audio in base64; the caller's where the track is absent, `inbound` or `inbound_track`. `sequence`: the number that orders frames; null: they come in order. */
    media: Strict({ event: EventName, payload: Path, track: Path, sequence: Nullable(Path) }),
    /** Everything before this mark of ours was played, or thrown away. */
    mark: Strict({ event: EventName, name: Path }),
    dtmf: Strict({ event: EventName, digit: Path }),
    /** Events without content: the end of the stream, a complaint about what we sent, and those of no interest. */
    stop: EventNames,
    error: EventNames,
    ignored: EventNames,
  }),
  /**
   * Our frames, in the order of their fields on the wire. A value that is one of these texts as a whole stands for what is meant: `{stream_id}`, `{payload}`, `{name}`,
   * `{digits}`, `{content_type}`, and `{sample_rate}`, which becomes a number. `dtmf` is null unless DTMF goes as a message.
   */
  send: Strict({ media: Json, mark: Json, clear: Json, dtmf: Nullable(Json) }),
});
export type StreamDialect = Static<typeof StreamDialect>;
