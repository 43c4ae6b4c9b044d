/** `eager()` for LangChain: early tool calls in `createAgent`. */

import { AsyncLocalStorage } from 'node:async_hooks'
import { AsyncLocalStorageProviderSingleton } from '@langchain/core/singletons'
import { ConfigError } from '@meanwhile/core'
import type { NamedModel } from '../call-maker.ts'
import { type Declared, type DeclaredEffect, declaredEffects } from '../host/declared.ts'
import { EagerLoop, type HostRun } from '../host/eager-loop.ts'
import type { HostCalls, TakenCall } from '../host/host-calls.ts'
import type { HostTool } from '../host/host-tool.ts'
import { checkNames, type EagerSettings } from '../host/settings.ts'
import { checkedInput, startOf, withId } from './early-tool.ts'
import { HeardCalls } from './heard-calls.ts'
import {
  type AgentMiddleware,
  type AgentOptions,
  type AgentTool,
  type AskedCall,
  type ChatModel,
  isAgentTool,
  isAskedCall,
  isObject,
  type ModelRequest,
  type NodeConfig,
  toolName,
} from './library.ts'
import { over } from './over.ts'
import { callsOf, lastAnswer, Steps } from './steps.ts'
import { type Request, type WatchedRequest, watchedModel } from './watched-model.ts'

/** By tool name: what a call of the tool changes outside the program. Tools that are not listed stay unchanged. */
export type Effects<Options> = Options extends { readonly tools: readonly (infer Tool)[] }
  ? {
      readonly [Name in Extract<Tool, Named>['name']]?: DeclaredEffect<InputOf<Extract<Tool, { readonly name: Name }>>>
    }
  : object

interface Named {
  readonly name: string
}

interface GivenOptions {
  readonly model?: unknown
  readonly tools?: unknown
  /** Only agents have this method. */
  readonly invoke?: never
}

/** The input that the tool's function receives. */
type InputOf<Tool> = Tool extends { func(input: infer Input, ...rest: never): unknown } ? Input : never

/**
 * Returns the same options, changed so that declared tools start while the model is still streaming:
 *
 * ```ts
 * const agent = createAgent(eager({ model, tools: [weather, book] }, { weather: 'read' }))
 * ```
 *
 * The caller gets the same results, and tools that are not declared execute just as often. A `read` may execute once
 * more if its result is not used. Declare only tools whose result depends on their input, `context`, `store` and the
 * state at the model's node: a tool that reads the messages of the state, or uses `writer` or `interrupt`, is executed by
 * the agent, and starts early no more. With
 * `humanInTheLoopMiddleware`, `toolCallLimitMiddleware` or `toolEmulatorMiddleware` nothing starts early unless
 * `approval` names the tools that they may prevent.
 *
 * The model streams if the agent streams, if the model is configured to stream, or with `alwaysStream`. If the model is
 * given as a string, a middleware has to be added to observe it, and that wraps the errors of the model: pass a model
 * object.
 *
 * @throws {ConfigError} A tool, an effect or a setting does not exist, or the options are an agent.
 */
export function eager<Options extends GivenOptions, const Middleware extends readonly unknown[] = readonly []>(
  // A tuple, so that the agent's state is inferred from each middleware.
  options: Options & { readonly middleware?: Middleware },
  effects: Effects<Options>,
  settings: EagerSettings = {},
): Options {
  if (!isObject(options)) throw new ConfigError('options', 'must be an object')
  if ('invoke' in options)
    throw new ConfigError('options', 'is an agent; pass its options: createAgent(eager({ … }, { … }))')
  const given = options as AgentOptions
  if (given.tools && !Array.isArray(given.tools))
    throw new ConfigError('tools', 'must be a list of tools, such as [weather]')
  const loop = new EagerLoop(settings, 'langchain 1.5')
  const declared = mayStartEarly(given, effects, loop)
  if (declared.size === 0) return options
  return { ...options, ...new EagerAgent(given, declared, loop).changes() }
}

/** Middlewares of LangChain that may prevent a call. */
const PREVENTING = /^(HumanInTheLoop|ToolCallLimit|ToolEmulator)Middleware\b/

/** The declared tools, except those whose calls may be prevented. */
function mayStartEarly({ tools = [], middleware = [] }: AgentOptions, effects: object, loop: EagerLoop): Declared {
  const own = namesOf(tools.filter(isAgentTool))
  const all = [...own, ...namesOf(middleware.flatMap((one) => one.tools ?? []))]
  const declared = declaredEffects(effects, own)
  const { approval } = loop.settings
  checkNames(loop.settings, all)
  if (approval) return new Map([...declared].filter(([name]) => !approval.includes(name)))
  const preventing = middleware.find(({ name }) => PREVENTING.test(name))
  if (declared.size === 0 || !preventing) return declared
  loop.warn({
    code: 'approval-unknown',
    message: `no tool starts early: ${preventing.name} may prevent calls and does not expose for which tools. List them in \`approval\`, which may be empty.`,
  })
  return new Map()
}

/** Providers for which a finished content block means that its call is final. */
const SEALING: ReadonlySet<unknown> = new Set(['anthropic', 'openai'])

class EagerAgent {
  readonly #options: AgentOptions
  readonly #declared: Declared
  readonly #loop: EagerLoop
  readonly #steps: Steps
  /** If several tools have the same name, the agent executes the first one. */
  readonly #tools: Map<string, AgentTool> = new Map()
  /** Whether requests with declared tools were linked to their step, and whether one could not be linked. */
  #hasLinked = false
  #hasLost = false
  /** The message that requested a declared tool before any model request was seen. */
  #unseen: object | undefined

  constructor(options: AgentOptions, declared: Declared, loop: EagerLoop) {
    this.#options = options
    this.#declared = declared
    this.#loop = loop
    this.#steps = new Steps(loop)
    for (const tool of options.tools ?? [])
      if (isAgentTool(tool) && !this.#tools.has(tool.name)) this.#tools.set(tool.name, tool)
  }

  changes(): AgentOptions {
    const { model, middleware = [] } = this.#options
    const tools = this.#options.tools?.map((tool) =>
      isAgentTool(tool) && this.#declared.has(tool.name) ? this.#joining(tool) : tool,
    )
    const watched = (one: ChatModel) => watchedModel(one, (request) => this.#watch(request))
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
    if (!tools.some((tool) => this.#declared.has(toolName(tool) ?? ''))) return undefined
    const node = nodeOf(config)
    if (!node) {
      this.#hasLost = true
      return undefined
    }
    this.#hasLinked = true
    const step = this.#steps.requested(node, messages, (run) => this.#begin(run, request, node))
    if (!step) return undefined
    const { alwaysStream = false, seals = SEALING.has(named(request.model).provider) } = this.#loop.settings
    return {
      handler: new HeardCalls(step.calls, { streams: Boolean(alwaysStream), seals }),
      answered: (message) => {
        this.#steps.answered(step, message, node)
        if (this.#isAsked(message, tools)) step.calls.stood()
        else void step.calls.release('call_withdrawn', new Error('the agent executes none of these calls now'))
      },
      failed: () => this.#steps.failed(step, node),
    }
  }

  #begin(run: HostRun, { model, tools, config: { signal } }: Request, node: NodeConfig): HostCalls | undefined {
    const config = { ...node, ...(signal && { signal }) }
    const enter = AsyncLocalStorage.snapshot()
    return this.#loop.step(run, {
      tools: namesOf(tools).map((name) => this.#hostTool(name, config)),
      model: named(model),
      signal: config.signal,
      toolConcurrency: config.maxConcurrency,
      enter: (work) => enter(work),
    })
  }

  #hostTool(name: string, config: NodeConfig): HostTool {
    const [declared, tool] = [this.#declared.get(name), this.#tools.get(name)]
    if (!declared || !tool) return { name }
    const check = (written: unknown) => checkedInput(tool, written)
    return {
      name,
      early: { ...declared, check, checksItself: true, leavesOnAbort: true, start: startOf(tool, config) },
    }
  }

  /**
   * Whether the agent executes the calls of a message now. It does not if one needs an approval or is a structured
   * response.
   */
  #isAsked(message: unknown, tools: readonly unknown[]): boolean {
    const { approval = [] } = this.#loop.settings
    const shapes = namesOf(tools.filter((tool) => !isAgentTool(tool)))
    const calls = callsOf(message)
    return calls.length > 0 && !calls.some(({ name }) => approval.includes(name) || shapes.includes(name))
  }

  /** The tool, which joins calls that have started early. */
  #joining(tool: AgentTool): AgentTool {
    return over(tool, {
      invoke: (input, config) => {
        const linked = isAskedCall(input) && config && this.#linked(config.state?.messages, config)
        if (linked) return joined(linked, tool, input, config)
        const done = isAskedCall(input) && this.#loop.cleared(input.id, tool.name, input.args, config?.signal)
        return done ? done.then(() => tool.invoke(input, config)) : tool.invoke(input, config)
      },
    })
  }

  /** The calls of the last response. */
  #linked(messages: unknown, config: NodeConfig): Linked | undefined {
    const step = this.#steps.of(messages, config)
    if (!step) this.#unlinked(lastAnswer(messages))
    const { calls } = step ?? this.#steps.lastOf(config) ?? {}
    return calls && { calls, isSame: step !== undefined }
  }

  /** A message requests a declared tool but belongs to no known step. It may come from an earlier process. */
  #unlinked(answer: object | undefined): void {
    if (this.#hasLost) this.#loop.unlinked()
    if (this.#hasLinked || !answer) return
    if (this.#unseen && this.#unseen !== answer) this.#loop.unlinked()
    this.#unseen = answer
  }
}

interface Linked {
  readonly calls: HostCalls
  /** Whether these calls are certainly those of the message that the agent executes. */
  readonly isSame: boolean
}

/** Returns the result of the equal early call, or calls the tool. */
async function joined(
  { calls, isSame }: Linked,
  tool: AgentTool,
  asked: AskedCall,
  config: NodeConfig,
): Promise<unknown> {
  const call = [asked.id, tool.name, asked.args, config.signal] as const
  const taken = isSame ? calls.take(...call) : undefined
  const early = taken && (await used(taken, asked.id))
  if (early) return early.output
  await calls.cleared(...call)?.done
  return tool.invoke(asked, config)
}

/** The result of an early call; `undefined` if the agent must make the call itself. */
async function used(taken: TakenCall, id: string | undefined): Promise<{ readonly output: unknown } | undefined> {
  try {
    const output: unknown = await Promise.race([taken.result, taken.declined])
    const own = taken.isDeclined ? undefined : withId(output, id)
    if (!own) taken.giveUp()
    return own
  } catch (error) {
    if (!taken.isDeclined) throw error
    return undefined
  }
}

interface WatchingMiddleware extends AgentMiddleware {
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

function namesOf(tools: readonly unknown[]): readonly string[] {
  return tools.map(toolName).filter((name) => name !== undefined)
}
