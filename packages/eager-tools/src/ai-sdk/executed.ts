/** Executes a call of the loop: joins its early run, or waits for an early run that is not used and calls the tool. */

import type { EagerLoop } from '../host/eager-loop.ts'
import type { HostCalls } from '../host/host-calls.ts'
import { isAsyncIterable } from '../host/kept-result.ts'

export interface HostExecution {
  readonly id: string | undefined
  readonly name: string
  readonly input: unknown
  readonly signal: AbortSignal | undefined
}

/**
 * `calls`: those of the step that the call belongs to. Without them it belongs to no known step, such as one that was
 * approved in a later run. `own` calls the tool as the loop would.
 */
export function executed(
  loop: EagerLoop,
  calls: HostCalls | undefined,
  call: HostExecution,
  own: () => unknown,
): unknown {
  const { id, name, input, signal } = call
  const taken = calls?.take(id, name, input, signal)
  if (taken) return taken.result
  const clearing = (calls ?? loop).cleared(id, name, input, signal)
  if (!clearing) return own()
  // The loop must know at once whether the tool yields.
  return clearing.isStream ? streamedAfter(clearing.done, own) : lastAfter(clearing.done, own)
}

async function* streamedAfter(done: Promise<void>, own: () => unknown): AsyncGenerator<unknown, void> {
  await done
  const result = own()
  if (isAsyncIterable(result)) yield* result
  else yield await result
}

async function lastAfter(done: Promise<void>, own: () => unknown): Promise<unknown> {
  await done
  const result = own()
  if (!isAsyncIterable(result)) return result
  let last: unknown
  for await (const value of result) last = value
  return last
}
