import { described, Text, Type } from "../define.ts";

/** Far longer than any version has made it: 55 characters in the first. */
const MAX_HEADER = 512;

/** The header of a push by which its lead goes on in the client's trace. */
export const Traceparent = described(
  "The trace that the push belongs to (W3C Trace Context): spans of the lead become a part of it, and its webhook carries it on. One that is not well formed counts as none.",
  Type.String({ maxLength: MAX_HEADER }),
  { example: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" },
);

/** The traceparent of a lead's first span, as it travels with what is done for the lead; absent: it is not traced. */
export const LeadTrace = Type.Optional(Text(64));
