/** Tests of libraries that may fail with a drop-in, and the reasons. */

import type { LibraryName } from './libraries.ts'
import type { Added } from './splice/wraps.ts'

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

const REPEATS =
  'The mock fails, or ends without a finish, and the test expects that the step fails with its error. `resilient()` repeats the request, and a mock that cannot answer again makes it three errors.'
const SIGNAL =
  'The test expects the signal that was given, or none. The model gets its own one, which also aborts a response that is silent.'
const ENDS =
  'The test expects the parts in the order of the model. A block ends, and a source or a file is shown, when the response has ended well.'
const LIMITS =
  'The time limit of the SDK ends when it gets a chunk, and calls, files and what comes before the first output are not shown at once. `firstOutput` and `idle` limit the silence of the model itself.'

/** With `resilient()`. */
const RESILIENT: readonly Allowed[] = [
  ...allowed(REPEATS, [
    'should not execute tools when the finish reason is error',
    'should clear firstChunkMs when the provider stream errors',
    'errors should forward error in doStream as error stream part',
    'errors should invoke onError callback when error is thrown',
    'errors should invoke onError callback when error is thrown in 2nd step',
    'should call onFinish even when error chunk occurs mid-stream',
    'should reject when provider stream closes before finish chunk',
    'should resolve with partial output when provider stream closes before finish chunk after producing output',
    'should reject result promises when provider stream errors after metadata',
    'should reject when provider stream is incomplete on a continuation step',
    'should mask error messages by default',
    'should support custom error messages',
    'consumeStream should call the onError callback with the error',
    'options.onError should invoke onError',
    'should preserve error parts and finish callbacks when onError throws',
    'should not prevent error from being forwarded',
    'should support models that use "this" context in supportedUrls',
  ]),
  ...allowed(SIGNAL, [
    'should pass abortSignal to streamText',
    'prepareStep should contain all doStream calls',
    'should pass undefined when no timeout or abortSignal provided',
    'should pass undefined when timeout object has no totalMs',
    'should reuse the same abort signal for all steps when stepMs is set',
    'object output should set responseFormat to json and send schema as part of the responseFormat',
  ]),
  ...allowed(ENDS, [
    'should send reasoning deltas',
    'should send reasoning-files',
    'should send sources',
    'should write reasoning content to a Node.js response-like object',
    'should write source content to a Node.js response-like object',
    'should create a ui message stream with provider metadata',
    'should omit reasoning content when sendReasoning is false',
    'should send reasoning content when sendReasoning is true',
    'should send source content when sendSources is true',
    'should send document source content when sendSources is true',
    'should add the sources from the model response to the step result',
    'mixed text and reasoning blocks should return the full stream with the correct parts',
  ]),
  ...allowed(LIMITS, [
    'should disarm firstChunkMs before forwarding the first tool input delta',
    'should disarm firstChunkMs before forwarding the first tool call',
    'should disarm firstChunkMs before forwarding the first file',
    'should disarm firstChunkMs before forwarding the first reasoning file',
    'should clear firstChunkMs when the registered step stream is cancelled',
  ]),
]

export function allowedFailures(name: LibraryName, add: keyof Added): readonly Allowed[] {
  return add === 'resilient' ? RESILIENT : ALLOWED[name]
}

function allowed(reason: string, tests: readonly string[]): readonly Allowed[] {
  return tests.map((test) => ({ test, reason }))
}
