/**
 * For packages that decide about calls before core makes them: when one starts, whether it is asked about, or made again. They judge a
 * call, and answer for one that is not made, by the same functions as core does.
 *
 * Not for applications: what is here may change in a minor version.
 */

export { findTool, resolveAliases } from './aliases.ts'
export { type CallEffect, judgeCall } from './call-effect.ts'
export { sameCall } from './canonical.ts'
export { checkedInput } from './checked-input.ts'
export { checkedNeeds } from './needs.ts'
export { keysMeet, NO_KEYS, namesNone } from './resource-keys.ts'
export { errorMessage } from './tool-message.ts'
