/** A model endpoint without a transport: takes requests and returns answers to play. */

import { messageOf } from '@meanwhile/core'
import { answerTo, type Delivery, providerRefusal, refusal } from './answer.ts'
import type { Asked } from './asked.ts'
import { clock } from './clock.ts'
import { HarnessError, RefusedRequestError } from './errors.ts'
import { notRefused } from './expectation.ts'
import { Bounded, type JournalEntry, journalEntry, type ReceivedRequest } from './journal.ts'
import type { ResponseLog } from './log.ts'
import type { Answer } from './play.ts'
import { checkerOf, exceptions, NOT_AS_SENT, type RulesChoice, type RulesLevel, unexcused } from './refusing.ts'
import type { Refusal } from './rules/refusals.ts'
import { shownAt } from './rules/shown.ts'
import { type Offer, prompter, type Script, type ScriptedReply } from './script.ts'
import { checkReply, checkScript } from './script-checks.ts'
import { sentCalls } from './sent-calls.ts'
import type { Wire } from './wires/wire.ts'

export interface EndpointOptions extends Delivery {
  /** The responses. Default: none, so that every request is unexpected. */
  readonly script?: Script
  /**
   * Which rules of providers the requests must keep; `@meanwhile/harness/rules` has them. Default `certain`: a request
   * that breaks a certain rule, or a rule of the host of its URL, gets the provider's refusal, the response of the
   * script stays for the next request, and `assertComplete` throws. A URL that is not known belongs to the provider
   * whose wire it is. A replayed recording is not checked: the provider has answered its request.
   */
  readonly rules?: RulesLevel | RulesChoice
}

export interface Endpoint {
  answer(wire: Wire, request: ReceivedRequest, arrived?: number): Answer
  /** Records a request to an unknown URL; {@link assertComplete} throws this error. */
  reject(error: HarnessError): void
  /** The latest requests: at most 1,000, and about 64 MB. */
  readonly requests: readonly JournalEntry[]
  /** What was sent for each request, in order: the latest 1,000. */
  readonly responses: readonly ResponseLog[]
  /** Throws the error of the first unexpected or refused request, or an error that names the unused responses. */
  assertComplete(): void
}

const MOST_ENTRIES = 1_000
const MOST_BYTES = 64 * 1024 * 1024

export function modelEndpoint(options: EndpointOptions): Endpoint {
  const { script = [] } = options
  checkScript(script)
  const checker = checkerOf(options.rules)
  const replies = prompter(script)
  const sent = checker.applies(NOT_AS_SENT) ? sentCalls() : undefined
  const requests = new Bounded<JournalEntry>(MOST_ENTRIES, MOST_BYTES)
  const responses = new Bounded<ResponseLog>(MOST_ENTRIES, MOST_BYTES)
  let count = 0
  let failure: HarnessError | undefined

  return {
    requests: requests.entries,
    responses: responses.entries,
    answer(wire, received, arrived = clock()) {
      const request = journalEntry(++count, wire.name, received)
      const asked = { wire, request, host: checker.hostOf(request), arrived }
      // The script may read the journal: it has the request from the beginning.
      requests.add(request, received.body.length)
      const { answer, refusals } = find(asked)
      if (refusals.length > 0) requests.replace(request, Object.freeze({ ...request, refusals }))
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

  function find(asked: Asked): { readonly answer: Answer; readonly refusals: readonly Refusal[] } {
    let refusals: readonly Refusal[] = []
    try {
      const offer = replies.offer(asked.request)
      if (typeof script === 'function' && offer.reply) checkReply('the response of the script', offer.reply)
      const broken = checker.check(asked.request, refusedBy(offer.reply))
      const changed = sent?.changed(asked) ?? []
      refusals = unexcused([...broken, ...changed], offer.reply)
      return { answer: answered(asked, refusals, offer), refusals }
    } catch (thrown) {
      const error = thrown instanceof HarnessError ? thrown : scriptFailed(asked.request, thrown)
      failure ??= error
      return { answer: refusal(asked, error), refusals }
    }
  }

  function answered(asked: Asked, refusals: readonly Refusal[], { reply, take }: Offer): Answer {
    const { request } = asked
    const [first, ...others] = refusals
    const expected = refusedBy(reply)
    if (first && expected === undefined && !checker.reports) {
      const seen = { value: shownAt(request.body, first.path), waysOut: waysOut(first, others) }
      failure ??= new RefusedRequestError(request.number, request.wire, [first, ...others], seen)
      return providerRefusal(asked, first)
    }
    const taken = take()
    if (!('refused' in taken)) {
      const answer = answerTo(asked, taken, options)
      if ('steps' in taken) sent?.note(asked, taken)
      return answer
    }
    if (!first || first.rule !== expected || others.length > 0) throw notRefused(request, taken.refused, refusals)
    return providerRefusal(asked, first)
  }
}

/** How a script expects a request that breaks these rules, and how it turns them off. */
function waysOut({ rule }: Refusal, others: readonly Refusal[]): string {
  const off = exceptions([rule, ...others.map((other) => other.rule)])
  if (others.length === 0) return `Expect it with refused('${rule}'), or turn the rule off with ${off}`
  const rest = exceptions(others.map((other) => other.rule))
  return `Expect it with { ...refused('${rule}'), ${rest} }, or turn the rules off with ${off}`
}

/** The rule that the request of this reply must break. */
function refusedBy(reply: ScriptedReply | undefined): string | undefined {
  return reply && 'refused' in reply ? reply.refused : undefined
}

function scriptFailed({ number }: JournalEntry, cause: unknown): HarnessError {
  return new HarnessError(`the script failed at request ${number}: ${messageOf(cause)}`, { cause })
}
