/** Turns the events that a piece of work pushes into a funnel into a flow that a reader pulls, such as a `wrapAgent`. */

import { type Flow, finished, leavable } from './flow.ts'
import type { Funnel } from './funnel.ts'

/**
 * The flow returns the result of the work, which begins with the first read. If the flow is closed before its end, it calls `left`, which stops the
 * work, and then waits for the work; {@link Funnel.taken} throws in it. A funnel has one such flow at a time: while there is one, the events of a
 * second one come out of the first. It is written without a generator, because each event of the run passes here, and a generator costs half a
 * microsecond per event.
 */
export function pull<Event, Result>(
  funnel: Funnel<Event>,
  work: () => Promise<Result>,
  left: () => void,
): Flow<Event, Result> {
  type Step = IteratorResult<Event, Result>
  let outcome: Promise<Result> | undefined
  let asked: Promise<Step> | undefined
  let answer: (step: Step | Promise<Step>) => void = () => undefined
  let isOwn = false
  let isDone = false
  let isOver = false

  const begin = (): Promise<Result> => {
    isOwn = funnel.claim()
    const result = work().finally(() => {
      isDone = true
      if (!asked) return
      // Before the reader continues, because an event that comes until then would be given to a question that has its answer.
      end()
      give(last(result))
    })
    result.catch(() => undefined)
    return result
  }
  const end = () => {
    if (isOwn && !isOver) funnel.release()
    isOver = true
  }
  const last = async (result: Promise<Result>): Promise<Step> => {
    try {
      return { done: true, value: await result }
    } finally {
      end()
    }
  }
  const give = (step: Step | Promise<Step>) => {
    asked = undefined
    answer(step)
  }
  // Created once, not for each event.
  const giveEvent = (value: Event) => give({ done: false, value })
  const keepAnswer = (resolve: typeof answer) => {
    answer = resolve
  }
  const step = (): Promise<Step> => {
    if (isOver) return finished()
    if (asked) return asked.then(step, step)
    outcome ??= begin()
    const event = isOwn ? funnel.take() : undefined
    if (event !== undefined) return Promise.resolve({ done: false, value: event })
    if (isDone || !isOwn) return last(outcome)
    asked = new Promise(keepAnswer)
    funnel.ask(giveEvent)
    return asked
  }
  const leave = async () => {
    if (isOwn && !isOver) {
      funnel.leave()
      left()
    }
    await outcome?.catch(() => undefined)
    end()
  }
  return leavable(step, leave)
}
