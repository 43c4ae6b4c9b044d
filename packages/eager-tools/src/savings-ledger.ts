/** Notes when the calls of a run were certain, started and settled, and works out what starting early has brought (H34). */

import {
  type AgentEvent,
  type DiscardCause,
  type Run,
  TIME_SAVED,
  TIME_WASTED,
  type Tool,
  type ToolMessage,
  type ToolStatus,
} from '@meanwhile/core'
import type { Budget } from './budget.ts'
import { makespan, type Place, type Work } from './makespan.ts'
import type { Evidence } from './policy.ts'
import type { CallSavings, Savings, StepSavings } from './savings.ts'

/** A call that was made. */
interface Made {
  /** Under which it started. */
  readonly callId: string
  readonly tool: string
  /** Of an early one. */
  readonly evidence?: Evidence
  status: () => ToolStatus | undefined
  isCommitted: boolean
  cause?: DiscardCause
}

/** Times: `performance.now()`. */
interface Step {
  readonly step: number
  readonly slots: number
  readonly began: number
  readonly limits: ReadonlyMap<string, Place>
  streamEnded: number | undefined
  stood: number | undefined
  /** By call id. */
  readonly certain: Map<string, number>
  readonly made: Made[]
  /** The early ones whose fate is open, by the id they started under. */
  readonly open: Map<string, Made[]>
  /** By the id in the history. */
  readonly committed: Map<string, Made>
  /** Of the calls the loop asked for, in call order; not what they say, which may be long. */
  readonly results: Result[]
}

type Result = Required<Pick<ToolMessage, 'callId' | 'name' | 'isError'>>

/** Of one run. */
export class SavingsLedger {
  readonly #budget: Budget | undefined
  readonly #steps: Step[] = []
  /** Steps of whose waste the budget does not know yet. */
  #uncharged: Step[] = []

  constructor(budget: Budget | undefined) {
    this.#budget = budget
  }

  /** The model is asked, for the first time in a step or again. */
  asked(run: Run): void {
    const { step, setup } = run
    const last = this.#steps.at(-1)
    if (last?.step === step) {
      last.streamEnded = undefined
      last.stood = undefined
      return
    }
    // What the last step discarded at its end may have settled since.
    this.#chargeSettled(run)
    const opened: Step = {
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
        this.#chargeSettled(run)
    }
  }

  /** The steps of the run are out: what it has come to goes on its span. */
  over(run: Run): void {
    const { savedMs, wastedMs } = this.savings
    run.annotate({ [TIME_SAVED]: savedMs / 1000, [TIME_WASTED]: wastedMs / 1000 })
    this.#charge(run, () => true)
  }

  /** As far as it is known by now. */
  get savings(): Savings {
    const steps = this.#steps.map(savingsOf)
    const sum = (of: (step: StepSavings) => number) => micro(steps.reduce((total, step) => total + of(step), 0))
    return { savedMs: sum(({ savedMs }) => savedMs), wastedMs: sum(({ wastedMs }) => wastedMs), steps }
  }

  /** The saving of a step is shared out over its early calls by how long each ran while the model streamed. */
  #credit(step: Step): void {
    if (!this.#budget) return
    const early = step.made.filter(({ evidence, isCommitted }) => evidence && isCommitted)
    const hidden = early.map((made) => hiddenMs(step, made))
    const total = hidden.reduce((sum, ms) => sum + ms, 0)
    if (total === 0) return
    const { savedMs } = savingsOf(step)
    for (const [index, { tool }] of early.entries()) this.#budget.add(tool, (savedMs * (hidden[index] ?? 0)) / total)
  }

  #chargeSettled(run: Run): void {
    this.#charge(run, ({ made }) => made.every((one) => one.isCommitted || one.status()?.endedAt !== undefined))
  }

  /** What the discarded calls of these steps have wasted. What the user aborted says nothing about its tool. */
  #charge(run: Run, isSettled: (step: Step) => boolean): void {
    const settled = this.#uncharged.filter(isSettled)
    this.#uncharged = this.#uncharged.filter((step) => !settled.includes(step))
    if (!this.#budget || run.signal.aborted) return
    for (const { made, began } of settled) {
      for (const call of made.filter(isDiscarded)) this.#budget.add(call.tool, -timesOf(call, began).durationMs)
    }
  }
}

function limitOf({ name, concurrency }: Tool): [string, Place][] {
  if (concurrency === undefined) return []
  return [[name, { limit: typeof concurrency === 'number' ? concurrency : concurrency.limit }]]
}

/** The loop asks for a call. What others start while the model streams says nothing of that. */
function stands(step: Step, callId: string, made: Made | undefined): void {
  if (step.streamEnded !== undefined) step.stood ??= performance.now()
  if (!made) return
  made.isCommitted = true
  step.committed.set(callId, made)
}

function isDiscarded({ isCommitted }: Made): boolean {
  return !isCommitted
}

function savingsOf(step: Step): StepSavings {
  const after = (time: number) => micro(time - step.began)
  const streamMs = after(step.streamEnded ?? step.began)
  const stoodMs = after(step.stood ?? step.streamEnded ?? step.began)
  const asked = step.results.map((result) => callOf(step, step.committed.get(result.callId), result))
  const discarded = step.made.filter(isDiscarded).map((made) => callOf(step, made))
  const works = asked.map((call) => workOf(step, call))
  const isEarly = discarded.length > 0 || asked.some(({ evidence }) => evidence)
  const actualMs = asked.reduce(
    (end, { startedMs = 0, durationMs }) => Math.max(end, micro(startedMs + durationMs)),
    stoodMs,
  )
  const parallelMs = micro(stoodMs + makespan(works, step.slots))
  return {
    step: step.step,
    ...(Number.isFinite(step.slots) && { slots: step.slots }),
    streamMs,
    stoodMs,
    actualMs,
    sequentialMs: micro(stoodMs + makespan(works, 1)),
    parallelMs,
    savedMs: isEarly ? micro(parallelMs - actualMs) : 0,
    wastedMs: micro(discarded.reduce((sum, { durationMs }) => sum + durationMs, 0)),
    calls: [...asked, ...discarded],
  }
}

/** A call the loop asked for, with its result, or one that was discarded. */
function callOf(step: Step, made: Made | undefined, result?: Result): CallSavings {
  const callId = result?.callId ?? made?.callId ?? ''
  const certain = step.certain.get(callId)
  return {
    callId,
    tool: made?.tool ?? result?.name ?? '',
    ...(certain !== undefined && { certainMs: micro(certain - step.began) }),
    ...timesOf(made, step.began),
    ...(made?.evidence && { evidence: made.evidence }),
    outcome: result === undefined ? 'discarded' : result.isError ? 'failed' : 'committed',
    ...(made?.cause && { cause: made.cause }),
  }
}

/** After the stream, with its whole input there. */
function workOf({ limits }: Step, { tool, durationMs, waitedMs = 0 }: CallSavings): Work {
  return { ms: durationMs - waitedMs, at: limits.get(tool) }
}

/** How long a call ran while its model streamed. */
function hiddenMs({ began, streamEnded = 0 }: Step, made: Made): number {
  const { startedMs = 0, durationMs, waitedMs = 0 } = timesOf(made, began)
  return Math.max(0, Math.min(startedMs + durationMs, streamEnded - began) - startedMs - waitedMs)
}

/** From the step's beginning. A call that goes on counts until now. */
function timesOf(made: Made | undefined, began: number): Pick<CallSavings, 'startedMs' | 'durationMs' | 'waitedMs'> {
  const { startedAt, endedAt, waitedMs } = made?.status() ?? {}
  if (startedAt === undefined) return { durationMs: 0 }
  const begin = performance.timeOrigin + began
  return {
    startedMs: micro(startedAt - begin),
    durationMs: micro((endedAt ?? performance.timeOrigin + performance.now()) - startedAt),
    ...(waitedMs !== undefined && { waitedMs: micro(waitedMs) }),
  }
}

/** To microseconds: what epoch times cannot tell apart is no difference. */
function micro(ms: number): number {
  return Math.round(ms * 1000) / 1000 + 0
}
