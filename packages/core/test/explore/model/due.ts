/** Determines what is due from the present state. What is taken counts as begun. */

import { ownWorks, worksHandedOver } from '../../../src/machine/background.ts'
import { type CallState, undoOf } from '../../../src/machine/call.ts'
import { callOf, type WaitingExecution } from '../../../src/machine/calls.ts'
import { movedTo, parked, undoing } from '../../../src/machine/decide-call.ts'
import { callCommitted, callStopped, decideCall } from '../../../src/machine/decide-calls.ts'
import { dueOf, isJudged, mustLook, takesTurn } from '../../../src/machine/due.ts'
import { decideHalt } from '../../../src/machine/halt.ts'
import { isSameExecution } from '../../../src/machine/invocation.ts'
import { inboxClosed } from '../../../src/machine/steps.ts'
import { checkpointOf } from './checkpoint.ts'
import { begins, begunAgain, circles, dropped, madeNow, passed, stopCalls, stopOf, UNSTORED } from './decide.ts'
import { goesOnAs } from './find.ts'
import { ofStep } from './loop.ts'
import {
  aboutOf,
  type Due,
  type Ending,
  isLeft,
  isPaused,
  isStopping,
  type Known,
  knownOf,
  type State,
} from './state.ts'

/** The next thing that is due, if anything is. */
export function take(s: State): Due | undefined {
  if (s.phase === 'over') return undefined
  const commit = ofCommit(s)
  if (commit) return commit
  for (const one of knownOf(s)) {
    const due = ofCall(s, one)
    if (due) return due
  }
  if (s.model === 'running' && isStopping(s)) {
    s.model = 'stopping'
    return { do: 'stop model' }
  }
  const execution = ofWaiting(s) ?? ofStoring(s)
  if (execution) return execution
  if (s.saving === null && needsSave(s)) {
    // The present version: later changes are in the next save.
    s.saving = s.version
    return { do: 'save' }
  }
  const { stop } = s.halt
  // A step may pause while something is still running.
  return ofStep(s) ?? ofEnd(s) ?? (s.halt.stop === stop ? undefined : { do: 'pause' })
}

function ofCall(s: State, { number, call, about }: Known): Due | undefined {
  const mustStop = call.isParked || call.fate === 'discarded' || (isStopping(s) && isOwn(s, call))
  if (call.course === 'begun' && !call.aborted && mustStop) {
    callStopped(s.calls, number, 'stopped')
    return { do: 'abort', number }
  }
  const isDecided = call.fate !== 'provisional'
  // It receives its fate as soon as that is known, also that it will not be committed in this process.
  if (about.waits && !call.aborted && (isDecided || isPaused(s))) {
    about.waits = false
    decideCall(s.calls, parked(callOf(s.calls, number)))
    return { do: 'release', number, stood: call.fate === 'committed' }
  }
  const [invocation] = about.held
  if (invocation && (isDecided || call.aborted || isPaused(s) || isLeft(about, invocation))) {
    about.held.shift()
    if (call.fate === 'committed' && !call.aborted && !isLeft(about, invocation)) {
      const went = begins(s, number, invocation)
      return went === 'goes' || went === 'waits' ? { do: 'turn', number } : { do: BACK[went], number, invocation }
    }
    const isStop = !isDecided && !call.aborted && isPaused(s)
    if (isStop) decideCall(s.calls, parked(callOf(s.calls, number)))
    dropped(s, number, invocation, isStop)
    return { do: isStop ? 'stop' : 'drop', number, invocation }
  }
  return mustUndo(s, { number, call, about }) ? { do: 'undo', number } : undefined
}

/** Whether its run stops it when the run ends. */
function isOwn({ calls }: State, { number, work }: CallState): boolean {
  return !work || ownWorks(calls).some((one) => one.number === number)
}

/** A due undo happens once, after it is stored. */
function mustUndo(s: State, { number, call, about }: Known): boolean {
  if (undoOf(call) === 'due' && decideCall(s.calls, undoing(callOf(s.calls, number), 'begun')))
    about.undoVersion = ++s.version
  if (about.undoVersion <= 0 || !isStored(s, about.undoVersion)) return false
  about.undoVersion = 0
  return true
}

/** Which waiting execution has its turn according to the machine, and which no longer wait. */
function ofWaiting(s: State): Due | undefined {
  for (const waiting of s.calls.waiting) {
    const { call: number, invocation } = waiting
    const stop = stopOf(s, number, invocation)
    if (stop) return comesBack(s, waiting, stop)
    if (!mustLook(s.calls, waiting)) continue
    const due = dueOf(s.calls, waiting)
    if (!due) continue
    if (due.is !== 'turn') return comesBack(s, waiting, due.is)
    const isBegun = isJudged(s.calls, waiting)
    takesTurn(s.calls, waiting)
    passed(s, number, invocation)
    return isBegun ? { do: 'turn', number } : { do: 'check', number, invocation }
  }
  return undefined
}

/** What its wrap receives for an execution that does not begin. */
const BACK = { stop: 'stop', aborted: 'drop', circle: 'fail' } as const

function comesBack(s: State, { call: number, invocation }: WaitingExecution, how: keyof typeof BACK): Due {
  if (how === 'circle') circles(s, number, invocation)
  else dropped(s, number, invocation, how === 'stop')
  return { do: BACK[how], number, invocation }
}

/** The executions that have their turn: they are entered when it is stored that they begin. */
function ofStoring(s: State): Due | undefined {
  for (const { number, call, about } of knownOf(s)) {
    for (const { invocation, stage } of call.executions) {
      if (stage !== 'storing') continue
      const own = about.storing.find((one) => isSameExecution(one.invocation, invocation))
      if (own && own.version !== UNSTORED && !isStored(s, own.version)) continue
      about.storing = about.storing.filter((one) => one !== own)
      if (own?.version === UNSTORED) {
        decideCall(s.calls, movedTo(callOf(s.calls, number), invocation, 'threw'))
        return { do: 'throw', number, invocation }
      }
      const stop = stopOf(s, number, invocation)
      if (stop) {
        dropped(s, number, invocation, stop === 'stop')
        return { do: BACK[stop], number, invocation }
      }
      decideCall(s.calls, movedTo(callOf(s.calls, number), invocation, 'entered'))
      return { do: 'enter', number, invocation }
    }
  }
  return undefined
}

function needsSave(s: State): boolean {
  const isWaiting = (version: number) => version !== UNSTORED && !isStored(s, version)
  return (
    s.hasStore &&
    knownOf(s).some(
      ({ about }) =>
        about.storing.some(({ version }) => isWaiting(version)) ||
        (about.undoVersion > 0 && isWaiting(about.undoVersion)),
    )
  )
}

function isStored(s: State, version: number): boolean {
  return !s.hasStore || s.stored >= version
}

/** The loop commits or makes one call after another. */
function ofCommit(s: State): Due | undefined {
  const next = s.wanted[s.committed]
  if (!next || isStopping(s)) return undefined
  s.committed++
  if (next.number === null) {
    if (s.committed <= s.most) next.number = madeNow(s, next)
  } else {
    callCommitted(s.calls, next.number, 0, 0)
    goesOnAs(s, next.number, next.call.id)
    begunAgain(s, next.number)
  }
  return { do: 'commit' }
}

function ofEnd(s: State): Due | undefined {
  const { halt } = s
  const hasEnd = halt.stop === 'pause' || (!halt.stop && s.hasAnswer && s.isWrapOut)
  if (halt.phase !== 'ending' && hasEnd && !isAtWork(s, waitsForWork(s))) {
    endDecided(s)
    if (isAtWork(s, true)) return { do: 'wait for work' }
  }
  const ending = endingOf(s)
  if (!ending) return undefined
  inboxClosed(s.steps)
  s.ending = ending
  s.phase = 'over'
  return { do: 'end', ending }
}

/** Whether a run waits for its work, as a pause does. A run that was cancelled, or has its answer, stops it. */
function waitsForWork({ halt }: State): boolean {
  return halt.stop === 'pause' && !halt.mode
}

/** The run has its answer or pauses, and nothing for which it waits is running. */
function endDecided(s: State): void {
  inboxClosed(s.steps)
  if (isPaused(s)) {
    s.aside = checkpointOf(s, true)
    stopCalls(s, 'interrupted', true)
  } else s.handles = worksHandedOver(s.calls).map(({ number }) => aboutOf(s, number).key)
  s.halt = decideHalt(s.halt, { is: 'ending' })
  for (const { number } of ownWorks(s.calls)) callStopped(s.calls, number, 'stopped')
}

function isAtWork(s: State, withWork: boolean): boolean {
  if (s.model === 'running' || s.model === 'stopping' || s.hook === 'running' || s.saving !== null) return true
  const isBegun = ({ call }: Known) => call.course === 'begun' && (!call.work || (withWork && isOwn(s, call)))
  return knownOf(s).some((one) => isBegun(one) || one.call.undo === 'begun')
}

function endingOf(s: State): Ending | undefined {
  if (isAtWork(s, true)) return undefined
  const { stop, mode, phase } = s.halt
  if (stop === 'abort') return { is: 'aborted' }
  if (stop === 'failure') return { is: 'failed' }
  if (stop === 'cancel') return s.aside ? { is: 'cancelled', checkpoint: s.aside } : undefined
  if (phase !== 'ending') return undefined
  if (!stop) return { is: 'completed' }
  return s.aside ? { is: mode ? 'cancelled' : 'interrupted', checkpoint: s.aside } : undefined
}
