/** Finds the call that is meant: by its id, or as one that an earlier attempt has already made. */

import type { ToolFacts } from '../../../src/machine/call.ts'
import { callOf } from '../../../src/machine/calls.ts'
import { renamed } from '../../../src/machine/decide-call.ts'
import { callDiscarded, callJoined, decideCall } from '../../../src/machine/decide-calls.ts'
import { mayStart } from '../../../src/machine/halt.ts'
import { joinableCall } from '../../../src/machine/join.ts'
import { type Asked, aboutOf, type State } from './state.ts'

/** Equal for all calls of a step with an equal request. */
export function contentOf(s: State, step: number, { name, input }: Pick<Asked, 'name' | 'input'>): number {
  const text = `${step} ${name} ${input}`
  if (!s.contents.includes(text)) s.contents.push(text)
  return s.contents.indexOf(text)
}

/**
 * The call with this id, or an equal one that an earlier attempt has made for it. A call with its id and another request is withdrawn.
 * `coming`: the tools of calls that are made before it; without it the call is requested early, and nothing joins once the run halts.
 */
export function find(s: State, call: Asked, coming?: readonly ToolFacts[]): number | undefined {
  const content = contentOf(s, s.steps.begun, call)
  const same = madeBy(s, undefined, call.id)
  const state = same === undefined ? undefined : callOf(s.calls, same)
  if (state && state.fate !== 'discarded') {
    if (state.content === content) return same
    if (state.isRequested) callDiscarded(s.calls, state.number, 'arguments_changed')
  }
  const attempt = s.calls.response.announcedBy.get(call.id)
  if (!coming && !mayStart(s.halt)) return undefined
  const held = attempt === undefined ? undefined : joinableCall(s.calls, content, attempt, coming ?? [])
  if (!held || attempt === undefined) return undefined
  goesOnAs(s, held.number, call.id)
  callJoined(s.calls, held.number, call.id, attempt)
  return held.number
}

/** The inner call of this maker with this id or, without a maker, the call with this id. */
export function madeBy(s: State, maker: number | undefined, id: string): number | undefined {
  const isIt = (number: number) => aboutOf(s, number).ids.includes(id)
  return [...s.calls.all.values()].findLast((one) => one.maker === maker && isIt(one.number))?.number
}

/** Changes the id of the call. */
export function goesOnAs(s: State, number: number, id: string): void {
  aboutOf(s, number).ids.push(id)
  decideCall(s.calls, renamed(callOf(s.calls, number), id))
}
