/** One execution of a call: the requests that it needs until it has its result. */

import { type Effect, RunStop } from '@meanwhile/core'
import { judgeCall, unlessAborted } from '@meanwhile/core/calls'
import type { CallToolResult } from '@modelcontextprotocol/client'
import { context as activeTrace, propagation } from '@opentelemetry/api'
import { type Answer, type Call, callError, type Reply } from './call.ts'
import { CallQuestions } from './call-questions.ts'
import type { Connection } from './connection.ts'
import { errorTextOf } from './content.ts'
import { McpError, McpUnknownError } from './errors.ts'
import { faultOf, LostError, reasonOf } from './faults.ts'
import type { Sdk } from './sdk.ts'

export class ServerCall {
  readonly #call: Call
  readonly #effect: Effect
  readonly #questions: CallQuestions

  constructor(call: Call) {
    this.#call = call
    this.#effect = judgeCall(call.tool, call.input).effect
    this.#questions = new CallQuestions(call, this.#effect === 'read')
  }

  /** The result of the call. Throws what the model reads, or the question that interrupts the run. */
  async result(): Promise<CallToolResult> {
    const { context, limits } = this.#call
    const { signal } = context
    try {
      const answer = await this.#answer()
      if (answer.isError) throw callError(this.#call, errorTextOf(answer, limits))
      await this.#checkOutput(answer)
      this.#questions.forget()
      return answer
    } catch (error) {
      // A resume goes on with a call that a question or a cancel has stopped.
      const isStopped = (signal.aborted ? signal.reason : error) instanceof RunStop
      if (!isStopped) this.#questions.forget()
      throw error
    }
  }

  /** The answer of the server after all its questions. */
  async #answer(): Promise<CallToolResult> {
    for (let reply = this.#questions.reply(); ; ) {
      const { answer, sdk } = await this.#answerTo(reply)
      if (!sdk.isInputRequiredResult(answer)) return answer
      reply = await this.#questions.answer(answer)
    }
  }

  /** The answer of the server. The request is sent again if that cannot do harm. */
  async #answerTo(reply: Reply | undefined): Promise<{ readonly answer: Answer; readonly sdk: Sdk }> {
    const { context, listed, way, tool } = this.#call
    const failed = (problem: string, cause?: McpError) => callError(this.#call, problem, cause)
    for (let tries = { unsent: 0, expired: 0, auth: 0, refused: 0, answered: 0, lost: 0 }; ; ) {
      const connection = await this.#connection()
      const { sdk } = connection
      let thrown: unknown
      const answer = await this.#request(connection, reply).catch((error: unknown) => {
        thrown = error
      })
      // Also if there is an answer: a server may send one after it has heard that its question waits.
      await this.#questions.interruptIfGivenUp()
      if (answer) return { answer, sdk }
      context.signal.throwIfAborted()
      const fault = faultOf(sdk, thrown)
      if (fault === 'auth') throw failed('', way.unauthorized())
      if (fault === 'answered')
        throw failed(thrown instanceof sdk.ProtocolError ? thrown.message : 'it has run, but its answer is not valid')
      if (fault === 'refused') throw failed(`the request was refused (${reasonOf(sdk, thrown)})`)
      way.drop(connection)
      tries = { ...tries, [fault]: tries[fault] + 1 }
      const isRepeated = tries[fault] === 1 && (fault !== 'lost' || this.#mayRepeat())
      if (isRepeated) context.run?.annotate({ 'meanwhile.mcp.repeated': true }, context.callId)
      else if (fault === 'lost' && this.#effect !== 'read') throw new McpUnknownError(way.server, tool.name)
      else throw failed(`${listed.definition.name} has no answer (${reasonOf(sdk, thrown)})`)
    }
  }

  async #connection(): Promise<Connection> {
    const { way, context } = this.#call
    try {
      return await way.connection(context.signal)
    } catch (error) {
      if (error instanceof McpError) throw callError(this.#call, '', error)
      throw error
    }
  }

  /** Whether a call whose answer was lost may be made a second time. */
  #mayRepeat(): boolean {
    const { listed, options } = this.#call
    const { repeat = ['read'], trust } = options
    if (this.#effect === 'read') return repeat.includes('read')
    const isIdempotent = trust === 'annotations' && listed.definition.annotations.idempotentHint === true
    return isIdempotent && repeat.includes('idempotentHint')
  }

  async #request(connection: Connection, reply: Reply | undefined): Promise<Answer> {
    const { client, calls, network } = connection
    const { context, input, options, request, tap } = this.#call
    const { run, callId, idempotencyKey, signal } = context
    const left = new AbortController()
    let timer: NodeJS.Timeout | undefined
    this.#questions.begin()
    const open = calls.add({
      lost: () => left.abort(new LostError()),
      resumed: () => {
        timer ??= setTimeout(() => left.abort(new LostError()), options.lostAfter ?? 10_000)
      },
      progress: (reported) => tap.take(reported),
      elicit: (asked) => {
        // After the answer is sent.
        const giveUp = () => setImmediate(() => left.abort(new Error('the call waits for an answer')))
        return this.#questions.elicited(asked, giveUp)
      },
      decline: (why) => this.#questions.decline(why),
    })
    run?.annotate(
      {
        'mcp.method.name': request.method,
        'mcp.protocol.version': client.getNegotiatedProtocolVersion(),
        'network.transport': network,
        'meanwhile.mcp.era': client.getProtocolEra(),
      },
      callId,
    )
    const _meta: Record<string, unknown> = { ...open.meta, 'dev.meanwhile/idempotencyKey': idempotencyKey }
    propagation.inject(activeTrace.active(), _meta)
    try {
      const answer = request.send(
        connection,
        input,
        { _meta, ...reply },
        {
          signal: AbortSignal.any([signal, left.signal]),
          timeout: LONGEST_TIME,
          onresumptiontoken: open.event,
        },
      )
      return await unlessAborted(answer, [left.signal])
    } finally {
      clearTimeout(timer)
      open.over()
    }
  }

  async #checkOutput({ structuredContent }: CallToolResult): Promise<void> {
    const { output } = this.#call.listed
    if (!output) return
    const failed = (problem: string) => callError(this.#call, `it has run, but its answer ${problem}`)
    if (structuredContent === undefined) throw failed('lacks the structured content')
    const { issues } = await output['~standard'].validate(structuredContent)
    if (issues) throw failed(`does not match its schema: ${issues.map(({ message }) => message).join('; ')}`)
  }
}

/** The longest timer. The time limit of the call is core's. */
const LONGEST_TIME = 2 ** 31 - 1
