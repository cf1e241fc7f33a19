import { OWNERS, PAGE, row, tagged, type Row } from "./row.ts";

/** Log-in, tokens, users and the audit log. */
export const accounts: readonly Row[] = [
  ...tagged("Authentication", [
    row("POST", "/login", "auth.login", "public", 200, {
      summary: "Exchange e-mail and password for a short-lived access token",
      body: "*",
      answers: "unprocessable",
      errors: ["INVALID_CREDENTIALS", "RATE_LIMITED", "BUSY"],
    }),
    row("POST", "/s2s-token", "auth.issueS2s", OWNERS, 200, {
      summary: "Issue a long-lived token for a backend; it is shown this once",
      body: "*",
      answers: "unprocessable",
      errors: ["RESELLER_UNKNOWN"],
    }),
    row("GET", "/s2s-tokens", "auth.listS2s", OWNERS, 200, {
      summary: "List the tokens of your scope: prefix, name and last use, never the token itself",
      query: ["role", "reseller_id", "merchant_id", ...PAGE],
    }),
    row("DELETE", "/s2s-tokens/{id}", "auth.revokeS2s", OWNERS, 204, {
      summary: "Revoke a token; within five seconds it is nobody's, on every node",
      errors: ["TOKEN_NOT_FOUND"],
    }),
  ]),

  ...tagged("Users", [
    row("POST", "/users", "auth.createUser", OWNERS, 201, {
      summary: "Create a user; a reseller creates users of its own scope, never admins",
      body: "*",
      errors: ["EMAIL_EXISTS", "RESELLER_NOT_FOUND", "MERCHANT_NOT_FOUND", "BUSY"],
    }),
    row("GET", "/users", "auth.listUsers", OWNERS, 200, {
      summary: "List the users of your scope",
      query: ["role", "email", "reseller_id", "merchant_id", "is_active", ...PAGE],
    }),
    row("GET", "/users/{id}", "auth.getUser", OWNERS, 200, {
      summary: "Read a user",
      errors: ["USER_NOT_FOUND"],
    }),
    row("PUT", "/users/{id}", "auth.updateUser", OWNERS, 200, {
      summary: "Change a user; a new password and switching off end the access tokens it holds",
      body: "*",
      errors: ["USER_NOT_FOUND", "EMAIL_EXISTS", "RESOURCE_IN_USE", "RESELLER_NOT_FOUND", "MERCHANT_NOT_FOUND", "BUSY"],
    }),
    row("DELETE", "/users/{id}", "auth.deleteUser", OWNERS, 204, {
      summary: "Delete a user; the last active admin can't be deleted",
      errors: ["USER_NOT_FOUND", "RESOURCE_IN_USE", "BUSY"],
    }),
  ]),

  ...tagged("Audit", [
    row("GET", "/audit", "auth.listAudit", OWNERS, 200, {
      summary: "Read who did what: tokens, users, aborts, blacklist, configurations; a reseller sees what is its own",
      query: ["action", "subject", "reseller_id", "from", "to", ...PAGE],
    }),
  ]),
];
