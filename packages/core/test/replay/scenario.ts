/** What a world consists of: only the environment of a run, as data. */

import type { CancelMode, Effect } from '../../src/index.ts'

/**
 * What a tool does, by its letter. r: reads. i: idempotent. v: can be undone. x: acts on the world. f: acts, and fails at first. p: acts,
 * and writes a key. q: asks before it acts. w: reads, once its response is accepted. m: reads, and makes a call of x. n: acts, and makes a
 * call of q. d: reads, and ignores its signal. e: acts, and at first throws an error that ends the run. h: acts, and asks before it acts,
 * unless a wrap gives it another input (that ends in b). g: reads the key that b writes, and returns how often b has. c: calls p, and does
 * nothing else. a: writes a key, and calls b, which writes its key, or that of another a.
 * In the background: k acts, and an answer waits for it; l reads, and the end of its run stops it; t acts, and goes on after its run; j and
 * y read, as k and t, and are agents that ask first.
 * s: an agent that makes a call of x. u: an agent that makes a call of q. o: acts, and is never offered to the model. z: acts, and executes
 * once at a time in all runs. N: reads, and starts with a part of its input. W: reads, and is warmed up.
 */
export type Letter =
  | ('r' | 'i' | 'v' | 'x' | 'f' | 'p' | 'q' | 'w' | 'm' | 'n' | 'd' | 'e' | 'h' | 'g' | 'c' | 'a' | 'b')
  | ('k' | 'l' | 't' | 'j' | 'y')
  | ('s' | 'u' | 'o' | 'z' | 'N' | 'W')

/** A letter and the input: two equal words are two equal calls. */
export type Word = `${Letter}${number}`

export interface Attempt {
  readonly calls: readonly Word[]
  readonly fails?: true
}

export interface Scenario {
  readonly steps: readonly (readonly Attempt[])[]
  /** Whether tools start early. `bold`: also those that act on the world. */
  readonly eager: boolean | 'bold'
  readonly limit: number
  /** How many inner calls of one maker execute at the same time. Absent: any number. */
  readonly innerLimit?: number
  /** slow: the store first stores, and answers later. */
  readonly store?: true | 'slow'
  /**
   * A wrap around every call. retry: again when it fails. catch: with another input when it asks. both: starts two parallel executions,
   * then asks, then returns both. own: answers itself when the call has to stop.
   */
  readonly wrap?: 'retry' | 'catch' | 'both' | 'own'
  readonly hookAsks?: true
  /** Two hooks, a and b, judge each answer. asks: b asks first. */
  readonly gate?: true | 'asks'
  /** How many answers hooks may reject. */
  readonly rejects?: number
  /** How many messages are sent. */
  readonly sends?: number
  readonly maxSteps?: number
  /** A wrap around the steps may call `next` again: after they have ended, or while they are running. */
  readonly again?: true
  /** A wrap around the steps, here and in the agents inside calls, passes everything on. */
  readonly through?: true
  /** The model streams everything at once, in all attempts. */
  readonly bursts?: true
  /** Wraps delay the model's events of calls, and pass them on later or with `other` inputs. */
  readonly hides?: 'late' | 'other'
  /** The check of an input takes time. */
  readonly slowCheck?: true
  /** Another run, at the same time, with the same tools. */
  readonly beside?: readonly (readonly Attempt[])[]
  /** all: each mode, one after another. */
  readonly cancel?: CancelMode | 'all'
  readonly cancelCall?: true
  readonly abort?: true
  readonly kill?: true
  /** How many saves fail. */
  readonly saveFails?: number
  /** The first resume may answer only one question. */
  readonly partial?: true
}

export const EFFECTS: Readonly<Record<Letter, Effect>> = {
  r: 'read',
  w: 'read',
  m: 'read',
  d: 'read',
  g: 'read',
  l: 'read',
  j: 'read',
  y: 'read',
  N: 'read',
  W: 'read',
  i: 'idempotent',
  a: 'idempotent',
  b: 'idempotent',
  v: 'reversible',
  c: 'calls',
  s: 'calls',
  u: 'calls',
  x: 'external',
  f: 'external',
  p: 'external',
  q: 'external',
  n: 'external',
  e: 'external',
  h: 'external',
  k: 'external',
  t: 'external',
  o: 'external',
  z: 'external',
}

/** The tools that work in the background. */
export const AT_END: Partial<Readonly<Record<Letter, 'wait' | 'cancel' | 'detach'>>> = {
  k: 'wait',
  l: 'cancel',
  t: 'detach',
  j: 'wait',
  y: 'detach',
}

/** The call that a tool makes, by the input of its own call. */
export const MAKES: Partial<Readonly<Record<Letter, (input: string) => string>>> = {
  m: (input) => `xm${input}`,
  n: (input) => `qn${input}`,
  c: (input) => `pc${input}`,
  a: (input) => `b${OTHER[input] ?? input}`,
  // Those of agents.
  j: (input) => `qj${input}`,
  y: (input) => `qy${input}`,
  s: (input) => `xs${input}`,
  u: (input) => `qu${input}`,
}

/** Two calls that write each other's keys. */
const OTHER: Readonly<Record<string, string>> = { 1: '2', 2: '1' }

export const isAgent = (letter: Letter): boolean => 'jysu'.includes(letter)
export const letterOf = (word: string): Letter => word[0] as Letter
export const inputOf = (word: string): string => word.slice(1)

/** The keys that a call writes or reads. */
export function keysOf(word: string): readonly string[] {
  const letter = letterOf(word)
  if (letter === 'p') return ['k']
  return letter === 'a' || letter === 'b' || letter === 'g' ? [`k${inputOf(word)}`] : []
}

/** Whether two executions may be repeated or left away without a difference in the world. */
export const actsOnTheWorld = (word: string): boolean => !['read', 'calls'].includes(EFFECTS[letterOf(word)])

/** Whether another call makes this one, or an agent in it does. */
export function isInner({ steps }: Scenario, word: string): boolean {
  const outer = steps.flat().flatMap(({ calls }) => calls)
  return outer.some((one) => MAKES[letterOf(one)]?.(inputOf(one)) === word.replace(/[ab]+$/, ''))
}
