/**
 * A small world around the machine: a model, tools, wraps, a hook and a store that do what a scenario defines, in any order. Everything
 * that may happen next is a move. User code can act only between two effects: any fact may come there.
 */

import type { Effect } from '../../src/index.ts'
import { hasSettled } from '../../src/machine/call.ts'
import { isSameExecution } from '../../src/machine/invocation.ts'
import { noSteps } from '../../src/machine/steps.ts'
import { CANCEL_MODES, type CancelMode } from '../../src/vocabulary/cancel.ts'
import type { Invocation } from '../../src/vocabulary/saved-run.ts'
import { checkpointOf } from './model/checkpoint.ts'
import { CIRCLE, decide, type Goes } from './model/decide.ts'
import { take } from './model/due.ts'
import { enters, sends } from './model/loop.ts'
import { resume } from './model/resume.ts'
import {
  type Asked,
  aboutOf,
  attemptsOf,
  begin,
  type Came,
  type Checkpoint,
  copyOf,
  type Due,
  type Fact,
  isLeft,
  isPaused,
  isStopping,
  type Kind,
  known,
  knownOf,
  type State,
} from './model/state.ts'
import { begins, NEW_READER, type Reader, resumed, tell } from './reader.ts'

/**
 * What a tool does, by its letter. r: reads. i: idempotent. v: can be undone. x: acts on the world. f: acts, and fails at first. p: acts,
 * and writes a key. q: asks before it acts. w: reads, once its response is accepted. m: reads, and makes a call of x. n: acts, and makes a
 * call of q. d: reads, and ignores its signal. e: acts, and at first throws an error that ends the run.
 * In the background, in parallel with their run: k acts, and an answer waits for it; l reads, and the end of its run stops it; t acts, and
 * goes on after its run; j and y read, as k and t, and are agents that ask first.
 * h: acts, and asks before it acts, unless a wrap gives it another input (that ends in b).
 * g: reads the key that b writes, and returns how often b has. c: calls p, and does nothing else. a: writes a key, and calls b, which
 * writes its key, or that of another a.
 */
export type Letter =
  | 'r'
  | 'i'
  | 'v'
  | 'x'
  | 'f'
  | 'p'
  | 'q'
  | 'w'
  | 'm'
  | 'n'
  | 'd'
  | 'e'
  | 'c'
  | 'a'
  | 'b'
  | 'g'
  | 'h'
  | 'k'
  | 'l'
  | 't'
  | 'j'
  | 'y'

export interface Attempt {
  /** A letter and the input: two equal words are two equal calls. */
  readonly calls: readonly `${Letter}${number}`[]
  readonly fails?: true
}

export interface Scenario {
  readonly steps: readonly (readonly Attempt[])[]
  /** Whether tools start early. `bold`: also those that act on the world. */
  readonly eager: boolean | 'bold'
  readonly limit: number
  /** How many inner calls of one maker execute at the same time. Absent: any number. */
  readonly innerLimit?: number
  readonly store?: true
  /**
   * A wrap around every call. retry: again when it fails. catch: with another input when it asks. both: starts two parallel executions,
   * then asks, then returns both.
   */
  readonly wrap?: 'retry' | 'catch' | 'both'
  readonly hookAsks?: true
  /** Two hooks, a and b, judge each answer. asks: b asks first. */
  readonly gate?: true | 'asks'
  /** How many answers hooks may reject. */
  readonly rejects?: number
  /** How many messages are sent. */
  readonly sends?: number
  readonly maxSteps?: number
  /** A wrap around the steps calls `next` twice: after they have ended, or while they are running. */
  readonly again?: true
  /** Wraps delay the model's events of calls, and pass them on later or with `other` inputs. Absent: there is no reader. */
  readonly hides?: 'late' | 'other'
  /** The check of an input takes time. */
  readonly slowCheck?: true
  /** all: each mode, one after another. */
  readonly cancel?: CancelMode | 'all'
  readonly cancelCall?: true
  readonly abort?: true
  readonly kill?: true
  readonly saveFails?: true
  /** The first resume answers only one question. */
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
  e: 'external',
  c: 'calls',
  a: 'idempotent',
  b: 'idempotent',
  g: 'read',
  h: 'external',
  k: 'external',
  l: 'read',
  t: 'external',
  j: 'read',
  y: 'read',
}

/** The tools that work in the background. */
const AT_END: Readonly<Record<string, NonNullable<Kind['atEnd']>>> = {
  k: 'wait',
  l: 'cancel',
  t: 'detach',
  j: 'wait',
  y: 'detach',
}

/** Two calls that write each other's keys. */
const OTHER: Readonly<Record<string, string>> = { 1: '2', 2: '1' }

/** The inner calls of a tool. */
const MAKES = {
  m: (input: string) => `x${input}`,
  n: (input: string) => `q${input}`,
  c: (input: string) => `p${input}`,
  a: (input: string) => `b${OTHER[input] ?? input}`,
}

/** A running function of a tool. */
interface Work {
  readonly number: number
  readonly invocation: Invocation
  at: 'begins' | 'waits' | 'stood' | 'refused' | 'inner'
  /** The call it has made; `null` if it was refused. */
  made?: number | null
}

/** An execution whose function was entered, in any process. `isVoid`: it asked, and begins again when it is answered. */
export interface Entry {
  readonly key: string
  readonly invocation: Invocation
  readonly name: string
  readonly input: string
  readonly effect: Effect
  readonly process: number
  isVoid: boolean
}

/** The outcome of an execution, as its wrap receives it. */
type Outcome =
  | { readonly is: 'gives'; readonly invocation: Invocation; readonly text: string; readonly ok: boolean }
  | { readonly is: 'stop' }
  | { readonly is: 'aborted' }
  | { readonly is: 'throws' }

/** The wraps of a running call. */
interface Wraps {
  readonly number: number
  /** The outcomes that they have received; how many executions have not returned. */
  got: { readonly invocation: Invocation; readonly text: string; readonly ok: boolean }[]
  open: number
  hasRepeated?: boolean
  /** Their outcome when everything that they have left has ended. */
  came?: { readonly to: Came; readonly text: string; readonly ok: boolean }
}

export interface World {
  s: State
  /** The present attempt of the model, and how far it is. */
  model: { readonly attempt: number; readonly said: number } | null
  hook: boolean
  /** Hooks that are done, and steps whose answer was rejected. */
  hooked: string[]
  rejected: number[]
  /** The messages that were sent and accepted. */
  taken: string[]
  /** How many steps had begun when the newest loop began. */
  before: number
  checks: { readonly number: number; readonly invocation: Invocation }[]
  tools: Work[]
  wraps: Wraps[]
  /** Calls with an execution that threw an error that ends the run, until their wraps have it. */
  thrown: number[]
  /** The checkpoint that is being stored, and the stored one. */
  saving: Checkpoint | null
  stored: Checkpoint
  entries: Entry[]
  /** Keys of calls whose undo began, in any process; numbers of those whose undo is running in this one. */
  undone: string[]
  undoing: number[]
  process: number
  reader: Reader | null
  left: {
    cancel: number
    cancelCall: number
    abort: number
    kill: number
    saveFails: number
    resumes: number
  } & Record<'rejects' | 'sends' | 'again', number>
}

/** A copy that can be changed. Both share what does not change. */
export function copyOfWorld(w: World): World {
  return {
    ...w,
    s: copyOf(w.s),
    checks: [...w.checks],
    tools: w.tools.map((one) => ({ ...one })),
    wraps: w.wraps.map((one) => ({ ...one, got: [...one.got] })),
    entries: w.entries.map((one) => ({ ...one })),
    thrown: [...w.thrown],
    hooked: [...w.hooked],
    rejected: [...w.rejected],
    taken: [...w.taken],
    undone: [...w.undone],
    undoing: [...w.undoing],
    left: { ...w.left },
  }
}

export interface Move {
  readonly name: string
  /** The call that the move concerns, if any. */
  readonly number?: number
  do(w: World): void
}

export function effectOf(name: string): Effect {
  return EFFECTS[name as Letter]
}

/** The keys that a call writes or reads. */
function keysOf(name: string, input: string): readonly string[] {
  if (name === 'p') return ['k']
  return name === 'a' || name === 'b' || name === 'g' ? [`k${input}`] : []
}

const kindOf = (name: string): Kind => ({
  tool: { effect: effectOf(name), namesKeys: keysOf(name, '').length > 0, isReversible: name === 'v' },
  ...(AT_END[name] && { atEnd: AT_END[name] }),
})

function asked(word: string, id: string): Asked {
  return { id, name: word[0] ?? '', input: word.slice(1) }
}

export function start(scenario: Scenario): World {
  const { cancel, cancelCall, abort, kill, saveFails, gate, rejects = 0, sends = 0, again } = scenario
  const { limit, innerLimit = Number.POSITIVE_INFINITY, maxSteps = Number.POSITIVE_INFINITY } = scenario
  const s = begin(limit, innerLimit, scenario.store === true, {
    gate: gate ? [{ name: 'a' }, { name: 'b' }] : [],
    hasWrap: again === true,
    isWrapOut: !again,
    steps: { ...noSteps(), limit: maxSteps },
  })
  enters(s)
  const once = (is: unknown) => (is ? 1 : 0)
  return {
    s,
    model: null,
    hook: false,
    hooked: [],
    rejected: [],
    taken: [],
    before: 0,
    checks: [],
    tools: [],
    wraps: [],
    thrown: [],
    saving: null,
    stored: checkpointOf(s, false),
    entries: [],
    undone: [],
    undoing: [],
    process: 1,
    reader: scenario.hides ? NEW_READER : null,
    left: {
      cancel: cancel === 'all' ? CANCEL_MODES.length : once(cancel),
      rejects,
      sends,
      again: once(again),
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
  const add: Add = (name, act, number) =>
    void moves.push({
      name,
      ...(number !== undefined && { number }),
      do(w) {
        act(w)
        beginAll(scenario, w)
        if (w.reader) w.reader = tell(w.s, w.reader)
      },
    })
  const fact: AddFact = (name, fact, then) =>
    add(name, (w) => {
      decide(w.s, fact)
      then?.(w)
    })
  if (s.phase === 'over') {
    // Work that goes on after its run.
    for (const work of w.tools) toolMoves(scenario, w, work, add)
    resumes(scenario, w, add)
    return moves
  }
  const due = take(copyOf(s))
  if (due) add(nameOf(s, due), (w) => perform(scenario, w, take(w.s)), 'number' in due ? due.number : undefined)
  if (left.cancel > 0) {
    const at = scenario.cancel === 'all' ? CANCEL_MODES.at(-left.cancel) : scenario.cancel
    fact('cancel', { is: 'cancel', at: at ?? 'now' }, (w) => void w.left.cancel--)
  }
  if (left.sends > 0) {
    add('send', (w) => {
      const text = `said ${w.left.sends--}`
      if (sends(w.s, text)) w.taken.push(text)
    })
  }
  if (left.cancelCall > 0) {
    for (const { number, about, call } of knownOf(s)) {
      if (call.maker === undefined)
        fact(`cancel ${about.key}`, { is: 'cancel call', number }, (w) => void w.left.cancelCall--)
    }
  }
  if (left.abort > 0) fact('abort', { is: 'abort' }, (w) => void w.left.abort--)
  // The loop commits all calls in one turn, in which only what a wrap calls can happen.
  if (due?.do === 'commit') return moves
  if (left.kill > 0) {
    add('kill', (w) => {
      w.left.kill--
      goOn(w, w.stored, {})
      if (w.reader) w.reader = NEW_READER
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
  for (const id of w.reader?.held ?? []) {
    const isSame = scenario.hides === 'late'
    fact(`shows ${id}`, { is: 'shown', id, isSame }, (w) => {
      const { held = [], knows = [] } = w.reader ?? {}
      const now = { held: held.filter((one) => one !== id), knows: isSame ? [...knows, id] : knows }
      if (w.reader) w.reader = { ...w.reader, ...now }
    })
  }
  if (w.hook) hookMoves(scenario, w, fact)
  if (left.again > 0 && !isPaused(s) && s.halt.phase !== 'ending') {
    add('next', (w) => {
      w.left.again--
      const { begun } = w.s.steps
      if (enters(w.s)) w.before = begun
    })
  }
  if (s.hasAnswer && !s.isWrapOut) add('wrap returns', (w) => void (w.s.isWrapOut = true))
  for (const number of w.undoing) {
    fact(
      `undone ${aboutOf(s, number).key}`,
      { is: 'undone', number },
      (w) => void (w.undoing = w.undoing.filter((one) => one !== number)),
    )
  }
  for (const { number, invocation } of w.checks)
    add(`checked ${aboutOf(s, number).key}`, (w) => judge(scenario, w, number, invocation))
  for (const number of w.thrown) {
    add(`wraps of ${aboutOf(s, number).key} have the throw`, (w) => {
      w.thrown.splice(w.thrown.indexOf(number), 1)
      comesTo(scenario, w, number, { is: 'throws' })
    })
  }
  for (const work of w.tools) toolMoves(scenario, w, work, add)
  return moves
}

function hookMoves({ hookAsks, gate }: Scenario, { s, left }: World, fact: AddFact): void {
  const isGate = s.steps.current?.phase === 'gate'
  const asks = isGate ? gate === 'asks' && s.hookName === 'b' : hookAsks
  const which = hookOf(s)
  const out = (w: World) => {
    w.hook = false
    if (!isStopping(s)) w.hooked.push(which)
  }
  if (asks && s.hookAnswers.length === 0) fact('hook asks', { is: 'hook asks' }, (w) => void (w.hook = false))
  else fact('hook done', { is: 'hook done' }, out)
  if (!isGate || left.rejects === 0 || isStopping(s)) return
  const step = s.steps.begun
  fact('hook rejects', { is: 'hook rejects' }, (w) => {
    out(w)
    w.left.rejects--
    w.rejected.push(step)
  })
}

/** The name of the running hook. */
export function hookOf({ steps, hookName }: State): string {
  return `${steps.begun} ${steps.current?.phase} ${hookName}`
}

type AddFact = (name: string, fact: Fact, then?: (w: World) => void) => void

type Add = (name: string, act: (w: World) => void, number?: number) => void

function nameOf(s: State, due: Due): string {
  return 'number' in due ? `${due.do} ${aboutOf(s, due.number).key}` : due.do
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
  const { calls, fails } = attemptOf(scenario, s.steps.begun, attempt)
  const now = calls.map((word, index) => asked(word, `s${s.steps.begun}a${attempt}c${index}`))
  const early = scenario.eager
    ? now.filter(({ name }) => !AT_END[name] && (scenario.eager === 'bold' || effectOf(name) !== 'external'))
    : []
  if (s.model === 'stopping')
    fact('the model stops', { is: 'model threw' }, (w) => {
      w.model = null
      silence(w)
    })
  const next = early[said - 1]
  if (said === 0) fact('attempt', { is: 'attempt' }, (w) => void (w.model = { attempt, said: 1 }))
  else if (next) {
    const { name } = next
    const on = (w: World) => {
      w.model = { attempt, said: said + 1 }
      if (w.reader) w.reader = { ...w.reader, held: [...w.reader.held, next.id] }
    }
    const asks: Fact = {
      is: 'requested early',
      attempt: attemptsOf(s),
      call: next,
      kind: kindOf(name),
      ceiling: effectOf(name),
    }
    fact(`says ${name}${next.input}`, asks, on)
  } else if (fails) {
    fact('attempt fails', { is: 'attempt failed', attempt: attemptsOf(s) }, (w) => {
      w.model = { attempt: attempt + 1, said: 0 }
      silence(w)
    })
  } else {
    const kinds = now.map(({ name }) => kindOf(name))
    fact('stood', { is: 'stood', calls: now, kinds }, (w) => {
      w.model = null
      silence(w)
    })
  }
}

/** Nothing more comes from the model. Wraps keep what they have held back until now. */
function silence(w: World): void {
  if (w.reader) w.reader = { ...w.reader, held: [] }
}

function toolMoves(scenario: Scenario, w: World, work: Work, add: Add): void {
  const { s } = w
  const { number, invocation, at } = work
  const { call, about } = known(s, number)
  const { name, key, answers } = about
  const input = inputOf(s, number, invocation)
  const isAborted = call.aborted || isLeft(about, invocation)
  const ends = (text: string, ok = true) => add(`${name} ${key} ends`, (w) => ended(scenario, w, work, text, ok))
  const asks = (isOwn: boolean) => add(`${name} ${key} asks`, (w) => toolAsks(scenario, w, work, isOwn))
  const letter = name as Letter
  switch (letter) {
    case 'd':
      // Nothing waits any more for a call that is still running after its grace time.
      if (call.aborted) {
        add(`d ${key} is abandoned`, (w) => {
          decide(w.s, { is: 'grace over', number })
          w.tools = w.tools.filter((one) => one.number !== number)
          w.wraps = w.wraps.filter((one) => one.number !== number)
        })
      }
      ends(`d ${input}`)
      return
    case 'j':
    case 'y':
    case 'q':
      if (isAborted) ends('aborted', false)
      if (answers.length === 0) asks(true)
      else ends(`${name} ${input} ${answers.at(-1)}`)
      return
    case 'h':
      if (isAborted) ends('aborted', false)
      if (answers.length === 0 && !input.endsWith('b')) asks(true)
      else ends(`h ${input}`)
      return
    case 'w':
      if (at === 'begins') {
        add(`w ${key} waits`, (w) => {
          workOf(w, work).at = 'waits'
          decide(w.s, { is: 'waits', number })
        })
      } else if (at === 'waits') {
        if (isAborted) ends('aborted', false)
      } else if (at === 'refused') {
        // It may throw the reason of the stop, or return something anyway.
        asks(false)
        ends('refused', false)
      } else ends(`w ${input}`)
      return
    case 'm':
    case 'n':
    case 'c':
    case 'a': {
      if (at === 'begins') {
        add(`${name} ${key} calls`, (w) => {
          const call = asked(MAKES[letter](input), `inner${input.slice(1)}`)
          const made = decide(w.s, { is: 'made', maker: number, call, kind: kindOf(call.name) }).number
          Object.assign(workOf(w, work), { at: 'inner', made: made ?? null })
        })
        return
      }
      const made = work.made === null || work.made === undefined ? undefined : known(s, work.made)
      if (!made) ends('refused', false)
      else if (made.about.result) ends(`${name} of ${made.about.result.text}`, made.about.result.ok)
      else if (made.call.course === 'open') asks(false)
      else if (hasSettled(made.call)) ends('of nothing', false)
      return
    }
    case 'e':
      if (isAborted) ends('aborted', false)
      if (invocation.n > 0) ends(`e ${input}`)
      else
        add(`e ${key} throws`, (w) => {
          out(w, work)
          decide(w.s, { is: 'threw', number, invocation })
          w.thrown.push(number)
        })
      return
    case 'g':
      ends(`g ${input} ${w.entries.filter((one) => one.name === 'b' && one.input === input).length}`)
      return
    case 'f':
      if (isAborted) ends('aborted', false)
      ends(`f ${input}`, invocation.n > 0)
      return
    default:
      if (isAborted) ends('aborted', false)
      ends(`${name} ${input}`)
  }
}

function inputOf(s: State, number: number, { input }: Invocation): string {
  return input ?? aboutOf(s, number).input
}

function workOf(w: World, { number, invocation }: Pick<Work, 'number' | 'invocation'>): Work {
  const work = w.tools.find((one) => one.number === number && isSameExecution(one.invocation, invocation))
  if (!work) throw new Error(`no tool works for call ${number}`)
  return work
}

function out(w: World, work: Pick<Work, 'number' | 'invocation'>): void {
  const own = workOf(w, work)
  w.tools = w.tools.filter((one) => one !== own)
}

function ended(scenario: Scenario, w: World, work: Work, text: string, ok: boolean): void {
  const { number, invocation } = work
  out(w, work)
  const { isParked } = known(w.s, number).call
  decide(w.s, { is: 'ended', number, invocation, text, ok })
  // What it returns after the pause is dropped.
  comesTo(scenario, w, number, isParked ? { is: 'stop' } : { is: 'gives', invocation, text, ok })
}

/** It has asked: it begins again with the answer. A stop may have caused this. */
function toolAsks(scenario: Scenario, w: World, work: Work, isOwn: boolean): void {
  const { number, invocation } = work
  out(w, work)
  const { call, about } = known(w.s, number)
  for (const one of w.entries)
    if (one.key === about.key && isSameExecution(one.invocation, invocation) && !call.isParked) one.isVoid = true
  decide(w.s, { is: 'stopped', number, invocation, asks: isOwn })
  comesTo(scenario, w, number, { is: 'stop' })
}

/** The wraps of a call receive the outcome of an execution. */
function comesTo(scenario: Scenario, w: World, number: number, outcome: Outcome): void {
  const wraps = w.wraps.find((one) => one.number === number)
  // Nothing waits for it any more.
  if (!wraps) return
  wraps.open--
  if (!wraps.came) {
    const { about, call } = known(w.s, number)
    const wrap = call.work ? undefined : scenario.wrap
    if (outcome.is === 'stop' && wrap === 'catch' && !wraps.hasRepeated) {
      wraps.hasRepeated = true
      wants(scenario, w, number, `${about.input}b`)
    } else if (outcome.is === 'stop') leave(w, wraps, 'stop')
    else if (outcome.is === 'aborted') leave(w, wraps, 'error', 'aborted')
    else if (wrap === 'retry' && !wraps.hasRepeated && (outcome.is === 'throws' || !outcome.ok)) {
      wraps.hasRepeated = true
      wants(scenario, w, number, about.input)
    } else if (outcome.is === 'throws') leave(w, wraps, 'throw')
    else if (wrap !== 'both') leave(w, wraps, outcome.ok ? 'result' : 'error', outcome.text)
    else {
      wraps.got.push(outcome)
      if (wraps.got.length === 2 && about.answers.length === 0) {
        decide(w.s, { is: 'asks', number })
        leave(w, wraps, 'stop')
      } else if (wraps.got.length === 2) {
        const inOrder = wraps.got.toSorted((a, b) => ((a.invocation.input ?? '') < (b.invocation.input ?? '') ? -1 : 1))
        leave(w, wraps, 'result', inOrder.map(({ invocation, text }) => `${invocation.input}: ${text}`).join(', '))
      }
    }
  }
  settles(w, wraps)
}

/** The wraps end with this outcome. What they have started and left behind is stopped. */
function leave(w: World, wraps: Wraps, to: Came, text = ''): void {
  wraps.came = { to, text, ok: to === 'result' }
  const { number } = wraps
  const { call } = known(w.s, number)
  for (const { stage, invocation } of call.executions) {
    if (stage === 'wanted' || stage === 'checking' || stage === 'judged' || stage === 'storing' || stage === 'entered')
      decide(w.s, { is: 'left', number, invocation })
  }
}

function settles(w: World, wraps: Wraps): void {
  if (!wraps.came || wraps.open > 0) return
  w.wraps = w.wraps.filter((one) => one !== wraps)
  decide(w.s, { is: 'came', number: wraps.number, ...wraps.came })
}

function wants(scenario: Scenario, w: World, number: number, input: string): void {
  const wraps = w.wraps.find((one) => one.number === number)
  // It has left, or is about to.
  if (!wraps || wraps.came) return
  wraps.open++
  const { call, about } = known(w.s, number)
  const is = about.kind.atEnd && !call.work ? 'works' : 'wanted'
  const { known: before, invocation, goes } = decide(w.s, { is, number, input })
  if (before) comesTo(scenario, w, number, { is: 'gives', ...before })
  else if (invocation) arrived(scenario, w, number, invocation, goes, 'check')
}

function arrived(
  scenario: Scenario,
  w: World,
  number: number,
  invocation: Invocation,
  goes: Goes | undefined,
  then?: 'check',
): void {
  if (goes === 'stop' || goes === 'aborted') comesTo(scenario, w, number, { is: goes })
  else if (goes === 'circle') comesTo(scenario, w, number, { is: 'gives', invocation, ...CIRCLE })
  else if (goes === 'goes' && then) check(scenario, w, number, invocation)
}

function check(scenario: Scenario, w: World, number: number, invocation: Invocation): void {
  if (scenario.slowCheck) w.checks.push({ number, invocation })
  else judge(scenario, w, number, invocation)
}

function judge(scenario: Scenario, w: World, number: number, invocation: Invocation): void {
  w.checks = w.checks.filter((one) => one.number !== number || !isSameExecution(one.invocation, invocation))
  const { name } = aboutOf(w.s, number)
  const named = keysOf(name, inputOf(w.s, number, invocation))
  const effect = effectOf(name)
  const keys = effect === 'read' ? { reads: named, writes: [] } : { reads: [], writes: named }
  const { goes } = decide(w.s, { is: 'judged', number, invocation, effect, keys })
  arrived(scenario, w, number, invocation, goes)
}

/** A call begins in the turn in which it is made: its wraps are entered. */
function beginAll(scenario: Scenario, w: World): void {
  for (const { number, call, about } of knownOf(w.s)) {
    if (call.course !== 'begun' || about.hasBegun) continue
    about.hasBegun = true
    if (w.reader) w.reader = begins(w.s, w.reader, { number, call, about })
    w.wraps.push({ number, got: [], open: 0 })
    if (scenario.wrap === 'both' && !call.work) {
      wants(scenario, w, number, `${about.input}a`)
      wants(scenario, w, number, `${about.input}b`)
    } else wants(scenario, w, number, about.input)
    // Its background work begins in the same turn.
    if (about.kind.atEnd && !call.work) beginAll(scenario, w)
  }
}

/** Does what is due, and nothing else: its outcome is a fact, at once or later. */
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
      // The present state.
      w.saving = checkpointOf(s, false)
      return
    case 'check':
      check(scenario, w, due.number, due.invocation)
      return
    case 'enter':
      enter(w, due.number, due.invocation)
      return
    case 'stop':
      comesTo(scenario, w, due.number, { is: 'stop' })
      return
    case 'drop':
      comesTo(scenario, w, due.number, { is: 'aborted' })
      return
    case 'fail':
      comesTo(scenario, w, due.number, { is: 'gives', invocation: due.invocation, ...CIRCLE })
      return
    case 'throw':
      w.thrown.push(due.number)
      return
    case 'release':
      for (const work of w.tools)
        if (work.number === due.number && work.at === 'waits') work.at = due.stood ? 'stood' : 'refused'
      return
    case 'undo':
      w.undone.push(aboutOf(s, due.number).key)
      w.undoing.push(due.number)
      return
    default:
  }
}

function enter(w: World, number: number, invocation: Invocation): void {
  const { name, key } = aboutOf(w.s, number)
  w.tools.push({ number, invocation, at: 'begins' })
  const input = inputOf(w.s, number, invocation)
  w.entries.push({ key, invocation, name, input, effect: effectOf(name), process: w.process, isVoid: false })
}

/** A run that has stopped is resumed, with answers to its questions. */
function resumes({ partial }: Scenario, { s, left }: World, add: Add): void {
  if (!s.ending || !('checkpoint' in s.ending) || left.resumes === 0) return
  const { checkpoint } = s.ending
  const ids = checkpoint.interrupts.map((path) => path.at(-1) ?? '')
  const choices = partial && left.resumes > 3 && ids.length > 1 ? [ids.slice(0, 1), ids] : [ids]
  for (const chosen of choices) {
    add(`resume ${chosen.join(' ')}`, (w) => {
      w.left.resumes--
      goOn(w, checkpoint, Object.fromEntries(chosen.map((id) => [id, 'yes'])))
    })
  }
}

function goOn(w: World, from: Checkpoint, answers: Readonly<Record<string, string>>): void {
  const s = resume(from, w.s, answers)
  const none = { model: null, hook: false, checks: [], tools: [], wraps: [], thrown: [], undoing: [], saving: null }
  if (w.reader) w.reader = resumed(w.reader)
  Object.assign(w, { ...none, s, stored: checkpointOf(s, false), process: w.process + 1 })
}
