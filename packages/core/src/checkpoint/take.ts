/** Takes the checkpoint of a run: its state, the values that belong to it, and its open questions. */

import { isSaved, savedCall } from '../machine/saved-state.ts'
import { addressOf } from '../state/address.ts'
import { type CallEntry, isOpen } from '../state/call-entry.ts'
import type { RunState } from '../state/run.ts'
import { sameInput } from '../vocabulary/canonical.ts'
import { CheckpointStoreError } from '../vocabulary/checkpoint-errors.ts'
import { freeze, jsonOf } from '../vocabulary/history.ts'
import type { Address, Interrupt, PendingInterrupt } from '../vocabulary/interrupt.ts'
import { asJson } from '../vocabulary/json.ts'
import { callsOf, textOf } from '../vocabulary/message.ts'
import { present } from '../vocabulary/present.ts'
import { CHECKPOINT_FORMAT, type Checkpoint, type SavedCall, type SavedSteps } from '../vocabulary/saved-run.ts'
import { answerSchemaAt } from './answer-check.ts'
import { signed } from './checkpoint.ts'

/**
 * Returns the checkpoint of a run at this moment, as plain JSON.
 *
 * @param status - Any status other than `running` means that the run has stopped.
 * @param end - The members that only the result of the run has, or the span that was active at its beginning.
 * @throws {CheckpointStoreError} The run contains a value that is not JSON.
 */
export function checkpointOf(
  run: RunState,
  status: Checkpoint['status'],
  end?: Partial<Unwritten<Pick<Checkpoint, 'messages' | 'result' | 'trace' | 'failure'>>>,
): Checkpoint {
  try {
    const { messages, ...state } = { ...stateOf(run, status), ...end }
    return freeze(signed({ ...JSON.parse(JSON.stringify(state)), messages: messages?.map(jsonOf) } as Checkpoint))
  } catch (cause) {
    throw new CheckpointStoreError('take', run.id, 'its run contains a value that is not JSON', { cause })
  }
}

/** The members before the conversion to JSON: they may be `undefined`. */
type Unwritten<Saved> = { readonly [Name in keyof Saved]: Saved[Name] | undefined }

interface State extends Omit<Unwritten<Checkpoint>, 'checksum' | 'steps' | 'calls'> {
  readonly steps: Unwritten<SavedSteps>
  readonly calls: readonly Unwritten<SavedCall>[]
}

function stateOf(run: RunState, status: Checkpoint['status']): State {
  const { saver, telemetry, unclaimed } = run
  const isLast = status !== 'running'
  return {
    format: CHECKPOINT_FORMAT,
    runId: run.id,
    agent: run.config.name ?? null,
    revision: saver.revision,
    status,
    interrupts: interruptsOf(run),
    messages: run.history.messages,
    usage: run.usage,
    warnings: run.events.warnings,
    conversationId: telemetry.conversationId,
    trace: telemetry.trace,
    steps: stepsOf(run, status),
    calls: unclaimed?.calls ?? entriesOf(run, isLast).map((entry) => savedCallOf(entry, isLast || saver.startsNothing)),
    // The outermost run has the undos of all runs. A run that ends or stops waits for them first.
    undos: unclaimed?.undos ?? (isLast || !run.isOutermost ? [] : saver.undos.save()),
    spentKeys: unlessEmpty(run.calls.spentKeys(run.steps.state.current?.number)),
    spentIds: unlessEmpty(spentIdsOf(run)),
    tools: unclaimed?.tools ?? run.setup.tools.map(({ name }) => name),
    questions: run.questions.save(),
    values: Object.fromEntries([...run.values].map(([key, saved]) => [key, saved()])),
    sent: run.inbox.messages,
    unknown: run.unknown,
    abandoned: run.calls.abandoned,
  }
}

const unlessEmpty = (texts: readonly string[]) => (texts.length > 0 ? texts : undefined)

/** The resume repeats a model call that has not ended, so a call of its response keeps its id unless the run itself has dropped the call. */
function spentIdsOf({ history, calls }: RunState): string[] {
  const isDropped = (id: string) => (calls.get(id)?.discarded ?? 'run_aborted') !== 'run_aborted'
  return history.idsWithout((id) => calls.attemptOf(id) !== undefined && !isDropped(id))
}

/** The open questions: those of calls in call order, then that of a hook or wrap. */
function interruptsOf(run: RunState): PendingInterrupt[] {
  const own = questionsOf(run)
  const inner = run.unclaimed?.interrupts.filter(({ id }) => own.every((one) => one.id !== id)) ?? questionsOfCalls(run)
  return [...inner, ...own]
}

function questionsOfCalls(run: RunState): PendingInterrupt[] {
  const entries = [...run.calls.entries(), ...run.calls.works()]
  return inCallOrder(run, entries.filter(isOpen)).flatMap((entry) => questionsOf(run, entry))
}

/** The questions of a call and of the agents inside it. Without a call: the question of a hook or wrap of the run. */
export function questionsOf(run: RunState, call?: CallEntry): PendingInterrupt[] {
  const { asking } = call ?? run
  const own = asking ? [pending(run, addressOf(run, call, asking.by), asking.interrupt)] : []
  const inner = call?.outcomes.interrupts ?? []
  const address = addressOf(run, call)
  return [...own, ...inner.map((one) => ({ ...one, address: [...address, ...one.address] }))]
}

/** Sorts calls in the order in which the response requests them. Calls that it does not request come last. */
function inCallOrder(run: RunState, entries: readonly CallEntry[]): CallEntry[] {
  const last = run.history.messages.findLast((message) => message.role === 'assistant')
  const ids = last ? callsOf(last).map(({ id }) => id) : []
  const place = ({ id, makers }: CallEntry) => ids.indexOf(makers[0]?.id ?? id) + 1 || ids.length + 1
  return entries.toSorted((a, b) => place(a) - place(b))
}

function pending(run: RunState, address: Address, interrupt: Interrupt): PendingInterrupt {
  const { payload, answerSchema = answerSchemaAt(address, { middleware: run.middleware, tools: run.setup.tools }) } =
    interrupt
  const { checkpoint, answers = {} } = run.resumed ?? {}
  const isIt = (one: PendingInterrupt) =>
    !(one.id in answers) && sameInput([one.address, one.payload], [address, payload])
  // A question that is asked again, because another one of its call was answered, keeps its id.
  const id = checkpoint?.interrupts.find(isIt)?.id ?? run.questions.nextId(run.id, address)
  return present({ id, address, innerRun: run.outer && run.id, payload, answerSchema })
}

function stepsOf({ history, steps }: RunState, status: Checkpoint['status']): State['steps'] {
  const { candidate, rejection, state } = steps
  const { begun, current } = state
  const said = status === 'cancelled' ? steps.partialSoFar : steps.partial
  const cutOff = said && current?.phase === 'model' ? textOf(said) : ''
  return {
    begun,
    current,
    added: current ? history.placesSince(steps.before) : [],
    candidate: candidate && history.messages.indexOf(candidate),
    cutOff: cutOff || undefined,
    feedback: rejection?.feedback,
  }
}

function entriesOf({ calls, steps }: RunState, isLast: boolean): CallEntry[] {
  const step = steps.state.current?.number
  const saved = calls.entries().filter(({ state }) => isSaved(calls.state, state, step, isLast))
  return [...saved, ...calls.works()]
}

function savedCallOf(entry: CallEntry, isLast: boolean): Unwritten<SavedCall> {
  const { key, call, madeAs, makerKey, state, outcomes } = entry
  const message = state.course === 'result' && state.fate !== 'discarded' ? entry.message : undefined
  const done = !state.work && !state.undo && entry.tool?.compensate ? entry.done : undefined
  return {
    ...savedCall(state, isLast, outcomes.nested),
    key,
    call,
    madeAs: madeAs === call.name ? undefined : madeAs,
    maker: makerKey,
    message,
    done: done && doneAsJson(done),
    outcomes: message ? [] : outcomes.save(state.knownOutcomes),
    runs: message ? [] : outcomes.saveRuns(),
  }
}

function doneAsJson({ input, output }: NonNullable<CallEntry['done']>): SavedCall['done'] {
  try {
    return { input: asJson(input, 'input'), ...(output !== undefined && { output: asJson(output, 'output') }) }
  } catch {
    return {}
  }
}
