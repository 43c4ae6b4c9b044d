/** A tool of a loop that is not ours, and the tool of ours that stands for it. */

import type { Tool } from '@meanwhile/core'
import type { DeclaredTool } from './declared.ts'

export interface HostTool {
  readonly name: string
  /** Absent: its calls never start early, and later calls of the step do not start early past them. */
  readonly early?: EarlyTool
}

export interface EarlyTool extends DeclaredTool {
  /** The host's own check of the input as the model wrote it. Returns what the host would pass on; throws if the host would refuse it. */
  check?(written: unknown): unknown
  /** The host's own function, with all that the host would give it. */
  start(input: unknown, call: StartedCall): unknown
}

/** What an early start is told beside its input. */
export interface StartedCall {
  /** As the provider gave it; absent if it gave none. */
  readonly id: string | undefined
  /** Aborted with the host's signal, when the call is discarded, and when the host's own call is aborted that has joined it. */
  readonly signal: AbortSignal
  /** The input as the model wrote it, parsed. */
  readonly written: unknown
  /** The arguments as the model wrote them. */
  readonly text: string
  /** Resolves when the host asks for the call. Stays pending if it never does. */
  readonly taken: Promise<void>
  /** The function needed what only the host has. Its result is not used, and the host makes the call itself. */
  decline(): void
  /** What the function returns stands for an error. The host gets it, and `compensate` is not called. */
  failed(error: Error): void
}

/** The checked input of such a tool: as the model wrote it, and as the host would pass it on. */
export interface HostInput {
  readonly written: unknown
  readonly value: unknown
}

/** The rules ask it for effect, keys and input. Nothing executes it. */
export function toolFor({ name, early }: HostTool): Tool<HostInput> {
  if (!early) return { name, description: name, input: passing(undefined) }
  const { effect, reads, writes, compensate, check } = early
  return {
    name,
    description: name,
    input: passing(check && ((written) => check.call(early, written))),
    effect: typeof effect === 'function' ? ({ value }) => effect(value) : effect,
    ...(reads && { reads: ({ value }: HostInput) => reads.call(early, value) }),
    ...(writes && { writes: ({ value }: HostInput) => writes.call(early, value) }),
    ...(compensate && { compensate: ({ value }: HostInput, output: unknown) => compensate.call(early, value, output) }),
    execute: () => undefined,
  }
}

/** A schema that lets the host's own check decide. */
function passing(check: EarlyTool['check']): Tool<HostInput>['input'] {
  return {
    '~standard': {
      version: 1,
      vendor: 'host',
      validate(written) {
        const value = check ? check(written) : written
        return value instanceof Promise ? value.then((value) => passed(written, value)) : passed(written, value)
      },
      jsonSchema: { input: () => ({ type: 'object' }) },
    },
  }
}

function passed(written: unknown, value: unknown): { readonly value: HostInput } {
  return { value: { written, value } }
}
