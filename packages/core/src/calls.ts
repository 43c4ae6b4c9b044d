/**
 * For packages that decide about calls before core makes them: when one starts, whether it is asked about, or made again. They judge a
 * call, answer for one that is not made, and follow a caller's signal by the same functions as core does.
 *
 * Not for applications: what is here may change in a minor version.
 */

export { checkedInput } from './execution/checked-input.ts'
export { follow } from './flow/follow.ts'
export { asJson } from './json.ts'
export { checkedNeeds } from './needs/members.ts'
export { keysMeet, NO_KEYS, namesNone } from './resource-keys.ts'
export { findTool, resolveAliases } from './tool-call/aliases.ts'
export { type CallEffect, isJudgedByInput, judgeCall } from './tool-call/call-effect.ts'
export { sameCall } from './tool-call/canonical.ts'
export { errorMessage } from './tool-call/tool-message.ts'
