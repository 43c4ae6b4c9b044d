/** From a run at work to its checkpoint: what it has, and the questions that wait for an answer. */

import { attemptsToSave, effectOf } from '../machine/call.ts'
import type { Step } from '../machine/steps.ts'
import { addressOf } from '../state/address.ts'
import { type CallEntry, isOpen } from '../state/call-entry.ts'
import type { RunState } from '../state/run.ts'
import { CheckpointStoreError } from '../vocabulary/checkpoint-errors.ts'
import { freeze } from '../vocabulary/history.ts'
import type { Address, Interrupt, PendingInterrupt } from '../vocabulary/interrupt.ts'
import { asJson } from '../vocabulary/json.ts'
import { callsOf, textOf } from '../vocabulary/message.ts'
import { CHECKPOINT_FORMAT, type Checkpoint, type SavedCall, type SavedStep } from '../vocabulary/saved-run.ts'
import { checksumOf } from './checkpoint.ts'

/**
 * The run as it stands: what it has, not what it waits for; `end`: as its result has it. A copy that equals what is stored of it
 * (L13).
 *
 * @throws {CheckpointStoreError} The run holds what JSON cannot.
 */
export function checkpointOf(
  run: RunState,
  status: Checkpoint['status'],
  end?: Pick<Checkpoint, 'messages' | 'result'>,
): Checkpoint {
  try {
    const state = JSON.parse(JSON.stringify({ ...stateOf(run, status), ...end })) as Omit<Checkpoint, 'checksum'>
    const checkpoint = { ...state, checksum: checksumOf(state) }
    // The run keeps its last, which a store is handed, and its caller.
    return status === 'running' ? checkpoint : freeze(checkpoint)
  } catch (cause) {
    throw new CheckpointStoreError('take', run.id, 'its run holds what JSON cannot', { cause })
  }
}

/** As it is before it is written: JSON leaves out what is undefined. */
type Unwritten<Saved> = { readonly [Name in keyof Saved]: Saved[Name] | undefined }

interface State extends Omit<Unwritten<Checkpoint>, 'checksum' | 'step' | 'calls'> {
  readonly step: Unwritten<SavedStep> | undefined
  readonly calls: readonly Unwritten<SavedCall>[]
}

function stateOf(run: RunState, status: Checkpoint['status']): State {
  const { saver, telemetry, unclaimed } = run
  const { rejection } = run.steps
  const { current } = run.steps.state
  const isLast = status !== 'running'
  return {
    format: CHECKPOINT_FORMAT,
    runId: run.id,
    agent: run.config.name ?? null,
    revision: saver.revision,
    status,
    messages: run.history.messages,
    usage: run.usage,
    warnings: run.events.warnings,
    steps: run.steps.begun,
    step: current && savedStep(run, current, status),
    calls: unclaimed?.calls ?? savedCalls(run, isLast),
    background: unclaimed?.background ?? run.background.save(isLast),
    undos: undosOf(run, isLast),
    tools: unclaimed?.tools ?? run.setup.tools.map(({ name }) => name),
    interrupts: interruptsOf(run),
    questions: run.questions.save(),
    values: run.values.save(),
    sent: run.inbox.messages,
    feedback: rejection?.feedback,
    unknown: run.unknown,
    abandoned: run.calls.abandoned,
    trace: telemetry.trace,
  }
}

/** The outermost run has those of all. One that comes to its end, or stops, waits for them first. */
function undosOf({ isOutermost, unclaimed, saver }: RunState, isLast: boolean): Checkpoint['undos'] {
  const saved = unclaimed?.undos ?? (isLast || !isOutermost ? [] : saver.undos.save())
  return saved.length > 0 ? saved : undefined
}

/** What waits for an answer: of calls in call order, then of a hook or wrap. */
function interruptsOf(run: RunState): PendingInterrupt[] {
  const { asking, unclaimed } = run
  const own = asking ? [pending(run, addressOf(run, undefined, asking.by), asking.interrupt)] : []
  const ofCalls = unclaimed?.interrupts.filter(({ id }) => own.every((one) => one.id !== id)) ?? interruptsOfCalls(run)
  return [...ofCalls, ...own]
}

function interruptsOfCalls(run: RunState): PendingInterrupt[] {
  const entries = [...run.calls.entries(), ...run.background.openEntries()]
  return inCallOrder(run, entries.filter(isOpen)).flatMap((entry): PendingInterrupt[] => {
    const address = addressOf(run, entry)
    const own = entry.asking ? [pending(run, addressOf(run, entry, entry.asking.by), entry.asking.interrupt)] : []
    return [
      ...own,
      ...entry.outcomes.interrupts.map((inner) => ({ ...inner, address: [...address, ...inner.address] })),
    ]
  })
}

/** In the order in which the response asks for them; behind those what was called on the side. */
function inCallOrder(run: RunState, entries: readonly CallEntry[]): CallEntry[] {
  const last = run.history.messages.findLast((message) => message.role === 'assistant')
  const ids = last?.role === 'assistant' ? callsOf(last).map(({ id }) => id) : []
  const place = (entry: CallEntry): number =>
    entry.maker ? place(entry.maker) : ids.indexOf(entry.id) + 1 || ids.length + 1
  return entries.toSorted((a, b) => place(a) - place(b))
}

function pending(run: RunState, address: Address, { payload }: Interrupt): PendingInterrupt {
  return { id: run.questions.nextId(run.id, address), address, payload }
}

function savedCalls(run: RunState, isLast: boolean): State['calls'] {
  const needed = run.calls.entries().filter((entry) => isNeeded(run, entry))
  return needed.map((entry) => savedCall(entry, isLast))
}

/** Of steps that are over the history has it all; but a call that no response asked for is never made again. */
function isNeeded(run: RunState, entry: CallEntry): boolean {
  if (entry.discarded || entry.rest?.isOpen) return false
  if (entry.maker) return isNeeded(run, entry.maker)
  return !entry.state.isRequested || entry.state.step === run.steps.state.current?.number
}

function savedStep({ history, steps }: RunState, step: Step, status: Checkpoint['status']): Unwritten<SavedStep> {
  const { isOffered: _, ...saved } = step
  const { candidate } = steps
  const said = status === 'cancelled' ? steps.saidSoFar : steps.partial
  const cutOff = said && step.phase === 'model' ? textOf(said) : ''
  return {
    ...saved,
    added: history.placesSince(steps.before),
    candidate: candidate && history.messages.indexOf(candidate),
    cutOff: cutOff || undefined,
  }
}

function savedCall(entry: CallEntry, isLast: boolean): Unwritten<SavedCall> {
  const { key, id, call, provisional, makerKey, state, stopped, asking, outcomes } = entry
  const message = state.course === 'cut off' ? undefined : entry.message
  const { attempts, effect } = message
    ? { attempts: state.attempts, effect: effectOf(state) }
    : attemptsToSave(state, isLast)
  const done = entry.tool?.compensate && entry.done
  return {
    key,
    id,
    call,
    step: state.step,
    asked: state.isRequested,
    provisional,
    maker: makerKey,
    attempts,
    // What asks starts from its top when it is answered (L7). What it has made may ask, and be caught: that says nothing of it.
    effect: !outcomes.hasRuns && (state.isCutOff || (!stopped && !asking)) ? effect : undefined,
    message,
    told: message && (state.told === 'ended' || state.told === 'shown'),
    done: done && doneAsJson(done),
    ...(!message && { ...outcomes.save(state.knownOutcomes), ...outcomes.saveRuns() }),
  }
}

/** What is no JSON cannot be undone after a resume. */
function doneAsJson({ input, output }: NonNullable<CallEntry['done']>): SavedCall['done'] {
  try {
    return { input: asJson(input, 'input'), output: asJson(output, 'output') }
  } catch {
    return undefined
  }
}
