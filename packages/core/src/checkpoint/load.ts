/** From a checkpoint to the state of a run that goes on from it. */

import { unheard } from '../flow/unheard.ts'
import { marked } from '../machine/decide-call.ts'
import { goesOn, stepsLoaded } from '../machine/save.ts'
import { partialMessage } from '../model-call/partial-response.ts'
import { addressOf, askerOf, isInside, isNested } from '../state/address.ts'
import { CallEntry } from '../state/call-entry.ts'
import type { RunState } from '../state/run.ts'
import type { Answer } from '../state/run-steps.ts'
import { discard, undoWhenOver } from '../tool-call/commit-or-discard.ts'
import { settleAs } from '../tool-call/history-results.ts'
import { mayHaveHappenedText, textMessage } from '../tool-call/no-result-message.ts'
import { findTool } from '../vocabulary/aliases.ts'
import {
  CheckpointCorruptError,
  CheckpointMismatchError,
  CheckpointMissingError,
} from '../vocabulary/checkpoint-errors.ts'
import { type CheckpointStore, loaded } from '../vocabulary/checkpoint-store.ts'
import { ConfigError, UnknownInterruptError } from '../vocabulary/errors.ts'
import { freeze, openCalls } from '../vocabulary/history.ts'
import { type Address, type Answers, Interrupt, type PendingInterrupt } from '../vocabulary/interrupt.ts'
import { asJson, isRecord } from '../vocabulary/json.ts'
import type { Json } from '../vocabulary/message.ts'
import { kindOf } from '../vocabulary/message-shape.ts'
import type { Resumption } from '../vocabulary/run-options.ts'
import type { Checkpoint, Resumed, SavedCall } from '../vocabulary/saved-run.ts'
import { checkAnswers } from './answer-check.ts'
import { checkedCheckpoint, hasFinalAnswer } from './checkpoint.ts'

/**
 * Puts a run into the state of a checkpoint, as far as it does not depend on the set-up; {@link claim} does the rest.
 *
 * @throws {CheckpointCorruptError} It is damaged.
 * @throws {CheckpointVersionError} It is of a later format.
 * @throws {CheckpointMismatchError} It is another agent's, or a middleware that asks is not there: nobody would heed the answer.
 * @throws {ConfigError} The answers are no object, or there is no store to find an id in.
 * @throws {UnknownInterruptError} One of the answers is to no question of it.
 * @throws {AnswerError} The middleware that asked does not take an answer.
 * @throws {ContextError} Its run goes on, and the context that is given does not fit.
 * @throws {InputError} Its answer had been accepted, and something was sent before that was known.
 */
export async function load(run: RunState, { from, answers, rerun }: Resumption): Promise<Checkpoint> {
  // In this turn: whoever gave the answers may write to them in the next.
  const given = checkedAnswers(answers)
  const found = typeof from === 'string' ? await stored(run.store, from) : from
  const checkpoint = checkpointFrom(from, found, run.config.name)
  const unknown = Object.keys(given).filter((id) => checkpoint.interrupts.every((pending) => pending.id !== id))
  if (unknown.length > 0) throw new UnknownInterruptError(unknown)
  const { calls, undos, tools, interrupts } = checkpoint
  for (const { address } of interrupts) checkAsker(run, address)
  await checkAnswers(interrupts, given, { middleware: run.middleware })
  if (!checkpoint.result) await run.userContext.checkFor(run.config)
  run.resumed = { checkpoint, answers: given }
  const open = interrupts.filter((one) => !(one.id in given) || isNested(one.address))
  run.unclaimed = { calls, undos, tools, interrupts: open }
  if (run.isOutermost) run.saver.revision = checkpoint.revision
  run.history.begin(checkpoint)
  run.usage = checkpoint.usage
  run.events.warnings.push(...checkpoint.warnings)
  loadSteps(run, checkpoint)
  run.calls.table.restoreSpentKeys(checkpoint.steps.current?.number, checkpoint.spentKeys)
  if (hasFinalAnswer(checkpoint)) run.inbox.end()
  else run.inbox.restore(checkpoint.sent)
  run.unknown = checkpoint.unknown
  run.calls.abandoned.push(...checkpoint.abandoned)
  run.questions.restore(checkpoint.questions)
  for (const { id } of interrupts) run.questions.mark(id)
  for (const one of interrupts) {
    if (one.id in given && !isNested(one.address)) run.questions.answer(one.address, given[one.id] as Json)
  }
  run.values.restore(checkpoint.values)
  if (rerun) run.rerun = rerun
  return checkpoint
}

/**
 * The checkpoint that somebody goes on `from`. `found`: the same, or what is stored under it if it is an id. `name`: of the agent.
 *
 * @throws {CheckpointCorruptError} It is damaged, or none.
 * @throws {CheckpointVersionError} It is of a later format.
 * @throws {CheckpointMismatchError} It is another agent's, or another run's.
 */
export function checkpointFrom(from: unknown, found: unknown, name: string | null = null): Checkpoint {
  if (typeof from !== 'string' && !isRecord(from))
    throw new CheckpointCorruptError('', `resume takes a checkpoint or the id of a stored one; this is ${kindOf(from)}`)
  const checkpoint = checkedCheckpoint(found)
  const { agent, runId } = checkpoint
  const id = typeof from === 'string' ? from : String(isRecord(from) && from.runId)
  if (runId !== id) throw new CheckpointMismatchError(id, `it is of run ${runId}`)
  if (agent !== name) throw new CheckpointMismatchError(id, `it is of ${named(agent)}, and this is ${named(name)}`)
  return checkpoint
}

/**
 * The set-up stands: the calls of the checkpoint find their tools, and of several who resume it one goes on.
 *
 * @throws {CheckpointMismatchError} An open call lacks its tool.
 * @throws {AnswerError} The tool that asked, or who asked in its agent, does not take an answer.
 * @throws {CheckpointConflictError} Somebody else has resumed it.
 */
export async function claim(run: RunState, { checkpoint, answers }: Resumed): Promise<void> {
  const tools = new Set(run.setup.tools.map(({ name }) => name))
  const isLost = (name: string) => checkpoint.tools.includes(name) && !tools.has(name)
  const unsettled = checkpoint.calls.filter(({ message, fate }) => !message && fate === 'committed')
  const settled = new Set(checkpoint.calls.flatMap(({ id, message }) => (message ? [id] : [])))
  const unanswered = openCalls(run.history.messages).filter(({ id }) => !settled.has(id))
  const lost = [...unanswered, ...unsettled.map(({ call }) => call)].find(({ name }) => isLost(name))
  if (lost) throw new CheckpointMismatchError(run.id, `call ${lost.id} lacks its tool ${lost.name}`)
  try {
    await checkAnswers(checkpoint.interrupts, answers, { tools: run.setup.tools })
  } catch (error) {
    run.questions.restore(checkpoint.questions)
    throw error
  }
  if (run.isOutermost) run.saver.undos.load(checkpoint.undos)
  const entries = loadCalls(run, checkpoint.calls)
  const open = entries.filter(({ settled }) => !settled)
  for (const entry of open) resumeCall(run, entry, { checkpoint, answers })
  for (const entry of entries) {
    // Nobody joins a call whose undo had begun, nor the call that made it: what that gave stands on this one.
    if (entry.state.undo === 'before') discard(run, outermost(entry), 'run_aborted')
    else if (entry.discarded) undoWhenOver(run, entry)
  }
  const isOfCall = ({ address }: PendingInterrupt) => entries.some((entry) => isInside(address, addressOf(run, entry)))
  const unasked = checkpoint.interrupts.find((one) => !(one.id in answers) && !isOfCall(one))
  if (unasked)
    run.asking = {
      interrupt: new Interrupt(unasked.payload, unasked.answerSchema),
      ...askerOf(unasked.address.slice(1)),
    }
  run.unclaimed = undefined
  await run.saver.now()
  for (const entry of open) if (entry.state.work) run.background.goOn(entry)
  if (run.asking) throw run.asking.interrupt
}

const named = (agent: string | null) => (agent === null ? 'an agent without a name' : `agent ${agent}`)

/** Of a run inside this one its own agent's are checked when that is resumed. */
function checkAsker(run: RunState, address: Address): void {
  const place = address.find((part, index) => 'middleware' in part || (index > 0 && 'agent' in part))
  if (!place || !('middleware' in place)) return
  if (!run.middleware.some(({ name }) => name === place.middleware))
    throw new CheckpointMismatchError(run.id, `a question lacks its asker, the middleware ${place.middleware}`)
}

/** A copy without a prototype, so that no id is in it but those that were given. */
function checkedAnswers(answers: Answers): Answers {
  if (!isRecord(answers)) {
    const problem = `must be an object with an answer under the id of each interrupt, not ${JSON.stringify(answers)}`
    throw new ConfigError('answers', problem)
  }
  const given = Object.entries(answers).map(([id, answer]) => [id, asJson(answer, `the answer to ${id}`)])
  return freeze(Object.assign(Object.create(null), structuredClone(Object.fromEntries(given))) as Answers)
}

/**
 * What is stored under an id.
 *
 * @throws {CheckpointMissingError} Nothing is.
 * @throws {ConfigError} There is no store.
 */
export async function stored(store: CheckpointStore | undefined, id: string): Promise<unknown> {
  if (!store) throw new ConfigError('checkpoints', 'without a store there is nothing to resume by its id')
  const checkpoint = await loaded(store, id)
  if (checkpoint === undefined) throw new CheckpointMissingError(id)
  return checkpoint
}

function loadSteps({ steps, history }: RunState, { steps: saved }: Checkpoint): void {
  const { added, candidate, cutOff: text, feedback } = saved
  const { messages } = history
  const places = new Set(added)
  stepsLoaded(steps.state, saved)
  steps.before = messages.filter((_, index) => !places.has(index))
  if (candidate !== undefined) steps.offer = messages[candidate] as Answer
  if (text !== undefined) steps.partial = partialMessage([{ type: 'text', text }])
  if (feedback !== undefined) steps.rejection = { feedback }
}

/** As they are there: none is made. */
export function loadCalls(run: RunState, calls: readonly SavedCall[]): readonly CallEntry[] {
  const { table } = run.calls
  const entries: CallEntry[] = []
  const byKey = new Map<string, CallEntry>()
  for (const saved of calls) {
    const { id, key, call, message } = saved
    run.history.takenIds.add(id).add(call.id)
    const entry = new CallEntry(table, {
      key,
      call: freeze(call),
      tool: findTool(run.setup.tools, call.name),
      step: saved.step,
      parent: run.context,
      maker: byKey.get(saved.maker ?? ''),
      caller: run.caller,
      saved,
    })
    entries.push(entry)
    if (!saved.isWork) {
      byKey.set(key, entry)
      table.add(entry)
    }
    if (message) settleAs(entry, message)
  }
  return entries
}

function outermost(entry: CallEntry): CallEntry {
  return entry.maker ? outermost(entry.maker) : entry
}

/** One that had not settled is made when it is requested, stays open for an answer, or may have happened. */
function resumeCall(run: RunState, entry: CallEntry, { checkpoint, answers }: Resumed): void {
  const address = addressOf(run, entry)
  const pending = checkpoint.interrupts.filter((one) => isInside(one.address, address))
  const answered = pending.filter(({ id }) => id in answers)
  const [first] = answered.length === 0 ? pending : []
  const given = answered.filter((one) => isNested(one.address)).map(({ id }) => [id, answers[id] as Json])
  entry.outcomes.answer(Object.fromEntries(given) as Answers)
  switch (goesOn(entry.state, first !== undefined, run.rerun)) {
    case 'open':
      if (first) stayOpen(entry, first, first.address.slice(address.length))
      break
    case 'again':
      entry.decide(marked(entry.state, 'isRerun'))
      break
    case 'unknown': {
      const text = mayHaveHappenedText(checkpoint.status === 'cancelled')
      if (!entry.discarded) settleAs(entry, textMessage({ ...entry.call, id: entry.id }, text, true))
      entry.decide(marked(entry.state, 'isUnknown'))
      run.mayHaveHappened(entry.id)
    }
  }
}

/** Its question has no answer yet. `asker`: where in the call that was asked. */
function stayOpen(entry: CallEntry, { payload, answerSchema }: PendingInterrupt, asker: Address): void {
  const stopped = new Interrupt(payload, answerSchema)
  if (asker.every((part) => 'middleware' in part)) entry.ask(stopped, askerOf(asker).by)
  entry.settle({ stopped })
  entry.promise = unheard(Promise.reject(stopped))
}
