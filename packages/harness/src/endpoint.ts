/** A model endpoint without a transport: takes requests and returns answers to play. */

import { messageOf } from '@meanwhile/core'
import { answerTo, type Delivery, refusal } from './answer.ts'
import { clock } from './clock.ts'
import { HarnessError } from './errors.ts'
import { Bounded, type JournalEntry, journalEntry, type ReceivedRequest } from './journal.ts'
import type { ResponseLog } from './log.ts'
import type { Answer } from './play.ts'
import { prompter, type Script } from './script.ts'
import { checkScript } from './script-checks.ts'
import type { Wire } from './wires/wire.ts'

export interface EndpointOptions extends Delivery {
  /** The responses. Default: none, so that every request is unexpected. */
  readonly script?: Script
}

export interface Endpoint {
  answer(wire: Wire, request: ReceivedRequest, arrived?: number): Answer
  /** Records a request to an unknown URL; {@link assertComplete} throws this error. */
  reject(error: HarnessError): void
  /** The latest requests: at most 1,000, and about 64 MB. */
  readonly requests: readonly JournalEntry[]
  /** What was sent for each request, in order: the latest 1,000. */
  readonly responses: readonly ResponseLog[]
  /** Throws the error of the first unexpected request, or an error that names the unused responses. */
  assertComplete(): void
}

const MOST_ENTRIES = 1_000
const MOST_BYTES = 64 * 1024 * 1024

export function modelEndpoint(options: EndpointOptions): Endpoint {
  const { script = [] } = options
  checkScript(script)
  const replies = prompter(script)
  const requests = new Bounded<JournalEntry>(MOST_ENTRIES, MOST_BYTES)
  const responses = new Bounded<ResponseLog>(MOST_ENTRIES, MOST_BYTES)
  let count = 0
  let failure: HarnessError | undefined

  return {
    requests: requests.entries,
    responses: responses.entries,
    answer(wire, received, arrived = clock()) {
      const request = journalEntry(++count, wire.name, received)
      requests.add(request, received.body.length)
      const answer = find(wire, request, arrived)
      responses.add(answer.log, 0)
      return answer
    },
    reject(error) {
      failure ??= error
    },
    assertComplete() {
      if (failure) throw failure
      replies.assertUsed()
    },
  }

  function find(wire: Wire, request: JournalEntry, arrived: number): Answer {
    try {
      return answerTo({ wire, request, arrived }, replies.next(request), options)
    } catch (thrown) {
      const error = thrown instanceof HarnessError ? thrown : scriptFailed(request, thrown)
      failure ??= error
      return refusal({ wire, request, arrived }, error)
    }
  }
}

function scriptFailed({ number }: JournalEntry, cause: unknown): HarnessError {
  return new HarnessError(`the script failed at request ${number}: ${messageOf(cause)}`, { cause })
}
