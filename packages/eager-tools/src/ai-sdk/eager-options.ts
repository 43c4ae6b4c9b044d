/** The options that `eager()` returns: those of the user, with tools that join early calls and a model that is watched. */

import type { Declared } from '../host/declared.ts'
import type { EagerLoop } from '../host/eager-loop.ts'
import { AddedOptions, both } from './added-options.ts'
import { notedApproval } from './approval.ts'
import { executed } from './executed.ts'
import { joiningTool } from './joining-tool.ts'
import { mayBeEarly } from './may-be-early.ts'
import { own } from './own.ts'
import type {
  ApprovalAsked,
  Callback,
  Prepared,
  RunEnd,
  SdkOptions,
  SdkTool,
  SdkTools,
  StepEnd,
  StepStart,
  StepToPrepare,
} from './sdk.ts'
import { Steps } from './steps.ts'
import { WatchedModels } from './watched-models.ts'

export class EagerOptions {
  readonly #options: SdkOptions
  readonly #declared: Declared
  readonly #loop: EagerLoop
  readonly #steps: Steps
  readonly #added: AddedOptions
  readonly #models: WatchedModels
  /** The tools that the loop gets in the place of the user's, and which join early calls. */
  readonly #tools: SdkTools
  /** Options that are replaced for the whole run, and again for each call of an agent. */
  readonly #own: Pick<SdkOptions, 'prepareStep' | 'toolApproval'>

  constructor(options: SdkOptions, given: SdkTools, declared: Declared, loop: EagerLoop) {
    this.#options = options
    this.#declared = declared
    this.#loop = loop
    this.#steps = new Steps(loop)
    this.#added = new AddedOptions(options, loop, this.#steps)
    const tools = Object.fromEntries(Object.entries(given).map(([name, tool]) => [name, this.#joining(name, tool)]))
    this.#tools = tools
    this.#models = new WatchedModels({ loop, steps: this.#steps, declared, given, tools, added: this.#added })
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
    this.#added.noteWhole(made)
    return made
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
    const model = this.#models.of(prepared?.model ?? given.model, step)
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

  #joining(name: string, tool: SdkTool): SdkTool {
    if (!this.#declared.has(name) || typeof tool.execute !== 'function') return tool
    return joiningTool(tool, (input, { toolCallId: id, messages, abortSignal: signal }, own) => {
      const step = this.#steps.ofMessages(messages)
      this.#added.executed(name, step, id, messages)
      return executed(this.#loop, step?.calls, { id, name, input, signal }, own)
    })
  }

  /** The SDK has asked whether a call needs an approval. `isFree`: none is needed, so it executes the call. */
  #asked({ toolCall, tools, messages }: ApprovalAsked, isFree: boolean): void {
    const { toolCallId: id, toolName: name, input } = toolCall
    const step = this.#steps.ofMessages(messages)
    this.#steps.saw(messages)
    if (!step) return
    const mayStart = isFree && this.#joins(name, own(tools, name), step.options)
    step.ask({ id, name, input, mayStart })
    if (mayStart && step.late.has(id)) this.#added.askedLate(name)
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
}
