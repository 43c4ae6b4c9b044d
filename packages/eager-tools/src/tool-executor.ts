/** The calls of one response, for those with a loop of their own: its stream goes in, its tool messages come out. */

import {
  type AgentEvent,
  type AgentOptions,
  type AgentResult,
  type AssistantMessage,
  ConfigError,
  checkOptions,
  createAgent,
  type FinishReason,
  type Message,
  ModelError,
  type ModelEvent,
  type OptionNames,
  RunAbortedError,
  type RunOptions,
  type ToolMessage,
  type Wire,
} from '@meanwhile/core'
import { follow } from '@meanwhile/core/calls'
import { EAGER_OPTIONS, type EagerToolsOptions, eagerTools } from './eager-tools.ts'
import { modelEvents } from './model-events.ts'
import { answerOf, oneResponse } from './one-response.ts'
import { PushedModel } from './pushed-model.ts'

type FromAgent =
  | 'name'
  | 'tools'
  | 'middleware'
  | 'toolConcurrency'
  | 'innerConcurrency'
  | 'prepareInput'
  | 'unknownTool'
  | 'inputLimits'
  | 'outputLimits'
  | 'grace'
  | 'telemetry'

/**
 * Those of an agent hold as they do there. Its `middleware` is for what stands round tool calls: the model is not asked
 * from here, so that what would repeat or redirect a model call has nothing to do.
 */
export interface ToolExecutorOptions
  extends EagerToolsOptions,
    Pick<AgentOptions, FromAgent>,
    Pick<RunOptions, 'signal' | 'conversationId'> {
  /** The model that is asked, for spans and the policy. Default `unknown`. */
  readonly model?: string
}

/** One response and its calls. To be made before the request, as its spans begin then. */
export interface ToolExecutor<Event, Item> extends AsyncDisposable {
  /** What happens, as in a run of an agent; can be read once. Need not be read; a reader that leaves before the end aborts. */
  readonly events: AsyncIterable<AgentEvent>
  /**
   * An event of the response's stream. Never waits. Throws `TypeError` once the response is finished, and `RunAbortedError` once
   * {@link abort} or the signal has ended it. What comes after a reader of the events has left is dropped; `finish` says so.
   */
  push(event: Event): void
  /**
   * The response has ended: what started early is committed or discarded, what did not is run. Called again it gives the
   * same promise, which need not be awaited. It rejects with
   *
   * - {@link ModelError}: the response failed or was cut off, all its calls are discarded, and there is nothing to send back;
   * - `RunAbortedError`: it was aborted;
   * - {@link ConfigError}: a call wants an answer (`interrupt`), which needs an agent;
   * - what else ends a run: an `AgentError` of a tool or middleware.
   *
   * `reason`: how it ended, if you know better than its events. Core's model events do not say it; see
   * {@link createToolExecutor}.
   */
  finish(reason?: FinishReason): Promise<FinishedResponse<Item>>
  /**
   * This response failed, or is not wanted, and what is pushed from now on is another one: its calls join those that ask
   * for the same, and are held until then. `error`: what failed. Throws like {@link push}.
   */
  retry(error?: unknown): void
  /** Discards everything. Resolves when nothing is at work any more, at the latest after the grace time. */
  abort(reason?: unknown): Promise<void>
  /** Aborts what is not over. */
  [Symbol.asyncDispose](): Promise<void>
}

/** What came of a response. */
export interface FinishedResponse<Item> {
  /** Whether an agent would go no further: there are no calls, or none that may run, or a `returnDirect` tool has answered. */
  readonly isAnswer: boolean
  readonly message: AssistantMessage
  /** One of each call, in call order. */
  readonly toolMessages: readonly ToolMessage[]
  /**
   * The message for the next request, in the wire's form: its calls have ids of their own, also where those of the provider
   * were none.
   */
  readonly response: readonly Item[]
  /** The tool messages for the next request, in the wire's form: they go behind {@link response}. */
  readonly results: readonly Item[]
  /** Usage, warnings and whatever else a run comes to; its messages are those of this response. */
  readonly result: AgentResult
}

/**
 * Starts the tool calls of one response while its stream is pushed, by the rules of `eagerTools`, and runs the others
 * when it is finished. Each response has an executor of its own; what is tried again is the same response.
 *
 * `wire` says what is pushed and what goes back: `chatWire()`, `responsesWire()`, `messagesWire()` of `@meanwhile/models`.
 * Without one that is core's {@link ModelEvent}s and messages; unless `finish` says how such a response ended, its calls
 * may run if each was sealed.
 *
 * Throws {@link ConfigError} for an option that cannot work.
 */
export function createToolExecutor<Event, Item>(
  options: ToolExecutorOptions & { readonly wire: Wire<Event, Item> },
): ToolExecutor<Event, Item>
export function createToolExecutor(options: ToolExecutorOptions): ToolExecutor<ModelEvent, Message>
export function createToolExecutor<Event, Item>(
  given: ToolExecutorOptions & { readonly wire?: Wire<Event, Item> },
): ToolExecutor<Event, Item> | ToolExecutor<ModelEvent, Message> {
  checkExecutor(given)
  const { wire, ...options } = given
  if (!wire) return executorOn(modelEvents, options)
  if (typeof wire.reader !== 'function') throw new ConfigError('wire', 'is none; did you mean to call it, chatWire()?')
  return executorOn(wire, options)
}

function checkExecutor(options: ToolExecutorOptions): void {
  if (options === undefined) throw new ConfigError('options', 'are missing')
  checkOptions<ExecutorOptions>('createToolExecutor', options, OPTIONS)
  const { model, signal } = options
  if (model !== undefined && typeof model !== 'string') throw new ConfigError('model', 'must be the name of a model')
  if (signal && typeof signal.addEventListener !== 'function') throw new ConfigError('signal', 'must be an AbortSignal')
}

type ExecutorOptions = ToolExecutorOptions & { readonly wire?: unknown }

const OPTIONS: OptionNames<ExecutorOptions> = {
  wire: '',
  model: '',
  ...EAGER_OPTIONS,
  name: '',
  tools: '',
  middleware: '',
  toolConcurrency: '',
  innerConcurrency: '',
  prepareInput: '',
  unknownTool: '',
  inputLimits: '',
  outputLimits: '',
  grace: '',
  telemetry: '',
  signal: '',
  conversationId: '',
}

function executorOn<Event, Item>(wire: Wire<Event, Item>, options: ToolExecutorOptions): ToolExecutor<Event, Item> {
  const { model: id = 'unknown', signal, conversationId, policy, independent, budget, ...ofAgent } = options
  const model = new PushedModel(wire, id)
  const early = eagerTools({
    ...(policy !== undefined && { policy }),
    ...(independent !== undefined && { independent }),
    ...(budget !== undefined && { budget }),
  })
  const agent = createAgent({
    ...ofAgent,
    model,
    middleware: [...(ofAgent.middleware ?? []), early, oneResponse(model)],
  })
  const controller = new AbortController()
  const run = agent.stream(NOTHING, {
    signal: controller.signal,
    ...(conversationId !== undefined && { conversationId }),
  })
  let over: 'finished' | 'aborted' | undefined
  let finished: Promise<FinishedResponse<Item>> | undefined

  const stillOpen = (what: string) => {
    if (over === 'aborted') throw new RunAbortedError(controller.signal.reason)
    if (over) throw new TypeError(`${what}, but the response is finished`)
  }
  const stop = (reason: unknown) => {
    over ??= 'aborted'
    controller.abort(reason)
  }
  if (signal) {
    const abort = () => stop(signal.reason)
    const unfollow = follow(signal, abort)
    run.result.then(unfollow, unfollow)
    if (signal.aborted) abort()
  }

  const executor: ToolExecutor<Event, Item> = {
    events: run,
    push(event) {
      stillOpen('an event was pushed')
      model.push(event)
    },
    finish(reason) {
      if (!over) {
        over = 'finished'
        model.finish(reason)
      }
      if (!finished) {
        finished = run.result.then((result) => finishedResponse(wire, result))
        finished.catch(() => undefined)
      }
      return finished
    },
    retry(error) {
      stillOpen('a retry was announced')
      model.retry(error ?? new ModelError('another response was asked for', { code: 'unknown', retryable: true }))
    },
    async abort(reason = new Error('the response is not wanted')) {
      stop(reason)
      await run.result.catch(() => undefined)
    },
    [Symbol.asyncDispose]: () => executor.abort(),
  }
  return executor
}

/** A run needs an input, and whoever streams has asked already. */
const NOTHING: readonly Message[] = [{ role: 'user', content: [] }]

function finishedResponse<Item>(wire: Wire<never, Item>, result: AgentResult): FinishedResponse<Item> {
  if (result.status !== 'completed') {
    throw new ConfigError(
      'tools',
      'a call has asked for an answer (interrupt), and only the run of an agent can be resumed',
    )
  }
  const message = answerOf(result.messages)
  const toolMessages = result.messages.filter((message) => message.role === 'tool')
  return {
    isAnswer: result.stopReason !== undefined,
    message,
    toolMessages,
    response: wire.items([message]),
    results: wire.items(toolMessages),
    result,
  }
}
