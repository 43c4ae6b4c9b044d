/** Lets the event loop turn: a flow that never waits must let timers, signals and other work run. */

import { unheard } from './unheard.ts'

/** The longest time that a turn may last, in milliseconds. */
const LONGEST = 8
/** The most events in one turn. It applies when a test has replaced the clock, so that time does not pass. */
const MOST_EVENTS = 50_000

const clock = globalThis.performance

/** When the current turn began, as far as flows have noticed. All flows of the process share it, because there is one event loop. */
let began: number | undefined
let events = 0
const waiting: (() => void)[] = []

/**
 * Call this at each event of a flow. Returns nothing while the turn may go on. Otherwise the promise resolves in a later turn. All who wait
 * continue in the order in which they came, and nobody overtakes them.
 */
export function turnIfDue(): Promise<void> | undefined {
  return waiting.length > 0 || isOver() ? new Promise((resolve) => waiting.push(resolve)) : undefined
}

/**
 * Returns a promise that rejects with this error: in a later turn if the current one has lasted too long. So code that repeats a refused request does
 * not block the event loop. The rejection need not be handled.
 */
export function rejectInTurn(error: unknown): Promise<never> {
  const refuse = async (): Promise<never> => {
    await turnIfDue()
    throw error
  }
  return unheard(refuse())
}

/** Whether the turn has lasted long enough. It begins with the first look at it. */
function isOver(): boolean {
  if (began === undefined) {
    began = clock.now()
    events = 0
    atNextTurn()
  }
  return performance === clock ? clock.now() - began >= LONGEST : ++events >= MOST_EVENTS
}

function next(): void {
  began = undefined
  goOn()
}

/** Lets those who wait continue one after the other, until the turn is over. */
function goOn(): void {
  if (waiting.length === 0 || isOver()) return
  waiting.shift()?.()
  queueMicrotask(goOn)
}

const atNextTurn: () => void = scheduler()

/** Takes the timer functions when this module is loaded, because tests fake them later. Timers come last: browsers delay those of hidden pages. */
function scheduler(): () => void {
  const { setImmediate, setTimeout, MessageChannel } = globalThis
  if (setImmediate) return () => void setImmediate(next)
  if (!MessageChannel) return () => void setTimeout(next, 0)
  const { port1, port2 } = new MessageChannel()
  Object.assign(port1, { onmessage: next })
  return () => port2.postMessage(undefined)
}
