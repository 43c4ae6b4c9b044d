/** The events of a response that fails when it is silent for too long. */

import { TimeoutError } from '@meanwhile/core'
import { follow } from '@meanwhile/core/calls'
import type { SilenceLimits } from './options.ts'
import { Silence } from './silence.ts'

export interface LimitedRequest<Event> {
  readonly limits: SilenceLimits
  /** That of the whole call. */
  readonly signal: AbortSignal | undefined
  /** Whether an event is something that the model has written, and not only a sign of life. */
  isOutput(event: Event): boolean
}

/**
 * Nothing is read ahead. The response also ends at once when its request is aborted, even if the model does not react.
 * `ask`: its signal ends the request.
 */
export async function* limitedEvents<Event>(
  ask: (signal: AbortSignal) => AsyncIterable<Event>,
  { limits, signal, isOutput }: LimitedRequest<Event>,
): AsyncGenerator<Event, void> {
  signal?.throwIfAborted()
  const request = new AbortController()
  const silence = new Silence(limits, (limit) => request.abort(new TimeoutError('idle', limit)))
  const unfollow = signal ? follow(signal, () => request.abort(signal.reason)) : () => undefined
  let isWaiting = false
  const events = ask(request.signal)[Symbol.asyncIterator]()
  try {
    for (;;) {
      silence.waits()
      isWaiting = true
      const came = await nextOf(events, request.signal)
      isWaiting = false
      if (came.done) return
      silence.came(isOutput(came.value))
      yield came.value
      request.signal.throwIfAborted()
    }
  } finally {
    silence.stop()
    unfollow()
    // The model may never answer.
    if (isWaiting) events.return?.().catch(() => undefined)
    else await events.return?.()
  }
}

/** Rejects when the signal aborts. */
function nextOf<Event>(events: AsyncIterator<Event>, signal: AbortSignal): Promise<IteratorResult<Event>> {
  return new Promise((resolve, reject) => {
    const unfollow = follow(signal, () => reject(signal.reason))
    events.next().then(resolve, reject).finally(unfollow)
  })
}
