/** Tests of libraries that may fail with a drop-in, and why. */

import type { LibraryName } from './libraries.ts'

export interface Allowed {
  /** The end of the test's full name. */
  readonly test: string
  readonly reason: string
}

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
  'openai-agents': [],
}

export function allowedFailures(name: LibraryName): readonly Allowed[] {
  return ALLOWED[name]
}
