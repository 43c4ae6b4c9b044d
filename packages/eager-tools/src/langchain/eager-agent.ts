/** One agent of an `eager()`: observes its model requests, and decides which of its tools may start early. */

import { AsyncLocalStorage } from 'node:async_hooks'
import { AsyncLocalStorageProviderSingleton } from '@langchain/core/singletons'
import type { NamedModel } from '../call-maker.ts'
import type { Declared } from '../host/declared.ts'
import type { EagerLoop, HostRun } from '../host/eager-loop.ts'
import { nextStep } from '../host/host-calls.ts'
import type { HostTool } from '../host/host-tool.ts'
import { callsOf } from './answers.ts'
import { checkedInput } from './checked-input.ts'
import { mustStayLate, startOf } from './early-tool.ts'
import { guardedBy, guardedInContext, preventing, unknownGuard } from './guards.ts'
import { HeardCalls } from './heard-calls.ts'
import { JoiningTools } from './joining-tools.ts'
import {
  type AgentOptions,
  type ChatModel,
  isAgentTool,
  isObject,
  isShape,
  type ModelRequest,
  type NodeConfig,
  namesOf,
  toolName,
} from './library.ts'
import { ObservedRuns } from './observed-runs.ts'
import { SPREAD_FIRST } from './prevented-calls.ts'
import type { Step } from './step.ts'
import { Steps } from './steps.ts'
import { type Request, type WatchedRequest, watchedModel } from './watched-model.ts'

/** What the agents of one `eager()` share. */
export class EagerAgents {
  readonly declared: Declared
  readonly loop: EagerLoop
  readonly steps: Steps
  readonly tools: JoiningTools
  readonly runs: ObservedRuns

  constructor(declared: Declared, loop: EagerLoop) {
    this.declared = declared
    this.loop = loop
    this.steps = new Steps(loop)
    this.runs = new ObservedRuns(loop)
    this.tools = new JoiningTools(loop, this.steps, (answer, config) => this.runs.unlinked(answer, config))
  }
}

/** Providers for which a finished content block means that its call is final. */
const SEALING: ReadonlySet<unknown> = new Set(['anthropic', 'openai'])

/** The options of one agent that `eager()` reads. */
export interface OwnOptions extends AgentOptions {
  /** How warnings name it. */
  readonly called: string
}

export class EagerAgent {
  readonly #all: EagerAgents
  readonly #options: OwnOptions
  /** Tools of which a call certainly or possibly needs an approval. */
  readonly #guarded: ReadonlySet<string>
  /** Whether a middleware in the options may prevent the call of any tool. */
  readonly #isUnknown: boolean

  constructor(all: EagerAgents, options: OwnOptions) {
    const { approval } = all.loop.settings
    const { middleware = [], interruptOn } = options
    this.#all = all
    this.#options = options
    this.#guarded = new Set([...guardedBy(interruptOn), ...(approval ?? [])])
    const guard = approval ? undefined : preventing(middleware)
    this.#isUnknown = guard !== undefined
    if (guard && this.#own.length > 0) this.#warnOf(guard, 'List them in `approval`, which may be empty.')
  }

  /** Whether calls of any of its own tools may start early. */
  get mayStart(): boolean {
    return !this.#isUnknown && this.#own.some((name) => !this.#guarded.has(name))
  }

  /** Names of its declared tools. */
  get #own(): readonly string[] {
    return namesOf((this.#options.tools ?? []).filter(isAgentTool)).filter((name) => this.#all.declared.has(name))
  }

  #warnOf(guard: string, advice: string): void {
    this.#all.loop.warnOnce(
      'approval-unknown',
      `no tool ${this.#options.called}starts early: ${guard} may prevent calls and does not expose for which tools. ${advice}`,
    )
  }

  /** `given`: its options without what it gets from the agent above it. */
  changes({ tools: given, middleware = [] }: AgentOptions): AgentOptions {
    const { model } = this.#options
    const tools = given?.map((tool) =>
      isAgentTool(tool) && this.#all.declared.has(tool.name) ? this.#all.tools.of(tool) : tool,
    )
    const watched = (one: ChatModel) =>
      watchedModel(
        one,
        (request) => this.#watch(request),
        () => this.#all.runs.bound(),
      )
    if (isObject(model)) return { ...(tools && { tools }), model: watched(model) }
    // The agent creates a model from a string itself, so only a middleware can observe it.
    const watching: WatchingMiddleware = {
      name: 'eager-tools',
      wrapModelCall: (request, ask) => ask({ ...request, model: watched(request.model) }),
    }
    return { ...(tools && { tools }), middleware: [...middleware, watching] }
  }

  #watch(request: Request): WatchedRequest | undefined {
    const { tools, messages, config } = request
    if (!tools.some((tool) => this.#all.declared.has(toolName(tool) ?? ''))) return undefined
    const node = nodeOf(config)
    this.#all.runs.observed(node)
    if (!node) return undefined
    const { loop, steps } = this.#all
    const step = steps.requested(node, messages, (run) => this.#begin(run, request, node))
    if (!step) return undefined
    const { alwaysStream = false, seals = SEALING.has(named(request.model).provider) } = loop.settings
    return {
      handler: new HeardCalls(step.calls, { streams: Boolean(alwaysStream), seals }),
      answered: (message) => {
        steps.answered(step, message, node)
        if (isAsked(message, tools)) step.calls.stood()
        else void step.calls.release('call_withdrawn', new Error('the agent executes none of these calls now'))
      },
      failed: () => steps.failed(step, node),
    }
  }

  #begin(
    run: HostRun,
    { model, tools, silence, config: { signal } }: Request,
    node: NodeConfig,
  ): Omit<Step, 'run'> | undefined {
    const config = { ...node, ...(signal && { signal }) }
    const guarded = new Set([...this.#guarded, ...guardedInContext(node)])
    const isLate = this.#isLate(tools, node)
    const enter = AsyncLocalStorage.snapshot()
    const calls = nextStep(this.#all.loop, run, {
      tools: tools.flatMap((tool) => {
        const name = toolName(tool)
        if (name === undefined) return []
        return isLate || guarded.has(name) ? [{ name }] : [this.#hostTool(name, tool, config)]
      }),
      model: named(model),
      signal: config.signal,
      toolConcurrency: config.maxConcurrency,
      silence,
      enter: (work) => enter(work),
    })
    return calls && { calls, guarded, node, signal: config.signal }
  }

  /** Whether nothing may start early in this request. */
  #isLate(tools: readonly unknown[], node: NodeConfig): boolean {
    if (this.#isUnknown || mayRefuse(node)) return true
    const { interruptOn } = this.#options
    if (this.#all.loop.settings.approval) return false
    const guard = unknownGuard(node, { approvals: interruptOn !== undefined, tools: namesOf(tools) })
    if (guard) this.#warnOf(guard, `It was added after eager(). ${SPREAD_FIRST}, and list these tools in \`approval\``)
    return guard !== undefined
  }

  #hostTool(name: string, bound: unknown, config: NodeConfig): HostTool {
    const declared = this.#all.declared.get(name)
    const tool = this.#all.tools.behind(bound)
    if (!declared || !tool || mustStayLate(tool)) {
      if (declared && !tool && isAgentTool(bound)) this.#all.loop.warnOnce('tool-replaced', replaced(name))
      return { name }
    }
    const check = (written: unknown) => checkedInput(tool, written)
    return {
      name,
      early: { ...declared, check, checksItself: true, leavesOnAbort: true, start: startOf(tool, config) },
    }
  }
}

function replaced(name: string): string {
  return `${name} does not start early: the agent has another tool of this name than the one that eager() has returned. Was \`tools\` added after eager()?`
}

/** Whether a callback may refuse a call: with `raiseError`, its error is that of the call. */
function mayRefuse({ callbacks }: NodeConfig): boolean {
  const handlers = Array.isArray(callbacks) ? callbacks : (callbacks?.handlers ?? [])
  return handlers.some((handler) => 'raiseError' in handler && handler.raiseError)
}

/** Whether the agent executes the calls of a message. It executes none if one of them is a structured response. */
function isAsked(message: unknown, tools: readonly unknown[]): boolean {
  const shapes = namesOf(tools.filter(isShape))
  const calls = callsOf(message)
  return calls.length > 0 && !calls.some(({ name }) => shapes.includes(name))
}

interface WatchingMiddleware {
  readonly name: string
  wrapModelCall<Asked extends ModelRequest, Answer>(request: Asked, ask: (request: Asked) => Answer): Answer
}

/** The config of the node that calls its model. (The request's own config also contains options of the model.) */
function nodeOf({ metadata }: NodeConfig): NodeConfig | undefined {
  const node: NodeConfig | undefined = AsyncLocalStorageProviderSingleton.getRunnableConfig()
  const task: unknown = node?.metadata?.langgraph_checkpoint_ns
  return task !== undefined && task === metadata?.langgraph_checkpoint_ns ? node : undefined
}

function named(model: ChatModel): NamedModel {
  const { ls_provider: provider = 'unknown', ls_model_name: id = 'unknown' } = model.getLsParams?.({}) ?? {}
  return { provider, id }
}
