/** Preloaded into service processes of the laptop stack: when the starter dies, they end too, so that nothing is left behind. */
process.on("disconnect", () => process.kill(process.pid, "SIGTERM"));
process.channel?.unref();
