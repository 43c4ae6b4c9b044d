/** Checks that every call in a history has its result. */

import { callsOf, type Message } from '@meanwhile/core'
import { differences, inWords } from '../difference.ts'
import { HarnessError } from '../errors.ts'

/** A call without its result, a result without its call, or one in the wrong place; or two transcripts that differ. */
export class TranscriptError extends HarnessError {
  static override readonly brand: string = 'TranscriptError'
}

/**
 * Asserts that each assistant message is followed by the results of its calls: each once, in call order, and before
 * anything else. Calls that the provider ran itself need no result.
 *
 * @throws {TranscriptError} It is not.
 */
export function assertTranscript(messages: readonly Message[]): void {
  const seen = new Set<string>()
  let open: string[] = []
  for (const [at, message] of messages.entries()) {
    if (message.role === 'tool') {
      const expected = open.shift()
      if (message.callId !== expected) {
        const what = expected === undefined ? 'no call is open' : `the result of call ${expected} was expected`
        throw new TranscriptError(`message ${at} is the result of call ${message.callId}, but ${what}`)
      }
      continue
    }
    assertAnswered(open, `message ${at} (${message.role})`)
    if (message.role !== 'assistant') continue
    open = callsOf(message).map((call) => call.id)
    for (const id of open) {
      if (seen.has(id)) throw new TranscriptError(`message ${at} has a call ${id}, which an earlier message has, too`)
      seen.add(id)
    }
  }
  assertAnswered(open, 'the end')
}

/**
 * Asserts that two transcripts are equal, including usage: for example those of a run with and without eager tools.
 *
 * @throws {TranscriptError} They differ.
 */
export function assertSameTranscript(actual: readonly Message[], expected: readonly Message[]): void {
  const found = differences(expected, actual, { exact: true })
  if (found.length > 0) throw new TranscriptError(`the transcripts differ:${inWords(found)}`)
}

function assertAnswered(open: readonly string[], before: string): void {
  if (open.length > 0) throw new TranscriptError(`there is no result of call ${open.join(', ')} before ${before}`)
}
