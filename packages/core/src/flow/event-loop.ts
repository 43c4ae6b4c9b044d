/** Lets the event loop turn: a flow that never waits gives timers, signals and other work their turn. */

import { unheard } from './unheard.ts'

/** How long a turn may last, in milliseconds. */
const LONGEST = 8
/** How many events it may bring, where a test has put another clock in the place of this one: that says nothing of turns. */
const MOST_EVENTS = 250_000

const clock = globalThis.performance

/** When the turn at work was first asked about. One for all flows of the process, as the event loop is. */
let began: number | undefined
let events = 0
const waiting: (() => void)[] = []

/**
 * To be asked at each event of a flow. Absent while the turn may go on; else it resolves in a later one, in which whoever has
 * waited longest goes on first.
 */
export function turnIfDue(): Promise<void> | undefined {
  if (began === undefined) begin()
  else if (isOver(began)) return new Promise((resolve) => waiting.push(resolve))
  return undefined
}

/** Rejects with this error. Whoever asks again and again for what is refused does not keep the event loop, and need not wait. */
export function rejectInTurn(error: unknown): Promise<never> {
  const refuse = async (): Promise<never> => {
    await turnIfDue()
    throw error
  }
  return unheard(refuse())
}

function isOver(began: number): boolean {
  return performance === clock ? clock.now() - began >= LONGEST : ++events >= MOST_EVENTS
}

function begin(): void {
  began = clock.now()
  events = 0
  atNextTurn()
}

function next(): void {
  began = undefined
  const goOn = waiting.shift()
  if (!goOn) return
  begin()
  goOn()
}

const atNextTurn: () => void = scheduler()

/** Of the functions there are when this is loaded: tests fake them later. Browsers delay timers, most of all those of hidden pages. */
function scheduler(): () => void {
  const { setImmediate, setTimeout, MessageChannel } = globalThis
  if (setImmediate) return () => void setImmediate(next)
  if (!MessageChannel) return () => void setTimeout(next, 0)
  const { port1, port2 } = new MessageChannel()
  Object.assign(port1, { onmessage: next })
  return () => port2.postMessage(undefined)
}
