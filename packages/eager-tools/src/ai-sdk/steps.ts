/**
 * Finds the step of the AI SDK's loop that a model request or a tool execution belongs to. No event contains it, so
 * objects are compared by identity.
 */

import type { EagerLoop, HostRun } from '../host/eager-loop.ts'
import type { HostCalls } from '../host/host-calls.ts'
import type { CallEvent, ModelCallStart, SdkTool, StepStart } from './sdk.ts'

export interface Step {
  readonly run: HostRun
  readonly messages: object
  readonly tools: Readonly<Record<string, SdkTool>>
  readonly toolsContext: Readonly<Record<string, unknown>>
  readonly sandbox: unknown
  calls: HostCalls | undefined
}

interface Run {
  readonly run: HostRun
  step: Step | undefined
}

/** The maximum number of runs whose end was not reported. Beyond it the oldest is forgotten. */
const MOST_RUNS = 1_000

export class Steps {
  readonly #loop: EagerLoop
  readonly #runs: Map<string, Run> = new Map()
  readonly #byRequest: WeakMap<object, Step> = new WeakMap()
  readonly #byMessages: WeakMap<object, Step> = new WeakMap()
  /** By the messages of the step. */
  readonly #sandboxes: WeakMap<object, { readonly sandbox: unknown }> = new WeakMap()

  constructor(loop: EagerLoop) {
    this.#loop = loop
  }

  /** A step is prepared. Only now the sandbox for this call of an agent is known. */
  prepared(messages: object, sandbox: unknown): void {
    this.#sandboxes.set(messages, { sandbox })
  }

  began({ callId, messages, tools = {}, toolsContext = {}, toolChoice }: StepStart): void {
    const known = this.#runs.get(callId)
    if (known) release(known)
    const run = known ?? { run: this.#loop.run(), step: undefined }
    this.#keep(callId, run)
    const prepared = this.#sandboxes.get(messages)
    // A step whose preparation was not seen may have another sandbox.
    run.step = prepared && {
      run: run.run,
      messages,
      // With tool choice `none` there are no calls.
      tools: toolChoice === 'none' ? {} : tools,
      toolsContext,
      sandbox: prepared.sandbox,
      calls: undefined,
    }
    if (run.step) this.#byMessages.set(messages, run.step)
  }

  requests({ callId, tools }: ModelCallStart): void {
    const step = this.#runs.get(callId)?.step
    if (step && tools) this.#byRequest.set(tools, step)
  }

  /** A step is over. */
  ended({ callId }: CallEvent): void {
    const run = this.#runs.get(callId)
    if (run) release(run)
  }

  /** A run is over. */
  over({ callId }: CallEvent): void {
    this.ended({ callId })
    this.#runs.delete(callId)
  }

  /** The step whose model request has these tools. */
  ofRequest(tools: object | undefined): Step | undefined {
    return tools && this.#byRequest.get(tools)
  }

  /** The step whose tools are executed with these messages. */
  ofMessages(messages: object): Step | undefined {
    return this.#byMessages.get(messages)
  }

  #keep(callId: string, run: Run): void {
    this.#runs.set(callId, run)
    const [oldest] = this.#runs.keys()
    if (this.#runs.size > MOST_RUNS && oldest !== undefined) this.over({ callId: oldest })
  }
}

function release(run: Run): void {
  void run.step?.calls?.release()
  run.step = undefined
}
