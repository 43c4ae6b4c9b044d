/** What a server asks while one call runs, and what it gets. */

import { messageOf } from '@meanwhile/core'
import type { ElicitRequest, ElicitResult, InputRequiredResult } from '@modelcontextprotocol/client'
import { type Call, callError, type Reply } from './call.ts'
import { answersIn, ask, forget, keyOf, MOST_QUESTIONS, type QuestionKey, waitingOf } from './questions.ts'

/** The name of a question that the protocol gives no name. */
const EARLY = 'question'

const TOO_MANY = `it asks more than ${MOST_QUESTIONS} questions`

export class CallQuestions {
  readonly #call: Call
  readonly #isRead: boolean
  /** The answers for a server that asks during the call, oldest first, each with its question. */
  #kept: readonly (readonly [QuestionKey, ElicitResult])[] = []
  /** Those that the request has not needed yet. */
  #left: (readonly [QuestionKey, ElicitResult])[] = []
  /** The question for which the request was given up. */
  #waiting: ElicitRequest | undefined
  /** How many questions the call has asked. */
  #asked: number
  /** Why questions were declined. */
  readonly #reasons = new Set<string>()

  constructor(call: Call, isRead: boolean) {
    this.#call = call
    this.#isRead = isRead
    this.#asked = waitingOf(call.context.run, call.context.idempotencyKey)?.asked ?? 0
  }

  /** After an answer: what the server gets with the request. A server of the 2025 protocol asks again. */
  reply(): Reply | undefined {
    const { run, idempotencyKey, answers } = this.#call.context
    const waiting = waitingOf(run, idempotencyKey)
    if (!waiting) return undefined
    const { state, again } = waiting
    if (again) {
      const given = answers.slice(-again.length).map((answer) => answersIn(answer)[EARLY])
      this.#kept = again.flatMap((question, index) => {
        const answer = given[index]
        return answer ? [[question, answer] as const] : []
      })
      return undefined
    }
    return { inputResponses: answersIn(answers.at(-1)), ...(state !== undefined && { requestState: state }) }
  }

  /** Called with each request: its questions have not been answered yet. */
  begin(): void {
    this.#left = [...this.#kept]
  }

  /** Asks what a server of the 2026 protocol wants to know. */
  async answer({ inputRequests = {}, requestState }: InputRequiredResult): Promise<Reply> {
    const { context, listed, options, way } = this.#call
    const { questions = 'interrupt' } = options
    const { run, callId, idempotencyKey: key, signal } = context
    const { server } = way
    const requests = Object.entries(inputRequests)
    if (this.#asked++ >= MOST_QUESTIONS || requests.length > MOST_QUESTIONS) throw callError(this.#call, TOO_MANY)
    const other = requests.find(([, { method }]) => method !== 'elicitation/create')
    if (other) throw callError(this.#call, `it asks for ${other[1].method}, which is not supported`)
    const state = requestState === undefined ? {} : { state: requestState }
    if (questions === 'interrupt' && run)
      await ask(run, { server, tool: listed.definition.name, callId, key, requests: inputRequests, ...state })
    const replies = requests.map(async ([name, request]) => {
      if (typeof questions !== 'function') return [name, { action: 'decline' }] as const
      await run?.stood(callId)
      const question = { server, tool: listed.definition.name, request: request as ElicitRequest }
      return [name, await questions(question, { signal })] as const
    })
    const inputResponses = Object.fromEntries(await Promise.all(replies))
    return { inputResponses, ...(requestState !== undefined && { requestState }) }
  }

  /**
   * Answers a question that a server of the 2025 protocol asks while the call is open. `giveUp` is called if the run asks it: the request ends with the
   * question.
   */
  async elicited(request: ElicitRequest, giveUp: () => void): Promise<ElicitResult> {
    const { context, listed, options, way } = this.#call
    const { questions = 'interrupt', askAgain } = options
    const { run, callId, signal } = context
    // A server may ask more when it has heard that its call is given up.
    if (this.#waiting) return { action: 'cancel' }
    const early = this.#early(request)
    if (early) return early
    if (questions === 'decline') return { action: 'decline' }
    if (this.#asked++ >= MOST_QUESTIONS) return this.decline(TOO_MANY)
    await run?.stood(callId)
    if (typeof questions === 'function') {
      const question = { server: way.server, tool: listed.definition.name, request }
      try {
        return await questions(question, { signal })
      } catch (error) {
        // The client would send the message of the error to the server.
        return signal.aborted ? { action: 'cancel' } : this.decline(`questions threw: ${messageOf(error)}`)
      }
    }
    const again = typeof askAgain === 'function' ? askAgain(listed.definition.name) : (askAgain ?? this.#isRead)
    if (!run || !again)
      return this.decline(
        run ? 'its call may act before it asks: the option askAgain allows to make it again' : 'nobody can answer',
      )
    this.#waiting ??= request
    giveUp()
    return { action: 'cancel' }
  }

  /** The user's answer to this question, from before the call was made again. It answers no other question that the server may ask. */
  #early(request: ElicitRequest): ElicitResult | undefined {
    const question = keyOf(request)
    const at = this.#left.findIndex(([asked]) => asked === question)
    return this.#left.splice(at, at < 0 ? 0 : 1)[0]?.[1]
  }

  /** Declines a question that nobody is asked. The run has one warning for each reason. */
  decline(why: string): ElicitResult {
    const { context, listed, way } = this.#call
    const message = `${way.server}: a question of ${listed.definition.name} was declined: ${why}`
    if (!this.#reasons.has(why)) context.run?.warn({ code: 'mcp-question', message })
    this.#reasons.add(why)
    return { action: 'decline' }
  }

  /** Interrupts the run if its request was given up for a question. */
  async interruptIfGivenUp(): Promise<void> {
    if (!this.#waiting) return
    const { context, listed, way } = this.#call
    const { run, callId, idempotencyKey: key } = context
    if (!run) throw callError(this.#call, 'nobody can answer')
    const requests = { [EARLY]: this.#waiting }
    const again = [...(waitingOf(run, key)?.again ?? []), keyOf(this.#waiting)]
    await ask(run, { server: way.server, tool: listed.definition.name, callId, key, requests, again })
  }

  /** Called when the call is over. */
  forget(): void {
    forget(this.#call.context.run, this.#call.context.idempotencyKey)
  }
}
