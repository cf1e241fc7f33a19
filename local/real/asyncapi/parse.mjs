// Reads an AsyncAPI document from standard input, and prints as JSON what the parser in the folder says of it: the addresses of its channels, and its diagnostics.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const { Parser } = createRequire(join(process.argv[2], "package.json"))("@asyncapi/parser");
const { document, diagnostics } = await new Parser().parse(readFileSync(0, "utf8"));
const channels = document ? [...document.channels().all()].map((channel) => channel.address()) : null;
process.stdout.write(JSON.stringify({ channels, diagnostics }));
