/** A tool of another library's loop (the host), and the Meanwhile tool that represents it. */

import type { Tool } from '@meanwhile/core'
import type { DeclaredTool } from './declared.ts'

export interface HostTool {
  readonly name: string
  /** Without it, calls of the tool never start early, nor do later calls of the step. */
  readonly early?: EarlyTool
}

export interface EarlyTool extends DeclaredTool {
  /**
   * The host's own check of the input as the model wrote it. Returns what the host would pass to the function, and
   * throws if the host would reject the input.
   */
  check?(written: unknown): unknown
  /**
   * What the host passes to the function next to the input, checked again for each call. Throws if the host would reject
   * it; then the call does not start early.
   */
  context?(): unknown
  /** Whether the function gets its input exactly as the model wrote it. Default: whether `check` returns it unchanged. */
  keepsInput?(written: unknown): boolean
  /**
   * The function checks its input itself: the host executes it with the input as the model wrote it, and `take` gets
   * that input.
   */
  readonly checksItself?: true
  /**
   * Whether nothing keeps the host from executing this call, as far as is known now. It is asked when the call could start,
   * and again after `HostCalls.proceed`. A call that may not start before the response ends is left to the host.
   */
  mayStart?(call: StartingCall): boolean
  /**
   * If its signal aborts, the returned promise rejects although the function may still be running. Above `read`, the
   * signal then aborts only once the host has taken the call: it must be known when the function has ended, and how.
   */
  readonly leavesOnAbort?: true
  /** Calls the host's own function with everything the host would pass to it. */
  start(input: unknown, call: StartedCall): unknown
}

/** A call that could start early. */
export interface StartingCall {
  /** As the provider sent it; `undefined` if it sent none. */
  readonly id: string | undefined
  /** Whether the host takes the call with this input. */
  isWith(input: unknown): boolean
}

/** What the function of an early call receives next to its input. */
export interface StartedCall {
  /** As the provider sent it; `undefined` if it sent none. */
  readonly id: string | undefined
  /**
   * Aborts when the host's signal aborts, when the call is discarded, and when the host aborts its own call that has
   * joined this one.
   */
  readonly signal: AbortSignal
  /** The input as the model wrote it, parsed. */
  readonly written: unknown
  /** What {@link EarlyTool.context} returned for this call. */
  readonly context: unknown
  /** The arguments as the model wrote them. */
  readonly text: string
  /** Resolves with whether the host uses the call: when it takes it, or when the call is discarded. */
  readonly used: Promise<boolean>
  /**
   * The function has read something that exists only when the response has ended. Its result is not used, the host makes
   * the call itself, and the tool starts early no more with this `eager()`. `member`: what it has read.
   */
  decline(member: string): void
  /** The returned value stands for an error. The host gets it, and `compensate` is not called. */
  failed(error: Error): void
}

/** The checked input of such a tool: as the model wrote it, and as the host would pass it on, with its context. */
export interface HostInput {
  readonly written: unknown
  readonly value: unknown
  readonly context: unknown
}

/** The tool for the rules that decide when a call starts: effect, keys and input. It is never executed. */
export function toolFor({ name, early }: HostTool): Tool<HostInput> {
  if (!early) return { name, description: name, input: passing({}) }
  const { effect, reads, writes, compensate } = early
  return {
    name,
    description: name,
    input: passing(early),
    effect: typeof effect === 'function' ? ({ value }) => effect(value) : effect,
    ...(reads && { reads: ({ value }: HostInput) => reads.call(early, value) }),
    ...(writes && { writes: ({ value }: HostInput) => writes.call(early, value) }),
    ...(compensate && { compensate: ({ value }: HostInput, output: unknown) => compensate.call(early, value, output) }),
    execute: () => undefined,
  }
}

/** A schema that uses the host's own checks. */
function passing(early: Pick<EarlyTool, 'check' | 'context'>): Tool<HostInput>['input'] {
  return {
    '~standard': {
      version: 1,
      vendor: 'host',
      validate(written) {
        const value = early.check ? early.check(written) : written
        const context = early.context?.()
        if (!(value instanceof Promise) && !(context instanceof Promise)) return passed(written, value, context)
        return Promise.all([value, context]).then(([value, context]) => passed(written, value, context))
      },
      jsonSchema: { input: () => ({ type: 'object' }) },
    },
  }
}

function passed(written: unknown, value: unknown, context: unknown): { readonly value: HostInput } {
  return { value: { written, value, context } }
}
