/** What a world consists of: only the environment of a run, as data that is written as a line of text. */

import type { CancelMode, Effect } from '../../src/index.ts'

interface Facts {
  readonly does: string
  readonly effect: Effect
  /** The input with which it only reads. */
  readonly reads?: RegExp
  /** The key that its calls use: one for all of them, or one for each input. */
  readonly key?: 'one' | 'own'
  /** What happens to its work in the background when the run has its answer. */
  readonly atEnd?: 'wait' | 'cancel' | 'detach'
  /** The tool that it calls. */
  readonly makes?: string
  readonly isAgent?: true
}

/** The tools, by letter. */
const TOOLS: Readonly<Record<string, Facts | undefined>> = {
  r: { does: 'reads', effect: 'read' },
  d: { does: 'reads, and ignores its signal', effect: 'read' },
  T: { does: 'reads, and has a time limit', effect: 'read' },
  w: { does: 'reads, once its response is accepted', effect: 'read' },
  i: { does: 'acts, which may be repeated', effect: 'idempotent' },
  v: { does: 'acts, and can be undone', effect: 'reversible' },
  x: { does: 'acts on the world', effect: 'external' },
  f: { does: 'acts, and fails at first', effect: 'external' },
  e: { does: 'acts, and at first throws an error that ends the run', effect: 'external' },
  q: { does: 'asks before it acts', effect: 'external' },
  h: { does: 'asks before it acts, unless a wrap gives it another input', effect: 'external' },
  o: { does: 'acts, and is never offered to the model', effect: 'external' },
  z: { does: 'acts once at a time in all runs; 0 throws an error that ends the run', effect: 'external' },
  N: { does: 'reads, and starts with a part of its input, which must not be 0', effect: 'read' },
  W: { does: 'reads, and is warmed up', effect: 'read' },
  p: { does: 'acts, and writes a key', effect: 'external', key: 'one' },
  b: { does: 'writes its key', effect: 'idempotent', key: 'own' },
  g: { does: 'reads the key of b, and returns how often b has written', effect: 'read', key: 'own' },
  R: {
    does: 'reads the key of b, or writes it if a wrap gives it b',
    effect: 'idempotent',
    reads: /[^b]$/,
    key: 'own',
  },
  // They make calls.
  m: { does: 'reads, and makes a call of x', effect: 'read', makes: 'x' },
  n: { does: 'acts, and makes a call of q', effect: 'external', makes: 'q' },
  c: { does: 'only makes a call of p', effect: 'calls', makes: 'p' },
  a: {
    does: 'writes a key, and makes a call of b, which writes another',
    effect: 'idempotent',
    key: 'own',
    makes: 'b',
  },
  s: { does: 'is an agent that makes a call of x', effect: 'calls', makes: 'x', isAgent: true },
  u: { does: 'is an agent that makes a call of q', effect: 'calls', makes: 'q', isAgent: true },
  // They work in the background.
  k: { does: 'acts, and an answer waits for it', effect: 'external', atEnd: 'wait' },
  l: { does: 'reads, and the end of its run stops it', effect: 'read', atEnd: 'cancel' },
  t: { does: 'acts, and goes on after its run', effect: 'external', atEnd: 'detach' },
  j: {
    does: 'is an agent that asks, and an answer waits for it',
    effect: 'read',
    atEnd: 'wait',
    makes: 'q',
    isAgent: true,
  },
  y: {
    does: 'is an agent that asks, and goes on after its run',
    effect: 'read',
    atEnd: 'detach',
    makes: 'q',
    isAgent: true,
  },
}

export interface Attempt {
  /** Each call is a word, the letter of its tool and its input: two equal words are two equal calls. */
  readonly calls: readonly string[]
  readonly fails: boolean
}

export type Steps = readonly (readonly Attempt[])[]

export interface Scenario {
  readonly steps: Steps
  /** Whether tools start early. `bold`: also those that act on the world. */
  readonly eager: boolean | 'bold'
  readonly limit: number
  /** How many inner calls of one maker execute at the same time. Absent: any number. */
  readonly innerLimit?: number
  readonly maxSteps?: number
  /** slow: the store first stores, and answers later. */
  readonly store?: true | 'slow'
  /**
   * A wrap around every call. retry: again when it fails. catch: with another input when it asks. both: starts two parallel executions,
   * then asks, then returns both. own: answers itself when the call has to stop. leaves: leaves an execution, and starts another one.
   */
  readonly wrap?: 'retry' | 'catch' | 'both' | 'own' | 'leaves'
  /** A hook before the run asks. */
  readonly setupAsks?: true
  /** A hook after each response asks, or edits the inputs of its calls. */
  readonly hook?: 'asks' | 'edits'
  /** Two hooks, a and b, judge each answer. asks: b asks first. edits: a also accepts another text. */
  readonly gate?: true | 'asks' | 'edits'
  /** A wrap around the steps may call `next` again: after they have ended, or while they are running. */
  readonly again?: true
  /** A wrap around the steps, here and in the agents inside calls, passes everything on. */
  readonly through?: true
  /** Wraps delay the model's events of calls, and pass them on later or with `other` inputs. */
  readonly hides?: 'late' | 'other'
  /** The check of an input takes time. */
  readonly slowCheck?: true
  /** Another run, at the same time, with the same tools. */
  readonly beside?: Steps
  /** How many answers hooks may reject, how many messages are sent, and how many saves fail. */
  readonly rejects?: number
  readonly sends?: number
  readonly saveFails?: number
  /** all: each mode, one after another. */
  readonly cancel?: CancelMode | 'all'
  readonly cancelCall?: true
  /** first: before the run begins. */
  readonly abort?: true | 'first'
  readonly kill?: true
  /** The first resume may answer only one question, or the last one wrongly. */
  readonly partial?: true
  /** The run is first stored, and then resumed. */
  readonly begun?: true
}

const PARTS: Readonly<Record<string, Partial<Scenario> | undefined>> = {
  eager: { eager: true },
  bold: { eager: 'bold' },
  store: { store: true },
  'slow store': { store: 'slow' },
  'begun first': { begun: true },
  'setup asks': { setupAsks: true },
  'hook asks': { hook: 'asks' },
  'hook edits': { hook: 'edits' },
  gate: { gate: true },
  'gate asks': { gate: 'asks' },
  'gate edits': { gate: 'edits' },
  'wrap retry': { wrap: 'retry' },
  'wrap catch': { wrap: 'catch' },
  'wrap both': { wrap: 'both' },
  'wrap own': { wrap: 'own' },
  'wrap leaves': { wrap: 'leaves' },
  'next again': { again: true },
  through: { through: true },
  'shown late': { hides: 'late' },
  'shown otherwise': { hides: 'other' },
  'slow check': { slowCheck: true },
  'cancel after-tools': { cancel: 'after-tools' },
  'cancel after-model': { cancel: 'after-model' },
  'cancel now': { cancel: 'now' },
  'cancel all': { cancel: 'all' },
  'cancel a call': { cancelCall: true },
  abort: { abort: true },
  'abort first': { abort: 'first' },
  kill: { kill: true },
  'partial answers': { partial: true },
}

const COUNTED: Readonly<Record<string, keyof Scenario | undefined>> = {
  slot: 'limit',
  'inner slot': 'innerLimit',
  step: 'maxSteps',
  reject: 'rejects',
  send: 'sends',
  'failing save': 'saveFails',
}

/** The calls of each response, then what surrounds them: `i1 ! i1 r2 > x3: eager, 2 slots`. Without more, one call executes at a time. */
export function scenarioOf(text: string): Scenario {
  const [calls = '', around] = text.split(': ')
  const parts = around?.split(', ').map(partOf) ?? []
  return Object.assign({ steps: stepsOf(calls), eager: false, limit: 1 }, ...parts)
}

function partOf(text: string): Partial<Scenario> {
  const [, count, what = '', beside] = /^(?:(\d+) (.+?)s?|beside (.+))$/.exec(text) ?? []
  const counted = COUNTED[what]
  if (counted) return { [counted]: Number(count) }
  const part = beside ? { beside: stepsOf(beside) } : PARTS[text]
  if (!part) throw new Error(`no world has "${text}"`)
  return part
}

/** `!` follows the calls of an attempt that fails, `>` those of a step. */
function stepsOf(text: string): Steps {
  if (text === 'no calls') return []
  return text.split(' > ').map((step) => {
    const attempts = step.split(' ! ')
    return attempts.map((calls, index) => ({ calls: calls.split(' '), fails: index < attempts.length - 1 }))
  })
}

export const wordsOf = (steps: Steps): string[] => steps.flat().flatMap(({ calls }) => calls)
export const letterOf = (word: string): string => word[0] ?? ''
export const inputOf = (word: string): string => word.slice(1)
export const keyOf = (letter: string): Facts['key'] => TOOLS[letter]?.key
export const isAgent = (word: string): boolean => TOOLS[letterOf(word)]?.isAgent === true
export const atEndOf = (word: string): Facts['atEnd'] => TOOLS[letterOf(word)]?.atEnd
export const doesOf = (letter: string): string => TOOLS[letter]?.does ?? letter

/** What a wrap has added to the input is left out. */
export const baseOf = (word: string): string => word.replace(/[ab]+$/, '')

/** The strongest effect that a tool may have, and that of a call. */
export const ceilingOf = (letter: string): Effect => TOOLS[letter]?.effect ?? 'external'
export const effectOf = (word: string): Effect =>
  TOOLS[letterOf(word)]?.reads?.test(word) ? 'read' : ceilingOf(letterOf(word))

/** Whether it makes a difference in the world if a call is executed twice. */
export const actsOnTheWorld = (word: string): boolean => !['read', 'calls'].includes(effectOf(word))

/** The keys that a call reads or writes. */
export function keysOf(word: string): readonly string[] {
  const key = keyOf(letterOf(word))
  return key ? [key === 'one' ? 'k' : `k${inputOf(baseOf(word))}`] : []
}

/** The call that a call makes. a1 and a2 make calls that write each other's keys. */
export function madeBy(word: string): string | undefined {
  const makes = TOOLS[letterOf(word)]?.makes
  if (letterOf(word) === 'a') return word.replace(/./, 'b').replace(/[12]/, (one) => `${3 - Number(one)}`)
  return makes && makes + word
}

/** Whether another call makes this one, or an agent in it does. */
export const isInner = ({ steps }: Scenario, word: string): boolean =>
  wordsOf(steps).some((one) => madeBy(one) === baseOf(word))
