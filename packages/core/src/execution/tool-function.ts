/** What an execution does in its slot: it checks the input, waits for what the call touches, and calls the tool's function. */

import type { Context } from '@opentelemetry/api'
import type { Flow } from '../flow/flow.ts'
import { throwIfAborted } from '../flow/follow.ts'
import { unlessAborted } from '../flow/grace.ts'
import { recently } from '../flow/recent.ts'
import { executionOf, hasAbandoned } from '../machine/call.ts'
import { attemptCounted, marked, movedTo } from '../machine/decide-call.ts'
import { isWithin, judgeCall } from '../state/call-effect.ts'
import type { CallEntry } from '../state/call-entry.ts'
import type { Given } from '../state/capabilities.ts'
import type { Execution } from '../state/execution.ts'
import { setSignalOwner } from '../state/signal-owner.ts'
import type { Slot } from '../state/turns.ts'
import { checkedInput, described } from '../vocabulary/checked-input.ts'
import { changesNothing } from '../vocabulary/effect.ts'
import { inWords, RunAbortedError, RunStop } from '../vocabulary/errors.ts'
import { copyOfJson } from '../vocabulary/frozen.ts'
import { interrupt } from '../vocabulary/interrupt.ts'
import { asJson } from '../vocabulary/json.ts'
import type { Json, ToolCall } from '../vocabulary/message.ts'
import type { Invocation } from '../vocabulary/saved-run.ts'
import type { NeedsContext, Tool, ToolContext } from '../vocabulary/tool.ts'
import type { Progress } from '../vocabulary/tool-status.ts'
import { TimeLimit } from './time-limit.ts'
import type { Host } from './tool-host.ts'

/** An execution that has its slot. */
export interface InSlot<Result> {
  readonly host: Host<Result>
  readonly entry: CallEntry
  readonly call: ToolCall
  readonly invocation: Invocation
  /** What its span nests under. */
  readonly parent: Context
  /** Aborts this execution alone. */
  readonly own: AbortController
  /** Its signal: while it is at work it aborts with its call, too. */
  readonly signal: AbortSignal
  /** Each of them stops an execution whose function is not entered: its call's, its own, and that of when nothing new may start. */
  readonly unstarted: readonly AbortSignal[]
  readonly slot: Slot
  /** The `requestedAt` of the call, and whether it was provisional, when the execution began to wait for the slot. */
  readonly requestedAt: number
  readonly early: boolean
  /** Seconds it waited for that. */
  readonly queued: number
}

export async function* runFunction<Result>(place: InSlot<Result>, execution: Execution): Flow<Progress, Result> {
  const { host, entry, call, invocation, signal } = place
  const { tool } = entry
  if (!tool) return await host.unknown(call)
  const whole = entry.rest ? undefined : await checkedInput(tool, call)
  const given = entry.rest ? await entry.rest.given(entry, call) : host.givenOf(tool, whole)
  signal.throwIfAborted()
  // What has started with the members its tool needs has a declared effect, and names no keys.
  judge(place, tool, whole)
  try {
    await admitted(place, execution)
    // At the last moment: another call may have stopped the run since this one was let go.
    throwIfAborted(place.unstarted)
    entry.decide(movedTo(entry.state, invocation, 'entered'))
  } catch (error) {
    // In one turn: a checkpoint taken between the two would count the attempt off twice.
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
  // What it is undone with: the function may write to its own.
  const input = tool.compensate ? copyOfJson(given.input) : given.input
  try {
    const output = tool.execute
      ? yield* limit.outcome(tool.execute(given.input, context))
      : await answerOf(tool, call, context.answers)
    if (entry.dropped) throw entry.dropped
    if (!hasAbandoned(entry.state, invocation)) {
      entry.done = { input, output }
      if (tool.compensate) entry.decide(marked(entry.state, 'isDone'))
    }
    return host.resultOf(call, tool, output)
  } catch (thrown) {
    const error = entry.dropped ?? thrown
    host.threw?.(error, invocation)
    throw error
  } finally {
    limit.over()
    execution.wait?.over()
  }
}

function judge<Result>({ host, entry, invocation }: InSlot<Result>, tool: Tool, input: unknown): void {
  const does = judgeCall(tool, input)
  const { effect, keys, problem } = does
  if (problem !== undefined) host.warn?.(`what ${tool.name} does: ${problem}`)
  entry.decide(movedTo(entry.state, invocation, 'judged', { effect, keys, mayBeEarly: isWithin(does, entry.most) }))
}

/** Resolves when it has its turn, and it is saved that it has: from there on the call may have happened, whatever comes. */
async function admitted<Result>(place: InSlot<Result>, execution: Execution): Promise<void> {
  const { host, entry, invocation, slot, unstarted } = place
  const checked = performance.now()
  const does = executionOf(entry.state, invocation)?.judgement
  const commit = does && host.waitForCommit?.(does, unstarted)
  if (commit) await commit
  await entry.table.turns.begin(slot, unstarted)
  execution.started = performance.now()
  execution.queued += (execution.started - checked) / 1000
  const { save } = host
  if (save && !changesNothing(does?.effect)) await unlessAborted(recently(save), unstarted)
}

/** Whether the run stops for a resume, or one that it is inside of does, whose abort this is then. */
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
  setSignalOwner(entry, signal)
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
  // No getter for everybody: each would have a hidden class of its own, which keeps its call until a whole garbage collection.
  return Object.defineProperty({ ...context, rest: rest.promise }, 'idempotencyKey', {
    get: () => entry.key,
  })
}

function timeLimit<Result>({ host, own, signal }: InSlot<Result>, tool: Tool): TimeLimit {
  const { timeout: ms, grace } = host
  return new TimeLimit({ tool: tool.name, ms, grace, signal, abort: (reason) => own.abort(reason) })
}

/**
 * What the caller has answered, as the tool's `output` schema gives it back.
 *
 * @throws {Interrupt} It has not answered yet; the payload is the call.
 * @throws {TypeError} The schema does not accept the answer, which it did when the run was resumed: the model reads so.
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
    `the answer given for ${tool.name} does not fit its output: ${inWords(checked.issues.map(described))}`,
  )
}
