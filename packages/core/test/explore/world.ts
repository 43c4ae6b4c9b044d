/**
 * A small world round the machine: a model, tools, wraps, a hook and a store that do what a scenario says, in any order. Everything
 * that may happen next is a move. User code that is called back can act only between two effects: there any fact may come.
 */

import type { Effect } from '../../src/index.ts'
import { decide } from './model/decide.ts'
import { take } from './model/due.ts'
import { resume } from './model/resume.ts'
import { type Asked, begin, type Call, callOf, type Due, type Fact, type Kind, type State } from './model/state.ts'

/**
 * What a tool does, by its letter. r: reads. i: idempotent. v: can be undone. x: acts on the world. f: acts, and fails at first. p: acts,
 * and writes a key. q: asks before it acts. w: reads, once its response stands. m: reads, and makes a call of x. n: acts, and makes a
 * call of q. d: reads, and does not heed its signal.
 */
export type Letter = 'r' | 'i' | 'v' | 'x' | 'f' | 'p' | 'q' | 'w' | 'm' | 'n' | 'd'

export interface Attempt {
  /** A letter and the input: two equal words are two equal calls. */
  readonly calls: readonly `${Letter}${number}`[]
  readonly fails?: true
}

export interface Scenario {
  readonly steps: readonly (readonly Attempt[])[]
  /** Whether tools start early. `bold`: those that act on the world, too. */
  readonly eager: boolean | 'bold'
  readonly limit: number
  readonly store?: true
  /** A wrap round every call. retry: again when it fails. both: asks for two executions at once, then asks, then gives both. */
  readonly wrap?: 'retry' | 'both'
  readonly hookAsks?: true
  /** The check of an input takes time. */
  readonly slowCheck?: true
  readonly cancel?: 'after-tools' | 'after-model' | 'now'
  readonly cancelCall?: true
  readonly abort?: true
  readonly kill?: true
  readonly saveFails?: true
  /** The first resume answers one question only. */
  readonly partial?: true
}

const EFFECTS: Readonly<Record<Letter, Effect>> = {
  r: 'read',
  w: 'read',
  m: 'read',
  d: 'read',
  i: 'idempotent',
  v: 'reversible',
  x: 'external',
  f: 'external',
  p: 'external',
  q: 'external',
  n: 'external',
}

/** A tool's function at work. */
interface Work {
  readonly key: string
  readonly n: number
  at: 'begins' | 'waits' | 'stood' | 'refused' | 'inner'
  /** The call it has made; `null` where it was refused. */
  made?: string | null
}

/** An execution whose function was entered, in whatever process. `isVoid`: it asked, and begins anew when it is answered. */
interface Entry {
  readonly key: string
  readonly n: number
  readonly name: string
  readonly input: string
  readonly effect: Effect
  readonly process: number
  isVoid: boolean
}

export interface World {
  s: State
  /** Which attempt the model is at, and how far. */
  model: { attempt: number; said: number } | null
  hook: boolean
  checks: { readonly key: string; readonly n: number }[]
  tools: Work[]
  /** What each wrap has been given, by its call. */
  wraps: { readonly key: string; readonly got: { n: number; input: string; text: string; ok: boolean }[] }[]
  /** What is being stored, and what is. */
  saving: State | null
  stored: State
  entries: Entry[]
  /** Keys of calls whose undo began, in whatever process; of those at work in this one. */
  undone: string[]
  undoing: string[]
  process: number
  left: { cancel: number; cancelCall: number; abort: number; kill: number; saveFails: number; resumes: number }
}

export interface Move {
  readonly name: string
  do(w: World): void
}

export function effectOf(name: string): Effect {
  return EFFECTS[name as Letter]
}

const kindOf = (name: string): Kind => ({ reversible: name === 'v', hasKeys: name === 'p' })

function asked(word: string, id: string): Asked {
  return { id, name: word[0] ?? '', input: word.slice(1) }
}

export function start(scenario: Scenario): World {
  const s = begin(scenario.limit, scenario.store === true)
  const { cancel, cancelCall, abort, kill, saveFails } = scenario
  const once = (is: unknown) => (is ? 1 : 0)
  return {
    s,
    model: null,
    hook: false,
    checks: [],
    tools: [],
    wraps: [],
    saving: null,
    stored: structuredClone(s),
    entries: [],
    undone: [],
    undoing: [],
    process: 1,
    left: {
      cancel: once(cancel),
      cancelCall: once(cancelCall),
      abort: once(abort),
      kill: once(kill),
      saveFails: once(saveFails),
      resumes: 4,
    },
  }
}

/** Everything that can happen next. */
export function movesOf(scenario: Scenario, w: World): Move[] {
  const { s, left } = w
  const moves: Move[] = []
  const add = (name: string, act: (w: World) => void) => void moves.push({ name, do: act })
  const fact = (name: string, fact: Fact, then?: (w: World) => void) =>
    add(name, (w) => {
      decide(w.s, fact)
      then?.(w)
    })
  if (s.phase === 'over') {
    resumes(scenario, w, add)
    return moves
  }
  const due = take(structuredClone(s))
  if (due) add(nameOf(due), (w) => perform(scenario, w, take(w.s)))
  if (left.cancel > 0) fact('cancel', { is: 'cancel', at: scenario.cancel ?? 'now' }, (w) => void w.left.cancel--)
  if (left.cancelCall > 0) {
    for (const { key, maker } of s.calls) {
      if (maker === null) fact(`cancel ${key}`, { is: 'cancel call', key }, (w) => void w.left.cancelCall--)
    }
  }
  if (left.abort > 0) fact('abort', { is: 'abort' }, (w) => void w.left.abort--)
  if (left.kill > 0) {
    add('kill', (w) => {
      w.left.kill--
      goOn(w, w.stored, {})
    })
  }
  if (w.saving) {
    fact('saved', { is: 'saved' }, (w) => {
      if (w.saving) w.stored = w.saving
      w.saving = null
    })
    if (left.saveFails > 0)
      fact('save fails', { is: 'save failed' }, (w) => {
        w.left.saveFails--
        w.saving = null
      })
  }
  if (w.model) modelMoves(scenario, w, w.model, fact)
  if (w.hook) {
    const out = (w: World) => void (w.hook = false)
    if (scenario.hookAsks && s.hookAnswers.length === 0) fact('hook asks', { is: 'hook asks' }, out)
    else fact('hook done', { is: 'hook done' }, out)
  }
  for (const key of w.undoing) {
    fact(`undone ${key}`, { is: 'undone', key }, (w) => void (w.undoing = w.undoing.filter((one) => one !== key)))
  }
  for (const { key, n } of w.checks) add(`checked ${key}`, (w) => judge(w, key, n))
  for (const work of w.tools) toolMoves(scenario, w, work, add)
  return moves
}

type AddFact = (name: string, fact: Fact, then?: (w: World) => void) => void
type Add = (name: string, act: (w: World) => void) => void

function nameOf(due: Due): string {
  return 'key' in due ? `${due.do} ${due.key}` : due.do
}

function attemptOf({ steps }: Scenario, step: number, index: number): Attempt {
  const attempts = steps[step - 1] ?? [{ calls: [] }]
  return attempts[Math.min(index, attempts.length - 1)] ?? { calls: [] }
}

function modelMoves(
  scenario: Scenario,
  { s }: World,
  { attempt, said }: { attempt: number; said: number },
  fact: AddFact,
): void {
  const { calls, fails } = attemptOf(scenario, s.step, attempt)
  const now = calls.map((word, index) => asked(word, `s${s.step}a${attempt}c${index}`))
  const early = scenario.eager
    ? now.filter(({ name }) => scenario.eager === 'bold' || effectOf(name) !== 'external')
    : []
  if (s.model === 'stopping') fact('the model stops', { is: 'model threw' }, (w) => void (w.model = null))
  const next = early[said - 1]
  if (said === 0) fact('attempt', { is: 'attempt' }, (w) => void (w.model = { attempt, said: 1 }))
  else if (next) {
    const { name } = next
    const on = (w: World) => void (w.model = { attempt, said: said + 1 })
    const asks: Fact = {
      is: 'asked early',
      attempt: s.attempts,
      call: next,
      kind: kindOf(name),
      ceiling: effectOf(name),
    }
    fact(`says ${name}${next.input}`, asks, on)
  } else if (fails) {
    fact(
      'attempt fails',
      { is: 'attempt failed', attempt: s.attempts },
      (w) => void (w.model = { attempt: attempt + 1, said: 0 }),
    )
  } else {
    const kinds = now.map(({ name }) => kindOf(name))
    fact('stood', { is: 'stood', calls: now, kinds }, (w) => void (w.model = null))
  }
}

function toolMoves(scenario: Scenario, w: World, work: Work, add: Add): void {
  const { s } = w
  const { key, n, at } = work
  const call = callOf(s, key)
  const { name, answers } = call
  const execution = call.executions.find(({ invocation }) => invocation.n === n)
  const input = execution?.invocation.input ?? ''
  const isAborted = call.aborted || execution?.aborted === true
  const goes = (to: Work['at']) => (w: World) => void (workOf(w, key, n).at = to)
  const ends = (text: string, ok = true) => add(`${name} ${key} ends`, (w) => ended(scenario, w, key, n, text, ok))
  const asks = (question: string | null) => add(`${name} ${key} asks`, (w) => toolAsks(w, key, n, question))
  switch (name as Letter) {
    case 'd':
      if (isAborted)
        add(`d ${key} is abandoned`, (w) => {
          decide(w.s, { is: 'grace over', key })
          const { executions } = callOf(w.s, key)
          w.tools = w.tools.filter(
            (one) =>
              one.key !== key ||
              executions.some(({ invocation, stage }) => invocation.n === one.n && stage === 'entered'),
          )
        })
      ends(`d ${input}`)
      return
    case 'q':
      if (isAborted) ends('aborted', false)
      if (answers.length === 0) asks(`q ${input}?`)
      else ends(`q ${input} ${answers.at(-1)}`)
      return
    case 'w':
      if (at === 'begins') {
        add(`w ${key} waits`, (w) => {
          goes('waits')(w)
          decide(w.s, { is: 'waits', key })
        })
      } else if (at === 'waits') {
        if (isAborted) ends('aborted', false)
      } else if (at === 'refused') {
        // It may throw what it was told, or give something all the same.
        asks(null)
        ends('refused', false)
      } else ends(`w ${input}`)
      return
    case 'm':
    case 'n': {
      const inner = name === 'm' ? 'x' : 'q'
      if (at === 'begins') {
        add(`${name} ${key} calls`, (w) => {
          const call = asked(`${inner}${input}`, 'inner')
          const made = decide(w.s, { is: 'made', maker: key, call, kind: kindOf(inner) }).call
          Object.assign(workOf(w, key, n), { at: 'inner', made: made?.key ?? null })
        })
        return
      }
      const made = s.calls.find((one) => one.key === work.made)
      if (!made) ends('refused', false)
      else if (made.course === 'settled') ends(`${name} of ${made.result?.text ?? 'nothing'}`, made.result?.ok ?? false)
      else if (made.course === 'open') asks(null)
      return
    }
    case 'f':
      if (isAborted) ends('aborted', false)
      ends(`f ${input}`, n > 1)
      return
    default:
      if (isAborted) ends('aborted', false)
      ends(`${name} ${input}`)
  }
}

function workOf(w: World, key: string, n: number): Work {
  const work = w.tools.find((one) => one.key === key && one.n === n)
  if (!work) throw new Error(`no tool works for ${key}`)
  return work
}

function out(w: World, key: string, n: number): void {
  w.tools = w.tools.filter((one) => one.key !== key || one.n !== n)
}

function ended(scenario: Scenario, w: World, key: string, n: number, text: string, ok: boolean): void {
  out(w, key, n)
  decide(w.s, { is: 'ended', key, n, text, ok })
  const input = callOf(w.s, key).executions.find(({ invocation }) => invocation.n === n)?.invocation.input ?? ''
  gives(scenario, w, key, { n, input, text, ok })
}

/** It has asked: it begins anew with the answer. What it was told to stop for may have happened. */
function toolAsks(w: World, key: string, n: number, question: string | null): void {
  out(w, key, n)
  const isRefused = callOf(w.s, key).isRefused
  for (const one of w.entries) if (one.key === key && one.n === n && !isRefused) one.isVoid = true
  decide(w.s, { is: 'asks', key, n, question })
  leaves(w, key)
}

/** The wrap of a call is given what an execution came to. */
function gives(
  scenario: Scenario,
  w: World,
  key: string,
  outcome: { n: number; input: string; text: string; ok: boolean },
): void {
  const wrap = w.wraps.find((one) => one.key === key)
  if (!wrap) return
  wrap.got.push(outcome)
  const call = callOf(w.s, key)
  const { n, text, ok } = outcome
  if (scenario.wrap === 'retry' && !ok && n < 2 && !call.aborted && !call.isRefused)
    wants(scenario, w, key, n + 1, call.input)
  else if (scenario.wrap !== 'both') settles(w, key, text, ok)
  else if (wrap.got.length === 2 || call.aborted || call.isRefused) {
    if (call.answers.length === 0 && wrap.got.length === 2) {
      decide(w.s, { is: 'asks', key, n: null, question: 'both?' })
      leaves(w, key)
    } else {
      const texts = wrap.got.toSorted((a, b) => a.n - b.n).map(({ input, text }) => `${input}: ${text}`)
      settles(w, key, texts.join(', '), true)
    }
  }
}

function settles(w: World, key: string, text: string, ok: boolean): void {
  decide(w.s, { is: 'settled', key, text, ok })
  leaves(w, key)
}

function leaves(w: World, key: string): void {
  w.wraps = w.wraps.filter((one) => one.key !== key)
}

function wants(scenario: Scenario, w: World, key: string, n: number, input: string): void {
  const { known } = decide(w.s, { is: 'wanted', key, n, input })
  if (known) gives(scenario, w, key, { ...known, n, input })
}

function judge(w: World, key: string, n: number): void {
  w.checks = w.checks.filter((one) => one.key !== key || one.n !== n)
  const { name } = callOf(w.s, key)
  const writes = name === 'p' ? ['k'] : []
  decide(w.s, { is: 'judged', key, n, effect: effectOf(name), writes })
}

/** Does what is due, and nothing else: what comes of it is a fact, at once or later. */
function perform(scenario: Scenario, w: World, due: Due | undefined): void {
  const { s } = w
  switch (due?.do) {
    case 'ask model':
      w.model = { attempt: 0, said: 0 }
      return
    case 'hook':
      w.hook = true
      return
    case 'save':
      // Of the state as it is now.
      w.saving = structuredClone(s)
      return
    case 'begin': {
      const { input } = callOf(s, due.key)
      w.wraps.push({ key: due.key, got: [] })
      if (scenario.wrap === 'both') {
        wants(scenario, w, due.key, 1, `${input}a`)
        wants(scenario, w, due.key, 2, `${input}b`)
      } else wants(scenario, w, due.key, 1, input)
      return
    }
    case 'check':
      if (scenario.slowCheck) w.checks.push({ key: due.key, n: due.n })
      else judge(w, due.key, due.n)
      return
    case 'enter':
      enter(w, due.key, due.n)
      return
    case 'stop':
      decide(s, { is: 'asks', key: due.key, n: due.n, question: null })
      leaves(w, due.key)
      return
    case 'abort':
      w.checks = w.checks.filter(({ key }) => key !== due.key)
      // Where no function is at work, its wraps are out at once.
      if (w.tools.every(({ key }) => key !== due.key)) settles(w, due.key, 'aborted', false)
      return
    case 'release':
      for (const work of w.tools)
        if (work.key === due.key && work.at === 'waits') work.at = due.stood ? 'stood' : 'refused'
      return
    case 'undo':
      w.undone.push(due.key)
      w.undoing.push(due.key)
      return
    default:
  }
}

function enter(w: World, key: string, n: number): void {
  const { name, executions } = callOf(w.s, key)
  const input = executions.find(({ invocation }) => invocation.n === n)?.invocation.input ?? ''
  w.tools.push({ key, n, at: 'begins' })
  w.entries.push({ key, n, name, input, effect: effectOf(name), process: w.process, isVoid: false })
}

/** A run that has stopped is resumed, with answers to its questions. */
function resumes({ partial }: Scenario, { s, left }: World, add: Add): void {
  if (!s.ending || !('checkpoint' in s.ending) || left.resumes === 0) return
  const { checkpoint } = s.ending
  const asking = checkpoint.calls.filter(
    (call) => call.course === 'open' && call.question !== null && isAsked(checkpoint, call),
  )
  const ids = [...asking.map(({ key }) => key), ...(checkpoint.hook === 'asks' ? ['hook'] : [])]
  const choices = partial && left.resumes > 3 && ids.length > 1 ? [ids.slice(0, 1), ids] : [ids]
  for (const chosen of choices) {
    add(`resume ${chosen.join(' ')}`, (w) => {
      w.left.resumes--
      goOn(w, checkpoint, Object.fromEntries(chosen.map((id) => [id, 'yes'])))
    })
  }
}

/** A question that its maker has caught, or that nobody hears, is none. */
function isAsked(s: State, { fate, maker }: Call): boolean {
  return fate === 'committed' && (maker === null || callOf(s, maker).course === 'open')
}

function goOn(w: World, from: State, answers: Readonly<Record<string, string>>): void {
  const s = resume(structuredClone(from), answers)
  const none = { model: null, hook: false, checks: [], tools: [], wraps: [], undoing: [], saving: null }
  Object.assign(w, { ...none, s, stored: structuredClone(s), process: w.process + 1 })
}
