/** Which calls are made already, and what becomes of a call: it is committed, or discarded. */

import { committed, discarded } from '../../../src/machine/decide-call.ts'
import { type Asked, type Call, callOf, type State } from './state.ts'

/** The call that this one is, or that an earlier attempt has made for it. `taken`: what other calls of the same response are. */
export function find(s: State, call: Asked, attempt: number | null, taken: readonly Call[]): Call | undefined {
  const isFree = (one: Call) => one.maker === null && one.fate === 'provisional' && !taken.includes(one)
  const own = s.calls.find((one) => isFree(one) && one.id === call.id && one.course !== 'asleep')
  if (own && isSame(own, call)) return own
  if (own) discard(s, own)
  const isAsked = ({ by }: Call) => (attempt === null ? by.some((one) => s.live.includes(one)) : by.includes(attempt))
  return s.calls.find((one) => isFree(one) && isSame(one, call) && !isAsked(one))
}

function isSame(one: Call, { name, input }: Asked): boolean {
  return one.name === name && one.input === input
}

/** It goes on as the call of this attempt. One of a checkpoint begins now. */
export function joined(call: Call, id: string, attempt: number | null): Call {
  call.id = id
  if (attempt !== null && !call.by.includes(attempt)) call.by.push(attempt)
  if (call.course === 'asleep') call.course = call.question === null ? 'due' : 'open'
  return call
}

export function commit(s: State, call: Call): void {
  Object.assign(call, committed(call, 0))
  // What a call makes begins again when that makes it again.
  if (call.course === 'asleep' && call.maker === null) call.course = 'due'
  for (const child of s.calls) if (child.maker === call.key) commit(s, child)
}

/** Nobody sees what comes of it. What it has made goes with it. */
export function discard(s: State, call: Call): void {
  if (call.fate !== 'provisional') return
  if (call.maker !== null && callOf(s, call.maker).fate === 'provisional') return
  Object.assign(call, discarded(call, 'call_withdrawn'))
  for (const child of s.calls) if (child.maker === call.key) discard(s, child)
  if (call.course !== 'begun') call.course = 'settled'
}
