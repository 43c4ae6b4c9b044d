/** Assertions about the order of events. */

import { differences, shown } from '../difference.ts'
import { HarnessError } from '../errors.ts'

/** Matches an event: by its `type`, by some of its members (a RegExp is searched in a text), or by a function. */
export type EventPattern<Event> = string | { readonly [member: string]: unknown } | ((event: Event) => boolean)

/** Events are missing, or not in the expected order. */
export class EventOrderError extends HarnessError {
  static override readonly brand: string = 'EventOrderError'
}

/**
 * Asserts that the patterns match events in this order; other events may come in between.
 *
 * @throws {EventOrderError} They do not.
 */
export function assertInOrder<Event>(events: readonly Event[], patterns: readonly EventPattern<Event>[]): void {
  let after = -1
  for (const [i, pattern] of patterns.entries()) {
    const at = events.findIndex((event, index) => index > after && matches(event, pattern))
    const before = patterns[i - 1]
    if (at < 0) {
      const where = before === undefined ? '' : ` after ${named(before)} (event ${after})`
      throw failed(`no ${named(pattern)}${where}`, events)
    }
    after = at
  }
}

/**
 * Asserts that both occur, and that the first event matching `first` comes before the first one matching `then`.
 *
 * @throws {EventOrderError} They do not.
 */
export function assertBefore<Event>(
  events: readonly Event[],
  first: EventPattern<Event>,
  then: EventPattern<Event>,
): void {
  const a = position(events, first)
  const b = position(events, then)
  if (a >= b) throw failed(`${named(first)} (event ${a}) did not come before ${named(then)} (event ${b})`, events)
}

/**
 * Asserts that `what` occurs, and only after the first `from` and before the first `to`.
 *
 * @throws {EventOrderError} It does not.
 */
export function assertBetween<Event>(
  events: readonly Event[],
  what: EventPattern<Event>,
  from: EventPattern<Event>,
  to: EventPattern<Event>,
): void {
  const start = position(events, from)
  const end = position(events, to)
  position(events, what)
  for (const [at, event] of events.entries()) {
    if (!matches(event, what) || (at > start && at < end)) continue
    const between = `${named(from)} (event ${start}) and ${named(to)} (event ${end})`
    throw failed(`${named(what)} (event ${at}) did not come between ${between}`, events)
  }
}

function position<Event>(events: readonly Event[], pattern: EventPattern<Event>): number {
  const at = events.findIndex((event) => matches(event, pattern))
  if (at < 0) throw failed(`no ${named(pattern)}`, events)
  return at
}

function matches<Event>(event: Event, pattern: EventPattern<Event>): boolean {
  if (typeof pattern === 'function') return pattern(event)
  return differences(typeof pattern === 'string' ? { type: pattern } : pattern, event).length === 0
}

function named<Event>(pattern: EventPattern<Event>): string {
  if (typeof pattern === 'function') return pattern.name || 'event that satisfies the function'
  return typeof pattern === 'string' ? pattern : shown(pattern)
}

function failed(reason: string, events: readonly unknown[]): EventOrderError {
  const list = events.map((event, i) => `\n  ${i}: ${typeOf(event)}`).join('')
  return new EventOrderError(`${reason}; ${events.length === 0 ? 'there were no events' : `the events were:${list}`}`)
}

function typeOf(event: unknown): string {
  return typeof event === 'object' && event !== null && 'type' in event ? String(event.type) : shown(event)
}
