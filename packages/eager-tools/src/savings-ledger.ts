/** Notes when the calls of a run were certain, started and settled: what its savings are made of, and its budget. */

import type { AgentEvent, Run, SemanticAttributes, Tool, ToolStatus } from '@meanwhile/core'
import type { Budget } from './budget.ts'
import type { Place } from './makespan.ts'
import type { Evidence } from './policy.ts'
import type { Savings, StepSavings } from './savings.ts'
import {
  hiddenMs,
  isDiscarded,
  type Made,
  micro,
  type StepNotes,
  savingsOf,
  timesOf,
  workedMs,
} from './step-savings.ts'

/** Of one run. */
export class SavingsLedger {
  readonly #budget: Budget | undefined
  readonly #steps: StepNotes[] = []
  /** Steps of whose waste the budget does not know yet. */
  #uncharged: StepNotes[] = []

  constructor(budget: Budget | undefined) {
    this.#budget = budget
  }

  /** The model is asked, for the first time in a step or again. */
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

  /** The arguments of a call are complete, or are not after all. */
  certain(callId: string, isCertain: boolean): void {
    const certain = this.#steps.at(-1)?.certain
    if (isCertain) certain?.set(callId, performance.now())
    else certain?.delete(callId)
  }

  /** A call has started early. */
  started(callId: string, tool: string, evidence: Evidence, status: () => ToolStatus): void {
    const step = this.#steps.at(-1)
    if (!step) return
    const made = { callId, tool, evidence, status, isCommitted: false }
    step.made.push(made)
    step.open.set(callId, [...(step.open.get(callId) ?? []), made])
  }

  /** What is told of the run's own calls. */
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
        // Of several with one id all but the last were discarded.
        stands(step, event.callId, step.open.get(event.startedAs ?? event.callId)?.pop())
        break
      case 'tool-discarded': {
        const made = step.open.get(event.callId)?.shift()
        if (made) made.cause = event.cause
        break
      }
      case 'tool-end': {
        // The run will forget it.
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
        this.#credit(step)
    }
  }

  /** Whether a tool has wasted too much to start early: as far as it is known by now, and so by when it would start. */
  isSpent(tool: string, run: Run): boolean {
    if (!this.#budget) return false
    const current = this.#steps.at(-1)
    this.#charge(run, (step) => step !== current && step.made.every(isSettled))
    return this.#budget.isSpent(tool)
  }

  /** The steps of the run are out: what it has come to goes on its span. */
  over(run: Run): void {
    const { savedMs, wastedMs } = this.savings
    const figures = { 'meanwhile.time_saved': savedMs / 1000, 'meanwhile.time_wasted': wastedMs / 1000 }
    run.annotate(figures satisfies SemanticAttributes)
    this.#charge(run, () => true)
  }

  /** As far as it is known by now. */
  get savings(): Savings {
    const steps = this.#steps.map(savingsOf)
    const sum = (of: (step: StepSavings) => number) => micro(steps.reduce((total, step) => total + of(step), 0))
    return { savedMs: sum(({ savedMs }) => savedMs), wastedMs: sum(({ wastedMs }) => wastedMs), steps }
  }

  /** The saving of a step is shared out over its early calls by how long each ran while the model streamed. */
  #credit(step: StepNotes): void {
    if (!this.#budget) return
    const early = step.made.filter(({ evidence, isCommitted }) => evidence && isCommitted)
    const hidden = early.map((made) => hiddenMs(step, made))
    const total = hidden.reduce((sum, ms) => sum + ms, 0)
    if (total === 0) return
    const { savedMs } = savingsOf(step)
    for (const [index, { tool }] of early.entries()) this.#budget.add(tool, (savedMs * (hidden[index] ?? 0)) / total)
  }

  /** What the discarded calls of these steps have wasted. What the user aborted says nothing about its tool. */
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

/** What is discarded may go on for a while. */
function isSettled({ isCommitted, status }: Made): boolean {
  return isCommitted || status()?.endedAt !== undefined
}

/** The loop asks for a call. What others start while the model streams says nothing of that. */
function stands(step: StepNotes, callId: string, made: Made | undefined): void {
  if (step.streamEnded !== undefined) step.stood ??= performance.now()
  if (!made) return
  made.isCommitted = true
  step.committed.set(callId, made)
}
