/** From a run at work to its checkpoint. */

import { addressOf } from './address.ts'
import type { CallEntry } from './call-entry.ts'
import { CHECKPOINT_FORMAT, type Checkpoint, type SavedCall, type SavedStep } from './checkpoint.ts'
import { freeze } from './history.ts'
import type { Address, Interrupt, PendingInterrupt } from './interrupt.ts'
import { asJson } from './json.ts'
import type { Json } from './message.ts'
import type { RunState } from './run.ts'
import type { Step } from './step.ts'

/** The run as it stands: what it has, not what it waits for. To be stored at once: it shares its parts with the run. */
export function snapshot(run: RunState, status: Checkpoint['status'] = 'running'): Checkpoint {
  const { current, feedback, saver, trace, unclaimed } = run
  if (unclaimed) return untouched(run, unclaimed, status)
  return {
    format: CHECKPOINT_FORMAT,
    runId: run.id,
    agent: run.config.name ?? null,
    revision: saver.revision,
    status,
    messages: run.messages,
    usage: run.usage,
    warnings: run.warnings,
    steps: run.step,
    ...(current && { step: savedStep(run, current) }),
    calls: run.calls
      .entries()
      .filter((entry) => isNeeded(run, entry))
      .map(savedCall),
    tools: run.setup.tools.map(({ name }) => name),
    interrupts: interruptsOf(run),
    questions: run.questions.save(),
    values: run.values.save(),
    sent: run.sent,
    ...(feedback !== undefined && { feedback }),
    unknown: run.unknown,
    abandoned: run.calls.abandoned,
    ...(trace && { trace }),
  }
}

/** A resumed run that has not come to its calls: what it was to go on from, and what has been asked or sent since. */
function untouched(run: RunState, from: Checkpoint, status: Checkpoint['status']): Checkpoint {
  const asked = interruptsOf(run).filter(({ id }) => from.interrupts.every((pending) => pending.id !== id))
  const interrupts = [...from.interrupts, ...asked]
  return { ...from, status, revision: run.saver.revision, interrupts, sent: run.sent }
}

/** The same for a result: a frozen copy that equals what is stored of it (L13). */
export function checkpointOf(run: RunState, status: Checkpoint['status']): Checkpoint {
  const copy = JSON.parse(JSON.stringify(snapshot(run, status))) as Json
  return freeze(copy) as Json & Checkpoint
}

/** What waits for an answer: of calls in call order, then of a hook or wrap. */
export function interruptsOf(run: RunState): PendingInterrupt[] {
  const calls = run.calls.entries().filter(({ provisional, discarded }) => !provisional && !discarded)
  const ofCalls = run.calls.inOrder(calls).flatMap((entry): PendingInterrupt[] => {
    const address = addressOf(run, entry)
    const nested = entry.stopped ? (entry.nested?.saved.interrupts ?? []) : []
    const own = entry.asking ? [pending(run, addressOf(run, entry, entry.asking.by), entry.asking.interrupt)] : []
    return [...own, ...nested.map((inner) => ({ ...inner, address: [...address, ...inner.address] }))]
  })
  const { asking } = run
  return asking ? [...ofCalls, pending(run, addressOf(run, undefined, asking.by), asking.interrupt)] : ofCalls
}

function pending(run: RunState, address: Address, { payload }: Interrupt): PendingInterrupt {
  return { id: run.questions.nextId(run.id, address), address, payload }
}

/** Of steps that are over the history has it all; but a call that no response asked for is never made again. */
function isNeeded(run: RunState, entry: CallEntry): boolean {
  if (entry.discarded) return false
  if (entry.maker) return isNeeded(run, entry.maker)
  return !entry.asked || entry.step === run.current?.number
}

function savedStep({ messages }: RunState, step: Step): SavedStep {
  const { number, phase, attempts, attempt, finishReason, candidate, direct } = step
  return {
    number,
    phase,
    done: [...step.done],
    attempts,
    ...(attempt !== undefined && { attempt }),
    ...(finishReason !== undefined && { finishReason }),
    added: messages.flatMap((message, index) => (step.before.has(message) ? [] : [index])),
    ...(candidate && { candidate: messages.indexOf(candidate) }),
    direct,
  }
}

function savedCall(entry: CallEntry): SavedCall {
  const { key, id, call, step, asked, provisional, maker, attempts, effect, message, told } = entry
  const done = entry.tool?.compensate && entry.done
  const undoing = done && doneAsJson(done)
  const nested = entry.nested?.saved
  return {
    key,
    id,
    call,
    step,
    asked,
    provisional,
    ...(maker && { maker: maker.key }),
    attempts,
    ...(effect && !asks(entry) && !nested && { effect }),
    ...(message && { message, told }),
    ...(undoing && { done: undoing }),
    ...(nested && !message && { nested }),
  }
}

/** What asks starts from its top when it is answered (L7). */
function asks({ asking, children }: CallEntry): boolean {
  return asking !== undefined || children.some(asks)
}

/** What is no JSON cannot be undone after a resume. */
function doneAsJson({ input, output }: NonNullable<CallEntry['done']>): SavedCall['done'] {
  try {
    return { input: asJson(input, 'input'), output: asJson(output, 'output') }
  } catch {
    return undefined
  }
}
