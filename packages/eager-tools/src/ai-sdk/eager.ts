/** `eager()` for the AI SDK: early tool calls in `streamText`, `generateText` and `ToolLoopAgent`. */

import { ConfigError } from '@meanwhile/core'
import { sealsCalls } from '@meanwhile/core/calls'
import {
  gateway,
  type generateText,
  type InferToolInput,
  type InferToolOutput,
  type OutputInterface,
  type streamText,
  type Tool,
  ToolLoopAgent,
  type ToolLoopAgentSettings,
  type ToolSet,
} from 'ai'
import { type DeclaredEffect, declaredEffects } from '../host/declared.ts'
import { EagerLoop } from '../host/eager-loop.ts'
import type { HostCalls } from '../host/host-calls.ts'
import type { HostTool } from '../host/host-tool.ts'
import { checkNames, type EagerSettings } from '../host/settings.ts'
import { collected } from './collected.ts'
import { earlyTool, joining, Restraints } from './early-tools.ts'
import { executed } from './executed.ts'
import type {
  Callback,
  ModelRequest,
  Prepared,
  SdkModel,
  SdkOptions,
  SdkTool,
  StepToPrepare,
  StreamedAnswer,
} from './sdk.ts'
import { type Step, Steps } from './steps.ts'
import { watchedStream } from './watched-stream.ts'

/** By tool name: what a call of the tool changes outside the program. Tools that are not listed stay unchanged. */
export type Effects<Options extends { readonly tools?: object }> = {
  readonly [Name in keyof NonNullable<Options['tools']>]?: EffectOf<NonNullable<Options['tools']>[Name]>
}

type EffectOf<One> = [One] extends [Tool] ? DeclaredEffect<InferToolInput<One>, InferToolOutput<One>> : DeclaredEffect

/** The options of `streamText` that `generateText` also accepts. */
type TextOptions<Tools extends ToolSet, Context extends AnyContext, Out extends OutputInterface> = Parameters<
  typeof streamText<Tools, Context, Out>
>[0] &
  Parameters<typeof generateText<Tools, Context, Out>>[0]

/**
 * Options whose tools have no names in the type. For all other options the overloads with the types of the SDK apply.
 */
type IfUnnamed<Options extends { readonly tools?: object }> = string extends keyof NonNullable<Options['tools']>
  ? unknown
  : never

type AnyContext = NonNullable<ToolLoopAgentSettings['runtimeContext']>

/**
 * Returns the same options, changed so that declared tools start while the model is still streaming:
 *
 * ```ts
 * const result = streamText(eager({ model, tools: { weather, book }, prompt }, { weather: 'read' }))
 * ```
 *
 * The caller gets the same results, and tools that are not declared execute just as often. A `read` may execute once
 * more if its response is not accepted; that result is dropped. Never early: tools with an approval, a refinement of
 * their input or `onInputAvailable`, and calls whose input the tool's schema rejects.
 *
 * @throws {ConfigError} A tool, an effect or a setting does not exist, or the options are an agent.
 */
export function eager<
  Tools extends ToolSet,
  Context extends AnyContext = AnyContext,
  Out extends OutputInterface = OutputInterface<string, string, never>,
>(
  options: Parameters<typeof streamText<Tools, Context, Out>>[0],
  effects: NoInfer<Effects<{ readonly tools: Tools }>>,
  settings?: EagerSettings,
  // Without `infer` and `NoInfer`, the type expected from the call would widen the tool names to `string`.
): [Tools] extends [infer Known extends ToolSet] ? TextOptions<Known, Context, Out> & { readonly tools: Known } : never
export function eager<
  Call = never,
  Tools extends ToolSet = ToolSet,
  Context extends AnyContext = AnyContext,
  Out extends OutputInterface = never,
>(
  options: ToolLoopAgentSettings<Call, Tools, Context, Out>,
  effects: NoInfer<Effects<{ readonly tools: Tools }>>,
  settings?: EagerSettings,
): NoInfer<ToolLoopAgentSettings<Call, Tools, Context, Out> & { readonly tools: Tools }>
export function eager<Options extends { readonly tools?: object; readonly generate?: never }>(
  options: Options & IfUnnamed<Options>,
  effects: Effects<Options>,
  settings?: EagerSettings,
): Options
export function eager(options: { readonly tools?: object }, effects: object, settings: EagerSettings = {}): object {
  if (typeof options !== 'object' || options === null) throw new ConfigError('options', 'must be an object')
  const given = options as SdkOptions
  if (options instanceof ToolLoopAgent)
    throw new ConfigError('options', 'is an agent; pass its options: new ToolLoopAgent(eager({ … }, { … }))')
  const { tools = {} } = given
  if (Array.isArray(tools))
    throw new ConfigError('tools', 'must be an object with the tools by name, such as { weather }')
  const loop = new EagerLoop(settings, 'ai 7')
  const names = Object.keys(tools)
  const declared = declaredEffects(effects, names)
  checkNames(settings, names)
  if (declared.size === 0) return options
  return { ...options, ...new EagerOptions(given, tools, declared, loop).changes() }
}

type Declared = ReturnType<typeof declaredEffects>

class EagerOptions {
  readonly #options: SdkOptions
  readonly #declared: Declared
  readonly #loop: EagerLoop
  readonly #steps: Steps
  readonly #restraints: Restraints
  /** The user's tools, and the tools that the loop gets in their place, which join early calls. */
  readonly #given: Readonly<Record<string, SdkTool>>
  readonly #tools: Readonly<Record<string, SdkTool>>
  readonly #models: WeakMap<SdkModel, SdkModel> = new WeakMap()
  readonly #originals: WeakMap<object, SdkModel> = new WeakMap()
  /** Whether a request with declared tools belonged to no known step. */
  #hasLost = false

  constructor(options: SdkOptions, tools: Readonly<Record<string, SdkTool>>, declared: Declared, loop: EagerLoop) {
    this.#options = options
    this.#given = tools
    this.#declared = declared
    this.#loop = loop
    this.#steps = new Steps(loop)
    this.#restraints = new Restraints(loop.settings.approval)
    this.#restraints.add(options)
    this.#tools = Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, this.#joining(name, tool)]))
  }

  changes(): SdkOptions {
    const { model, prepareCall } = this.#options
    const steps = this.#steps
    const of = this.#options
    return {
      tools: this.#tools,
      // If the option is only a model name, the model is wrapped when a step is prepared.
      ...(typeof model === 'object' && { model: this.#watched(model) }),
      onStepStart: both((event) => steps.began(event), of.onStepStart ?? of.experimental_onStepStart),
      onLanguageModelCallStart: both(
        (event) => steps.requests(event),
        of.onLanguageModelCallStart ?? of.experimental_onLanguageModelCallStart,
      ),
      onStepEnd: both((event) => steps.ended(event), of.onStepEnd ?? of.onStepFinish),
      onEnd: both((event) => steps.over(event), of.onEnd ?? of.onFinish),
      onAbort: both((event) => steps.over(event), of.onAbort),
      onStepError: both((event) => steps.over(event), of.onStepError),
      prepareStep: (step) => this.#prepareStep(step),
      ...(prepareCall && { prepareCall: (call) => this.#prepareCall(call, prepareCall) }),
    }
  }

  async #prepareStep(step: StepToPrepare): Promise<Prepared | undefined> {
    const prepared = await this.#options.prepareStep?.({ ...step, model: this.#original(step.model) })
    const sandbox = prepared?.experimental_sandbox ?? step.experimental_sandbox
    this.#steps.prepared(prepared?.messages ?? step.messages, sandbox)
    const model = prepared?.model ?? (typeof this.#options.model === 'object' ? undefined : step.model)
    return model === undefined ? prepared : { ...prepared, model: this.#watched(model) }
  }

  async #prepareCall(
    call: SdkOptions,
    prepare: NonNullable<SdkOptions['prepareCall']>,
  ): Promise<SdkOptions | undefined> {
    const prepared = await prepare(call)
    if (prepared) this.#restraints.add(prepared)
    return typeof prepared?.model === 'object' ? { ...prepared, model: this.#watched(prepared.model) } : prepared
  }

  // The tools.

  #joining(name: string, tool: SdkTool): SdkTool {
    if (!this.#declared.has(name) || typeof tool.execute !== 'function') return tool
    return joining(tool, (input, { toolCallId: id, messages, abortSignal: signal }, own) => {
      const calls = this.#steps.ofMessages(messages)?.calls
      if (!calls && this.#hasLost) this.#loop.unlinked()
      return calls ? executed(calls, { id, name, input, signal }, own) : own()
    })
  }

  /** The tools of a request that are those of the options: a prepared call may have others. */
  #hostTools(step: Step, { tools = [] }: ModelRequest): readonly HostTool[] {
    const { timeout } = this.#options
    return tools.map(({ name }) => {
      const tool = this.#given[name]
      const mayBe = tool && step.tools[name] === this.#tools[name] && this.#restraints.allow(name, tool)
      const early = mayBe ? earlyTool(name, tool, this.#declared, step, timeout) : undefined
      return { name, ...(early && { early }) }
    })
  }

  // The model.

  #original(model: SdkModel | string): SdkModel | string {
    return typeof model === 'string' ? model : (this.#originals.get(model) ?? model)
  }

  /** The same model, with its streams observed. */
  #watched(given: SdkModel | string): SdkModel {
    const model = typeof given === 'string' ? modelOf(given) : given
    if (this.#originals.has(model)) return model
    const known = this.#models.get(model)
    if (known) return known
    const { alwaysStream } = this.#loop.settings
    const watched = new Proxy(model, {
      get: (target, key) => {
        if (key === 'doStream') return (request: ModelRequest) => this.#streamed(target, request)
        if (key === 'doGenerate' && alwaysStream) return (request: ModelRequest) => this.#generated(target, request)
        const value: unknown = Reflect.get(target, key, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    this.#models.set(model, watched)
    this.#originals.set(watched, model)
    return watched
  }

  async #streamed(model: SdkModel, request: ModelRequest): Promise<StreamedAnswer> {
    const calls = this.#callsFor(model, request)
    if (!calls) return model.doStream(request)
    try {
      const answer = await model.doStream(request)
      const seals = this.#loop.settings.seals ?? sealsCalls(model.provider)
      return { ...answer, stream: watchedStream(answer.stream, calls, seals) }
    } catch (error) {
      calls.failed()
      throw error
    }
  }

  async #generated(model: SdkModel, request: ModelRequest): Promise<unknown> {
    return this.#steps.ofRequest(request.tools)
      ? collected(await this.#streamed(model, request))
      : model.doGenerate(request)
  }

  /** The calls of the step that makes this request; the step may request its model more than once. */
  #callsFor({ provider, modelId: id }: SdkModel, request: ModelRequest): HostCalls | undefined {
    const step = this.#steps.ofRequest(request.tools)
    if (!step) {
      this.#hasLost ||= request.tools?.some(({ name }) => this.#declared.has(name)) ?? false
      return undefined
    }
    if (step.calls?.again()) return step.calls
    step.calls = this.#loop.step(step.run, {
      tools: this.#hostTools(step, request),
      model: { provider, id },
      signal: request.abortSignal,
      toolConcurrency: this.#options.toolCallConcurrency,
    })
    return step.calls
  }
}

function modelOf(name: string): SdkModel {
  return (globalThis.AI_SDK_DEFAULT_PROVIDER ?? gateway).languageModel(name) as SdkModel
}

/** Calls our callback, then the user's. */
function both<Event>(ours: (event: Event) => void, theirs: Callback<Event> | undefined): Callback<Event> {
  return (event) => {
    ours(event)
    return theirs?.(event)
  }
}
