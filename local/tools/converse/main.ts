import { converse } from "./converse.ts";
import { terminal } from "./terminal.ts";

// a reader that closes early, such as head, is no error
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

const keyboard = terminal(process.stdin, process.stdout);
process.exitCode = await converse({ argv: process.argv.slice(2), env: process.env, keyboard });
keyboard.close();
