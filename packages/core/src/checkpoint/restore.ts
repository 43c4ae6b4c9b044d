/** From a checkpoint to a run that goes on from it. */

import { partialMessage } from '../model-call/partial-response.ts'
import { addressOf, askerOf, isInside, isNested } from '../state/address.ts'
import type { RunState } from '../state/run.ts'
import type { Answer } from '../state/run-steps.ts'
import {
  CheckpointCorruptError,
  CheckpointMismatchError,
  CheckpointMissingError,
} from '../vocabulary/checkpoint-errors.ts'
import { loaded } from '../vocabulary/checkpoint-store.ts'
import { ConfigError, UnknownInterruptError } from '../vocabulary/errors.ts'
import { freeze, openCalls } from '../vocabulary/history.ts'
import { type Address, type Answers, Interrupt, type PendingInterrupt } from '../vocabulary/interrupt.ts'
import { asJson, isRecord } from '../vocabulary/json.ts'
import type { Json } from '../vocabulary/message.ts'
import { kindOf } from '../vocabulary/message-shape.ts'
import type { Resumption } from '../vocabulary/run-options.ts'
import type { Checkpoint, Resumed } from '../vocabulary/saved-run.ts'
import { checkAnswers } from './answer-check.ts'
import { checkedCheckpoint, hasEnded } from './checkpoint.ts'
import { restoreWork, resumeCalls } from './restore-calls.ts'

/**
 * Puts a run into the state of a checkpoint, as far as it does not depend on the set-up; {@link claim} does the rest.
 *
 * @throws {CheckpointCorruptError} It is damaged.
 * @throws {CheckpointVersionError} It is of a later format.
 * @throws {CheckpointMismatchError} It is another agent's, or a middleware that asks is not there: nobody would heed the answer.
 * @throws {ConfigError} The answers are no object, or there is no store to find an id in.
 * @throws {UnknownInterruptError} One of the answers is to no question of it (L5).
 * @throws {AnswerError} The middleware that asked does not take an answer.
 * @throws {InputError} Its answer had been accepted, and something was sent before that was known.
 */
export async function restore(run: RunState, { from, answers, rerun }: Resumption): Promise<Checkpoint> {
  if (typeof from !== 'string' && !isRecord(from))
    throw new CheckpointCorruptError('', `resume takes a checkpoint or the id of a stored one; this is ${kindOf(from)}`)
  const checkpoint = checkedCheckpoint(typeof from === 'string' ? await load(run, from) : from)
  const { agent, runId } = checkpoint
  const { name = null } = run.config
  if (runId !== run.id) throw new CheckpointMismatchError(run.id, `it is of run ${runId}`)
  if (agent !== name) throw new CheckpointMismatchError(run.id, `it is of ${named(agent)}, and this is ${named(name)}`)
  const given = checkedAnswers(answers)
  const unknown = Object.keys(given).filter((id) => checkpoint.interrupts.every((pending) => pending.id !== id))
  if (unknown.length > 0) throw new UnknownInterruptError(unknown)
  const { calls, background = [], undos = [], tools, interrupts } = checkpoint
  for (const { address } of interrupts) checkAsker(run, address)
  await checkAnswers(interrupts, given, { middleware: run.middleware })
  run.resumed = { checkpoint, answers: given }
  run.unclaimed = {
    calls,
    background,
    undos,
    tools,
    interrupts: interrupts.filter((one) => !(one.id in given) || isNested(one.address)),
  }
  if (run.isOutermost) run.saver.revision = checkpoint.revision
  run.history.remember(checkpoint)
  run.usage = checkpoint.usage
  run.events.warnings.push(...checkpoint.warnings)
  restoreSteps(run, checkpoint)
  if (hasEnded(checkpoint)) run.inbox.end()
  else run.inbox.restore(checkpoint.sent)
  run.unknown = checkpoint.unknown
  run.calls.abandoned.push(...checkpoint.abandoned)
  run.questions.restore(checkpoint.questions)
  for (const one of interrupts) {
    if (one.id in given && !isNested(one.address)) run.questions.answer(one.address, given[one.id] as Json)
  }
  run.values.restore(checkpoint.values)
  if (rerun) run.rerun = rerun
  return checkpoint
}

/**
 * The set-up stands: the calls of the checkpoint find their tools, and of several who resume it one goes on (L19).
 *
 * @throws {CheckpointMismatchError} An open call lacks its tool.
 * @throws {AnswerError} The tool that asked, or who asked in its agent, does not take an answer.
 * @throws {CheckpointConflictError} Somebody else has resumed it.
 */
export async function claim(run: RunState, { checkpoint, answers }: Resumed): Promise<void> {
  const tools = new Set(run.setup.tools.map(({ name }) => name))
  const isLost = (name: string) => checkpoint.tools.includes(name) && !tools.has(name)
  const unsettled = checkpoint.calls.filter(({ message, provisional }) => !message && !provisional)
  const settled = new Set(checkpoint.calls.flatMap(({ id, message }) => (message ? [id] : [])))
  const unanswered = openCalls(run.history.messages).filter(({ id }) => !settled.has(id))
  const lost = [...unanswered, ...unsettled.map(({ call }) => call)].find(({ name }) => isLost(name))
  if (lost) throw new CheckpointMismatchError(run.id, `call ${lost.id} lacks its tool ${lost.name}`)
  await checkAnswers(checkpoint.interrupts, answers, { tools: run.setup.tools })
  if (run.isOutermost) run.saver.undos.restore(checkpoint.undos ?? [])
  const entries = resumeCalls(run, { checkpoint, answers })
  const open = [...entries, ...restoreWork(run, { checkpoint, answers })]
  const isOfCall = ({ address }: PendingInterrupt) => open.some((entry) => isInside(address, addressOf(run, entry)))
  const unasked = checkpoint.interrupts.find((one) => !(one.id in answers) && !isOfCall(one))
  if (unasked) run.asking = { interrupt: new Interrupt(unasked.payload), ...askerOf(unasked.address.slice(1)) }
  run.unclaimed = undefined
  await run.saver.now()
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

async function load(run: RunState, id: string): Promise<unknown> {
  const { checkpoints } = run.config
  if (!checkpoints) throw new ConfigError('checkpoints', 'without a store there is nothing to resume by its id')
  const stored = await loaded(checkpoints, id)
  if (stored === undefined) throw new CheckpointMissingError(id)
  return stored
}

function restoreSteps({ steps, history }: RunState, { steps: begun, step, feedback }: Checkpoint): void {
  const { state } = steps
  state.begun = begun
  if (feedback !== undefined) steps.rejection = { feedback }
  if (!step) return
  const { messages } = history
  const { added, candidate, cutOff: text, ...current } = step
  const places = new Set(added)
  steps.before = messages.filter((_, index) => !places.has(index))
  if (candidate !== undefined) steps.offer = messages[candidate] as Answer
  if (text !== undefined) steps.partial = partialMessage([{ type: 'text', text }])
  state.current = { ...current, isOffered: steps.offer !== undefined }
}
