/** What has happened changes the state, at once and whole. Nobody is called. */

import type { CancelMode, Effect } from '../../../src/index.ts'
import type { Does, Stage } from '../../../src/machine/call.ts'
import { moved, wanted as oneMore } from '../../../src/machine/decide-call.ts'
import { decide as decideHalt, isLost } from '../../../src/machine/halt.ts'
import { exceeds } from '../../../src/tool.ts'

import { commit, discard, find, joined } from './fate.ts'
import {
  type Asked,
  AT_WORK,
  type Call,
  callOf,
  type Execution,
  type Fact,
  isHalted,
  isStopping,
  type Kind,
  type State,
  stopAt,
} from './state.ts'

/** What the fact comes to: the call it is about, or the outcome that an execution already has. */
export interface Decision {
  readonly call?: Call
  readonly known?: Call['outcomes'][number]
}

export function decide(s: State, fact: Fact): Decision {
  if (s.phase === 'over') return {}
  s.version++
  switch (fact.is) {
    case 'attempt':
      s.live.push(++s.attempts)
      return {}
    case 'attempt failed':
      s.live = s.live.filter((one) => one !== fact.attempt)
      return {}
    case 'asked early':
      return asDecision(askedEarly(s, fact))
    case 'made':
      return asDecision(made(s, fact))
    case 'stood':
      stood(s, fact.calls, fact.kinds)
      return {}
    case 'model threw':
      s.model = 'out'
      s.live = []
      if (!s.halt.stop) lose(s, 'failure')
      return {}
    case 'hook done':
      s.hook = 'none'
      s.hookAnswers = []
      toCalls(s)
      return {}
    case 'hook asks':
      s.hook = 'asks'
      return {}
    case 'wanted':
      return wanted(callOf(s, fact.key), fact.n, fact.input)
    case 'judged': {
      const execution = executionOf(s, fact)
      if (execution?.stage === 'checking')
        goTo(callOf(s, fact.key), execution, 'judged', doesOf(callOf(s, fact.key), fact))
      return {}
    }
    case 'ended':
      ended(s, fact)
      return {}
    case 'left': {
      const execution = executionOf(s, fact)
      if (execution) leave(callOf(s, fact.key), execution)
      return {}
    }
    case 'waits':
      callOf(s, fact.key).waits = true
      return {}
    case 'asks':
      asks(s, fact)
      return {}
    case 'settled':
      settle(s, callOf(s, fact.key), { text: fact.text, ok: fact.ok })
      return {}
    case 'grace over': {
      const call = callOf(s, fact.key)
      if (call.aborted) settle(s, call, { text: 'abandoned', ok: false })
      // It goes on, and holds nothing any more.
      for (const one of call.executions)
        if (one.stage === 'entered' && (one.aborted || call.aborted)) goTo(call, one, 'cut off')
      return {}
    }
    case 'undone':
      callOf(s, fact.key).undo = 'done'
      return {}
    case 'saved':
      s.stored = s.saving ?? s.stored
      s.saving = null
      return {}
    case 'save failed':
      s.saving = null
      s.hasStore = false
      for (const call of s.calls) {
        for (const one of call.executions) if (one.stage === 'storing') goTo(call, one, 'left')
      }
      lose(s, 'failure')
      return {}
    case 'cancel call':
      return asDecision(cancelCall(s, callOf(s, fact.key)))
    case 'cancel':
      cancel(s, fact.at)
      return {}
    case 'abort':
      lose(s, 'abort')
      return {}
  }
}

const asDecision = (call: Call | undefined): Decision => (call ? { call } : {})

function executionOf(s: State, { key, n }: { readonly key: string; readonly n: number }): Execution | undefined {
  return callOf(s, key).executions.find(({ invocation, stage }) => invocation.n === n && !isOut(stage))
}

function askedEarly(
  s: State,
  { attempt, call, kind, ceiling }: Extract<Fact, { is: 'asked early' }>,
): Call | undefined {
  const found = find(s, call, attempt, [])
  if (found) return joined(found, call.id, attempt)
  const mayBegin = s.phase === 'model' && s.model === 'at work' && !isHalted(s) && s.live.includes(attempt)
  return mayBegin ? added(s, call, kind, { fate: 'provisional', by: [attempt], maker: null, ceiling }) : undefined
}

/** A call that another's function makes: it shares that one's fate, and may do no more than that one may. */
function made(s: State, { maker: key, call, kind }: Extract<Fact, { is: 'made' }>): Call | undefined {
  const maker = callOf(s, key)
  // Ids belong to the maker: another call's inner calls may have the same.
  const same = s.calls.find((one) => one.maker === key && one.id === call.id && one.input === call.input)
  if (same && same.course !== 'asleep') return same
  const mayBegin = maker.course === 'begun' && !maker.aborted && maker.fate !== 'discarded' && !isStopping(s)
  const { fate, ceiling } = maker
  if (same) return mayBegin ? joined(same, call.id, null) : undefined
  return mayBegin ? added(s, call, kind, { fate, by: [], maker: key, ceiling }) : undefined
}

function added(
  s: State,
  { id, name, input }: Asked,
  kind: Kind,
  more: Pick<Call, 'fate' | 'by' | 'maker'> & { readonly ceiling: Effect | null },
): Call {
  const call: Call = {
    key: `c${++s.made}`,
    id,
    name,
    input,
    kind,
    ...more,
    course: 'due',
    cancelled: false,
    aborted: false,
    waits: false,
    isRefused: false,
    question: null,
    answers: [],
    executions: [],
    attempts: 0,
    askedAt: 0,
    outcomes: [],
    result: null,
    done: false,
    undo: 'none',
    undoVersion: 0,
  }
  s.calls.push(call)
  return call
}

function stood(s: State, calls: readonly Asked[], kinds: readonly Kind[]): void {
  s.model = 'out'
  if (isStopping(s)) return
  s.history.push({ role: 'assistant', calls })
  const taken: Call[] = []
  for (const [index, call] of calls.entries()) {
    const kind = kinds[index]
    if (!kind) throw new Error('each call has a kind')
    const found = find(s, call, null, taken)
    const own = found
      ? joined(found, call.id, null)
      : added(s, call, kind, { fate: 'provisional', by: [], maker: null, ceiling: null })
    taken.push(own)
  }
  s.wanted = taken.map(({ key }) => key)
  s.live = []
  s.hook = 'due'
  s.phase = 'after-model'
}

/** The response stands, and the hook has let it: what it asks for is made, and nothing else. */
export function toCalls(s: State): void {
  s.phase = 'calls'
  for (const call of s.calls) if (!call.maker && !s.wanted.includes(call.key)) discard(s, call)
  for (const key of s.wanted) commit(s, callOf(s, key))
  if (s.wanted.length > 0) stopAt(s, 'after-model')
}

/** A wrap asks for an execution. One that has come to something before a resume comes to the same again. */
function wanted(call: Call, n: number, input: string): Decision {
  const known = call.outcomes.find((one) => one.n === n && one.input === input)
  if (known) return { known }
  Object.assign(call, oneMore(call, { n, input }))
  Object.assign(call.executions.at(-1) ?? {}, { version: 0, aborted: false })
  return {}
}

function ended(s: State, fact: Extract<Fact, { is: 'ended' }>): void {
  const execution = executionOf(s, fact)
  if (!execution) return
  const call = callOf(s, fact.key)
  const { n, input = '' } = execution.invocation
  const wasEntered = execution.stage === 'entered'
  const wasLeft = execution.aborted && !call.aborted
  const isTaken = wasEntered && !call.aborted
  goTo(call, execution, isTaken && call.isRefused ? 'cut off' : 'ended')
  if (!wasEntered || call.aborted) {
    // What it did before it was cut off can be undone all the same.
    if (wasEntered && fact.ok) call.done = call.kind.reversible
    return
  }
  // Its run's stop was told to it: what it says then is dropped.
  if (call.isRefused) return
  if (wasLeft) call.outcomes.push({ n, input, text: 'cut off', ok: false })
  else call.outcomes.push({ n, input, text: fact.text, ok: fact.ok })
  if (fact.ok) call.done = call.kind.reversible
}

export function goTo(call: Call, { invocation }: Execution, stage: Stage, does?: Does): void {
  Object.assign(call, moved(call, invocation, stage, does))
}

/** Nobody waits for what it comes to. */
export function drop(call: Call, one: Execution): void {
  goTo(call, one, one.stage === 'cut off' ? 'ended' : 'left')
}

function doesOf({ ceiling }: Call, { effect, writes }: Extract<Fact, { is: 'judged' }>): Does {
  return { effect, keys: { reads: [], writes }, mayBeEarly: ceiling === null || !exceeds(effect, ceiling) }
}

function isOut(stage: Stage): boolean {
  return stage === 'ended' || stage === 'left'
}

/** Its wrap has left it: it is told to stop, and keeps what it holds until it ends. */
function leave(call: Call, execution: Execution): void {
  if (execution.stage !== 'entered') drop(call, execution)
  else if (!call.aborted) execution.aborted = true
}

/** What asks waits for a resume; without a question because its run has stopped. */
function asks(s: State, { key, n, question }: Extract<Fact, { is: 'asks' }>): void {
  const call = callOf(s, key)
  const thrower = call.executions.find(({ invocation, stage }) => invocation.n === n && stage === 'entered')
  if (thrower) goTo(call, thrower, call.isRefused ? 'cut off' : 'ended')
  const isOver = call.cancelled || call.fate === 'discarded' || isLost(s.halt)
  if (isOver) settle(s, call, { text: 'cut off', ok: false })
  else if (call.course === 'begun') {
    Object.assign(call, { course: 'open', question: call.isRefused ? null : question, waits: false })
    dropUnbegun(s, call)
    for (const one of call.executions) leave(call, one)
  }
}

function settle(s: State, call: Call, result: Call['result']): void {
  if (call.course !== 'begun') return
  call.waits = false
  dropUnbegun(s, call)
  for (const one of call.executions) leave(call, one)
  const isDecided = call.cancelled || call.fate === 'discarded'
  // Nobody acts on what comes of a call that was told to stop, or that its run's stop was told to: a resume decides on it.
  if (!isDecided && (call.aborted || call.isRefused)) call.course = 'open'
  else Object.assign(call, { course: 'settled', result: call.cancelled ? { text: 'cancelled', ok: false } : result })
}

/** What a call has made and that has not begun is forgotten: nobody waits for it any more. */
export function dropUnbegun(s: State, { key }: Call): void {
  s.calls = s.calls.filter(({ maker, course }) => maker !== key || course !== 'due')
}

function cancelCall(s: State, call: Call): Call | undefined {
  if (call.course === 'settled' || call.fate === 'discarded' || call.cancelled) return undefined
  call.cancelled = true
  for (const child of s.calls) if (child.maker === call.key) cancelCall(s, child)
  if (call.course === 'begun') return call
  Object.assign(call, { course: 'settled', question: null, result: { text: 'cancelled', ok: false } })
  return call
}

function cancel(s: State, at: CancelMode): void {
  const { stop } = s.halt
  s.halt = decideHalt(s.halt, { is: 'cancel', at })
  if (s.halt.stop !== stop) s.aside = checkpointOf(s)
  // Calls that have not begun do not begin any more.
  if (s.phase === 'calls') stopAt(s, 'after-model')
}

/** It is aborted, or fails: no resume goes on from there. */
function lose(s: State, is: 'abort' | 'failure'): void {
  const before = s.halt
  s.halt = decideHalt(before, { is })
  if (s.halt === before) return
  s.aside = null
  for (const call of s.calls) discard(s, call)
}

/** A copy to go on from: without what concerns this process alone, and without what was discarded, unless its undo has begun. */
export function checkpointOf(s: State): State {
  const copy = structuredClone({ ...s, aside: null, halt: AT_WORK, ending: null, saving: null })
  const isUndoing = ({ undo }: Call) => undo === 'storing' || undo === 'begun'
  const stays = (call: Call): boolean =>
    (call.maker ? stays(callOf(s, call.maker)) : call.fate !== 'discarded') || isUndoing(call)
  copy.calls = copy.calls.filter((call) => stays(callOf(s, call.key)))
  return copy
}
