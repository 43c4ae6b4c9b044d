/**
 * Finds the step of the AI SDK's loop that a model request, an event or a tool execution belongs to.
 *
 * Each step has its own model and its own array of messages: two requests may share everything in their options. A run is
 * known by the array of its steps.
 */

import type { EagerLoop, HostRun } from '../host/eager-loop.ts'
import type { HostCalls } from '../host/host-calls.ts'
import type { StartingCall } from '../host/host-tool.ts'
import type { ContentPart, Messages, RunEnd, SdkOptions, SdkTools, StepEnd, StepStart } from './sdk.ts'

export interface NewStep {
  /** The steps of the run so far. */
  readonly steps: readonly StepEnd[]
  readonly messages: Messages
  readonly toolsContext: Readonly<Record<string, unknown>>
  readonly sandbox: unknown
  /** The options of the run, as far as they are known. */
  readonly options: SdkOptions
  /** Whether these are all options of the run: nothing was added after `eager()`. */
  readonly isWhole: boolean
}

/** A call about whose approval the SDK has asked: if none is needed, it executes the call with this input. */
interface AskedCall {
  readonly id: string
  readonly name: string
  readonly input: unknown
  /** Whether the SDK executes it without an approval, and with a tool that joins early calls. */
  readonly mayStart: boolean
}

interface Run {
  readonly host: HostRun
  callId: string | undefined
  step: Step | undefined
}

export class Step {
  readonly run: HostRun
  readonly options: SdkOptions
  readonly toolsContext: NewStep['toolsContext']
  readonly sandbox: unknown
  readonly asked: AskedCall[] = []
  /** Ids of calls that waited for the SDK to ask about them until the response had ended, not only because they came last. */
  readonly late: Set<string | undefined> = new Set()
  /** Ids of calls after which the SDK has read on. Known when the response has ended. */
  passed: ReadonlySet<string | undefined> = new Set()
  /** The array that the SDK passes to the tools of this step. */
  messages: Messages
  isWhole: boolean
  isRequested = false
  /** Whether calls wait until the SDK has asked for their approval: what was added may prevent or change them. */
  waits = false
  /**
   * Of a model that requests another response in the place of one that is not whole: the silence after which it does so, in
   * milliseconds.
   */
  silence: number | undefined
  /** The tools of the run. If other options may have been added, they are known once the step has begun. */
  tools: SdkTools | undefined
  calls: HostCalls | undefined

  constructor(run: HostRun, { options, messages, toolsContext, sandbox, isWhole }: NewStep) {
    this.run = run
    this.options = options
    this.messages = messages
    this.toolsContext = toolsContext
    this.sandbox = sandbox
    this.isWhole = isWhole
    this.tools = isWhole ? options.tools : undefined
  }

  /** Whether this call of a tool waits for nothing, or the SDK has asked about it and executes it. */
  mayStart(name: string, { id, isWith }: StartingCall): boolean {
    const isAsked = () =>
      this.asked.some((one) => one.mayStart && one.id === id && one.name === name && isWith(one.input))
    return !this.waits || isAsked()
  }

  /** The SDK has asked about a call. */
  ask(call: AskedCall): void {
    this.asked.push(call)
    this.calls?.proceed()
  }
}

/** The maximum number of runs whose end was not reported. Beyond it the oldest is forgotten. */
const MOST_RUNS = 1_000

export class Steps {
  readonly #loop: EagerLoop
  /** By the array of the run's steps. */
  readonly #runs: WeakMap<object, Run> = new WeakMap()
  /** By the id of the run. Several runs may have one id. */
  readonly #byId: Map<string, Set<Run>> = new Map()
  /** Runs whose end was not reported, oldest first. */
  readonly #open: Set<Run> = new Set()
  readonly #runsOfSteps: WeakMap<Step, Run> = new WeakMap()
  readonly #byMessages: WeakMap<object, Step> = new WeakMap()
  /** Messages of steps, whether or not those were prepared. */
  readonly #seen: WeakSet<object> = new WeakSet()
  /** By the prompt that the model gets. */
  readonly #starts: WeakMap<object, StepStart> = new WeakMap()
  /** The ids of runs whose options were passed on as `eager()` returned them. */
  readonly #wholes: Set<string> = new Set()

  constructor(loop: EagerLoop) {
    this.#loop = loop
  }

  /** A run begins whose options are those that `eager()` returned. */
  whole(callId: string): void {
    this.#wholes.add(callId)
    const [oldest] = this.#wholes
    if (this.#wholes.size > MOST_RUNS && oldest !== undefined) this.#wholes.delete(oldest)
  }

  /** A step is prepared; the one before it in its run is over. */
  prepare(made: NewStep): Step {
    const known = this.#runs.get(made.steps)
    const run = known ?? { host: this.#loop.run(), callId: undefined, step: undefined }
    if (known) this.#release(known, made.steps.at(-1)?.content)
    else this.#runs.set(made.steps, run)
    const step = new Step(run.host, made)
    run.step = step
    this.#runsOfSteps.set(step, run)
    this.#byMessages.set(made.messages, step)
    return step
  }

  /** A step begins. Its request follows. */
  began(event: StepStart): void {
    this.saw(event.messages)
    if (event.promptMessages) this.#starts.set(event.promptMessages, event)
  }

  /** The step requests its model. If its beginning was reported, more is known of it now. */
  requests(step: Step, prompt: object | undefined): void {
    step.isRequested = true
    const start = prompt && this.#starts.get(prompt)
    const run = this.#runsOfSteps.get(step)
    if (!start || !run) return
    const { callId, messages, tools } = start
    step.tools = tools
    step.messages = messages
    this.#byMessages.set(messages, step)
    if (this.#wholes.has(callId)) step.isWhole = true
    if (run.callId === undefined) this.#keep(callId, run)
  }

  /** A step is over. */
  ended({ callId, content }: StepEnd): void {
    const run = this.#onlyOf(callId)
    if (run) this.#release(run, content)
  }

  /** A run is over. */
  over({ callId, steps, messages }: RunEnd): void {
    const failed = messages && this.#byMessages.get(messages)
    const run = (failed && this.#runsOfSteps.get(failed)) ?? (steps && this.#runs.get(steps)) ?? this.#onlyOf(callId)
    if (!run) return
    this.#release(run, steps?.at(-1)?.content)
    this.#forget(run)
  }

  /** The run with this id. `undefined` if several runs have it: nobody knows which one is meant. */
  #onlyOf(callId: string): Run | undefined {
    const runs = this.#byId.get(callId)
    const [run] = runs ?? []
    return runs?.size === 1 ? run : undefined
  }

  /** A step has these messages. */
  saw(messages: object): void {
    this.#seen.add(messages)
  }

  /** Whether a step has these messages that was not prepared. */
  isUnprepared(messages: object): boolean {
    return this.#seen.has(messages) && !this.#byMessages.has(messages)
  }

  /** The step whose tools are executed with these messages. */
  ofMessages(messages: object): Step | undefined {
    return this.#byMessages.get(messages)
  }

  #keep(callId: string, run: Run): void {
    run.callId = callId
    const known = this.#byId.get(callId)
    if (known) known.add(run)
    else this.#byId.set(callId, new Set([run]))
    this.#open.add(run)
    const [oldest] = this.#open
    if (this.#open.size <= MOST_RUNS || !oldest) return
    this.#release(oldest)
    this.#forget(oldest)
  }

  #forget(run: Run): void {
    const { callId } = run
    this.#open.delete(run)
    if (callId === undefined) return
    this.#wholes.delete(callId)
    const runs = this.#byId.get(callId)
    runs?.delete(run)
    if (runs?.size === 0) this.#byId.delete(callId)
  }

  /** The step of the run is over, with this content. */
  #release(run: Run, content: readonly ContentPart[] = []): void {
    const calls = run.step?.calls
    for (const { id, tool } of calls?.unexecuted ?? []) {
      const isIt = ({ toolCall }: ContentPart) => toolCall?.toolCallId === id && toolCall?.toolName === tool
      if (content.some((part) => part.type === 'tool-approval-request' && isIt(part)))
        this.#loop.bar(tool, 'approval-added', ADDED_APPROVAL)
    }
    void calls?.release()
    run.step = undefined
  }
}

const ADDED_APPROVAL =
  'a call of it had already run when the AI SDK asked for its approval, because that approval was added to the options after eager(). Add it before: eager({ ...options, toolApproval }, …)'
