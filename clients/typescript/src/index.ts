/** A typed client of Charter's REST API; `README.md` beside `src` shows its use. */

export { Charter, type CharterOptions } from "./charter.js";
export { CharterError, type Recommendation } from "./error.js";
export { type Followed, type FollowOptions, type LinkState, type ServerEvent } from "./events.js";
export { type Handler, serve, type ServeOptions, type ToolCall, ToolFailed, type ToolOutcome } from "./executor.js";
export type * from "./answers.js";
export type { paths } from "./generated/openapi.js";
export type { components } from "./generated/openapi.js";
