/** Runs one execution in its slot: checks the input, waits for the resource keys of the call, and calls the tool's function with a time limit. */

import type { Context } from '@opentelemetry/api'
import { turnIfDue } from '../flow/event-loop.ts'
import type { Flow } from '../flow/flow.ts'
import { throwIfAborted } from '../flow/follow.ts'
import { recently, timer, unlessAborted } from '../flow/grace.ts'
import { executionOf, hasAbandoned } from '../machine/call.ts'
import { attemptCounted, marked, movedTo } from '../machine/decide-call.ts'
import { isWithin, judgeCall } from '../state/call-effect.ts'
import type { CallEntry } from '../state/call-entry.ts'
import type { Execution } from '../state/call-outcomes.ts'
import type { Given } from '../state/rest.ts'
import type { Slot } from '../state/slots.ts'
import { noteEffect } from '../telemetry/around.ts'
import { branded, hasClass } from '../vocabulary/brand.ts'
import { checkedInput, checkedOf, described } from '../vocabulary/checked-input.ts'
import { conflictOf } from '../vocabulary/copies.ts'
import { changesNothing } from '../vocabulary/effect.ts'
import { inWords, RunAbortedError, RunStop } from '../vocabulary/errors.ts'
import { copyOfJson } from '../vocabulary/frozen.ts'
import { Interrupt, interrupt } from '../vocabulary/interrupt.ts'
import { asJson, isRecord } from '../vocabulary/json.ts'
import type { Json, ToolCall } from '../vocabulary/message.ts'
import type { Invocation } from '../vocabulary/saved-run.ts'
import type { NeedsContext, Tool, ToolContext } from '../vocabulary/tool.ts'
import { ToolTimeoutError } from '../vocabulary/tool-errors.ts'
import { NO_PROGRESS, type Progress } from '../vocabulary/tool-status.ts'
import { givenOf } from './needs.ts'
import type { Host } from './tool-host.ts'

/** An execution that has its slot. */
export interface InSlot<Result> {
  readonly host: Host<Result>
  readonly entry: CallEntry
  readonly call: ToolCall
  readonly invocation: Invocation
  /** The parent of its span. */
  readonly parent: Context
  /** Aborts only this execution. */
  readonly own: AbortController
  /** The signal of this execution. While it is running it also aborts with its call. */
  readonly signal: AbortSignal
  /** Signals that stop an execution before its function is called: its own, that of its call, and that of a halted run. */
  readonly unstarted: readonly AbortSignal[]
  readonly slot: Slot
  /** The `requestedAt` of the call, and whether the call was provisional, when the execution began to wait for the slot. */
  readonly requestedAt: number
  readonly early: boolean
  /** How long it waited for the slot, in seconds. */
  readonly queued: number
}

export async function* runFunction<Result>(place: InSlot<Result>, execution: Execution): Flow<Progress, Result> {
  const { host, entry, call, invocation, signal } = place
  const { tool } = entry
  if (!tool) return await host.unknown(call)
  const whole = entry.rest ? undefined : await checkedInput(tool, call)
  const given = entry.rest ? await entry.rest.given(entry, call) : givenOf(tool, whole)
  signal.throwIfAborted()
  // A call that started with only the needed members has a declared effect and names no keys.
  judge(place, execution, tool, whole)
  try {
    await admitted(place, execution)
    // Checked at the last moment, because another call may have stopped the run since the wait ended.
    if (!goesOn(place)) throwIfAborted(place.unstarted)
    entry.decide(movedTo(entry.state, invocation, 'entered'))
  } catch (error) {
    // In one turn, because a checkpoint between the two steps would subtract the attempt twice.
    if (isStop(error)) {
      entry.decide(movedTo(entry.state, invocation, 'left'))
      entry.decide(attemptCounted(entry.state, invocation, -1))
    }
    throw error
  }
  begins(place, execution)
  if (tool.execute) host.entered?.(execution.attempt)
  const context = contextOf(place, execution, tool, given)
  const limit = timeLimit(place, tool)
  // A copy for the undo, because the function may change its own input.
  const input = tool.compensate ? copyOfJson(given.input) : given.input
  try {
    const output = tool.execute
      ? yield* limit.outcome(tool.execute(given.input, context))
      : await answerOf(tool, checkedOf(call) ? { ...call, input: given.input } : call, context.answers)
    if (entry.parkedBy) throw entry.parkedBy
    if (!hasAbandoned(entry.state, invocation)) {
      entry.done = { input, output }
      if (tool.compensate) entry.decide(marked(entry.state, 'isDone'))
    }
    return host.resultOf(call, tool, output)
  } catch (thrown) {
    const error = entry.parkedBy ?? ((hasClass(thrown, 'AgentError') && conflictOf(thrown)) || thrown)
    host.threw?.(error, invocation)
    throw error
  } finally {
    limit.over()
    execution.wait?.over()
  }
}

function judge<Result>(place: InSlot<Result>, { open }: Execution, tool: Tool, input: unknown): void {
  const { host, entry, invocation } = place
  const { problem, ...does } = judgeCall(tool, input)
  if (problem !== undefined) host.warn?.(`what ${tool.name} does: ${problem}`)
  const mayBeEarly = entry.most.allow?.(input, entry.call.input) !== false && isWithin(does, entry.most)
  entry.decide(movedTo(entry.state, invocation, 'judged', { ...does, mayBeEarly }))
  noteEffect(open, does.effect)
}

/** Resolves when the execution has its turn and this is saved. From then on the call may have happened. */
async function admitted<Result>(place: InSlot<Result>, execution: Execution): Promise<void> {
  const { host, entry, invocation, slot, unstarted } = place
  const checked = performance.now()
  const does = executionOf(entry.state, invocation)?.judgement
  const commit = does && host.waitForCommit?.(does, unstarted)
  if (commit) await commit
  await entry.table.slots.begin(slot, unstarted)
  execution.started = performance.now()
  execution.queued += (execution.started - checked) / 1000
  const { save } = host
  if (!save || changesNothing(does?.effect)) return
  const saved = recently(save)
  await unlessAborted(saved, unstarted).catch((error) => {
    if (!goesOn(place)) throw error
    return unlessAborted(saved, [entry.signal, place.signal])
  })
}

/** Whether background work goes on although its run pauses: its call has its result, and the pause waits for it. */
function goesOn<Result>({ host, entry, signal }: InSlot<Result>): boolean {
  const isStopped = entry.signal.aborted || signal.aborted
  return entry.state.work !== undefined && host.halted?.reason instanceof Interrupt && !isStopped
}

/** Whether the run, or an outer run that aborted it, stops for a resume. */
function isStop(error: unknown): boolean {
  return error instanceof RunStop || (error instanceof RunAbortedError && isStop(error.cause))
}

function begins<Result>({ entry, requestedAt }: InSlot<Result>, execution: Execution): void {
  if (execution.attempt === 1) execution.lag = (performance.now() - requestedAt) / 1000
  entry.status.begin()
}

function contextOf<Result>(
  { host, entry, signal }: InSlot<Result>,
  execution: Execution,
  tool: Tool,
  { rest }: Given,
): ToolContext & Partial<NeedsContext<unknown>> {
  const run = host.viewOf?.({ context: execution.open.context, source: tool.name, call: entry, execution })
  // What the tool starts with this signal, outside its run, is part of this call if others wait for its slot.
  if (entry.seat || entry.maker || entry.caller) branded('call', signal, entry)
  const context = {
    callId: entry.call.id,
    idempotencyKey: entry.key,
    attempt: execution.attempt,
    answers: host.answers?.() ?? [],
    messages: host.messages,
    signal,
    ...(tool.context && { context: host.userContext.checked.get(tool.context)?.value }),
    ...(run && { run }),
    ...(entry.warmUp && { warmed: entry.warmUp.use() }),
  }
  if (!rest) return context
  execution.wait = rest
  entry.status.waits(rest)
  // Defined only here: a getter on every context would give each one its own hidden class, which would keep the call in memory until a full garbage
  // collection.
  return Object.defineProperty({ ...context, rest: rest.promise }, 'idempotencyKey', { get: () => entry.key })
}

function timeLimit<Result>({ host, own, signal }: InSlot<Result>, tool: Tool): TimeLimit {
  const { grace, timeout: ms = tool.timeout } = host
  return new TimeLimit({ tool: tool.name, ms, grace, signal, abort: (reason) => own.abort(reason) })
}

/**
 * Returns the caller's answer, as the tool's `output` schema returns it.
 *
 * @throws {Interrupt} There is no answer yet; the payload is the call.
 * @throws {TypeError} The schema no longer accepts the answer, although it did when the run was resumed. The model reads this error.
 */
export async function answerOf(
  tool: Tool,
  { type, id, name, input }: ToolCall,
  answers: readonly Json[],
): Promise<unknown> {
  const answer = answers.at(-1)
  if (answer === undefined) throw interrupt({ type, id, name, input: asJson(input, 'the input') })
  if (!tool.output) return answer
  const checked = await tool.output['~standard'].validate(answer)
  if (!checked.issues) return checked.value
  throw new TypeError(
    `the answer for ${tool.name} does not match its output schema: ${inWords(checked.issues.map(described))}`,
  )
}

interface TimeLimitOptions {
  readonly tool: string
  /** In milliseconds; absent means no limit. */
  readonly ms: number | undefined
  /** How long it waits for the function after its time is over, in milliseconds. */
  readonly grace: number
  /** The signal of the function. Once something else aborts it, this limit no longer applies. */
  readonly signal: AbortSignal
  abort(reason: unknown): void
}

/** The time limit of a function. Its time begins with the constructor and ends with {@link over}. */
class TimeLimit {
  readonly #options: TimeLimitOptions
  #timer: ReturnType<typeof timer>
  #error: ToolTimeoutError | undefined
  #isAbandoned = false
  #reject: (reason: unknown) => void = () => undefined

  constructor(options: TimeLimitOptions) {
    this.#options = options
    if (options.ms === undefined) return
    this.#timer = timer(options.ms, () => this.#end(options.ms ?? 0))
    options.signal.addEventListener('abort', this.over, { once: true })
  }

  /** Returns the outcome of the function. When its time is over, this throws {@link ToolTimeoutError}, even if the function ends later. */
  async *outcome(given: unknown): Flow<Progress, unknown> {
    if (!isGenerator(given)) return await this.#wait(given)
    let closed = false
    try {
      for (;;) {
        // The time limit or an abort came while a reader processed the last report.
        if (this.#error) throw this.#error
        this.#options.signal.throwIfAborted()
        const step = await this.#wait(given.next())
        if (step.done) {
          closed = true
          return step.value
        }
        if (!isRecord(step.value)) throw new TypeError(`${this.#options.tool} ${NO_PROGRESS}`)
        yield step.value
        const turn = turnIfDue()
        if (turn) await turn
      }
    } finally {
      // Runs the generator's `finally` blocks. If it still waits for something, they run at its next yield.
      if (!closed) await this.#wait(given.return?.())
    }
  }

  readonly over = (): void => {
    clearTimeout(this.#timer)
    this.#options.signal.removeEventListener('abort', this.over)
  }

  #end(ms: number): void {
    const { tool, grace, abort, signal } = this.#options
    signal.removeEventListener('abort', this.over)
    const error = new ToolTimeoutError(tool, ms)
    this.#error = error
    // Comes first, so that the grace times of everything that this abort stops end before this one.
    abort(error)
    this.#timer = timer(grace, () => {
      this.#isAbandoned = true
      this.#reject(error)
    })
  }

  /** Like `Promise.race`, which would add a reaction to the losing promise each time; a generator may yield any number of times. */
  async #wait<Value>(work: Value | PromiseLike<Value>): Promise<Value> {
    try {
      const value = await new Promise<Value>((resolve, reject) => {
        this.#reject = reject
        Promise.resolve(work).then(resolve, reject)
        if (this.#isAbandoned) reject(this.#error)
      })
      if (this.#error) throw this.#error
      return value
    } catch (error) {
      throw this.#error ?? error
    }
  }
}

function isGenerator(value: unknown): value is AsyncIterator<Progress, unknown> {
  return isRecord(value) && Symbol.asyncIterator in value && 'next' in value
}
