/** Tests of libraries that may fail with a drop-in, and why. */

import type { LibraryName } from './libraries.ts'

export interface Allowed {
  /** The end of the test's full name. */
  readonly test: string
  readonly reason: string
}

const ALLOWED: Readonly<Record<LibraryName, readonly Allowed[]>> = {
  'ai-sdk': [],
  langchain: [],
  'openai-agents': [],
}

export function allowedFailures(name: LibraryName): readonly Allowed[] {
  return ALLOWED[name]
}
