/**
 * Records when the calls of a run were complete, started and settled. The savings and the budget are computed from
 * this.
 */

import type { AgentEvent, Run, SemanticAttributes, Tool, ToolStatus } from '@meanwhile/core'
import type { Budget } from './budget.ts'
import type { Place } from './makespan.ts'
import type { Evidence } from './policy.ts'
import type { Savings, StepSavings } from './savings.ts'
import { isDiscarded, type Made, type StepNotes, stepSavings, timesOf } from './step-notes.ts'
import { credit, micro, workedMs } from './step-savings.ts'

/** The ledger of one run. */
export class SavingsLedger {
  readonly #budget: Budget | undefined
  readonly #steps: StepNotes[] = []
  /** Steps whose waste is not in the budget yet. */
  #uncharged: StepNotes[] = []

  constructor(budget: Budget | undefined) {
    this.#budget = budget
  }

  /** The model is called, for the first time in a step or again. */
  asked({ step, setup }: Run): void {
    const last = this.#steps.at(-1)
    if (last?.step === step) {
      last.streamEnded = undefined
      last.stood = undefined
      return
    }
    const opened: StepNotes = {
      step,
      slots: setup.toolConcurrency,
      began: performance.now(),
      limits: new Map(setup.tools.flatMap((tool) => limitOf(tool))),
      streamEnded: undefined,
      stood: undefined,
      certain: new Map(),
      made: [],
      open: new Map(),
      committed: new Map(),
      results: [],
    }
    this.#steps.push(opened)
    this.#uncharged.push(opened)
  }

  streamEnded(): void {
    const step = this.#steps.at(-1)
    if (step) step.streamEnded = performance.now()
  }

  /** The arguments of a call are complete, or turned out not to be. */
  certain(callId: string, isCertain: boolean): void {
    const certain = this.#steps.at(-1)?.certain
    if (isCertain) certain?.set(callId, performance.now())
    else certain?.delete(callId)
  }

  /** When the arguments of a call of this step were complete, in `performance.now()`. */
  certainSince(callId: string): number | undefined {
    return this.#steps.at(-1)?.certain.get(callId)
  }

  /** A call has started early. */
  started(callId: string, tool: string, evidence: Evidence, status: () => ToolStatus): void {
    const step = this.#steps.at(-1)
    if (!step) return
    const made = { callId, tool, evidence, status, isCommitted: false }
    step.made.push(made)
    step.open.set(callId, [...(step.open.get(callId) ?? []), made])
  }

  /** Reads the events of the run's own calls. */
  saw(event: AgentEvent, run: Run): void {
    const step = this.#steps.at(-1)
    if (!step || event.path || event.step !== step.step) return
    switch (event.type) {
      case 'tool-start': {
        if (event.provisional) break
        const { callId, call } = event
        const made = { callId, tool: call.name, status: () => run.toolStatus(callId), isCommitted: true }
        step.made.push(made)
        stands(step, callId, made)
        break
      }
      case 'tool-committed':
        // If several calls have one id, all except the last were discarded.
        stands(step, event.callId, step.open.get(event.startedAs ?? event.callId)?.pop())
        break
      case 'tool-discarded': {
        const made = step.open.get(event.callId)?.shift()
        if (made) made.cause = event.cause
        break
      }
      case 'tool-end': {
        // Copied, because the run will drop its record.
        const made = step.committed.get(event.callId)
        const status = made?.status()
        if (made) made.status = () => status
        break
      }
      case 'step-end':
        for (const message of event.messages) {
          if (message.role !== 'tool') continue
          const { callId, name, isError = false } = message
          step.results.push({ callId, name, isError })
        }
        if (this.#budget) credit(this.#budget, stepSavings(step))
    }
  }

  /** Whether a tool has wasted too much to start early, as far as is known now. */
  isSpent(tool: string, run: Run): boolean {
    if (!this.#budget) return false
    const current = this.#steps.at(-1)
    this.#charge(run, (step) => step !== current && step.made.every(isSettled))
    return this.#budget.isSpent(tool)
  }

  /** The run is over: puts the totals on its span. */
  over(run: Run): void {
    const { savedMs, wastedMs, steps } = this.savings
    const slots = run.setup.toolConcurrency
    run.annotate({
      'meanwhile.time_saved': savedMs / 1000,
      'meanwhile.time_saved.steps': steps.map((step) => step.savedMs / 1000),
      'meanwhile.time_wasted': wastedMs / 1000,
      ...(Number.isFinite(slots) && { 'meanwhile.tool_concurrency': slots }),
    } satisfies SemanticAttributes)
    this.#charge(run, () => true)
  }

  /** The savings as far as they are known now. */
  get savings(): Savings {
    const steps = this.#steps.map(stepSavings)
    const sum = (of: (step: StepSavings) => number) => micro(steps.reduce((total, step) => total + of(step), 0))
    return { savedMs: sum(({ savedMs }) => savedMs), wastedMs: sum(({ wastedMs }) => wastedMs), steps }
  }

  /**
   * Counts what the discarded calls of these steps have wasted. Calls aborted by the user do not count against their
   * tool.
   */
  #charge(run: Run, isKnown: (step: StepNotes) => boolean): void {
    const known = this.#uncharged.filter(isKnown)
    this.#uncharged = this.#uncharged.filter((step) => !known.includes(step))
    if (!this.#budget || run.signal.aborted) return
    for (const { made, began } of known) {
      for (const call of made.filter(isDiscarded)) this.#budget.add(call.tool, -workedMs(timesOf(call, began)))
    }
  }
}

function limitOf({ name, concurrency }: Tool): [string, Place][] {
  if (concurrency === undefined) return []
  return [[name, { limit: typeof concurrency === 'number' ? concurrency : concurrency.limit }]]
}

/** Whether it has settled: a discarded call may still run for a while. */
function isSettled({ isCommitted, status }: Made): boolean {
  return isCommitted || status()?.endedAt !== undefined
}

/** The loop executes a call. Calls that others start while the model streams do not change `stood`. */
function stands(step: StepNotes, callId: string, made: Made | undefined): void {
  if (step.streamEnded !== undefined) step.stood ??= performance.now()
  if (!made) return
  made.isCommitted = true
  step.committed.set(callId, made)
}
