/**
 * Runs the tool calls of one response for users who have their own loop: stream events go in, tool messages come out.
 */

/// <reference lib="esnext.disposable" preserve="true" />

import type { Wire } from '@meanwhile/assemble'
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
 * The options of agents work as for an agent. `middleware` applies to tool calls: the executor does not call the model,
 * so middleware that repeats or redirects model calls does nothing.
 */
export interface ToolExecutorOptions
  extends EagerToolsOptions,
    Pick<AgentOptions, FromAgent>,
    Pick<RunOptions, 'signal' | 'conversationId'> {
  /** The model's name, for spans and the policy. Default `unknown`. */
  readonly model?: string
}

/** One response and its calls. Create it before the request, because its spans begin then. */
export interface ToolExecutor<Event, Item> extends AsyncDisposable {
  /** The events of a run; can be read once. Reading is optional. A reader that stops before the end aborts. */
  readonly events: AsyncIterable<AgentEvent>
  /**
   * Pushes an event of the response's stream. Never waits. Throws `TypeError` once the response is finished, and
   * `RunAbortedError` once {@link abort} or the signal has ended it. Events pushed after a reader of `events` has
   * stopped are dropped; then `finish` rejects.
   */
  push(event: Event): void
  /**
   * Ends the response: early calls are committed or discarded, and the other calls are run. A second call returns the
   * same promise, which need not be awaited. It rejects with
   * - {@link ModelError}: the response failed or was truncated, all its calls are discarded, and there is nothing to
   *   send back;
   * - `RunAbortedError`: it was aborted;
   * - {@link ConfigError}: `independent` or `schemas` names a tool that does not exist, or a call interrupts to get an
   *   answer (`interrupt`), which needs an agent;
   * - an `AgentError` of a tool or middleware that ends the run.
   *
   * `reason`: the finish reason, if the events do not contain it. Core's model events do not contain it; see
   * {@link createToolExecutor}.
   */
  finish(reason?: FinishReason): Promise<FinishedResponse<Item>>
  /**
   * This response failed or is not wanted; the events that follow belong to a new one. Calls that have started are kept
   * until then, and equal calls of the new response join them. `error`: the cause. Throws like {@link push}.
   */
  retry(error?: unknown): void
  /** Discards everything. Resolves when no call is running any more, at the latest after the grace time. */
  abort(reason?: unknown): Promise<void>
  /** Aborts the response unless it is over. */
  [Symbol.asyncDispose](): Promise<void>
}

/** The result of a response. */
export interface FinishedResponse<Item> {
  /** Whether an agent would stop here: there are no calls to run, or a `returnDirect` tool has returned the answer. */
  readonly isAnswer: boolean
  /** The response as a message of a history. */
  readonly message: AssistantMessage
  /** One per call, in call order. */
  readonly toolMessages: readonly ToolMessage[]
  /**
   * The model's message for the next request, in the wire's format. Calls without a usable provider id get a new one.
   */
  readonly response: readonly Item[]
  /** The tool messages for the next request, in the wire's format. They follow {@link response}. */
  readonly results: readonly Item[]
  /** Usage, warnings and everything else in the result of a run. Its messages are those of this response. */
  readonly result: AgentResult
}

/**
 * Starts the tool calls of one response while its stream is pushed, by the rules of `eagerTools`, and runs the other
 * calls when the response is finished. Use one executor per response; a retry is part of the same response.
 *
 * `wire` defines the events that are pushed and the messages that are sent back: `chatWire()`, `responsesWire()` or
 * `messagesWire()` of `@meanwhile/models`. Without a wire these are core's {@link ModelEvent}s and messages; then the
 * calls may run if all of them were sealed, unless `finish` gives another finish reason.
 *
 * @throws {ConfigError} An option is invalid.
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
  if (typeof wire.reader !== 'function')
    throw new ConfigError('wire', 'is not a wire; did you mean to call it, chatWire()?')
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
  const {
    model: id = 'unknown',
    signal,
    conversationId,
    policy,
    independent,
    schemas,
    mayBeMissing,
    budget,
    ...ofAgent
  } = options
  const model = new PushedModel(wire, id)
  const early = eagerTools({
    ...(policy !== undefined && { policy }),
    ...(independent !== undefined && { independent }),
    ...(schemas !== undefined && { schemas }),
    ...(mayBeMissing !== undefined && { mayBeMissing }),
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
  const left = () => model.over()
  run.result.then(left, left)
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
      stillOpen('retry was called')
      model.retry(error ?? new ModelError('another response was requested', { code: 'unknown', retryable: true }))
    },
    async abort(reason = new Error('the response is not wanted')) {
      stop(reason)
      await run.result.catch(() => undefined)
    },
    [Symbol.asyncDispose]: () => executor.abort(),
  }
  return executor
}

/** A run requires an input, but here the caller has already sent the request. */
const NOTHING: readonly Message[] = [{ role: 'user', content: [] }]

function finishedResponse<Item>(wire: Wire<never, Item>, result: AgentResult): FinishedResponse<Item> {
  if (result.status !== 'completed') {
    throw new ConfigError('tools', 'a call interrupts to get an answer, and only the run of an agent can be resumed')
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
