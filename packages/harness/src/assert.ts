/**
 * Assertions for tests of agents, for any test runner: small functions that throw an error with a name and a reason.
 */

export { type AcceptOptions, assertAccepted, type CheckedRequest } from './assert/accepted.ts'
export { assertBefore, assertBetween, assertInOrder, EventOrderError, type EventPattern } from './assert/events.ts'
export {
  assertRanOnce,
  assertSameExecutions,
  type Execution,
  ExecutionsError,
  type WatchedTools,
  watchTools,
} from './assert/executions.ts'
export { LeakError, type LeakOptions, type LeakWatch, watchLeaks } from './assert/leaks.ts'
export { assertSpanTree } from './assert/span-tree.ts'
export { type SpanWatch, watchSpans } from './assert/span-watch.ts'
export {
  assertChildOf,
  assertLinked,
  assertNoContent,
  assertNoOverlap,
  assertNotSent,
  assertOverlap,
  SpanError,
  spanNamed,
} from './assert/spans.ts'
export { assertSameTranscript, assertTranscript, TranscriptError } from './assert/transcript.ts'
export { HarnessError, RefusedRequestError } from './errors.ts'
