/** Continues a run from a checkpoint: restores its state first, and its calls when the set-up is known. */

import { resumeWork } from '../background/background.ts'
import { checkAnswers } from '../checkpoint/answer-check.ts'
import { agentText, checkpointFrom, hasFinalAnswer, stored } from '../checkpoint/checkpoint.ts'
import { textMessage } from '../execution/result-message.ts'
import { unheard } from '../flow/unheard.ts'
import { goesOn, stepsLoaded } from '../machine/saved-state.ts'
import { addressOf, askerOf, isInside, isNested } from '../state/address.ts'
import { CallEntry } from '../state/call-entry.ts'
import { withAnswers } from '../state/call-outcomes.ts'
import type { RunState } from '../state/run.ts'
import type { Answer } from '../state/run-steps.ts'
import { discard, undoWhenOver } from '../tool-call/commit-or-discard.ts'
import { settleAs } from '../tool-call/history-results.ts'
import { mayHaveHappenedText } from '../tool-call/no-result-message.ts'
import { findTool, resolveAliases } from '../vocabulary/aliases.ts'
import { CheckpointMismatchError } from '../vocabulary/checkpoint-errors.ts'
import { AgentError, ConfigError, UnknownInterruptError } from '../vocabulary/errors.ts'
import { freeze, openCalls } from '../vocabulary/history.ts'
import { type Address, type Answers, Interrupt, type PendingInterrupt } from '../vocabulary/interrupt.ts'
import { copiedJson, isRecord } from '../vocabulary/json.ts'
import type { Json } from '../vocabulary/message.ts'
import { partialMessage } from '../vocabulary/message-shape.ts'
import type { Resumption } from '../vocabulary/run-options.ts'
import type { Checkpoint, Resumed, SavedCall } from '../vocabulary/saved-run.ts'

/**
 * Restores the state of a checkpoint in a run, except for its calls: {@link claim} restores those when the set-up is known.
 *
 * @throws {CheckpointCorruptError} The checkpoint is damaged.
 * @throws {CheckpointVersionError} A later version wrote it.
 * @throws {CheckpointMismatchError} It belongs to another agent, or a middleware that has asked is missing.
 * @throws {ConfigError} The answers are not an object, or there is an id but no store.
 * @throws {UnknownInterruptError} An answer belongs to no question of the checkpoint.
 * @throws {AnswerError} The middleware or the tool that has asked does not accept an answer.
 * @throws {ContextError} The run continues, and the given context does not fit.
 * @throws {InputError} The final answer was accepted, and a message was sent before that was known.
 * @throws {AgentError} The run has ended with a final error.
 */
export async function load(run: RunState, { from, answers, rerun }: Resumption): Promise<Checkpoint> {
  // Copied before the first `await`, because the caller may change the answers later.
  const given = checkedAnswers(answers)
  const found = typeof from === 'string' ? await stored(run.store, from) : from
  const checkpoint = checkpointFrom(from, found, run.config.name)
  const unknown = Object.keys(given).filter((id) => checkpoint.interrupts.every((pending) => pending.id !== id))
  if (unknown.length > 0) throw new UnknownInterruptError(unknown)
  const { calls, interrupts } = checkpoint
  for (const { address } of interrupts) checkAsker(run, address)
  await checkAnswers(interrupts, given, { middleware: run.middleware, tools: run.config.setup.tools })
  if (!checkpoint.result) await run.userContext.checkFor(run.config)
  run.resumed = { checkpoint, answers: given }
  const open = interrupts.filter(({ id }) => !(id in given))
  const answered = calls.map((call) => ({ ...call, runs: call.runs.map((one) => withAnswers(one, given)) }))
  run.unclaimed = { ...checkpoint, calls: answered, interrupts: open }
  if (run.isOutermost) run.saver.revision = checkpoint.revision
  run.history.begin(checkpoint)
  for (const id of checkpoint.spentIds ?? []) run.history.requests(id)
  run.usage = checkpoint.usage
  run.events.warnings.push(...checkpoint.warnings)
  loadSteps(run, checkpoint)
  run.calls.restoreSpentKeys(checkpoint.spentKeys)
  if (hasFinalAnswer(checkpoint)) run.inbox.end()
  else run.inbox.restore(checkpoint.sent)
  run.unknown = checkpoint.unknown
  run.calls.abandoned.push(...checkpoint.abandoned)
  run.questions.restore(checkpoint.questions)
  for (const one of interrupts) {
    run.questions.mark(one.id)
    if (one.id in given && !isNested(one.address)) run.questions.answer(one, given[one.id] as Json)
  }
  for (const [key, value] of Object.entries(checkpoint.values)) run.values.set(key, () => value)
  if (rerun) run.rerun = rerun
  if (checkpoint.failure) throw Object.assign(new AgentError(checkpoint.failure.message), checkpoint.failure)
  return checkpoint
}

/**
 * Restores the calls when the set-up is known, and saves the run before any of them runs: if several processes resume one checkpoint, only one of
 * them can save.
 *
 * @throws {CheckpointMismatchError} The tool of an open call is missing.
 * @throws {AnswerError} A tool that the set-up has added or changed, or the asking tool or middleware of an agent in it, does not accept an answer.
 * @throws {CheckpointConflictError} Another process has resumed the checkpoint.
 */
export async function claim(run: RunState, { checkpoint, answers }: Resumed): Promise<void> {
  const isMissing = (name: string) => checkpoint.tools.includes(name) && !findTool(run.setup.tools, name)
  const unsettled = checkpoint.calls.flatMap((one) => (one.message || one.fate !== 'committed' ? [] : [one.call]))
  const settled = new Set(checkpoint.calls.flatMap(({ id, message }) => (message ? [id] : [])))
  const unanswered = openCalls(run.history.messages).filter(({ id }) => !settled.has(id))
  const missing = [...unanswered, ...unsettled].find(({ name }) => isMissing(name))
  if (missing)
    throw new CheckpointMismatchError(
      run.id,
      `${agentText(run.config.name)} has no tool ${missing.name}, which call ${missing.id} needs`,
    )
  try {
    await checkAnswers(checkpoint.interrupts, answers, { tools: run.setup.tools })
  } catch (error) {
    // If this is an inner run, the outer run may still be saved, and its checkpoint must not contain these answers.
    run.questions.restore(checkpoint.questions)
    run.unclaimed = checkpoint
    throw error
  }
  if (run.isOutermost) run.saver.undos.load(checkpoint.undos)
  const entries = restoreCalls(run, (run.unclaimed ?? checkpoint).calls)
  const open = entries.filter(({ settled }) => !settled)
  for (const entry of open) resumeCall(run, entry, { checkpoint, answers })
  for (const entry of entries) {
    // No later call may join a call whose undo had begun, or the call that made it, because its result depends on the undone call.
    if (entry.state.undo === 'before') discard(run, entry.makers[0] ?? entry, 'run_aborted')
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
  for (const entry of open) if (entry.state.work && !run.signal.aborted) resumeWork(run, entry)
  if (run.asking) throw run.asking.interrupt
}

/**
 * Checks that the middleware that asks at this address exists. A middleware of an agent inside a call is checked when that agent is
 * resumed.
 *
 * @throws {CheckpointMismatchError} The middleware does not exist.
 */
function checkAsker(run: RunState, address: Address): void {
  const place = address.find((part, index) => 'middleware' in part || (index > 0 && 'agent' in part))
  if (place && 'middleware' in place && !run.middleware.some(({ name }) => name === place.middleware))
    throw new CheckpointMismatchError(
      run.id,
      `${agentText(run.config.name)} has no middleware ${place.middleware}, which asked a question`,
    )
}

/** A copy without a prototype, so that `in` only finds the ids that were given. */
function checkedAnswers(answers: Answers): Answers {
  if (!isRecord(answers)) {
    const problem = `must be an object with an answer for each interrupt, by its id, not ${JSON.stringify(answers)}`
    throw new ConfigError('answers', problem)
  }
  const given = Object.entries(answers).map(([id, answer]) => [id, copiedJson(answer, `the answer to ${id}`)])
  return freeze(Object.assign(Object.create(null), Object.fromEntries(given)) as Answers)
}

function loadSteps({ steps, history }: RunState, { steps: saved }: Checkpoint): void {
  const { added, candidate, cutOff: text, feedback } = saved
  const places = new Set(added)
  stepsLoaded(steps.state, saved)
  steps.before = history.messages.filter((_, index) => !places.has(index))
  if (candidate !== undefined) steps.offer = history.messages[candidate] as Answer
  if (text !== undefined) steps.partial = partialMessage([{ type: 'text', text }])
  if (feedback !== undefined) steps.rejection = { feedback }
}

/** Adds the calls of a checkpoint to the table, in their order. This starts none of them. */
export function restoreCalls(run: RunState, calls: readonly SavedCall[]): readonly CallEntry[] {
  const unoffered = run.steps.state.current?.unoffered ?? []
  const entries: CallEntry[] = []
  const byKey = new Map<string, CallEntry>()
  for (const saved of calls) {
    const { id, key, message } = saved
    const call = freeze(resolveAliases(saved.call, run.setup.tools))
    run.history.takenIds.add(id).add(call.id)
    const entry = new CallEntry(run.calls, {
      key,
      call,
      tool: !saved.maker && unoffered.includes(id) ? undefined : findTool(run.setup.tools, call.name),
      step: saved.step,
      parent: run.context,
      maker: byKey.get(saved.maker ?? ''),
      caller: run.caller,
      saved,
    })
    entries.push(entry)
    if (!saved.isWork) {
      byKey.set(key, entry)
      run.calls.add(entry)
    }
    if (message) settleAs(entry, { ...message, name: call.name })
  }
  return entries
}

/** Restores a call without a result: it runs again when requested, or stays open for an answer, or counts as one that may have happened. */
function resumeCall(run: RunState, entry: CallEntry, { checkpoint, answers }: Resumed): void {
  const address = addressOf(run, entry)
  const pending = checkpoint.interrupts.filter((one) => isInside(one.address, address))
  const first = pending.some(({ id }) => id in answers) ? undefined : pending[0]
  switch (goesOn(entry.state, first !== undefined, run.rerun)) {
    case 'open':
      if (first) stayOpen(entry, first, first.address.slice(address.length))
      break
    case 'again':
      entry.note({ isRerun: true })
      break
    case 'unknown': {
      const text = mayHaveHappenedText(checkpoint.status === 'cancelled')
      if (!entry.discarded) settleAs(entry, textMessage({ ...entry.call, id: entry.id }, text, true))
      entry.note({ isUnknown: true })
      run.mayHaveHappened(entry.id)
    }
  }
}

/** Keeps a call open whose question has no answer yet. `asker`: the path from the call to the tool or middleware that asks. */
function stayOpen(entry: CallEntry, { payload, answerSchema }: PendingInterrupt, asker: Address): void {
  const stopped = new Interrupt(payload, answerSchema)
  if (asker.every((part) => 'middleware' in part)) entry.ask(stopped, askerOf(asker).by)
  else entry.relay(stopped)
  entry.settle({ stopped })
  entry.promise = unheard(Promise.reject(stopped))
}
