/** What must hold, in each state and at each end. Each is a sentence, and gives what is wrong where it does not hold. */

import type { Call, State } from './model/state.ts'
import { effectOf, type Scenario, type World } from './world.ts'

type Rule = (w: World, scenario: Scenario) => string | undefined

/** In each state. */
export const ALWAYS: Readonly<Record<string, Rule>> = {
  'no more executions hold a slot than there are slots': ({ s }) => {
    const holding = s.calls.filter(({ maker }) => maker === null).flatMap(({ executions }) => executions)
    const slots = holding.filter(
      ({ stage }) => stage === 'checking' || stage === 'storing' || stage === 'entered',
    ).length
    return slots > s.limit ? `${slots} of ${s.limit}` : undefined
  },
  'of those who write one key one executes at a time': ({ s }) => {
    const users = s.calls.filter(({ executions }) =>
      executions.some(({ stage, does }) => stage === 'entered' && does && does.keys.writes.length > 0),
    )
    return users.length > 1 ? users.map(({ key }) => key).join(', ') : undefined
  },
  'a call whose effect cannot be repeated is not executed twice': (w, { wrap }) => {
    for (const one of w.entries) {
      if (one.effect === 'read' || one.isVoid) continue
      const same = w.entries.filter(({ key, n, isVoid }) => key === one.key && n === one.n && !isVoid)
      if (same.length > 1) return `${one.name}${one.input} (${one.key}, ${one.n})`
      const others = w.entries.filter(({ key, isVoid }) => key === one.key && !isVoid)
      if (!wrap && others.length > 1) return `${one.name}${one.input} (${one.key}) without a wrap that repeats it`
    }
    return undefined
  },
  'a function is given what its call, or its wrap, asks for': ({ s, entries }, { wrap }) => {
    const isOther = ({ key, input }: World['entries'][number]) => {
      const call = s.calls.find((one) => one.key === key)
      return call !== undefined && call.input !== input && !(wrap === 'both' && input.startsWith(call.input))
    }
    const other = entries.find((entry) => isOther(entry) && entry.process > 0)
    return other && `${other.key}: ${other.input}`
  },
  'what may not start before its response stands does not': ({ s }, { eager }) => {
    if (eager === 'bold') return undefined
    const early = s.calls.find(({ fate, name, executions }) => {
      return (
        fate === 'provisional' && executions.some(({ stage }) => stage === 'entered') && effectOf(name) === 'external'
      )
    })
    return early && `${early.name}${early.input} (${early.key})`
  },
  'what cannot be repeated is stored before it is entered': ({ s, stored, process, entries }, { store, saveFails }) => {
    if (!store || saveFails) return undefined
    for (const one of entries) {
      if (one.process !== process || one.effect === 'read') continue
      const known = stored.calls.find(({ key }) => key === one.key)
      const isGone = !s.calls.some(({ key }) => key === one.key)
      if (!isGone && !known?.executions.some(({ invocation }) => invocation.n === one.n))
        return `${one.name}${one.input} (${one.key})`
    }
    return undefined
  },
  'what is undone was discarded, and is undone once': ({ s, undone }) => {
    const twice = undone.find((key, index) => undone.indexOf(key) !== index)
    if (twice) return `${twice} twice`
    const standing = s.calls.find(({ key, fate }) => undone.includes(key) && fate === 'committed')
    return standing && `${standing.key} stands`
  },
  'an outcome is that of the input it was executed with': ({ s }) => {
    for (const { key, name, outcomes } of s.calls) {
      const wrong = outcomes.find(
        ({ input, text, ok }) =>
          ok && text.startsWith(name) && !text.startsWith(`${name} of`) && !text.startsWith(`${name} ${input}`),
      )
      if (wrong) return `${key}: ${wrong.input} gave ${wrong.text}`
    }
    return undefined
  },
  'no store holds a later state than the run has': ({ s }) =>
    s.stored > s.version ? `${s.stored} of ${s.version}` : undefined,
}

/** When the machine starts something: what held just before. */
export const ON_START: Readonly<Record<string, (before: State, call: Call) => string | undefined>> = {
  'nothing starts once its run has been stopped': ({ halt: { stop } }, { key }) =>
    stop && stop !== 'pause' ? key : undefined,
  'nothing of a paused run starts, except what a call at work makes': ({ halt, hook }, { key, maker }) => {
    const isPaused = halt.stop === 'pause' || halt.mode === 'after-model' || hook === 'asks'
    return maker === null && isPaused ? key : undefined
  },
  'a call of a failed attempt begins only if another one asks for it': (
    { phase, live },
    { key, maker, fate, by, course },
  ) =>
    phase === 'model' &&
    maker === null &&
    fate === 'provisional' &&
    course === 'due' &&
    !by.some((one) => live.includes(one))
      ? key
      : undefined,
  'a call that was cancelled or discarded does not start': (_, { key, cancelled, fate }) =>
    cancelled || fate === 'discarded' ? key : undefined,
}

/** When a call that is at work is told to stop: what held just before. */
export const ON_ABORT: Readonly<Record<string, (before: State, call: Call) => string | undefined>> = {
  'what is at work when its run pauses is not told to stop': ({ halt, calls }, { key, maker, cancelled, fate }) => {
    const isOwn = cancelled || fate === 'discarded' || calls.some((one) => one.key === maker && one.aborted)
    return halt.stop === 'pause' && !isOwn ? key : undefined
  },
}

/** When the model is asked: what held just before. */
export const ON_ASK: Readonly<Record<string, (before: State) => string | undefined>> = {
  'a cancelled run begins no further step': ({ halt, step, attempts }) =>
    halt.mode !== undefined && attempts === 0 ? String(step) : undefined,
}

/** At each end of a run. */
export const AT_END: Readonly<Record<string, Rule>> = {
  'nothing is at work when a run ends': ({ s, tools, model, hook, undoing }) => {
    const call = s.calls.find(({ course }) => course === 'begun')
    if (call) return call.key
    // What was abandoned goes on, and nobody waits for it.
    if (model || hook || undoing.length > 0) return 'the model, a hook or an undo'
    return tools.length > 0 ? `the function of ${tools[0]?.key}` : undefined
  },
  'an abort wins': ({ s, left }, { abort }) =>
    abort && left.abort === 0 && s.ending?.is !== 'aborted' && s.ending?.is !== 'failed'
      ? String(s.ending?.is)
      : undefined,
  'a call that was cancelled asks nothing': ({ s }) =>
    s.calls.find(({ cancelled, course }) => cancelled && course === 'open')?.key,
  'each call of a completed run has one result': ({ s }) => {
    const asked = s.history.flatMap((turn) => (turn.role === 'assistant' ? turn.calls.map(({ id }) => id) : []))
    const answered = s.history.flatMap((turn) => (turn.role === 'tool' ? [turn.id] : []))
    if (new Set(answered).size !== answered.length) return 'two results'
    return s.ending?.is === 'completed' ? asked.find((id) => !answered.includes(id)) : undefined
  },
  'what a completed run says it did was done': (w) => {
    const { s, entries } = w
    if (s.ending?.is !== 'completed') return undefined
    const did = s.history.flatMap((turn) => (turn.role === 'tool' && /^[vxpi] \d+$/.test(turn.text) ? [turn.text] : []))
    return did.find((text) => !entries.some(({ name, input }) => `${name} ${input}` === text))
  },
  'what was discarded after it had succeeded is undone': ({ s, undone }) =>
    s.halt.stop === 'cancel'
      ? undefined
      : s.calls.find(
          ({ key, fate, done, undo }) => fate === 'discarded' && done && undo !== 'unknown' && !undone.includes(key),
        )?.key,
  'a checkpoint holds nothing that was discarded, unless its undo has begun': ({ s }) => {
    const checkpoint = s.ending && 'checkpoint' in s.ending ? s.ending.checkpoint : undefined
    return checkpoint?.calls.find(({ fate, undo }) => fate === 'discarded' && undo === 'none')?.key
  },
}
