/** `eager()` for the AI SDK: early tool calls in `streamText`, `generateText` and `ToolLoopAgent`. */

import { ConfigError } from '@meanwhile/core'
import { sealsCalls } from '@meanwhile/core/calls'
import {
  gateway,
  type generateText,
  type InferToolInput,
  type InferToolOutput,
  type LanguageModel,
  type OutputInterface,
  type Prompt,
  type streamText,
  type Tool,
  ToolLoopAgent,
  type ToolLoopAgentSettings,
  type ToolSet,
  wrapLanguageModel,
} from 'ai'
import { type DeclaredEffect, declaredEffects } from '../host/declared.ts'
import { EagerLoop } from '../host/eager-loop.ts'
import type { HostCalls } from '../host/host-calls.ts'
import type { HostTool } from '../host/host-tool.ts'
import { checkNames, type EagerSettings } from '../host/settings.ts'
import { notedApproval } from './approval.ts'
import { collected } from './collected.ts'
import { earlyTool, joining, mayBeEarly } from './early-tools.ts'
import { executed } from './executed.ts'
import { own } from './own.ts'
import type {
  ApprovalAsked,
  Callback,
  CallEvent,
  Messages,
  ModelRequest,
  Prepared,
  RunEnd,
  SdkModel,
  SdkOptions,
  SdkTool,
  SdkTools,
  StepEnd,
  StepStart,
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

/** The same with a prompt or messages, of the one kind that was given, so that a request can replace it. */
type AskedOptions<Tools extends ToolSet, Context extends AnyContext, Out extends OutputInterface, Asked> = Omit<
  TextOptions<Tools, Context, Out>,
  'prompt' | 'messages'
> &
  Asked & { readonly tools: Tools }

interface WithPrompt {
  readonly prompt: Exclude<Prompt['prompt'], undefined>
}

interface WithMessages {
  readonly messages: Exclude<Prompt['messages'], undefined>
}

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
  options: Parameters<typeof streamText<Tools, Context, Out>>[0] & WithPrompt,
  effects: NoInfer<Effects<{ readonly tools: Tools }>>,
  settings?: EagerSettings,
  // Without `infer` and `NoInfer`, the type expected from the call would widen the tool names to `string`.
): [Tools] extends [infer Known extends ToolSet] ? AskedOptions<Known, Context, Out, WithPrompt> : never
export function eager<
  Tools extends ToolSet,
  Context extends AnyContext = AnyContext,
  Out extends OutputInterface = OutputInterface<string, string, never>,
>(
  options: Parameters<typeof streamText<Tools, Context, Out>>[0] & WithMessages,
  effects: NoInfer<Effects<{ readonly tools: Tools }>>,
  settings?: EagerSettings,
): [Tools] extends [infer Known extends ToolSet] ? AskedOptions<Known, Context, Out, WithMessages> : never
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
  return new EagerOptions(given, tools, declared, loop).made()
}

type Declared = ReturnType<typeof declaredEffects>

class EagerOptions {
  readonly #options: SdkOptions
  readonly #declared: Declared
  readonly #loop: EagerLoop
  readonly #steps: Steps
  /** The user's tools, and the tools that the loop gets in their place, which join early calls. */
  readonly #given: SdkTools
  readonly #tools: SdkTools
  /** Options that are replaced for the whole run, and again for each call of an agent. */
  readonly #own: Pick<SdkOptions, 'prepareStep' | 'toolApproval'>

  constructor(options: SdkOptions, tools: SdkTools, declared: Declared, loop: EagerLoop) {
    this.#options = options
    this.#given = tools
    this.#declared = declared
    this.#loop = loop
    this.#steps = new Steps(loop)
    this.#tools = Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, this.#joining(name, tool)]))
    this.#own = this.#ownOf(options, false)
  }

  /**
   * The options for the SDK. A callback stands under its deprecated name if the user has not given it: one that a request
   * adds then replaces ours, whatever its name is.
   */
  made(): SdkOptions {
    const { onStepStart, onStepEnd, onEnd, ...of } = this.#options
    const steps = this.#steps
    const began: Callback<StepStart> = (event) => steps.began(event)
    const ended: Callback<StepEnd> = (event) => steps.ended(event)
    const over: Callback<RunEnd> = (event) => steps.over(event)
    const made: SdkOptions = {
      ...this.#options,
      ...this.#own,
      tools: this.#tools,
      ...(onStepStart
        ? { onStepStart: both(began, onStepStart) }
        : { experimental_onStepStart: both(began, of.experimental_onStepStart) }),
      ...(onStepEnd ? { onStepEnd: both(ended, onStepEnd) } : { onStepFinish: both(ended, of.onStepFinish) }),
      ...(onEnd ? { onEnd: both(over, onEnd) } : { onFinish: both(over, of.onFinish) }),
      onAbort: both(over, of.onAbort),
      onStepError: both(over, of.onStepError),
      prepareCall: (call) => this.#prepareCall(call),
    }
    this.#noteWhole(made)
    return made
  }

  /**
   * Notes the runs whose options are exactly those that were made. Their callback is not enumerable, so options that were
   * copied to add something do not have it.
   */
  #noteWhole(made: SdkOptions): void {
    const name = firstFree(this.#options)
    if (!name) return
    const theirs = made[`experimental_${name}`]
    const known = Object.entries(made)
    const note: Callback<CallEvent> = ({ callId }) => {
      const isSame = Object.keys(made).length === known.length
      if (isSame && known.every(([option, value]) => Reflect.get(made, option) === value)) this.#steps.whole(callId)
    }
    Object.defineProperty(made, name, {
      value: both<StepStart>(note, theirs),
      enumerable: false,
      configurable: true,
      writable: true,
    })
  }

  #ownOf(options: SdkOptions, isWhole: boolean): Pick<SdkOptions, 'prepareStep' | 'toolApproval'> {
    return {
      prepareStep: (step) => this.#prepareStep(step, options, isWhole),
      toolApproval: notedApproval(options.toolApproval, (asked, isFree) => this.#asked(asked, isFree)),
    }
  }

  async #prepareStep(given: StepToPrepare, options: SdkOptions, isWhole: boolean): Promise<Prepared> {
    const prepared = await options.prepareStep?.(given)
    // Another request may have the same array.
    const messages = prepared?.messages ? [...prepared.messages] : given.messages
    const step = this.#steps.prepare({
      steps: given.steps,
      messages,
      toolsContext: prepared?.toolsContext ?? given.toolsContext ?? {},
      sandbox: prepared?.experimental_sandbox ?? given.experimental_sandbox,
      options,
      isWhole,
    })
    const model = this.#watched(prepared?.model ?? given.model, step)
    return { ...prepared, ...(messages !== given.messages && { messages }), model }
  }

  /** An agent makes a call. All its options are known now, except for callbacks, the signal, the timeout and the sandbox. */
  async #prepareCall(call: SdkOptions): Promise<SdkOptions> {
    const { prepareCall, toolApproval, prepareStep } = this.#options
    const theirs = {
      ...call,
      ...(call.toolApproval === this.#own.toolApproval && { toolApproval }),
      ...(call.prepareStep === this.#own.prepareStep && { prepareStep }),
    }
    const prepared = (await prepareCall?.(theirs)) ?? theirs
    const { timeout: _, ...known } = prepared
    return { ...prepared, ...this.#ownOf(known, true) }
  }

  // The tools.

  #joining(name: string, tool: SdkTool): SdkTool {
    if (!this.#declared.has(name) || typeof tool.execute !== 'function') return tool
    return joining(tool, (input, { toolCallId: id, messages, abortSignal: signal }, own) => {
      const step = this.#steps.ofMessages(messages)
      this.#warn(name, step, id, messages)
      return executed(this.#loop, step?.calls, { id, name, input, signal }, own)
    })
  }

  /** The SDK has asked whether a call needs an approval. `isFree`: none is needed, so it executes the call. */
  #asked({ toolCall, tools, messages }: ApprovalAsked, isFree: boolean): void {
    const { toolCallId: id, toolName: name, input } = toolCall
    const step = this.#steps.ofMessages(messages)
    this.#steps.saw(messages)
    step?.ask({ id, name, input, mayStart: isFree && this.#joins(name, own(tools, name), step.options) })
  }

  /**
   * Whether a tool of a request joins early calls: it may be a copy of the one that was returned, if no change in it has an
   * effect before the execution.
   */
  #joins(name: string, tool: SdkTool | undefined, options: SdkOptions): boolean {
    const ours = own(this.#tools, name)
    if (!tool || !this.#declared.has(name) || tool.execute !== ours?.execute) return false
    const isSame = tool.contextSchema === ours?.contextSchema
    return isSame && mayBeEarly(name, tool, options, this.#loop.settings.approval)
  }

  /** The tools of a request that may start early. */
  #hostTools(step: Step, { tools = [], toolChoice }: ModelRequest): readonly HostTool[] {
    const { options } = step
    const timeout = step.isWhole ? options.timeout : undefined
    return tools.map(({ name }) => {
      const tool = this.#given[name]
      const isTheirs = step.tools !== undefined && own(step.tools, name) !== this.#tools[name]
      if (!tool || isTheirs || !mayBeCalled(name, toolChoice)) return { name }
      const mayBe = mayBeEarly(name, tool, options, this.#loop.settings.approval)
      const early = mayBe ? earlyTool(name, tool, this.#declared, step, timeout) : undefined
      return { name, ...(early && { early }) }
    })
  }

  // The model.

  /** The same model for one step, with its streams observed. */
  #watched(given: SdkModel | string, step: Step): SdkModel {
    return new Proxy(resolved(given), {
      get: (target, key) => {
        if (key === 'doStream') return (request: ModelRequest) => this.#streamed(target, step, request)
        if (key === 'doGenerate') return (request: ModelRequest) => this.#generated(target, step, request)
        const value: unknown = Reflect.get(target, key, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }

  async #streamed(model: SdkModel, step: Step, request: ModelRequest): Promise<StreamedAnswer> {
    this.#steps.requests(step, request.prompt)
    step.waits = !step.isWhole
    return this.#observed(model, step, request)
  }

  async #generated(model: SdkModel, step: Step, request: ModelRequest): Promise<unknown> {
    this.#steps.requests(step, request.prompt)
    const { alwaysStream } = this.#loop.settings
    const isStreamed = alwaysStream === 'wrapped' || (alwaysStream && !this.#mayBeWrapped(model))
    // The SDK asks for approvals only when the whole response is there.
    if (isStreamed && !step.tools) this.#replaced('onStepStart')
    if (!isStreamed || !step.tools) return model.doGenerate(request)
    return collected(await this.#observed(model, step, request))
  }

  async #observed(model: SdkModel, step: Step, request: ModelRequest): Promise<StreamedAnswer> {
    const seals = this.#loop.settings.seals ?? sealsCalls(model.provider)
    const calls = this.#callsFor(model, step, request, seals)
    if (!calls) return model.doStream(request)
    try {
      const answer = await model.doStream(request)
      return { ...answer, stream: watchedStream(answer.stream, calls, seals) }
    } catch (error) {
      calls.failed()
      throw error
    }
  }

  /** The calls of the step that makes this request; the step may request its model more than once. */
  #callsFor(
    { provider, modelId: id }: SdkModel,
    step: Step,
    request: ModelRequest,
    seals: boolean,
  ): HostCalls | undefined {
    if (step.calls?.again()) return step.calls
    const isAskedLate = (!seals || step.options.streamRetries !== undefined) && firstFree(this.#options) !== undefined
    step.calls = this.#loop.step(step.run, {
      tools: this.#hostTools(step, request),
      model: { provider, id },
      signal: request.abortSignal,
      // Another limit may have been added: early calls keep to the lowest, and the savings assume none.
      ...(step.isWhole ? { toolConcurrency: step.options.toolCallConcurrency } : { earlySlots: 1 }),
      ...(step.waits && isAskedLate && { keptBack: (name) => this.#addedOptions(name) }),
    })
    return step.calls
  }

  /** `wrapLanguageModel` returns such an object. A stream would not pass a `wrapGenerate` of its middleware. */
  #mayBeWrapped(model: SdkModel): boolean {
    const isPlain = Object.getPrototypeOf(model) === Object.prototype && Object.hasOwn(model, 'doGenerate')
    if (isPlain)
      this.#loop.warnOnce(
        'model-wrapped',
        `no tool starts early in generateText: the model ${model.modelId} may have middleware with a wrapGenerate, which would not run if the response were streamed. If each middleware with a wrapGenerate has an equal wrapStream, set alwaysStream: 'wrapped'`,
      )
    return isPlain
  }

  // Warnings about options that were added to those that `eager()` returned.

  /** A tool is executed by the SDK. Names the option because of which it could not start early. */
  #warn(name: string, step: Step | undefined, id: string | undefined, messages: Messages): void {
    if (this.#loop.isBarred(name)) return
    if (!step) {
      // An approved call of an earlier run belongs to no step.
      if (this.#steps.isUnprepared(messages) && !isApproved(messages)) this.#replaced('prepareStep')
    } else if (!step.isRequested) {
      this.#loop.unlinked()
    } else if (step.waits && !step.asked.some((one) => one.id === id)) {
      this.#replaced('toolApproval')
    }
  }

  #replaced(option: 'prepareStep' | 'toolApproval' | 'onStepStart'): void {
    this.#loop.warnOnce(
      'option-replaced',
      `no tool starts early in a request that replaces the ${option} of eager(). Add yours before: eager({ ...options, ${option} }, …)`,
    )
  }

  #addedOptions(name: string): void {
    this.#loop.warnOnce(
      'options-added',
      `${name} did not start early: options were added to those that eager() returned, so it waits until the AI SDK asks for an approval, which it does at the end of this response. Add them before: eager({ ...options, prompt }, …)`,
    )
  }
}

/** If the model must call one tool and does not, the SDK executes none of its calls. */
function mayBeCalled(name: string, choice: ModelRequest['toolChoice']): boolean {
  return choice?.type !== 'none' && (choice?.type !== 'tool' || choice.toolName === name)
}

const BEFORE_REQUEST = ['onStart', 'onStepStart', 'onLanguageModelCallStart'] as const

/**
 * The first callback of those before a request that the user has not given. It reports options that were not copied;
 * without one, all options count as copied.
 */
function firstFree(options: SdkOptions): (typeof BEFORE_REQUEST)[number] | undefined {
  return BEFORE_REQUEST.find((name) => !options[name])
}

/** Whether the last message approves calls of an earlier run. */
function isApproved(messages: Messages): boolean {
  const content = messages.at(-1)?.content
  return Array.isArray(content) && content.some((part) => Object(part).type === 'tool-approval-response')
}

function resolved(model: SdkModel | string): SdkModel {
  if (typeof model === 'string')
    return resolved((globalThis.AI_SDK_DEFAULT_PROVIDER ?? gateway).languageModel(model) as SdkModel)
  // As the SDK converts models of older versions.
  const isOld = model.specificationVersion === 'v2' || model.specificationVersion === 'v3'
  return isOld
    ? (wrapLanguageModel({ model: model as Exclude<LanguageModel, string>, middleware: [] }) as SdkModel)
    : model
}

/** Calls our callback, then the user's. */
function both<Event>(ours: (event: Event) => void, theirs: Callback<Event> | undefined): Callback<Event> {
  return (event) => {
    ours(event)
    return theirs?.(event)
  }
}
