/** Tests of libraries that may fail with a drop-in, and the reasons. */

import type { LibraryName } from './libraries.ts'

export interface Allowed {
  /** The end of the test's full name. */
  readonly test: string
  readonly reason: string
}

const CANCELS =
  'The test cancels the run when the tool starts. It starts earlier, so the run is cancelled while the model still streams.'

const CHANGES =
  'A middleware changes or removes the call after the model has requested it. The early call has started by then, and its result is dropped.'
const ORDER = 'The test expects that a tool starts after the hooks of the middleware. An early call starts before them.'

const ALLOWED: Readonly<Record<LibraryName, readonly Allowed[]>> = {
  'ai-sdk': [
    {
      test: 'options.onToolExecutionStart should be called before tool execution',
      reason:
        'An early call executes before the SDK reports its start: the SDK reports it when it asks for the result.',
    },
    {
      test: 'options.abortSignal should forward abort signal to tool execution during streaming',
      reason: 'The test expects the same signal object. The tool gets one that also aborts when the call is discarded.',
    },
    {
      test: 'abort during tool execution should end full stream with abort part',
      reason: 'The tool aborts its own run. It starts earlier, so the run ends earlier.',
    },
  ],
  langchain: [
    { test: 'control actions should terminate the agent in afterModel hook', reason: CHANGES },
    { test: 'wrapModelCall should allow middleware to modify tool calls in response', reason: CHANGES },
    { test: 'should allow middleware to wrap tool execution and modify args and response', reason: CHANGES },
    { test: 'wrapToolCall should support caching tool results', reason: CHANGES },
    { test: 'should terminate when afterModel jumps to end (skips tools)', reason: CHANGES },
    { test: 'wrapToolCall should chain multiple wrapToolCall handlers correctly', reason: ORDER },
    { test: 'should support all hooks together with correct execution order', reason: ORDER },
  ],
  'openai-agents': [
    { test: 'settles a cancelled function tool without starting another model turn', reason: CANCELS },
    { test: 'atomically finalizes a completed tool output after cancellation', reason: CANCELS },
    { test: 'does not call the model when a resumed turn is cancelled during preparation', reason: CANCELS },
    { test: 'reconciles later actions without starting them after cancellation', reason: CANCELS },
    {
      test: 'propagates run cancellation to a direct function tool',
      reason: 'The test expects the same signal object. The tool gets one that also aborts when the call is discarded.',
    },
    {
      test: 'reserves a batched computer approval failure while sibling callbacks drain',
      reason:
        'An approval fails as soon as the tool has started, and an early tool starts before the SDK asks for the call. The call is then aborted at the end of the turn, and the test ends the turn only after that.',
    },
    {
      test: 'additional scenarios records one model response per turn',
      reason: 'A streamed response has an id. The response of the test has none, not even an undefined one.',
    },
  ],
}

export function allowedFailures(name: LibraryName): readonly Allowed[] {
  return ALLOWED[name]
}
