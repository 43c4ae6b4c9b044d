/** One turn of a run: the tools that the SDK gets, the model requests, and the requested calls. */

import {
  type FunctionTool,
  ModelBehaviorError,
  type ModelRequest,
  type ModelResponse,
  type StreamEvent,
  type Tool,
  Usage,
} from '@openai/agents'
import type { HostRun } from '../host/eager-loop.ts'
import { type HostCalls, nextStep } from '../host/host-calls.ts'
import type { EarlyTool, HostTool } from '../host/host-tool.ts'
import { sameValue } from '../same-value.ts'
import type { AgentRunOptions, AnyAgent } from './agent-run-options.ts'
import { CallReader } from './call-reader.ts'
import { invoked, noteOnSpan, surroundings } from './early-invocation.ts'
import { type Checked, isUnchanged } from './early-tools.ts'
import { joiningTool } from './joining-tool.ts'
import type { PreparedInputs } from './prepared-inputs.ts'

type Ask<Answer> = (request: ModelRequest) => Answer

/** A model whose requests are observed, as it is without that. */
interface WatchedModel {
  readonly whole: Ask<Promise<ModelResponse>>
  readonly streamed: Ask<AsyncIterable<StreamEvent>>
  /** How long the model may be silent before another response is requested in the same turn, in milliseconds. */
  readonly silence: number | undefined
}

export interface TurnOptions {
  readonly run: AgentRunOptions
  readonly host: HostRun
  /** Ids of calls that earlier responses have requested. The SDK never executes a second call with the same id. */
  readonly seen: Set<string>
  readonly agent: AnyAgent
  readonly tools: readonly Tool[]
  /** The tools that may start early. */
  readonly early: ReadonlyMap<Tool, Checked>
  readonly inputs: PreparedInputs
  /** The SDK executes a call although no request of the turn was seen. */
  unlinked(): void
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

/** A call that has started early. */
interface Started {
  readonly tool: FunctionTool
  readonly written: unknown
}

export class Turn {
  /** The tools for the SDK. */
  readonly tools: Tool[]
  readonly #options: TurnOptions
  /** By the parameters in the request. */
  readonly #early: Map<object, FunctionTool> = new Map()
  /** Calls that have started early and that the SDK has not executed, by their id. */
  readonly #started: Map<string | undefined, Started> = new Map()
  /** Names of tools with a call in the accepted response that has not started early. */
  readonly #late: Set<string> = new Set()
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
  streamed(model: WatchedModel, request: ModelRequest): AsyncIterable<StreamEvent> {
    const calls = this.#callsFor(model, request)
    return calls ? this.#heard(calls, model, request) : model.streamed(request)
  }

  /** Returns the whole response; with `alwaysStream` it is read from a stream. */
  async whole(model: WatchedModel, request: ModelRequest): Promise<ModelResponse> {
    const { loop, isStreamed } = this.#options.run
    this.#isRequested = true
    // A streamed run requests a whole response only to notify the provider of an abort.
    const calls = loop.settings.alwaysStream && !isStreamed ? this.#callsFor(model, request) : undefined
    if (!calls) return await model.whole(request)
    for await (const event of this.#heard(calls, model, request)) {
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
    if (this.#calls?.stage === 'stood') this.#barPrevented()
    await this.#calls?.release()
  }

  /** The run has failed, perhaps because the SDK has refused the response. */
  async fail(error: unknown): Promise<void> {
    await this.#calls?.release('stream_error', error)
  }

  /** A tool with a call that the user has prevented after it had started. */
  #barPrevented(): void {
    for (const [id, { tool }] of this.#started) {
      if (this.#mayStart(tool, id)) continue
      const reason =
        'a call had started before it was rejected, or before the tool got another `needsApproval` or an input guardrail. List the tool in the setting `approval`'
      this.#options.run.loop.bar(tool.name, 'late-approval', reason)
    }
  }

  /** `undefined` if no call may start early, or if a model inside this one is already observed. */
  #callsFor({ silence }: WatchedModel, request: ModelRequest): HostCalls | undefined {
    this.#isRequested = true
    if (this.#isHeard) return undefined
    if (this.#calls?.again()) return this.#calls
    const { run, host, agent } = this.#options
    const { loop, config, toolConcurrency } = run
    const model = agent.model || config.model
    this.#calls = nextStep(loop, host, {
      tools: [
        ...request.tools.map((tool) => this.#hostTool(tool)),
        ...request.handoffs.map(({ toolName }) => ({ name: toolName })),
      ],
      ...(typeof model === 'string' && { model: { provider: 'openai-agents', id: model } }),
      signal: request.signal,
      toolConcurrency,
      silence,
      enter: this.#enter,
    })
    return this.#calls
  }

  async *#heard(
    calls: HostCalls,
    { streamed }: WatchedModel,
    request: ModelRequest,
  ): AsyncGenerator<StreamEvent, void> {
    const reader = new CallReader(calls, this.#options.seen, (output) => this.#accept(output))
    this.#isHeard = true
    try {
      for await (const event of streamed(request)) {
        reader.hear(event)
        yield event
      }
    } finally {
      this.#isHeard = false
      // Has no effect if the response was accepted.
      calls.failed()
    }
  }

  #accept(output: ModelResponse['output']): void {
    for (const item of output) {
      if (item.type !== 'function_call') continue
      const started = this.#started.get(item.callId)
      const input = started && parsed(item.arguments)
      if (!input || !sameValue(input.value, started.written)) this.#late.add(item.name)
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
    const { declared, context } = run
    return {
      ...(declared.get(tool.name) ?? { effect: 'external' }),
      checksItself: true,
      check: (written) => {
        if (inputs.accepts(tool, written)) return written
        throw new TypeError('the schema of the tool rejects the input')
      },
      keepsInput: (written) => inputs.keepsInput(tool, written),
      mayStart: ({ id }) => this.#mayStart(tool, id),
      start: (_, call) => {
        this.#started.set(call.id, { tool, written: call.written })
        return invoked(tool, { context, call, prepare: (details) => inputs.give(details, call.written, call.text) })
      },
    }
  }

  /** Whether nothing that the user has set meanwhile keeps the SDK from executing this call. */
  #mayStart(tool: FunctionTool, callId: string | undefined): boolean {
    const { run, early } = this.#options
    const checked = early.get(tool)
    if (!checked || !isUnchanged(tool, checked)) return false
    return callId === undefined || run.context.isToolApproved({ toolName: tool.name, callId }) !== false
  }

  /** The same tool, with its own parameters object for this turn. It joins a call that has started early. */
  #joining(tool: FunctionTool): FunctionTool {
    const parameters = { ...tool.parameters }
    turns.set(parameters, this)
    this.#early.set(parameters, tool)
    const invoke: FunctionTool['invoke'] = async (context, text, details) => {
      if (!this.#isRequested) this.#options.unlinked()
      const input = parsed(text)
      const asked = [details?.toolCall?.callId, tool.name, input?.value, details?.signal] as const
      const taken = input && this.#calls?.take(...asked)
      if (taken) {
        this.#started.delete(details?.toolCall?.callId)
        await Promise.race([taken.declined, settled(taken.result)])
        if (!taken.isDeclined) {
          noteOnSpan(taken.result)
          return taken.result
        }
      }
      const clearing = input && this.#calls?.cleared(...asked)
      if (clearing) await clearing.done
      return tool.invoke(context, text, details)
    }
    // The input of a call that has started early has been parsed already, and user's code in a schema runs once.
    const isParsed = () => this.#started.size === 0 || this.#late.has(tool.name)
    return joiningTool(tool, { parameters, invoke, isParsed })
  }
}

/** Resolves when a result is there. An error is left to the caller that awaits the result itself. */
function settled(result: Promise<unknown> | AsyncIterable<unknown>): Promise<unknown> {
  return result instanceof Promise ? result.catch(() => undefined) : Promise.resolve()
}

function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}
