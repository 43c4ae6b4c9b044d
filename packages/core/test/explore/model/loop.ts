/** The loop of steps, as in run/loop.ts: it asks the machine what is due. */

import { resultRead, stoppedWork, unreadWorks, workBeforeAnswer } from '../../../src/machine/background.ts'
import { hasSettled } from '../../../src/machine/call.ts'
import { callOf, isPast } from '../../../src/machine/calls.ts'
import { callForgotten, modelCalled } from '../../../src/machine/decide-calls.ts'
import {
  answerAccepted,
  answerOffered,
  dueHook,
  hooksDone,
  loopBegun,
  loopEnded,
  mayBeAccepted,
  mayEnter,
  mayGoOn,
  messagesWait,
  stepBegun,
  stepEnded,
  takesMessages,
} from '../../../src/machine/steps.ts'
import { lose } from './decide.ts'
import { aboutOf, type Due, isPaused, knownOf, pause, type State, stopAt } from './state.ts'

/** The next thing that is due in the steps, if anything is. */
export function ofStep(s: State): Due | undefined {
  if (isPaused(s) || s.hook !== 'none' || s.steps.loop !== 'running') return undefined
  switch (s.steps.current?.phase) {
    case undefined:
      return nextStep(s)
    case 'model':
      return s.model === 'due' ? askModel(s) : undefined
    case 'after-model':
      return hookIn(s)
    case 'calls':
      goOn(s)
      return s.steps.current.phase === 'calls' ? undefined : ofStep(s)
    case 'gate':
      return judge(s)
    default:
      return undefined
  }
}

/** The loop begins, unless another one is running or the run has to stop: then `next` throws. Returns whether it has begun. */
export function enters(s: State): boolean {
  if (!mayEnter(s.steps)) return false
  if (s.steps.loop === 'out') stopAt(s, 'after-tools')
  s.hasAnswer = false
  if (isPaused(s)) return false
  loopBegun(s.steps, s.steps.limit)
  s.loops++
  if (s.steps.current?.phase === 'over') answers(s)
  return true
}

/** A message is sent. Returns whether it is accepted. */
export function sends(s: State, text: string): boolean {
  if (!takesMessages(s.steps, s.halt)) return false
  s.inbox.push(text)
  messagesWait(s.steps, s.inbox.length)
  return true
}

function nextStep(s: State): Due | undefined {
  stopAt(s, 'after-tools')
  if (stoppedWork(s.calls)) pause(s)
  if (isPaused(s)) return undefined
  if (!mayGoOn(s.steps)) {
    takeSent(s)
    lose(s, 'failure')
    return undefined
  }
  stepBegun(s.steps)
  takeSent(s)
  hooksDone(s.steps)
  return askModel(s)
}

function takeSent(s: State): void {
  for (const { number } of unreadWorks(s.calls)) {
    resultRead(s.calls, number)
    s.history.push({ role: 'work', key: aboutOf(s, number).key })
  }
  for (const text of s.inbox) s.history.push({ role: 'user', text })
  s.inbox = []
  messagesWait(s.steps, 0)
}

function askModel(s: State): Due | undefined {
  if (s.inbox.length > 0) takeSent(s)
  stopAt(s, 'after-model')
  if (isPaused(s)) return undefined
  s.model = 'running'
  modelCalled(s.calls)
  letGo(s)
  return { do: 'ask model' }
}

function hookIn(s: State): Due | undefined {
  const hook = dueHook(s.steps, s.steps.current?.phase === 'gate' ? s.gate : [{ name: 'one' }])
  if (!hook) return undefined
  s.hook = 'running'
  s.hookName = hook.name
  return { do: 'hook' }
}

/** When all calls have settled, their results enter the history together; or the run stops. */
function goOn(s: State): void {
  const made = s.wanted.map(({ number }) => (number === null ? undefined : callOf(s.calls, number)))
  if (made.some((call) => call?.course === 'none')) lose(s, 'failure')
  else if (made.every((call) => call && hasSettled(call))) {
    if (made.some((call) => call?.course === 'open')) pause(s)
    else toGate(s)
  }
}

function toGate(s: State): void {
  for (const { call, number } of s.wanted) {
    if (number !== null) s.history.push({ role: 'tool', id: call.id, text: aboutOf(s, number).result?.text ?? '' })
  }
  answerOffered(s.steps, { isOffered: s.wanted.length === 0, direct: false })
  Object.assign(s, { wanted: [], committed: 0, most: 0 })
}

/** The answer is accepted, or a further step follows. */
function judge(s: State): Due | undefined {
  if (!s.isJudging) {
    const { is } = s.steps.current?.isOffered ? workBeforeAnswer(s.calls, s.halt) : { is: 'judge' as const }
    if (is === 'stop') pause(s)
    if (is !== 'judge') return undefined
    if (!mayBeAccepted(s.steps, s.calls)) return closes(s)
  }
  s.isJudging = true
  const hook = s.steps.current?.isOffered ? hookIn(s) : undefined
  if (hook) return hook
  if (!mayBeAccepted(s.steps, s.calls)) return closes(s)
  answerAccepted(s.steps)
  answers(s)
  return { do: 'accept' }
}

function closes(s: State): Due | undefined {
  s.isJudging = false
  stepEnded(s.steps)
  return nextStep(s)
}

function answers(s: State): void {
  loopEnded(s.steps)
  s.isJudging = false
  s.loops--
  s.hasAnswer = true
}

/**
 * The history contains everything of earlier steps: their calls leave the table, with their inner calls, when they can no longer change.
 */
function letGo(s: State): void {
  const over = new Set<number>()
  for (const { number, call } of knownOf(s)) {
    const isOver =
      call.maker === undefined
        ? call.isRequested && call.step < s.steps.begun && isPast(s.calls, call)
        : over.has(call.maker)
    if (isOver) over.add(number)
  }
  for (const number of over) {
    callForgotten(s.calls, number)
    s.about.delete(number)
  }
}
