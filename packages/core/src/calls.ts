/**
 * For packages that decide about calls before core makes them: when one starts, whether it is asked about, or made again. They judge a
 * call, answer for one that is not made, and follow a caller's signal by the same functions as core does. Packages that make calls in
 * somebody else's loop read its stream and write their spans by the same classes, too.
 *
 * Not for applications: what is here may change in a minor version.
 */

export { sealsCalls } from './assemble/sealing.ts'
export { StreamedResponse } from './assemble/streamed-response.ts'
export { follow } from './flow/follow.ts'
export { unheard } from './flow/unheard.ts'
export { checkedNeeds } from './needs/members.ts'
export { type CallEffect, isJudgedByInput, judgeCall } from './state/call-effect.ts'
export { activeContext, type CallFacts, type ExecutionFacts, Telemetry } from './telemetry/around.ts'
export { checkTelemetry } from './telemetry/options.ts'
export { errorMessage } from './tool-call/no-result-message.ts'
export { findTool, resolveAliases } from './vocabulary/aliases.ts'
export { sameCall } from './vocabulary/canonical.ts'
export { checkedInput } from './vocabulary/checked-input.ts'
export { asJson } from './vocabulary/json.ts'
export { checkCount, checkTime, nearestName } from './vocabulary/option-checks.ts'
export { keysMeet, NO_KEYS, namesNone } from './vocabulary/resource-keys.ts'
