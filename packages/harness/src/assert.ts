/** Assertions for tests of agents, for any test runner: small functions that throw an error with a name and a reason. */

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
export {
  assertLinked,
  assertNoContent,
  assertOverlap,
  SpanError,
  type SpanWatch,
  watchSpans,
} from './assert/spans.ts'
export { assertSameTranscript, assertTranscript, TranscriptError } from './assert/transcript.ts'
export { HarnessError } from './errors.ts'
