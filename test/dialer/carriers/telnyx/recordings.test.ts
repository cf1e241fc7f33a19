import { expect, test } from "@jest/globals";
import { mayAsk } from "../../../../services/dialer/carriers/telnyx/recordings.ts";

const API = "https://api.telnyx.com";
test.each<[string, boolean, string?]>([
  ["https://api.telnyx.com/v2/recordings/1.wav", true],
  ["https://cdn.telnyx.com/1.wav", true],
  ["https://s3.amazonaws.com/telnyx/1.wav", true],
  ["https://telnyx-recordings.s3.amazonaws.com/1", true],
  ["https://b.s3.us-west-2.amazonaws.com/1", true],
  ["https://b.s3-us-west-2.amazonaws.com/1", true],
  ["http://127.0.0.1:4000/x.wav", true, "http://127.0.0.1:4000"],
  ["http://cdn.telnyx.com/1.wav", false],
  ["http://s3.amazonaws.com/1", false],
  ["https://telnyx.com.evil.example/1", false],
  ["https://eviltelnyx.com/1", false],
  ["https://amazonaws.com/1", false],
  ["https://ec2-1-2-3-4.compute.amazonaws.com/1", false],
  ["https://evils3.amazonaws.com.example/1", false],
  ["https://169.254.169.254/latest", false],
  ["http://127.0.0.1:4001/x.wav", false, "http://127.0.0.1:4000"],
  ["file:///etc/passwd", false],
  ["nonsense", false],
  ["", false],
  ["https://user@api.telnyx.com/1", false],
])("a link to %s may be followed: %s", (link, good, origin = API) => {
  expect(mayAsk(link, origin)).toBe(good);
});
