/** One turn of a run: the tools that the SDK gets, the model requests, and the requested calls. */

import { AsyncLocalStorage } from 'node:async_hooks'
import {
  createCustomSpan,
  type FunctionTool,
  type getCurrentSpan,
  getCurrentTraceContext,
  invokeFunctionTool,
  ModelBehaviorError,
  type ModelRequest,
  type ModelResponse,
  type StreamEvent,
  type Tool,
  Usage,
  withTraceContext,
} from '@openai/agents'
import type { HostCalls } from '../host/host-calls.ts'
import type { EarlyTool, HostTool } from '../host/host-tool.ts'
import type { AgentRun, AnyAgent } from './agent-run.ts'
import { CallReader } from './call-reader.ts'
import type { PreparedInputs } from './prepared-inputs.ts'

type CurrentSpan = NonNullable<ReturnType<typeof getCurrentSpan>>
type Ask<Answer> = (request: ModelRequest) => Answer

export interface TurnOptions {
  readonly run: AgentRun
  readonly agent: AnyAgent
  readonly tools: readonly Tool[]
  /** The tools that may start early. */
  readonly early: ReadonlySet<Tool>
  readonly inputs: PreparedInputs
}

/**
 * By the parameters of a tool. Each turn has its own parameters object, which the SDK puts into each request of the
 * turn.
 */
const turns: WeakMap<object, Turn> = new WeakMap()

/** The turn that a request belongs to. */
export function turnOf({ tools }: ModelRequest): Turn | undefined {
  for (const tool of tools) {
    const turn = tool.type === 'function' ? turns.get(tool.parameters) : undefined
    if (turn) return turn
  }
  return undefined
}

export class Turn {
  /** The tools for the SDK. */
  readonly tools: Tool[]
  readonly #options: TurnOptions
  /** By the parameters in the request. */
  readonly #early: Map<object, FunctionTool> = new Map()
  readonly #enter: <Result>(work: () => Result) => Result
  #calls: HostCalls | undefined
  #isRequested = false
  #isHeard = false

  constructor(options: TurnOptions) {
    this.#options = options
    this.#enter = surroundings()
    this.tools = options.tools.map((tool) =>
      tool.type === 'function' && options.early.has(tool) ? this.#joining(tool) : tool,
    )
  }

  /** Streams the model's response and starts calls meanwhile. */
  streamed(ask: Ask<AsyncIterable<StreamEvent>>, request: ModelRequest): AsyncIterable<StreamEvent> {
    const calls = this.#callsFor(request)
    return calls ? this.#heard(calls, ask, request) : ask(request)
  }

  /** Returns the whole response; with `alwaysStream` it is read from a stream. */
  async whole(
    ask: Ask<Promise<ModelResponse>>,
    askForStream: Ask<AsyncIterable<StreamEvent>>,
    request: ModelRequest,
  ): Promise<ModelResponse> {
    const { loop, isStreamed } = this.#options.run.options
    this.#isRequested = true
    // A streamed run requests a whole response only to notify the provider of an abort.
    const calls = loop.settings.alwaysStream && !isStreamed ? this.#callsFor(request) : undefined
    if (!calls) return await ask(request)
    for await (const event of this.#heard(calls, askForStream, request)) {
      if (event.type !== 'response_done') continue
      const { id, usage, output, requestId, providerData, rawUsage } = event.response
      return {
        // The SDK's two types for usage differ only in whether a member may be `undefined`.
        usage: new Usage(usage as ConstructorParameters<typeof Usage>[0]),
        output,
        responseId: id,
        ...(requestId !== undefined && { requestId }),
        ...(providerData && { providerData }),
        ...(rawUsage !== undefined && { rawUsage }),
      }
    }
    throw new ModelBehaviorError('Model did not produce a final response!')
  }

  /** The SDK executes nothing more in this turn. */
  async release(): Promise<void> {
    await this.#calls?.release()
  }

  /** `undefined` if no call may start early, or if a model inside this one is already observed. */
  #callsFor(request: ModelRequest): HostCalls | undefined {
    this.#isRequested = true
    if (this.#isHeard) return undefined
    if (this.#calls?.again()) return this.#calls
    const { run, agent } = this.#options
    const { loop, config, toolConcurrency } = run.options
    const model = agent.model || config.model
    this.#calls = loop.step(run.host, {
      tools: [
        ...request.tools.map((tool) => this.#hostTool(tool)),
        ...request.handoffs.map(({ toolName }) => ({ name: toolName })),
      ],
      ...(typeof model === 'string' && { model: { provider: 'openai-agents', id: model } }),
      signal: request.signal,
      toolConcurrency,
      enter: this.#enter,
    })
    return this.#calls
  }

  async *#heard(
    calls: HostCalls,
    ask: Ask<AsyncIterable<StreamEvent>>,
    request: ModelRequest,
  ): AsyncGenerator<StreamEvent, void> {
    const reader = new CallReader(calls, this.#options.run.seen)
    this.#isHeard = true
    try {
      for await (const event of ask(request)) {
        reader.hear(event)
        yield event
      }
    } finally {
      this.#isHeard = false
      // Has no effect if the response was accepted.
      calls.failed()
    }
  }

  /** A tool of the request, for the engine. */
  #hostTool(requested: ModelRequest['tools'][number]): HostTool {
    const { name } = requested
    if (requested.type !== 'function' || requested.namespace !== undefined) return { name }
    const tool = this.#early.get(requested.parameters)
    return tool ? { name, early: this.#earlyTool(tool) } : { name }
  }

  #earlyTool(tool: FunctionTool): EarlyTool {
    const { run, inputs } = this.#options
    const { declared, context } = run.options
    const { name } = tool
    return {
      ...(declared.get(name) ?? { effect: 'external' }),
      checksItself: true,
      keepsInput: (written) => inputs.keepsInput(tool, written),
      start: (_, { id = '', signal, text, written, failed }) => {
        const toolCall = { type: 'function_call', callId: id, name, arguments: text, status: 'completed' } as const
        const details = { toolCall, signal }
        inputs.give(details, written, text)
        return invoked(tool, { runContext: context, input: text, details }, failed)
      },
    }
  }

  /** The same tool, with its own parameters object for this turn. It joins a call that has started early. */
  #joining(tool: FunctionTool): FunctionTool {
    const parameters = { ...tool.parameters }
    turns.set(parameters, this)
    this.#early.set(parameters, tool)
    const invoke: FunctionTool['invoke'] = async (context, text, details) => {
      if (!this.#isRequested) this.#options.run.options.loop.unlinked()
      const input = parsed(text)
      const asked = [details?.toolCall?.callId, tool.name, input?.value, details?.signal] as const
      const taken = input && this.#calls?.take(...asked)
      if (taken) return taken.result
      const clearing = input && this.#calls?.cleared(...asked)
      if (clearing) await clearing.done
      return tool.invoke(context, text, details)
    }
    // A spread would lose members of tools.
    return Object.create(Object.getPrototypeOf(tool) as object, {
      ...Object.getOwnPropertyDescriptors(tool),
      ...Object.getOwnPropertyDescriptors({ parameters, invoke }),
    }) as FunctionTool
  }
}

type Invocation = Omit<Parameters<typeof invokeFunctionTool>[0], 'tool'>

/**
 * Invokes a tool as the SDK does, and reports failures. Most tools return a text for the model instead of throwing;
 * then only the current span gets the error. So each call gets its own stand-in span, and the error contains the tool's
 * name. A timeout is not reported at all: the SDK just stops waiting.
 */
async function invoked(tool: FunctionTool, asked: Invocation, failed: (error: Error) => void): Promise<unknown> {
  hearErrors(({ message, data }) => {
    if (message === FAILED && data?.tool_name === tool.name) failed(new Error(message))
  })
  if (tool.timeoutMs === undefined) return await invokeFunctionTool({ ...asked, tool })
  let isOver = false
  const invoke: FunctionTool['invoke'] = async (...given) => {
    const output: unknown = await tool.invoke(...given)
    isOver = true
    return output
  }
  const watched: FunctionTool = Object.create(tool, { invoke: { value: invoke } })
  const output: unknown = await invokeFunctionTool({ ...asked, tool: watched })
  if (!isOver) failed(new Error(`${tool.name} exceeded its timeout`))
  return output
}

/** The span error that the SDK sets for a tool whose error becomes a text. */
const FAILED = 'Error running tool (non-fatal)'

type SpanError = Parameters<CurrentSpan['setError']>[0]

/** Calls `heard` with each error that the current span gets. It must be a stand-in, which only one call has. */
function hearErrors(heard: (error: SpanError) => void): void {
  const span = getCurrentTraceContext()?.span
  if (!span) return
  const { setError } = span
  const heardFirst: typeof setError = (error) => {
    heard(error)
    setError.call(span, error)
  }
  Object.defineProperty(span, 'setError', { value: heardFirst })
}

/**
 * Captures the async context in which tools of this turn are called, so that SDK spans opened by a tool nest under the
 * agent's.
 */
function surroundings(): <Result>(work: () => Result) => Result {
  const inContext = AsyncLocalStorage.snapshot()
  const current = getCurrentTraceContext()
  if (!current) return inContext
  const { trace } = current
  const span = current.span ?? createCustomSpan({ data: { name: 'turn' } }, trace)
  return (work) => inContext(() => withTraceContext({ trace, span: standIn(span) }, work))
}

/**
 * What a tool sets on its span applies to its call, not to the agent: a clone has the same id and is never exported.
 */
function standIn(span: CurrentSpan): CurrentSpan {
  return Object.defineProperty(span.clone(), 'spanData', { value: { ...span.spanData } })
}

function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}
