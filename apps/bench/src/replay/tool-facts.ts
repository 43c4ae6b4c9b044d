/** The facts about tools that a recording does not contain: how long they take, and their effects. */

import type { Effect } from '@meanwhile/core'
import { median } from '../stats.ts'
import { UsageError } from '../usage-error.ts'
import type { Spoken } from './conversations.ts'

export interface ToolFacts {
  readonly ms: number
  readonly effect: Effect
}

/** Throws a {@link UsageError} that asks for the missing facts of the called tools, with what the recording shows. */
export function checkFacts(
  chains: readonly (readonly Spoken[])[],
  facts: ReadonlyMap<string, ToolFacts>,
  file: string,
): void {
  const called = new Set(chains.flatMap((chain) => chain.flatMap(({ calls }) => calls.map(({ name }) => name))))
  const missing = [...called].filter((name) => !facts.has(name))
  if (missing.length === 0) return
  const times = waitsOf(chains)
  const options = missing.map((name) => {
    const wait = median(times.get(name) ?? [])
    return `--tool ${name}=${wait === undefined ? 'MS' : Math.round(wait)}:EFFECT`
  })
  throw new UsageError(
    `${file}: describe how long its tools take and their effects (read, idempotent, reversible or external): ${options.join(' ')}${NOTE}`,
  )
}

const NOTE = ' (the milliseconds here are those from a response to the request with its results, all calls together)'

/** By tool: the times from the end of a response that calls it to the request with its results. */
function waitsOf(chains: readonly (readonly Spoken[])[]): ReadonlyMap<string, readonly number[]> {
  const waits = new Map<string, number[]>()
  for (const chain of chains) {
    for (const [index, { exchange, calls }] of chain.entries()) {
      const next = chain[index + 1]?.exchange.request.arrived
      const { arrived } = exchange.request
      if (next === undefined || arrived === undefined) continue
      const wait = next - arrived - exchange.response.end[0]
      for (const name of new Set(calls.map(({ name }) => name))) {
        waits.set(name, [...(waits.get(name) ?? []), Math.max(0, wait)])
      }
    }
  }
  return waits
}
