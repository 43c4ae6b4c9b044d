/**
 * Whether two cores did the same: results, checkpoints, what tools' functions did, and events, each at the same time of the clock. Things
 * at the same time may change places if neither causes the other.
 */

import type { Deed, Timed, Trace, TracedEvent, TracedLife } from './trace.ts'

export interface Difference {
  /** What differs: `result`, `checkpoint`, `events` … */
  readonly what: string
  /** Both, in a few lines. */
  readonly text: string
}

/** The first difference. Absent if they are equal. */
export function difference(older: Trace, present: Trace): Difference | undefined {
  const count = Math.max(older.lives.length, present.lives.length)
  for (let index = 0; index < count; index++) {
    const found = differenceOfLives(older.lives[index], present.lives[index])
    if (found)
      return {
        ...found,
        text: `run ${index + 1}: ${found.text}${leftText('older', older)}${leftText('present', present)}`,
      }
  }
  return (
    unlike('end of the play', older.left, present.left) ??
    unordered('executions', older.deeds, present.deeds, mayDeedsChangePlaces)
  )
}

/** A play that was left has fewer runs. */
function leftText(which: string, { left }: Trace): string {
  return left === undefined ? '' : `\n  the play of the ${which} core was left: ${left}`
}

function differenceOfLives(older: TracedLife | undefined, present: TracedLife | undefined): Difference | undefined {
  if (!older || !present) return { what: 'count of runs', text: `only the ${older ? 'older' : 'present'} core has it` }
  return (
    unordered('events', older.events, present.events, mayEventsChangePlaces) ??
    unlike('result', older.end, present.end) ??
    unlike('checkpoint', older.checkpoint, present.checkpoint)
  )
}

function unlike(what: string, older: unknown, present: unknown): Difference | undefined {
  const [a, b] = [JSON.stringify(older ?? null), JSON.stringify(present ?? null)]
  if (a === b) return undefined
  let from = 0
  while (a[from] === b[from]) from++
  const near = (text: string) => `${from > 80 ? '…' : ''}${text.slice(Math.max(0, from - 80), from + 160)}`
  return { what, text: `${what} differs\n  older    ${near(a)}\n  present  ${near(b)}` }
}

type Rule<What> = (one: What, other: What) => boolean

/** Compares two lists time by time. Within one time only items that may change places may be in another order. */
function unordered<What>(
  what: string,
  older: readonly Timed<What>[],
  present: readonly Timed<What>[],
  mayChangePlaces: Rule<What>,
): Difference | undefined {
  let at = 0
  while (at < older.length || at < present.length) {
    const time = Math.min(older[at]?.[0] ?? Number.POSITIVE_INFINITY, present[at]?.[0] ?? Number.POSITIVE_INFINITY)
    const [a, b] = [atTime(older, at, time), atTime(present, at, time)]
    const found = misplaced(a, b, mayChangePlaces)
    if (found !== undefined) {
      const lines = [`${what} at ${time} ms: ${found}`, '  older', ...a.map(inShort), '  present', ...b.map(inShort)]
      return { what, text: lines.join('\n') }
    }
    at += a.length
  }
  return undefined
}

/** What happened at this time, from an index on. */
function atTime<What>(list: readonly Timed<What>[], from: number, time: number): readonly What[] {
  let end = from
  while (list[end]?.[0] === time) end++
  return list.slice(from, end).map(([, what]) => what)
}

function misplaced<What>(older: readonly What[], present: readonly What[], mayChangePlaces: Rule<What>) {
  const places = new Map<string, number[]>()
  present.forEach((one, place) => {
    const text = JSON.stringify(one)
    places.set(text, [...(places.get(text) ?? []), place])
  })
  const moved: { readonly one: What; readonly to: number }[] = []
  for (const one of older) {
    const to = places.get(JSON.stringify(one))?.shift()
    if (to === undefined) return `the present core has no ${inShort(one).trim()}`
    const passed = moved.find((before) => before.to > to && !mayChangePlaces(before.one, one))
    if (passed) return `the present core has ${inShort(one).trim()} before ${inShort(passed.one).trim()}`
    moved.push({ one, to })
  }
  const more = [...places.values()].flat().sort((a, b) => a - b)[0]
  return more === undefined ? undefined : `only the present core has ${inShort(present[more]).trim()}`
}

function inShort(one: unknown): string {
  const text = JSON.stringify(one)
  return `    ${text.length > 240 ? `${text.slice(0, 240)}…` : text}`
}

/** Deeds of tools of different calls may change places; deeds without a call keep their order. */
function mayDeedsChangePlaces(one: Deed, other: Deed): boolean {
  return one.callId !== other.callId
}

/**
 * Events of different calls may change places, and so may those of a call with pieces of a response that do not concern the call. The
 * beginning and the end of a run, a step or an attempt keep their places relative to everything inside.
 */
function mayEventsChangePlaces(one: TracedEvent, other: TracedEvent): boolean {
  const ofOther = callsOf(other)
  const areOfOthers = callsOf(one).every((calls) => ofOther.every((others) => part(calls, others)))
  return areOfOthers || isPieceBeside(one, other) || isPieceBeside(other, one)
}

/** Whether two paths from the run inwards diverge. */
function part(one: readonly string[], other: readonly string[]): boolean {
  const depth = Math.min(one.length, other.length)
  return one.slice(0, depth).some((id, level) => id !== other[level])
}

/** Whether it is a piece of a response, and the other one an event of a call that the piece does not concern. */
function isPieceBeside(piece: TracedEvent, other: TracedEvent): boolean {
  if (!PIECES.has(piece.type)) return false
  const depth = piece.path?.length ?? 0
  const said = 'id' in piece ? piece.id : 'call' in piece ? piece.call.id : undefined
  return callsOf(other).every((calls) => calls.length > depth && calls[depth] !== said)
}

const PIECES: ReadonlySet<string> = new Set([
  'text-delta',
  'reasoning-delta',
  'tool-input-start',
  'tool-input-delta',
  'tool-input-ready',
  'tool-input-closed',
  'tool-call',
])

/** The calls in which it happened, from the outermost on: two such lists if a call changes its id. */
function callsOf(event: TracedEvent): readonly (readonly string[])[] {
  const path = (event.path ?? []).map(({ callId }) => callId)
  if (!('callId' in event) || event.callId === undefined) return [path]
  const ids = event.type === 'tool-committed' && event.startedAs !== undefined ? [event.startedAs] : []
  return [...ids, event.callId].map((id) => [...path, ...makersOf(id), id])
}

/** The makers of a call: their ids are part of its id. */
function makersOf(id: string): readonly string[] {
  const maker = /^(?:part of|in) (.+)$/.exec(id)?.[1] ?? /^(.+)\/1$/.exec(id)?.[1]
  return maker === undefined ? [] : [...makersOf(maker), maker]
}
