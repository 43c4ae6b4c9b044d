/** What the reader of a run sees of its calls, and what waits: as in call-events.ts, for each call in its own order. */

import { eventOf } from '../../src/machine/call.ts'
import { callOf } from '../../src/machine/calls.ts'
import { told } from '../../src/machine/decide-call.ts'
import { callHidden, callShown, decideCall } from '../../src/machine/decide-calls.ts'
import { type Known, knownOf, type State } from './model/state.ts'

export interface Reader {
  /** Ids of calls whose announcement wraps still hold back, and of those that the reader has seen. */
  readonly held: readonly string[]
  readonly knows: readonly string[]
  /** By key of the call. */
  readonly told: Readonly<Record<string, readonly string[]>>
  readonly waiting: Readonly<Record<string, readonly string[]>>
}

export const NEW_READER: Reader = { held: [], knows: [], told: {}, waiting: {} }

/** The reader of a resumed run. Ends of calls that were shown stay shown. */
export function resumed({ told }: Reader): Reader {
  const ends = Object.entries(told).flatMap(([key, events]) => (events.includes('end') ? [[key, ['end']]] : []))
  return { ...NEW_READER, told: Object.fromEntries(ends) }
}

export function isKnown({ knows }: Reader, { about }: Known): boolean {
  return about.ids.some((id) => knows.includes(id))
}

/** A call begins. */
export function begins(s: State, reader: Reader, one: Known): Reader {
  callHidden(s.calls, one.number, isKnown(reader, one))
  return emitted(s, reader, one, 'start')
}

function emitted(s: State, reader: Reader, { number, about: { key } }: Known, event: string): Reader {
  const call = s.calls.all.get(number)
  const becomes = call ? eventOf(call) : 'dropped'
  if (becomes === 'dropped') return reader
  const list = becomes === 'waits' ? 'waiting' : 'told'
  return { ...reader, [list]: { ...reader[list], [key]: [...(reader[list][key] ?? []), event] } }
}

/** Shows what has happened to calls. */
export function tell(s: State, before: Reader): Reader {
  let reader = before
  for (const { number, call, about } of knownOf(s)) {
    const { key } = about
    const events = [...(reader.told[key] ?? [])]
    const { [key]: waiting = [], ...others } = reader.waiting
    if (call.course === 'asleep') continue
    const isCommitted = call.startedEarly && call.fate === 'committed' && !events.includes('committed')
    if (isCommitted) callShown(s.calls, number)
    const isHidden = s.calls.all.get(number)?.told === 'hidden'
    if (!isHidden) events.push(...waiting)
    if (isCommitted) events.push('committed')
    if (call.fate === 'discarded' && !isHidden && !events.includes('discarded')) events.push('discarded')
    // A call that settles after the checkpoint was taken is open in the checkpoint.
    if (call.fate === 'committed' && about.result && !s.aside && ends(s, number)) events.push('end')
    const isOver = call.fate === 'discarded' || !isHidden
    reader = { ...reader, waiting: isOver ? others : reader.waiting }
    if (events.length > 0) reader = { ...reader, told: { ...reader.told, [key]: events } }
  }
  return reader
}

function ends(s: State, number: number): boolean {
  return decideCall(s.calls, told(callOf(s.calls, number), 'ended'))
}
