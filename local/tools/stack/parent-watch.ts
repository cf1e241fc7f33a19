/** Its store and carrier end with the starter: no call goes on for longer. */
const LAST_MS = 3500;

/** Preloaded into service processes of the laptop stack: when the starter dies, they end too, so that nothing is left behind. */
process.on("disconnect", () => {
  process.kill(process.pid, "SIGTERM");
  setTimeout(() => process.exit(1), LAST_MS).unref();
});
process.channel?.unref();
