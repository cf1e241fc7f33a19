/** `npm run soak -- [store] [--minutes n] [--seed n]`: the product under faults, or the embedded store under hostile clients. */
await import(process.argv[2] === "store" ? "./store/main.ts" : "./product.ts");
