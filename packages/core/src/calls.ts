/**
 * Functions for packages that decide about calls, change requests or store checkpoints in the same way as core: they judge and answer calls, check
 * values and follow signals. Packages that start calls in the loop of another library also read its stream and write its spans with these classes.
 *
 * Not for applications: this entry may change in a minor version.
 */

export { checkedNeeds } from './execution/needs.ts'
export { turnIfDue } from './flow/event-loop.ts'
export { follow } from './flow/follow.ts'
export { unlessAborted } from './flow/grace.ts'
export { coming, unheard } from './flow/unheard.ts'
export { OUTPUT_TOOL, withOutputTool } from './output/output.ts'
export { setLater } from './run/run-local.ts'
export { answeredPayloads, inSpan, isProvisional, requestedInput } from './run/run-view.ts'
export { agentRunBy, type CallEffect, isJudgedByInput, judgeCall } from './state/call-effect.ts'
export {
  activeContext,
  type CallFacts,
  type ExecutionFacts,
  executionSpan,
  GUARD,
  inTrace,
  note,
  noteEffect,
  Telemetry,
  traceIn,
} from './telemetry/around.ts'
export { checkTelemetry } from './telemetry/options.ts'
export { errorMessage } from './tool-call/no-result-message.ts'
export { findTool, resolveAliases } from './vocabulary/aliases.ts'
export { BrandedError, branded } from './vocabulary/brand.ts'
export { sameCall, sameInput, textKey } from './vocabulary/canonical.ts'
export { checkedInput, unwrapJson, withChecked } from './vocabulary/checked-input.ts'
export { readCheckpoint, writtenCheckpoint } from './vocabulary/checkpoint-store.ts'
export { hash } from './vocabulary/hash.ts'
export { freeze, openCalls, userMessage } from './vocabulary/history.ts'
export { asJson, isRecord } from './vocabulary/json.ts'
export { extentOf, jsonText, LONGEST } from './vocabulary/json-text.ts'
export { checkCount, checkTime, nearestName, shownValue } from './vocabulary/option-checks.ts'
export { keysMeet, NO_KEYS, namesNone } from './vocabulary/resource-keys.ts'
