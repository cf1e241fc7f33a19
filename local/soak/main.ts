/** `npm run soak -- [store] [--minutes n] [--seed n]`: the product under faults, or the embedded store under hostile clients. */
if (process.argv[2] === "store") await import("./store/main.ts");
else await import("./product.ts");
