import { action, IsoTime, Nullable, Strict, Text, Type } from "./define.ts";
import { By, ROLES } from "./identity.ts";

const User = Type.Object({ id: Type.String(), email: Type.String(), role: Type.Enum([...ROLES]), reseller_id: Nullable(Type.String()) });

/** Identity: people who log in and tokens of programs. */
export const auth = {
  name: "auth",
  actions: {
    /** E-mail and password for a short-lived JWT. INVALID_CREDENTIALS says no more than that. */
    login: action(
      Strict({ email: Type.String({ minLength: 3, maxLength: 254, format: "email" }), password: Type.String({ minLength: 1, maxLength: 1024 }) }),
      Type.Object({ access_token: Type.String(), token_type: Type.Literal("bearer"), user: User }),
    ),
    /** Issues an opaque token; only its hash is kept. FORBIDDEN, RESELLER_UNKNOWN, VALIDATION_FAILED. */
    issueS2s: action(
      Strict({
        by: By, name: Text(200), role: Type.Enum(["reseller", "merchant", "user"]),
        reseller_id: Text(64), merchant_id: Type.Optional(Text(64)),
      }),
      Type.Object({
        token: Type.String(), name: Type.String(), role: Type.String(), reseller_id: Type.String(),
        merchant_id: Nullable(Type.String()), created_at: IsoTime,
      }),
    ),
    /** Who a bearer token stands for; UNAUTHENTICATED otherwise. The gateway may remember the answer for 5 s. */
    identify: action(Strict({ token: Type.String({ minLength: 1, maxLength: 8192 }) }), By),
  },
  events: {},
};
