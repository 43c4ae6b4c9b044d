/** A tool of a server as a tool of an agent. */

import { type Effect, type Tool, type ToolContext, ToolError, tool } from '@meanwhile/core'
import { judgeCall, unheard, unlessAborted } from '@meanwhile/core/calls'
import type {
  CallToolResult,
  ElicitRequest,
  ElicitResult,
  InputRequiredResult,
  InputResponses,
  ToolAnnotations,
} from '@modelcontextprotocol/client'
import { context as activeTrace, propagation } from '@opentelemetry/api'
import type { Connection } from './connection.ts'
import { errorTextOf, partsOf } from './content.ts'
import { hashOf, type McpDefinition } from './definition.ts'
import { McpError, McpUnknownError } from './errors.ts'
import { faultOf, reasonOf } from './faults.ts'
import { compiled, inputSchema } from './input-schema.ts'
import type { Way } from './link.ts'
import { type FullLimits, fullLimits, type Shared } from './options.ts'
import { ProgressTap } from './progress.ts'
import { answersIn, ask, forget, MOST_QUESTIONS, waitingOf } from './questions.ts'
import type { Sdk } from './sdk.ts'

/** What is known of a tool that comes from a server. */
export interface McpToolInfo {
  /** The name of the server, as in the options. */
  readonly server: string
  /** The server's name of the tool. */
  readonly name: string
  /** Hints of the server. They are only as true as the server is honest. */
  readonly annotations: ToolAnnotations
  /** The hash of the definition, for `pin`. */
  readonly hash: string
}

const infos = new WeakMap<object, McpToolInfo>()

/** What is known of a tool that comes from a server; `undefined` for any other tool. */
export function mcpOf(tool: Tool): McpToolInfo | undefined {
  return infos.get(tool)
}

/** What a tool is made of. */
export interface ToolOf {
  readonly way: Way
  readonly definition: McpDefinition
  /** Its name in the run. */
  readonly name: string
  readonly effect: NonNullable<Tool['effect']>
  readonly options: Shared
  readonly sdk: Sdk
}

export function mcpTool({ way, definition, name, effect, options, sdk }: ToolOf): Tool {
  const { server } = way
  const limits = fullLimits(options.limits)
  const made = tool({
    name,
    description: definition.description ?? definition.name,
    input: inputSchema(definition.inputSchema, sdk),
    effect: effect as Effect,
    ...(options.timeout !== undefined && { timeout: options.timeout }),
    async *execute(input: Record<string, unknown>, context) {
      const tap = new ProgressTap(limits.progress)
      const call = new ServerCall({ way, definition, tool: made, input, context, options, limits, tap })
      // The reader of the progress may leave first.
      const done = unheard(call.result().finally(() => tap.end()))
      yield* tap.read()
      return await done
    },
    toContent: (result: CallToolResult) => partsOf(result, limits),
  }) as Tool
  infos.set(made, { server, name: definition.name, annotations: definition.annotations, hash: hashOf(definition) })
  return made
}

interface Call {
  readonly way: Way
  readonly definition: McpDefinition
  readonly tool: Tool
  readonly input: Record<string, unknown>
  readonly context: ToolContext
  readonly options: Shared
  readonly limits: FullLimits
  readonly tap: ProgressTap
}

/** What goes back to the server with the answer to its question. */
interface Reply {
  readonly inputResponses: InputResponses
  readonly requestState?: string
}

type Answer = CallToolResult | InputRequiredResult

/** The end of a request that has no answer. */
class LostError extends Error {
  readonly code = 'its stream has ended'
}

/** One execution of a call, with the requests that it needs. */
class ServerCall {
  readonly #call: Call
  readonly #effect: Effect
  /** The answers for a server that asks during the call, oldest first. */
  readonly #early: ElicitResult[] = []
  /** The question for which the request was given up. */
  #asked: ElicitRequest | undefined

  constructor(call: Call) {
    this.#call = call
    this.#effect = judgeCall(call.tool, call.input).effect
  }

  /** The result of the call. Throws what the model reads, or the question that interrupts the run. */
  async result(): Promise<CallToolResult> {
    const { definition, context, limits, way } = this.#call
    const { run, idempotencyKey: key } = context
    let reply = this.#replyOf()
    for (let questions = waitingOf(run, key)?.asked ?? 0; ; questions++) {
      const { answer, sdk } = await this.#answerTo(reply)
      if (!sdk.isInputRequiredResult(answer)) {
        forget(run, key)
        if (answer.isError) throw this.#failed(errorTextOf(answer, limits))
        await checkOutput(sdk, definition, answer, (problem) => this.#failed(`it has run, but ${problem}`))
        return answer
      }
      if (questions >= MOST_QUESTIONS) throw this.#failed(`it asks more than ${MOST_QUESTIONS} times`)
      reply = await this.#askFor(answer, way.server)
    }
  }

  /** After an answer: what the server gets. A server of the 2025 protocol asks the same questions again. */
  #replyOf(): Reply | undefined {
    const { run, idempotencyKey, answers } = this.#call.context
    const waiting = waitingOf(run, idempotencyKey)
    if (!waiting) return undefined
    if (!waiting.isAgain) {
      return {
        inputResponses: answersIn(answers.at(-1)),
        ...(waiting.state !== undefined && { requestState: waiting.state }),
      }
    }
    this.#early.push(...answers.flatMap((answer) => answersIn(answer)[EARLY] ?? []))
    return undefined
  }

  /** Asks what a server of the 2026 protocol wants to know. */
  async #askFor({ inputRequests = {}, requestState }: InputRequiredResult, server: string): Promise<Reply> {
    const { context, definition, options } = this.#call
    const { questions = 'interrupt' } = options
    const { run, callId, idempotencyKey: key, signal } = context
    const requests = Object.entries(inputRequests)
    const other = requests.find(([, { method }]) => method !== 'elicitation/create')
    if (other) throw this.#failed(`it asks for ${other[1].method}, which is not supported`)
    const state = requestState === undefined ? {} : { state: requestState }
    if (questions === 'interrupt' && run)
      await ask(run, { server, tool: definition.name, callId, key, requests: inputRequests, ...state })
    const replies = requests.map(async ([name, request]) => {
      if (typeof questions !== 'function') return [name, { action: 'decline' }] as const
      await run?.stood(callId)
      return [
        name,
        await questions({ server, tool: definition.name, request: request as ElicitRequest }, { signal }),
      ] as const
    })
    const inputResponses = Object.fromEntries(await Promise.all(replies))
    return { inputResponses, ...(requestState !== undefined && { requestState }) }
  }

  /** The answer of the server. The request is sent again if that cannot do harm. */
  async #answerTo(reply: Reply | undefined): Promise<{ readonly answer: Answer; readonly sdk: Sdk }> {
    const { context, definition, way, tool } = this.#call
    for (let tries = { unsent: 0, expired: 0, auth: 0, refused: 0, answered: 0, lost: 0 }; ; ) {
      const connection = await this.#connection()
      const { sdk } = connection
      try {
        return { answer: await this.#request(connection, reply), sdk }
      } catch (error) {
        if (this.#asked) await this.#interrupt(this.#asked)
        context.signal.throwIfAborted()
        const fault = error instanceof LostError ? 'lost' : faultOf(sdk, error)
        if (fault === 'auth') throw this.#failed('', way.unauthorized())
        if (fault === 'answered') throw this.#failed(error instanceof Error ? error.message : String(error))
        if (fault === 'refused') throw this.#failed(`the request was refused (${reasonOf(sdk, error)})`)
        way.drop(connection)
        tries = { ...tries, [fault]: tries[fault] + 1 }
        const isRepeated = tries[fault] === 1 && (fault !== 'lost' || this.#mayRepeat())
        if (isRepeated) context.run?.annotate({ 'meanwhile.mcp.repeated': true }, context.callId)
        else if (fault === 'lost' && this.#effect !== 'read') throw new McpUnknownError(way.server, tool.name)
        else throw this.#failed(`${definition.name} has no answer (${reasonOf(sdk, error)})`)
      }
    }
  }

  async #connection(): Promise<Connection> {
    const { way, context } = this.#call
    try {
      return await way.connection(context.signal)
    } catch (error) {
      if (error instanceof McpError) throw this.#failed('', error)
      throw error
    }
  }

  /** Whether a call whose answer was lost may be made a second time. */
  #mayRepeat(): boolean {
    const { definition, options } = this.#call
    const { repeat = ['read'], trust } = options
    if (this.#effect === 'read') return repeat.includes('read')
    const isIdempotent = trust === 'annotations' && definition.annotations.idempotentHint === true
    return isIdempotent && repeat.includes('idempotentHint')
  }

  async #request({ client, calls, network }: Connection, reply: Reply | undefined): Promise<Answer> {
    const { context, definition, input, options, tap } = this.#call
    const { run, callId, idempotencyKey, signal } = context
    const left = new AbortController()
    let timer: NodeJS.Timeout | undefined
    const open = calls.add({
      lost: () => left.abort(new LostError()),
      resumed: () => {
        timer ??= setTimeout(() => left.abort(new LostError()), options.lostAfter ?? 10_000)
      },
      elicit: (request) => this.#elicited(request, left),
    })
    run?.annotate(
      {
        'mcp.method.name': 'tools/call',
        'mcp.protocol.version': client.getNegotiatedProtocolVersion(),
        'network.transport': network,
        'meanwhile.mcp.era': client.getProtocolEra(),
      },
      callId,
    )
    const _meta: Record<string, unknown> = { ...open.meta, 'dev.meanwhile/idempotencyKey': idempotencyKey }
    propagation.inject(activeTrace.active(), _meta)
    const { outputSchema: _, description, ...definitionOf } = definition
    try {
      const answer: Promise<Answer> = client.callTool(
        { name: definition.name, arguments: input, _meta, ...reply },
        {
          signal: AbortSignal.any([signal, left.signal]),
          timeout: LONGEST_TIME,
          onprogress: tap.take,
          onresumptiontoken: open.event,
          allowInputRequired: true,
          toolDefinition: definitionOf as McpDefinition & { annotations: ToolAnnotations },
        },
      )
      return await unlessAborted(answer, [left.signal])
    } finally {
      clearTimeout(timer)
      open.over()
    }
  }

  /** Answers a question that a server of the 2025 protocol asks while the call is open. */
  async #elicited(request: ElicitRequest, left: AbortController): Promise<ElicitResult> {
    const { context, definition, options, way } = this.#call
    const { questions = 'interrupt', askAgain } = options
    const { run, callId, signal } = context
    const early = this.#early.shift()
    if (early) return early
    if (questions === 'decline') return { action: 'decline' }
    await run?.stood(callId)
    if (typeof questions === 'function')
      return questions({ server: way.server, tool: definition.name, request }, { signal })
    const again = typeof askAgain === 'function' ? askAgain(definition.name) : (askAgain ?? this.#effect === 'read')
    if (!run || !again) {
      const why = run
        ? 'its call may act before it asks: the option askAgain allows to make it again'
        : 'nobody can answer'
      run?.warn({
        code: 'mcp-question',
        message: `${way.server}: a question of ${definition.name} was declined: ${why}`,
      })
      return { action: 'decline' }
    }
    this.#asked = request
    // After the answer is sent.
    setImmediate(() => left.abort(new Error('the call waits for an answer')))
    return { action: 'cancel' }
  }

  async #interrupt(request: ElicitRequest): Promise<never> {
    const { context, definition, way } = this.#call
    const { run, callId, idempotencyKey: key } = context
    if (!run) throw this.#failed('nobody can answer')
    const { server } = way
    return ask(run, { server, tool: definition.name, callId, key, requests: { [EARLY]: request }, isAgain: true })
  }

  #failed(problem: string, cause?: McpError): ToolError {
    const { tool, way } = this.#call
    return new ToolError(tool.name, cause?.message ?? `${way.server}: ${problem.slice(0, MOST_TEXT)}`, { cause })
  }
}

/** The name of a question that the protocol gives no name. */
const EARLY = 'question'

/** The longest timer. The time limit of the call is core's. */
const LONGEST_TIME = 2 ** 31 - 1

const MOST_TEXT = 100_000

async function checkOutput(
  sdk: Sdk,
  { outputSchema }: McpDefinition,
  { structuredContent }: CallToolResult,
  failed: (problem: string) => Error,
): Promise<void> {
  if (!outputSchema) return
  if (structuredContent === undefined) throw failed('its answer lacks the structured content')
  const { issues } = await compiled(outputSchema, sdk)['~standard'].validate(structuredContent)
  if (issues) throw failed(`its answer does not match its schema: ${issues.map(({ message }) => message).join('; ')}`)
}
