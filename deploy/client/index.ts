export { createClient, login, type Client, type ClientOptions } from "./client.ts";
export { ApiFailure, NoAnswer } from "./failures.ts";
export { EventsMissed, follow, type Followed, type FollowOptions } from "./follow.ts";
export { each, type ItemOf, type ListPath } from "./pages.ts";
export { finished, watch, type Lead, type WatchOptions } from "./watch.ts";
export { verifyWebhook, WebhookRefused, type WebhookEvent, type WebhookHeaders } from "./webhooks.ts";
export type { AnswerOf, Given, Method, PathsWith } from "./shapes.ts";
export type { components, operations, paths } from "./api.ts";
