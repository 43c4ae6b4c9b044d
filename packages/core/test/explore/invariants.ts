/** The rules for each state and each end. Each is a sentence, with a function that returns what is wrong if the rule is broken. */

import { type CallState, type ExecutionState, hasSettled, type Stage, type WorkState } from '../../src/machine/call.ts'
import { isMakerOf, needsSlot } from '../../src/machine/calls.ts'
import { slotsOf } from '../../src/machine/decide-calls.ts'
import { dueOf, mustLook } from '../../src/machine/due.ts'
import { isSame } from '../../src/machine/invocation.ts'
import { mayGoOn } from '../../src/machine/steps.ts'
import { changesNothing } from '../../src/vocabulary/effect.ts'
import { discardedIn } from './model/checkpoint.ts'
import { take } from './model/due.ts'
import { copyOf, type Known, knownOf, type State } from './model/state.ts'
import { isKnown } from './reader.ts'
import { type Entry, effectOf, hookOf, type Scenario, type World } from './world.ts'

type Rule = (w: World, scenario: Scenario) => string | undefined

const keyOf = (one: Known | undefined) => one?.about.key

const HOLDS_SLOT: ReadonlySet<Stage> = new Set<Stage>(['checking', 'storing', 'entered'])

interface KnownWork extends Known {
  readonly call: CallState & { readonly work: WorkState }
}

/** The work of background calls. */
function worksIn(s: State): KnownWork[] {
  return knownOf(s).flatMap((one) => {
    const { work } = one.call
    return work ? [{ ...one, call: { ...one.call, work } }] : []
  })
}

const hasUnread = (s: State) => worksIn(s).find(({ call }) => call.course === 'result' && !call.work.isRead)

/** In each state. */
export const ALWAYS: Readonly<Record<string, Rule>> = {
  'no more steps begin than the limit allows': ({ s }, { maxSteps = Number.POSITIVE_INFINITY }) =>
    s.steps.begun > maxSteps ? String(s.steps.begun) : undefined,
  'only the steps of one next are running at a time': ({ s }) => (s.loops > 1 ? String(s.loops) : undefined),
  'a hook that is done does not run again': (w, { kill }) =>
    w.hook && !kill && w.hooked.includes(hookOf(w.s)) ? hookOf(w.s) : undefined,
  'a rejected answer is not accepted': ({ s: { steps }, rejected }) =>
    steps.current?.phase === 'over' && rejected.includes(steps.current.number)
      ? String(steps.current.number)
      : undefined,
  'a sent message is in the history once, or waits': ({ s: { history, inbox, steps }, taken }) => {
    const read = history.flatMap((turn) => (turn.role === 'user' && turn.text !== 'rejected' ? [turn.text] : []))
    const all = [...read, ...inbox]
    return String(all) === String(taken) && inbox.length === steps.waiting
      ? undefined
      : `${all.join(', ')} of ${taken.join(', ')}`
  },
  'the model reads a background result once': ({ s: { history } }) => {
    const read = history.flatMap((turn) => (turn.role === 'work' ? [turn.key] : []))
    return read.find((key, index) => read.indexOf(key) !== index)
  },
  'work that its tool does not detach does not go on after its run': ({ s }) =>
    keyOf(worksIn(s).find(({ call: { work } }) => work.isHandedOver && work.atEnd !== 'detach')),
  'a stopped run does not wait for background work': ({ s, model, hook, saving, undoing }) => {
    if (s.phase === 'over' || s.halt.mode === undefined || model || hook || saving || undoing.length > 0)
      return undefined
    const begun = knownOf(s).filter(({ call }) => call.course === 'begun')
    const isLeft = ({ call: { work, aborted } }: Known) => work !== undefined && !aborted && !work.isHandedOver
    return begun.some(isLeft) && begun.every(({ call }) => call.work) && !take(copyOf(s))
      ? keyOf(begun.find(isLeft))
      : undefined
  },
  'no more executions hold a slot than there are slots': ({ s }) => {
    const outer = knownOf(s).filter(({ call }) => needsSlot(call) && !call.isAbandoned)
    const holds = ({ executions, course }: CallState) =>
      executions.filter(({ stage }) => HOLDS_SLOT.has(stage) || (stage === 'threw' && course === 'begun'))
    const slots = outer.flatMap(({ call }) => holds(call)).length
    return slots > s.calls.limit ? `${slots} of ${s.calls.limit}` : undefined
  },
  'nothing starts in the slot of a call that threw an error that ends its run': ({ s, thrown }) => {
    const outer = knownOf(s).filter(({ call }) => needsSlot(call) && call.course === 'begun')
    const slots = outer.flatMap(({ call }) => call.executions).filter(({ stage }) => HOLDS_SLOT.has(stage)).length
    const kept = outer.filter(({ number }) => thrown.includes(number)).length
    return slots + kept > s.calls.limit ? `${slots} and ${kept} of ${s.calls.limit}` : undefined
  },
  'no more inner calls of one maker execute at the same time than the limit allows': ({ s }) => {
    const { innerLimit } = s.calls
    const isAtWork = ({ course, executions }: CallState) =>
      course === 'begun' && executions.some(({ stage }) => HOLDS_SLOT.has(stage))
    const inner = (maker: number) => knownOf(s).filter(({ call }) => call.maker === maker && isAtWork(call)).length
    return keyOf(knownOf(s).find(({ number }) => inner(number) > innerLimit))
  },
  'calls that write the same key execute one at a time': ({ s }) => {
    const users = knownOf(s).flatMap(({ number, call: { executions }, about: { key } }) =>
      executions.flatMap(({ stage, judgement }) =>
        stage === 'entered' && judgement ? [{ number, key, ...judgement.keys }] : [],
      ),
    )
    const isBeside = (one: number, other: number) =>
      one !== other && !isMakerOf(s.calls, one, other) && !isMakerOf(s.calls, other, one)
    const meets = users.find((one) =>
      users.some((other) => isBeside(one.number, other.number) && one.writes.some((key) => other.writes.includes(key))),
    )
    return meets?.key
  },
  'a call whose effect cannot be repeated is not executed twice': (w, { wrap }) => {
    for (const one of w.entries) {
      if (changesNothing(one.effect) || one.isVoid) continue
      const ofCall = w.entries.filter(({ key, isVoid }) => key === one.key && !isVoid)
      if (ofCall.filter(({ invocation }) => isSame(invocation, one.invocation)).length > 1)
        return `${one.name}${one.input} (${one.key}, ${one.invocation.n})`
      if (!wrap && ofCall.length > 1) return `${one.name}${one.input} (${one.key}) without a wrap that repeats it`
    }
    return undefined
  },
  'a function receives the input of its call, or of its wrap': ({ s, entries }, { wrap }) => {
    const isOtherInput = wrap === 'both' || wrap === 'catch'
    const isOther = ({ key, input }: Entry) => {
      const about = knownOf(s).find((one) => keyOf(one) === key)?.about
      return about !== undefined && about.input !== input && !(isOtherInput && input.startsWith(about.input))
    }
    const other = entries.find(isOther)
    if (other) return `${other.key}: ${other.input}`
    const isMeant = ({ call, number }: State['wanted'][number]) => {
      const about = number === null ? undefined : s.about.get(number)
      return !about || (about.name === call.name && about.input === call.input)
    }
    return s.wanted.find((one) => !isMeant(one))?.call.id
  },
  'a call that must wait for its response does not start before that': ({ s }, { eager }) => {
    if (eager === 'bold') return undefined
    const isEntered = ({ executions }: CallState) => executions.some(({ stage }) => stage === 'entered')
    return keyOf(
      knownOf(s).find(
        ({ call, about }) => call.fate === 'provisional' && isEntered(call) && effectOf(about.name) === 'external',
      ),
    )
  },
  'a call that cannot be repeated is stored before it is entered': ({ s, stored }, { store }) => {
    const isAtWork = ({ stage, judgement }: ExecutionState) =>
      stage === 'entered' && judgement !== undefined && !changesNothing(judgement.effect)
    const isStored = ({ about: { key } }: Known) => stored.calls.some((saved) => saved.key === key && saved.effect)
    return store ? keyOf(knownOf(s).find((one) => one.call.executions.some(isAtWork) && !isStored(one))) : undefined
  },
  'an undone call was discarded, and is undone once': ({ s, undone }) => {
    const twice = undone.find((key, index) => undone.indexOf(key) !== index)
    if (twice) return `${twice} twice`
    const standing = knownOf(s).find(({ call, about }) => undone.includes(about.key) && call.fate === 'committed')
    return standing && `${keyOf(standing)} stands`
  },
  'an outcome belongs to the input of its execution': ({ s }) => {
    for (const { about } of knownOf(s)) {
      const { key, name, input, outcomes } = about
      const wrong = outcomes.find(
        ({ invocation, text, ok }) =>
          ok &&
          text.startsWith(name) &&
          !text.startsWith(`${name} of`) &&
          !text.startsWith(`${name} ${invocation.input ?? input}`),
      )
      if (wrong) return `${key}: ${wrong.invocation.input ?? input} gave ${wrong.text}`
    }
    return undefined
  },
  'no store has a later state than the run': ({ s }) =>
    s.stored > s.version ? `${s.stored} of ${s.version}` : undefined,
  'two calls of a response are never one': ({ s }) => {
    const made = s.wanted.flatMap(({ number }) => number ?? [])
    return new Set(made).size < made.length ? made.join(', ') : undefined
  },
  'an inner call shares the fate of its maker': ({ s }) =>
    keyOf(
      knownOf(s).find(({ call: { maker, fate } }) => {
        const above = maker === undefined ? undefined : s.calls.all.get(maker)
        return above !== undefined && above.fate !== fate
      }),
    ),
  'an inner call is stopped with its maker': ({ s }) =>
    keyOf(
      knownOf(s).find(({ call: { maker, course, aborted } }) => {
        const above = maker === undefined ? undefined : s.calls.all.get(maker)
        return above?.aborted && course === 'begun' && !aborted
      }),
    ),
  'the reader sees no event of a call before the call': ({ s, reader }) =>
    reader
      ? keyOf(
          knownOf(s).find((one) => {
            const { fate, maker, startedEarly } = one.call
            const isEarly = startedEarly && fate !== 'committed' && maker === undefined && one.about.hasBegun
            return isEarly && reader.told[one.about.key] !== undefined && !isKnown(reader, one)
          }),
        )
      : undefined,
  'the reader sees inner calls when it sees their maker': ({ s }) =>
    keyOf(
      knownOf(s).find(({ call: { maker, fate, told }, about: { hasBegun } }) => {
        const above = maker === undefined ? undefined : s.calls.all.get(maker)
        return above && hasBegun && fate !== 'discarded' && (above.told === 'hidden') !== (told === 'hidden')
      }),
    ),
  'the reader sees the end of a call once': ({ reader }) =>
    Object.entries(reader?.told ?? {}).find(([, events]) => events.filter((event) => event === 'end').length > 1)?.[0],
  'the number of taken slots equals a recount': ({ s }) => {
    const slots = [...s.calls.all.values()].map(slotsOf).reduce((all, some) => all + some, 0)
    return slots === s.calls.slotsTaken ? undefined : `${s.calls.slotsTaken} instead of ${slots}`
  },
  'an execution that may go on is examined': ({ s }) => {
    const { calls } = copyOf(s)
    const missed = [...calls.waiting].filter((one) => !mustLook(calls, one)).find((one) => dueOf(calls, one))
    return missed && keyOf(knownOf(s).find(({ number }) => number === missed.call))
  },
}

/** When an execution passes a gate, or is entered: the rules just after. */
export const ON_START: Readonly<Record<string, (s: State, one: Known, stage: Stage) => string | undefined>> = {
  'nothing starts once its run has been stopped': ({ halt: { stop } }, one) =>
    stop && stop !== 'pause' ? keyOf(one) : undefined,
  'nothing of a paused run starts, except inner calls of running calls': ({ halt }, one) => {
    const isPaused = halt.stop === 'pause' || halt.mode === 'after-model'
    return one.call.maker === undefined && isPaused ? keyOf(one) : undefined
  },
  'a call of a failed attempt begins only if another attempt requests it': ({ calls: { response } }, one, stage) => {
    const { maker, fate, requestedBy } = one.call
    const isFailed = requestedBy.length > 0 && requestedBy.every((attempt) => response.attempts.get(attempt)?.hasFailed)
    // An execution that has its turn has begun.
    return maker === undefined && fate === 'provisional' && isFailed && stage !== 'entered' ? keyOf(one) : undefined
  },
  'a call that was cancelled or discarded does not start': (_, one) =>
    one.call.aborted || one.call.fate === 'discarded' ? keyOf(one) : undefined,
  'with one slot a call waits for all earlier calls': (s, one, stage) => {
    const { calls } = s
    if (calls.limit > 1 || one.call.maker !== undefined || stage === 'entered') return undefined
    const place = calls.order.indexOf(one.number)
    const isInFront = ({ number, call }: Known) => {
      const at = calls.order.indexOf(number)
      return at >= 0 && at < place && call.course !== 'asleep' && call.fate !== 'discarded'
    }
    const isHeld = ({ call: { fate, requestedBy } }: Known) =>
      fate === 'provisional' && requestedBy.every((attempt) => calls.response.attempts.get(attempt)?.hasFailed)
    return keyOf(knownOf(s).find((other) => isInFront(other) && !isHeld(other)))
  },
}

/** When anything happens: a call just before, and just after. */
export const ON_CHANGE: Readonly<Record<string, (before: CallState, after: CallState) => string | undefined>> = {
  'a call that a pause has stopped stays open, unless it is cancelled': (before, after) => {
    const isKept = before.isParked && !hasSettled(before) && before.aborted !== 'cancelled'
    return isKept && hasSettled(after) && after.course !== 'open' ? after.id : undefined
  },
  'a discarded call has no result': (before, after) =>
    before.fate === 'discarded' && !hasSettled(before) && after.course === 'result' ? after.id : undefined,
  'the decisions about a call are final': (before, after) => {
    if (before.fate !== 'provisional' && before.fate !== after.fate) return `${before.fate} → ${after.fate}`
    return hasSettled(before) && before.course !== after.course ? `${before.course} → ${after.course}` : undefined
  },
}

/** When a running call is stopped: the rules just before. */
export const ON_ABORT: Readonly<Record<string, (before: State, one: Known) => string | undefined>> = {
  'running calls are not stopped when their run pauses': ({ halt }, one) => {
    const { isParked, fate } = one.call
    return halt.stop === 'pause' && !isParked && fate !== 'discarded' ? keyOf(one) : undefined
  },
}

/** When the model is called: the rules just before and just after. */
export const ON_ASK: Readonly<Record<string, (before: State, after: State) => string | undefined>> = {
  'a cancelled run begins no further step': ({ halt, steps }, after) =>
    halt.mode !== undefined && after.steps.begun > steps.begun ? String(after.steps.begun) : undefined,
  'a run whose background work asks begins no further step': ({ calls }) =>
    [...calls.all.values()].find(({ work, course }) => work && course === 'open')?.id,
  'no call of an earlier step is left, unless it can still change': (_, s) => {
    const isDone = ({ number, call }: Known): boolean =>
      hasSettled(call) &&
      call.course !== 'open' &&
      (call.fate !== 'discarded' ||
        !call.isDone ||
        !call.tool?.isReversible ||
        call.undo === 'ended' ||
        call.undo === 'before') &&
      knownOf(s).every((one) => one.call.maker !== number || isDone(one))
    return keyOf(knownOf(s).find((one) => one.call.isRequested && one.call.step < s.steps.begun && isDone(one)))
  },
}

/** When an answer is accepted: the rules at that moment. */
export const ON_ACCEPT: Readonly<Record<string, (s: State) => string | undefined>> = {
  'an answer waits for the background work that it must wait for': (s) =>
    keyOf(worksIn(s).find(({ call }) => call.work.atEnd === 'wait' && call.course !== 'result')),
  'an answer is not accepted while a step is left to read a background result': (s) =>
    mayGoOn(s.steps) ? keyOf(hasUnread(s)) : undefined,
}

/** At each end of a run. */
export const AT_END: Readonly<Record<string, Rule>> = {
  'nothing is running when a run ends': ({ s, tools, model, hook, undoing }) => {
    const goesOn = (number: number) => s.calls.all.get(number)?.work?.isHandedOver === true
    const one = knownOf(s).find(({ call, number }) => call.course === 'begun' && !goesOn(number))
    if (one) return keyOf(one)
    // An abandoned call is still running, and nothing waits for it.
    if (model || hook || undoing.length > 0) return 'the model, a hook or an undo'
    const left = tools.find(({ number }) => !goesOn(number))
    return left && `the function of call ${left.number}`
  },
  'an abort replaces every other stop': ({ s, left }, { abort }) =>
    abort && left.abort === 0 && s.ending?.is !== 'aborted' && s.ending?.is !== 'failed'
      ? String(s.ending?.is)
      : undefined,
  'the checkpoint of a cancel is the state at its decision': ({ s }) =>
    s.ending?.is === 'cancelled' && s.halt.stop === 'cancel' && s.ending.checkpoint !== s.aside ? 'another' : undefined,
  'a call that was cancelled asks nothing': ({ s }) =>
    keyOf(knownOf(s).find(({ call }) => call.aborted === 'cancelled' && call.course === 'open')),
  'no sent message is unread when a run completes': ({ s }) =>
    s.ending?.is === 'completed' && s.inbox.length > 0 ? s.inbox.join(', ') : undefined,
  'a sent message is in the checkpoint, in its history or waiting': ({ s, taken }) => {
    if (!s.ending || !('checkpoint' in s.ending)) return undefined
    const { history, inbox } = s.ending.checkpoint.values
    return taken.find((text) => !inbox.includes(text) && !history.some((turn) => 'text' in turn && turn.text === text))
  },
  'a run that cannot store the beginning of its work does not complete': ({ s }) => {
    const isUnstored = ({ call: { aborted, work, executions } }: KnownWork) =>
      !aborted && !work.isHandedOver && executions.some(({ stage }) => stage === 'threw')
    return s.ending?.is === 'completed' ? keyOf(worksIn(s).find(isUnstored)) : undefined
  },
  'the caller receives the work with results that the model has not read': ({ s }) => {
    // Nothing waits for the result of work that the run has stopped.
    const isStopped = ({ call }: KnownWork) => call.work.atEnd === 'cancel' && call.aborted
    const unread = worksIn(s).find(
      (one) =>
        one.call.course === 'result' && !one.call.work.isRead && !isStopped(one) && !s.handles.includes(one.about.key),
    )
    return s.ending?.is === 'completed' ? keyOf(unread) : undefined
  },
  'detached work is not stopped when the run has its answer': ({ s }) =>
    s.ending?.is === 'completed'
      ? keyOf(worksIn(s).find(({ call }) => call.work.atEnd === 'detach' && call.aborted === 'stopped'))
      : undefined,
  'the caller receives the work that goes on after the run': ({ s }) =>
    keyOf(worksIn(s).find(({ call, about }) => call.work.isHandedOver && !s.handles.includes(about.key))),
  'a run is interrupted only by a question': ({ s }) => {
    if (s.ending?.is !== 'interrupted') return undefined
    const { checkpoint } = s.ending
    return checkpoint.interrupts.length > 0 ? undefined : 'nobody asks'
  },
  'a run that has its answer can no longer be cancelled': ({ s }) =>
    s.handles.length > 0 && !s.halt.stop ? s.halt.mode : undefined,
  'no checkpoint contains work that goes on after its run': ({ s }) =>
    s.ending && 'checkpoint' in s.ending ? keyOf(worksIn(s).find(({ call }) => call.work.isHandedOver)) : undefined,
  'an answer of the last step is accepted, although no step can read a background result': (
    { s },
    { sends, rejects, saveFails },
  ) => {
    const last = s.history.findLast(({ role }) => role !== 'work')
    const isAnswer = last?.role === 'assistant' && last.calls.length === 0
    return s.ending?.is === 'failed' && isAnswer && !sends && !rejects && !saveFails
      ? `step ${s.steps.begun}`
      : undefined
  },
  'each next of a wrap has its own steps': ({ s, before }, { again }) =>
    again && s.ending?.is === 'completed' && s.steps.begun <= before ? `${s.steps.begun} of ${before}` : undefined,
  'of several cancels the strongest counts': ({ s: { halt, ending }, left }, { cancel }) =>
    cancel === 'all' && left.cancel === 0 && ending?.is === 'cancelled' && halt.mode !== 'now' ? halt.mode : undefined,
  'a run fails only if a call, a save or its last step has': ({ s, left }, { steps, saveFails, maxSteps }) => {
    const hasFailed =
      (saveFails && left.saveFails === 0) || JSON.stringify(steps).includes('"e') || s.steps.begun === maxSteps
    return s.ending?.is === 'failed' && !hasFailed ? 'nothing has' : undefined
  },
  'the reader sees the end of each call of a completed run': ({ s, reader }) => {
    if (s.ending?.is !== 'completed') return undefined
    const isOpen = (events: readonly string[]) => !events.includes('end') && !events.includes('discarded')
    return Object.entries(reader?.told ?? {}).find(([, events]) => isOpen(events))?.[0]
  },
  'each call of a completed run has one result': ({ s }) => {
    const asked = s.history.flatMap((turn) => (turn.role === 'assistant' ? turn.calls.map(({ id }) => id) : []))
    const answered = s.history.flatMap((turn) => (turn.role === 'tool' ? [turn.id] : []))
    if (new Set(answered).size !== answered.length) return 'two results'
    return s.ending?.is === 'completed' ? asked.find((id) => !answered.includes(id)) : undefined
  },
  'everything in the result of a completed run was done': (w) => {
    const { s, entries } = w
    if (s.ending?.is !== 'completed') return undefined
    const did = s.history.flatMap((turn) => (turn.role === 'tool' && /^[vxpi] \d+$/.test(turn.text) ? [turn.text] : []))
    return did.find((text) => !entries.some(({ name, input }) => `${name} ${input}` === text))
  },
  'a call that was discarded after it had succeeded is undone': ({ s, undone }) =>
    s.halt.stop === 'cancel' || s.halt.stop === 'pause'
      ? undefined
      : keyOf(
          knownOf(s).find(
            ({ call, about }) =>
              call.fate === 'discarded' &&
              call.isDone &&
              call.tool?.isReversible &&
              call.undo !== 'before' &&
              about.undoVersion >= 0 &&
              !undone.includes(about.key),
          ),
        ),
  'the checkpoint of a stopped run contains no discarded call, unless its undo has begun': ({ s }) => {
    const checkpoint = s.ending && 'checkpoint' in s.ending ? s.ending.checkpoint : undefined
    return checkpoint && discardedIn(s, checkpoint)[0]
  },
}
