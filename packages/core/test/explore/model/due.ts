/** What is to be done, read off the state as it is at this moment. What is taken counts as begun. */

import { holdsSlot, isAside as isAsideNow, keysOf, usesKeys } from '../../../src/machine/call.ts'
import { NO_KEYS } from '../../../src/machine/resource-keys.ts'
import { obstacleOf, type Sight } from '../../../src/machine/schedule.ts'

import { checkpointOf, drop, dropUnbegun, goTo } from './decide.ts'
import {
  type Call,
  callOf,
  type Due,
  type Ending,
  type Execution,
  isHalted,
  isPaused,
  isStopping,
  type State,
  stopAt,
} from './state.ts'

/** The next thing that is due, if anything is. */
export function take(s: State): Due | undefined {
  if (s.phase === 'over') return undefined
  const due = next(s)
  if (due) s.version++
  return due
}

function next(s: State): Due | undefined {
  for (const call of s.calls) {
    const due = ofCall(s, call)
    if (due) return due
  }
  if (s.model === 'at work' && isStopping(s)) {
    s.model = 'stopping'
    return { do: 'stop model' }
  }
  const execution = ofExecutions(s)
  if (execution) return execution
  if (s.saving === null && needsSave(s)) {
    // As it is now: what changes while it is written is in the next save.
    s.saving = s.version
    return { do: 'save' }
  }
  goOn(s)
  if (!isPaused(s) && s.phase === 'after-model' && s.hook === 'due') {
    s.hook = 'at work'
    return { do: 'hook' }
  }
  if (s.phase === 'model' && s.model === 'due') stopAt(s, s.attempts === 0 ? 'after-tools' : 'after-model')
  if (!isPaused(s) && s.phase === 'model' && s.model === 'due') {
    s.model = 'at work'
    return { do: 'ask model' }
  }
  const ending = endingOf(s)
  if (!ending) return undefined
  s.ending = ending
  s.phase = 'over'
  return { do: 'end', ending }
}

function ofCall(s: State, call: Call): Due | undefined {
  const { key } = call
  const isMakerStopped = call.maker !== null && callOf(s, call.maker).aborted
  const mustStop = call.cancelled || call.fate === 'discarded' || isMakerStopped || isStopping(s)
  if (call.course === 'begun' && !call.aborted && mustStop) {
    call.aborted = true
    dropUnbegun(s, call)
    for (const one of call.executions) {
      if (one.stage === 'entered') one.aborted = true
      else drop(call, one)
    }
    return { do: 'abort', key }
  }
  // It is told as soon as that is known, also that it will not stand in this process.
  if (call.waits && (call.fate !== 'provisional' || isPaused(s))) {
    call.waits = false
    call.isRefused = call.fate !== 'committed'
    return { do: 'release', key, stood: !call.isRefused }
  }
  if (mustUndo(s, call)) {
    call.undo = 'begun'
    return { do: 'undo', key }
  }
  if (call.course === 'due' && mayBegin(s, call)) {
    call.course = 'begun'
    return { do: 'begin', key }
  }
  return undefined
}

/** Discarded, over, and it has succeeded: it is undone, once, when it is stored that it is. After a cancel a resume decides. */
function mustUndo(s: State, call: Call): boolean {
  if (call.fate !== 'discarded' || !call.done || s.halt.stop === 'cancel') return false
  if (call.course !== 'settled' || call.executions.some(({ stage }) => stage === 'entered')) return false
  if (call.undo === 'none') {
    call.undo = 'storing'
    call.undoVersion = ++s.version
  }
  return call.undo === 'storing' && isStored(s, call.undoVersion)
}

/** The attempts that ask for it have all failed: it does not begin unless another one asks. */
function isAside(s: State, call: Call): boolean {
  if (call.maker !== null) return false
  return isAsideNow(call, s.phase === 'model' && !call.by.some((one) => s.live.includes(one)))
}

function mayBegin(s: State, call: Call): boolean {
  if (call.cancelled || call.fate === 'discarded' || isStopping(s)) return false
  // What a call makes on the side is its own work: that has started.
  if (call.maker !== null) return callOf(s, call.maker).course === 'begun'
  // One that nobody asked for early begins when it is committed.
  return !isHalted(s) && !isAside(s, call) && (call.fate === 'committed' || call.by.length > 0)
}

function needsSave(s: State): boolean {
  return s.hasStore && s.calls.some((call) => waitsForStore(s, call))
}

function waitsForStore(s: State, { executions, undo, undoVersion }: Call): boolean {
  const isWaiting = (version: number) => !isStored(s, version)
  return (
    executions.some((one) => one.stage === 'storing' && isWaiting(one.version)) ||
    (undo === 'storing' && isWaiting(undoVersion))
  )
}

function isStored(s: State, version: number): boolean {
  return !s.hasStore || s.stored >= version
}

function ofExecutions(s: State): Due | undefined {
  const order = inCallOrder(s)
  const scheduled = new Map(order.map((call) => [call, scheduledOf(s, call)]))
  const open = [...scheduled.values()]
  for (const call of s.calls) {
    if (call.course !== 'begun' || call.aborted) continue
    for (const one of call.executions) {
      const due = ofExecution(s, call, one, scheduled.get(call), open)
      if (due) return due
    }
  }
  return undefined
}

function ofExecution(
  s: State,
  call: Call,
  one: Execution,
  own: Scheduled | undefined,
  order: readonly Scheduled[],
): Due | undefined {
  const { key, maker } = call
  const { n } = one.invocation
  const waits = one.stage === 'wanted' || one.stage === 'judged' || one.stage === 'storing'
  const { effect, mayBeEarly = true } = one.does ?? {}
  if (!waits || isStopping(s)) return undefined
  // It would wait for what does not come in this process: its wrap is told, and the call stays open.
  if (isHalted(s) && (maker === null || (call.fate === 'provisional' && !mayBeEarly))) {
    goTo(call, one, 'left')
    refuse(s, call)
    return { do: 'stop', key, n }
  }
  if (one.stage === 'storing') {
    if (!isStored(s, one.version)) return undefined
    goTo(call, one, 'entered')
    return { do: 'enter', key, n }
  }
  if (maker !== null) {
    if (call.fate === 'provisional' && !mayBeEarly) return undefined
  } else if (own) {
    if (obstacleOf({ call: own, claim: one.does }, order, [], s.limit, SIGHT)) return undefined
    if (slotsTaken(s) >= s.limit) return undefined
  }
  if (one.stage === 'wanted') {
    goTo(call, one, 'checking')
    return { do: 'check', key, n }
  }
  // A read may be made again: nobody has to know that it began.
  const isStoredFirst = s.hasStore && effect !== 'read'
  one.version = ++s.version
  goTo(call, one, isStoredFirst ? 'storing' : 'entered')
  return isStoredFirst ? undefined : { do: 'enter', key, n }
}

/** What it throws, or whoever makes it, answers the stop of the run. */
function refuse(s: State, call: Call): void {
  call.isRefused = true
  if (call.maker !== null) refuse(s, callOf(s, call.maker))
}

function slotsTaken(s: State): number {
  const own = s.calls.filter(({ maker }) => maker === null)
  return own.flatMap(({ executions }) => executions.filter(holdsSlot)).length
}

/** Of calls that are not over: in the order of the response that stands, before that in the order in which they were made. */
function inCallOrder(s: State): Call[] {
  const open = s.calls.filter(({ maker, course, executions }) => {
    return maker === null && (course !== 'settled' || executions.some(holdsSlot))
  })
  return s.phase === 'calls' ? open.sort((a, b) => s.wanted.indexOf(a.key) - s.wanted.indexOf(b.key)) : open
}

interface Scheduled {
  readonly keys: ReturnType<typeof keysOf>
  readonly isExecuting: boolean
  readonly aside: boolean
  readonly provisional: boolean
}

const SIGHT: Sight<Scheduled> = {
  keys: ({ keys }) => keys,
  isExecuting: ({ isExecuting }) => isExecuting,
  isAside: ({ aside }) => aside,
  isProvisional: ({ provisional }) => provisional,
  // That its run halts because of it is read off the state, so that nobody has to be stopped one by one.
  isStopped: () => false,
  isMakerOf: () => false,
}

function scheduledOf(s: State, call: Call): Scheduled {
  const { executions, kind, fate, course } = call
  return {
    keys: kind.hasKeys ? keysOf(call, fate) : NO_KEYS,
    isExecuting: executions.some(usesKeys),
    aside: isAside(s, call) || course === 'settled',
    provisional: fate === 'provisional',
  }
}

/** The step is over when all that it wants has a result. That is looked at, and not done when the last one settles. */
function goOn(s: State): void {
  if (s.phase !== 'calls' || s.isAnswered || isStopping(s)) return
  const wanted = s.wanted.map((key) => callOf(s, key))
  if (!wanted.every(({ course, result }) => course === 'settled' && result)) return
  for (const { id, result } of wanted) s.history.push({ role: 'tool', id, text: result?.text ?? '' })
  s.isAnswered = wanted.length === 0
  if (s.isAnswered) return
  s.step++
  // Of a step that is over the history has it all.
  s.calls = s.calls.filter((call) => !isPast(s, call))
  Object.assign(s, { phase: 'model', model: 'due', attempts: 0, wanted: [] })
}

/** Nothing more comes of it, nor of what it has made. */
function isPast(s: State, call: Call): boolean {
  if (call.maker !== null) return isPast(s, callOf(s, call.maker))
  return isOver(call) && s.calls.every((one) => !isInside(s, one, call) || isOver(one))
}

function isOver({ course, done, fate, undo, executions }: Call): boolean {
  const mustUndo = done && fate === 'discarded' && undo !== 'done' && undo !== 'unknown'
  return course === 'settled' && !mustUndo && executions.every(({ stage }) => stage === 'ended' || stage === 'left')
}

function isInside(s: State, { maker }: Call, call: Call): boolean {
  return maker !== null && (maker === call.key || isInside(s, callOf(s, maker), call))
}

function endingOf(s: State): Ending | undefined {
  const isAtWork = (call: Call) =>
    call.course === 'begun' || call.executions.some(({ stage }) => stage === 'entered' || stage === 'storing')
  const isUndoing = ({ undo }: Call) => undo === 'begun' || undo === 'storing'
  if (s.model === 'at work' || s.model === 'stopping' || s.hook === 'at work' || s.saving !== null) return undefined
  if (s.calls.some((call) => isAtWork(call) || isUndoing(call))) return undefined
  const { stop, mode } = s.halt
  if (stop === 'abort') return { is: 'aborted' }
  if (stop === 'failure') return { is: 'failed' }
  if (stop === 'cancel') return s.aside ? { is: 'cancelled', checkpoint: s.aside } : undefined
  if (s.isAnswered) return { is: 'completed' }
  return isPaused(s) ? { is: mode ? 'cancelled' : 'interrupted', checkpoint: checkpointOf(s) } : undefined
}
