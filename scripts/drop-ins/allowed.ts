/** Tests of libraries that may fail with a drop-in, and why. */

import type { LibraryName } from './libraries.ts'

export interface Allowed {
  /** The end of the test's full name. */
  readonly test: string
  readonly reason: string
}

const CANCELS =
  'The test cancels the run when the tool starts. It starts earlier, so the run is cancelled while the model still streams.'

const ALLOWED: Readonly<Record<LibraryName, readonly Allowed[]>> = {
  'ai-sdk': [
    {
      test: 'options.onToolExecutionStart should be called before tool execution',
      reason: 'An early call executes before the SDK says that it does: the SDK says so when it asks for the result.',
    },
    {
      test: 'options.abortSignal should forward abort signal to tool execution during streaming',
      reason: 'It asks for the very signal object. The tool gets one that also ends when the call is discarded.',
    },
    {
      test: 'abort during tool execution should end full stream with abort part',
      reason: 'The tool aborts the run that it is called in. It starts earlier, so the run ends earlier.',
    },
  ],
  langchain: [],
  'openai-agents': [
    { test: 'settles a cancelled function tool without starting another model turn', reason: CANCELS },
    { test: 'atomically finalizes a completed tool output after cancellation', reason: CANCELS },
    { test: 'does not call the model when a resumed turn is cancelled during preparation', reason: CANCELS },
    { test: 'reconciles later actions without starting them after cancellation', reason: CANCELS },
    {
      test: 'propagates run cancellation to a direct function tool',
      reason: 'It asks for the very signal object. The tool gets one that also ends when the call is discarded.',
    },
    {
      test: 'reserves a batched computer approval failure while sibling callbacks drain',
      reason:
        'An approval fails as soon as the tool has started, which is before the SDK asks for the call. The call is then aborted when the turn ends, and the test lets the turn end only after that.',
    },
    {
      test: 'additional scenarios records one model response per turn',
      reason: 'A response that streams has an id. That of the test has none, not even an undefined one.',
    },
  ],
}

export function allowedFailures(name: LibraryName): readonly Allowed[] {
  return ALLOWED[name]
}
