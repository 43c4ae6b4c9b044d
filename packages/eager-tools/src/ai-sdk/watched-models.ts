/** The model of a step, with its streams observed: the calls of a response start while it streams. */

import { sealsCalls } from '@meanwhile/assemble'
import type { LanguageModel } from 'ai'
import type { Declared } from '../host/declared.ts'
import type { EagerLoop } from '../host/eager-loop.ts'
import { type HostCalls, nextStep } from '../host/host-calls.ts'
import type { HostTool } from '../host/host-tool.ts'
import type { AddedOptions } from './added-options.ts'
import { collected } from './collected.ts'
import { earlyTool } from './early-tool.ts'
import { mayBeEarly } from './may-be-early.ts'
import { own } from './own.ts'
import { modelsInside } from './resilient/resilient-model.ts'
import { type Model, resolvedModel } from './resolved-model.ts'
import type { ModelRequest, SdkModel, SdkTools, StreamedAnswer } from './sdk.ts'
import type { Step, Steps } from './steps.ts'
import { watchedStream } from './watched-stream.ts'
import { withMethods } from './with-methods.ts'

export interface WatchedModelsOptions {
  readonly loop: EagerLoop
  readonly steps: Steps
  readonly declared: Declared
  /** The user's tools, and the tools that the loop gets in their place. */
  readonly given: SdkTools
  readonly tools: SdkTools
  readonly added: AddedOptions
}

export class WatchedModels {
  readonly #options: WatchedModelsOptions

  constructor(options: WatchedModelsOptions) {
    this.#options = options
  }

  /** The same model for one step, with its streams observed: with `resilient()` those of each of its models. */
  of(given: SdkModel | string, step: Step): SdkModel {
    const model = resolvedModel(given as LanguageModel)
    const inside = modelsInside(model)
    step.silence = inside?.silence
    const watch = (one: Model) => this.#watched(one as SdkModel, step) as Model
    return (inside?.watchedBy(watch) ?? watch(model)) as SdkModel
  }

  #watched(model: SdkModel, step: Step): SdkModel {
    return withMethods(model, {
      doStream: (request) => this.#streamed(model, step, request),
      doGenerate: (request) => this.#generated(model, step, request),
    })
  }

  async #streamed(model: SdkModel, step: Step, request: ModelRequest): Promise<StreamedAnswer> {
    this.#options.steps.requests(step, request.prompt)
    step.waits = !step.isWhole
    return this.#observed(model, step, request)
  }

  async #generated(model: SdkModel, step: Step, request: ModelRequest): Promise<unknown> {
    const { loop, steps, added } = this.#options
    steps.requests(step, request.prompt)
    const { alwaysStream } = loop.settings
    const isStreamed = alwaysStream === 'wrapped' || (alwaysStream && !this.#mayBeWrapped(model))
    // The SDK asks for approvals only when the whole response is there.
    if (isStreamed && !step.tools) added.replaced('onStepStart')
    if (!isStreamed || !step.tools) return model.doGenerate(request)
    return collected(await this.#observed(model, step, request))
  }

  async #observed(model: SdkModel, step: Step, request: ModelRequest): Promise<StreamedAnswer> {
    const seals = this.#options.loop.settings.seals ?? sealsCalls(model.provider)
    const calls = this.#callsFor(model, step, request, seals)
    if (!calls) return model.doStream(request)
    try {
      const answer = await model.doStream(request)
      const stands = (passed: ReadonlySet<string | undefined>) => {
        step.passed = passed
      }
      return {
        ...answer,
        stream: watchedStream(answer.stream, calls, { seals, mayRepeat: step.silence !== undefined, stands }),
      }
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
    step.calls = nextStep(this.#options.loop, step.run, {
      tools: this.#hostTools(step, request),
      model: { provider, id },
      signal: request.abortSignal,
      silence: step.silence,
      // Another limit may have been added: early calls keep to the lowest, and the savings assume none.
      ...(step.isWhole ? { toolConcurrency: step.options.toolCallConcurrency } : { earlySlots: 1 }),
      keptBack: (id) => {
        // Unless the provider seals its calls, they are whole only at the end, and the SDK cannot ask before.
        if (step.waits && (!seals || step.passed.has(id))) step.late.add(id)
      },
    })
    return step.calls
  }

  /** `wrapLanguageModel` returns such an object. A stream would not pass a `wrapGenerate` of its middleware. */
  #mayBeWrapped(model: SdkModel): boolean {
    const isPlain = Object.getPrototypeOf(model) === Object.prototype && Object.hasOwn(model, 'doGenerate')
    if (isPlain)
      this.#options.loop.warnOnce(
        'model-wrapped',
        `no tool starts early in generateText: the model ${model.modelId} may have middleware with a wrapGenerate, which would not run if the response were streamed. If each middleware with a wrapGenerate has an equal wrapStream, set alwaysStream: 'wrapped'`,
      )
    return isPlain
  }

  /** The tools of a request that may start early. */
  #hostTools(step: Step, { tools = [], toolChoice }: ModelRequest): readonly HostTool[] {
    const { given, tools: joining, declared, loop } = this.#options
    const { options } = step
    const timeout = step.isWhole ? options.timeout : undefined
    return tools.map(({ name }) => {
      const tool = own(given, name)
      const isTheirs = step.tools !== undefined && own(step.tools, name) !== own(joining, name)
      if (!tool || isTheirs || !mayBeCalled(name, toolChoice)) return { name }
      const mayBe = mayBeEarly(name, tool, options, loop.settings.approval)
      const early = mayBe ? earlyTool(name, tool, declared, step, timeout) : undefined
      return { name, ...(early && { early }) }
    })
  }
}

/** If the model must call one tool and does not, the SDK executes none of its calls. */
function mayBeCalled(name: string, choice: ModelRequest['toolChoice']): boolean {
  return choice?.type !== 'none' && (choice?.type !== 'tool' || choice.toolName === name)
}
