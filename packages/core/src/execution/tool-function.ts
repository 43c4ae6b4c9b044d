/** Runs one execution in its slot: checks the input, waits for the resource keys of the call, and calls the tool's function with a time limit. */

import type { Context } from '@opentelemetry/api'
import type { Flow } from '../flow/flow.ts'
import { throwIfAborted } from '../flow/follow.ts'
import { recently, unlessAborted } from '../flow/grace.ts'
import { executionOf, hasAbandoned } from '../machine/call.ts'
import { attemptCounted, executionAsked, movedTo } from '../machine/decide-call.ts'
import { isWithin, judgeCall } from '../state/call-effect.ts'
import type { Execution } from '../state/call-outcomes.ts'
import type { RunState } from '../state/run.ts'
import type { Slot } from '../state/slots.ts'
import { noteEffect } from '../telemetry/around.ts'
import { hasClass } from '../vocabulary/brand.ts'
import { shownName } from '../vocabulary/call-limits.ts'
import { checkedInput, checkedOf } from '../vocabulary/checked-input.ts'
import { conflictOf } from '../vocabulary/copies.ts'
import { changesNothing } from '../vocabulary/effect.ts'
import { RunAbortedError, RunStop } from '../vocabulary/errors.ts'
import { copyOfJson } from '../vocabulary/frozen.ts'
import { freeze } from '../vocabulary/history.ts'
import { Interrupt } from '../vocabulary/interrupt.ts'
import type { ToolCall, ToolMessage } from '../vocabulary/message.ts'
import type { Invocation } from '../vocabulary/saved-run.ts'
import type { Tool } from '../vocabulary/tool.ts'
import { UnknownToolError } from '../vocabulary/tool-errors.ts'
import type { Progress } from '../vocabulary/tool-status.ts'
import { givenOf } from './needs.ts'
import { resultMessage, textMessage } from './result-message.ts'
import { TimeLimit } from './time-limit.ts'
import { answerOf, type Surroundings, toolContext } from './tool-context.ts'
import { untilMayAct } from './wait-for-commit.ts'

/** An execution that has its slot. */
export interface InSlot extends Surroundings {
  readonly call: ToolCall
  readonly invocation: Invocation
  /** The parent of its span. */
  readonly parent: Context
  /** Aborts only this execution. */
  readonly own: AbortController
  /** Signals that stop an execution before its function is called: its own, that of its call, and that of a halted run. */
  readonly unstarted: readonly AbortSignal[]
  readonly slot: Slot
  /** The `requestedAt` of the call, and whether the call was provisional, when the execution began to wait for the slot. */
  readonly requestedAt: number
  readonly early: boolean
  /** How long it waited for the slot, in seconds. */
  readonly queued: number
}

export async function* runFunction(place: InSlot, execution: Execution): Flow<Progress, ToolMessage> {
  const { run, entry, call, invocation, signal } = place
  const { tool } = entry
  if (!tool) return await unknownTool(run, call)
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
  if (execution.attempt === 1) execution.lag = (performance.now() - place.requestedAt) / 1000
  entry.status.begin()
  if (tool.execute) run?.calls.events.emit(entry, { type: 'tool-entered', attempt: execution.attempt })
  const context = toolContext(place, execution, tool, given)
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
      if (tool.compensate) entry.note({ isDone: true })
    }
    return resultOf(place, tool, output)
  } catch (thrown) {
    const error = entry.parkedBy ?? ((hasClass(thrown, 'AgentError') && conflictOf(thrown)) || thrown)
    asked(place, error)
    throw error
  } finally {
    limit.over()
    execution.wait?.over()
  }
}

function judge({ run, entry, invocation }: InSlot, { open }: Execution, tool: Tool, input: unknown): void {
  const { problem, ...does } = judgeCall(tool, input)
  const message = `what ${tool.name} does: ${problem}`
  if (problem !== undefined) run?.calls.events.warn(entry, { code: 'effect-failed', message, source: 'core' })
  const mayBeEarly = entry.most.allow?.(input, entry.call.input) !== false && isWithin(does, entry.most)
  entry.decide(movedTo(entry.state, invocation, 'judged', { ...does, mayBeEarly }))
  noteEffect(open, does.effect)
}

/** Resolves when the execution has its turn and this is saved. From then on the call may have happened. */
async function admitted(place: InSlot, execution: Execution): Promise<void> {
  const { run, entry, invocation, slot, unstarted } = place
  const checked = performance.now()
  const does = executionOf(entry.state, invocation)?.judgement
  const commit = run && does && untilMayAct(run, entry, does, unstarted)
  if (commit) await commit
  await entry.table.slots.begin(slot, unstarted)
  execution.started = performance.now()
  execution.queued += (execution.started - checked) / 1000
  if (!run?.saver.isOn || changesNothing(does?.effect)) return
  const saved = recently(() => run.saver.now())
  await unlessAborted(saved, unstarted).catch((error) => {
    if (!goesOn(place)) throw error
    return unlessAborted(saved, [entry.signal, place.signal])
  })
}

/** Whether background work goes on although its run pauses: its call has its result, and the pause waits for it. */
function goesOn({ run, entry, signal }: InSlot): boolean {
  const isStopped = entry.signal.aborted || signal.aborted
  return entry.state.work !== undefined && run?.halt.halted.reason instanceof Interrupt && !isStopped
}

/** Whether the run, or an outer run that aborted it, stops for a resume. */
function isStop(error: unknown): boolean {
  return error instanceof RunStop || (error instanceof RunAbortedError && isStop(error.cause))
}

/** The result of a call of no tool of the run, or of one that the request did not offer. */
async function unknownTool(run: RunState | undefined, call: ToolCall): Promise<ToolMessage> {
  if (run?.calls.isUnoffered(call)) throw new Error(`Not run: ${shownName(call.name)} is not available in this step.`)
  const answer = call.name === '' ? undefined : await run?.config.unknownTool?.(call)
  if (answer !== undefined) return freeze(textMessage(call, answer, false))
  throw new UnknownToolError(call.name, run?.setup.tools.map(({ name }) => name) ?? [])
}

/** What `runTool` returns is not for a model, so it stays as it is. */
function resultOf({ run, call }: InSlot, tool: Tool, output: unknown): ToolMessage {
  if (run) return freeze(resultMessage(call, tool, output, run.config.outputLimits))
  return { role: 'tool', callId: call.id, name: call.name, content: [], output }
}

/** Records a question that the function asked, or that came from a call which it made. The execution starts again only after its own question. */
function asked({ run, entry, invocation }: InSlot, thrown: unknown): void {
  if (!(thrown instanceof Interrupt) || entry.isStoppedBy(thrown)) return
  if (!entry.asks(thrown)) run?.measure(thrown, entry)
  entry.ask(thrown)
  entry.decide(executionAsked(entry.state, invocation))
}

function timeLimit({ by, own, signal }: InSlot, tool: Tool): TimeLimit {
  const ms = ('timeout' in by ? by.timeout : undefined) ?? tool.timeout
  return new TimeLimit({ tool: tool.name, ms, grace: by.config.grace, signal, abort: (reason) => own.abort(reason) })
}
