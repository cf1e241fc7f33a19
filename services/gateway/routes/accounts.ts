import { ALL, COST, OWNERS, PAGE, row, tagged, type Row } from "./row.ts";

/** Log-in, tokens, users and the audit log. */
export const accounts: readonly Row[] = [
  ...tagged("Authentication", [
    row("POST", "/login", "auth.login", "public", 200, {
      summary: "Exchange e-mail and password for a short-lived access token",
      body: "*",
      clientAddress: "address",
      answers: "unprocessable",
      errors: ["INVALID_CREDENTIALS", "RATE_LIMITED", "BUSY"],
    }),
    row("POST", "/logout", "auth.logOut", ALL, 204, {
      summary: "End the session of the access token that the request holds, within five seconds on every node",
      bearer: "token",
    }),
    row("POST", "/password", "auth.changePassword", ALL, 200, {
      cost: COST.heavy,
      summary:
        "Change your own password; ends all your sessions and begins a new one, whose access token is the answer",
      body: "*",
      bearer: "token",
      clientAddress: "address",
      answers: "unprocessable",
      errors: ["INVALID_CREDENTIALS", "BUSY"],
    }),
    row("POST", "/s2s-token", "auth.issueS2s", OWNERS, 200, {
      summary: "Issue a long-lived token for a backend; it is shown this once",
      body: "*",
      answers: "unprocessable",
      errors: ["RESELLER_UNKNOWN"],
    }),
    row("GET", "/s2s-tokens", "auth.listS2s", OWNERS, 200, {
      summary: "List the tokens of your scope: prefix, name and last use, never the token itself",
      cost: COST.list,
      query: ["role", "reseller_id", "merchant_id", "issued_by", ...PAGE],
    }),
    row("DELETE", "/s2s-tokens/{id}", "auth.revokeS2s", OWNERS, 204, {
      summary:
        "Revoke a token within five seconds on every node, and the tokens and users that it gave access to; keep_issued=true leaves those",
      query: ["keep_issued"],
      errors: ["TOKEN_NOT_FOUND"],
    }),
  ]),

  ...tagged("Users", [
    row("POST", "/users", "auth.createUser", OWNERS, 201, {
      cost: COST.heavy,
      summary: "Create a user; a reseller creates users of its own scope, never admins",
      body: "*",
      errors: ["EMAIL_EXISTS", "RESELLER_NOT_FOUND", "MERCHANT_NOT_FOUND", "BUSY"],
    }),
    row("GET", "/users", "auth.listUsers", OWNERS, 200, {
      summary: "List the users of your scope",
      cost: COST.list,
      query: ["role", "email", "reseller_id", "merchant_id", "is_active", "access_given_by", ...PAGE],
    }),
    row("GET", "/users/{id}", "auth.getUser", OWNERS, 200, {
      summary: "Read a user",
      errors: ["USER_NOT_FOUND"],
    }),
    row("PUT", "/users/{id}", "auth.updateUser", OWNERS, 200, {
      cost: COST.heavy,
      summary: "Change a user; a new password and switching off end its sessions. Your own password: POST /password",
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
      cost: COST.list,
      query: ["action", "subject", "reseller_id", "from", "to", ...PAGE],
    }),
  ]),
];
