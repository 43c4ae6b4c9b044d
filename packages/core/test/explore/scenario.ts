/** What a world consists of: only the environment of a run, as data that is written as a line of text. */

import type { Effect } from '../../src/index.ts'

interface Facts {
  readonly does: string
  readonly effect: Effect
  /** The input with which it only reads. */
  readonly reads?: RegExp
  /** The key that its calls use: one for all of them, or one for each input. */
  readonly key?: 'one' | 'own'
  /** What happens to its work in the background when the run has its answer. */
  readonly atEnd?: 'wait' | 'cancel' | 'detach'
  /** The tool that it calls, or that an agent in it calls. */
  readonly makes?: string
  readonly agent?: string
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
  R: { does: 'reads the key of b; writes it if a wrap gives it b', effect: 'idempotent', reads: /[^b]$/, key: 'own' },
  // They make calls.
  m: { does: 'reads, and makes a call of x', effect: 'read', makes: 'x' },
  n: { does: 'acts, and makes a call of q', effect: 'external', makes: 'q' },
  c: { does: 'only makes a call of p', effect: 'calls', makes: 'p' },
  a: { does: 'writes a key, and calls b, which writes another', effect: 'idempotent', key: 'own', makes: 'b' },
  s: { does: 'is an agent that makes a call of x', effect: 'calls', agent: 'x' },
  u: { does: 'is an agent that makes a call of q', effect: 'calls', agent: 'q' },
  // They work in the background.
  k: { does: 'acts, and an answer waits for it', effect: 'external', atEnd: 'wait' },
  l: { does: 'reads, and the end of its run stops it', effect: 'read', atEnd: 'cancel' },
  t: { does: 'acts, and goes on after its run', effect: 'external', atEnd: 'detach' },
  j: { does: 'is an agent that asks, and an answer waits for it', effect: 'read', atEnd: 'wait', agent: 'q' },
  y: { does: 'is an agent that asks, and goes on after its run', effect: 'read', atEnd: 'detach', agent: 'q' },
}

export interface Attempt {
  /** Each call is a word, the letter of its tool and its input: two equal words are two equal calls. */
  readonly calls: readonly string[]
  readonly fails: boolean
}

export type Steps = readonly (readonly Attempt[])[]

/** What may surround the calls, and the words for it in the text of a world. */
const AROUND = {
  /** Tools start early. bold: also those that act on the world. */
  eager: ['eager', 'bold'],
  /** slow: the store first stores, and answers later. */
  store: ['store', 'slow store'],
  /** The run is first stored, and then resumed. */
  begun: ['begun first'],
  /** A hook before the run asks. */
  setup: ['setup asks'],
  /** A hook after each response asks, or edits the inputs of its calls. */
  hook: ['hook asks', 'hook edits'],
  /** Two hooks, a and b, judge each answer. asks: b asks first. edits: a also accepts another text. */
  gate: ['gate', 'gate asks', 'gate edits'],
  /**
   * A wrap around every call. retry: again when it fails. catch: with another input when it asks. both: starts two parallel executions,
   * then asks, then returns both. own: answers itself when the call has to stop. leaves: leaves an execution, and starts another one.
   */
  wrap: ['wrap retry', 'wrap catch', 'wrap both', 'wrap own', 'wrap leaves'],
  /** A wrap around the steps, here and in the agents inside calls, passes everything on. */
  through: ['through'],
  /** Wraps delay the model's events of calls, and pass them on later or with other inputs. */
  hides: ['shown late', 'shown otherwise'],
  /** The check of an input takes time. */
  check: ['slow check'],
  /** all: each mode, one after another. */
  cancel: ['cancel after-tools', 'cancel after-model', 'cancel now', 'cancel all'],
  /** first: before the run begins. */
  abort: ['abort', 'abort first'],
  /** The first resume may answer only one question, or the last one wrongly. */
  partial: ['partial answers'],
} as const

/** What is counted: `2 slots`. Without a number it is 1. */
const COUNTED = {
  /** How many calls execute at the same time, and how many inner calls of one maker. */
  limit: ['slot', 'slots'],
  innerLimit: ['inner slot', 'inner slots'],
  maxSteps: ['step', 'steps'],
  /** How often a wrap around the steps may call `next` again: after they have ended, or while they are running. */
  again: ['next again'],
  /** How many answers hooks may reject, how many messages are sent, and how many saves fail. */
  rejects: ['reject', 'rejects'],
  sends: ['send', 'sends'],
  saveFails: ['failing save', 'failing saves'],
  cancelCall: ['cancel a call'],
  kill: ['kill'],
} as const

type Around = { readonly [Part in keyof typeof AROUND]?: (typeof AROUND)[Part][number] }
type Counted = { readonly [Part in keyof typeof COUNTED]: number }

export interface Scenario extends Around, Counted {
  readonly steps: Steps
  /** How often another process may continue. */
  readonly resumes: number
  /** Another run, at the same time, with the same tools. It ends with its process. */
  readonly beside?: Steps
}

/** Nothing surrounds the calls, and one of them executes at a time. */
export function bare(steps: Steps): Scenario {
  const most = { innerLimit: Number.POSITIVE_INFINITY, maxSteps: Number.POSITIVE_INFINITY }
  return { steps, resumes: 4, limit: 1, ...most, again: 0, rejects: 0, sends: 0, saveFails: 0, cancelCall: 0, kill: 0 }
}

/** The calls of each response, then what surrounds them: `i1 ! i1 r2 > x3: eager, 2 slots`. */
export function scenarioOf(text: string): Scenario {
  const [calls = '', around] = text.split(': ')
  return Object.assign(bare(stepsOf(calls)), ...(around?.split(', ').map(partOf) ?? []))
}

function partOf(text: string): Partial<Scenario> {
  if (text.startsWith('beside ')) return { beside: stepsOf(text.slice('beside '.length)), resumes: 0 }
  const [, count = '1', words = ''] = /^(?:(\d+) )?(.+)$/.exec(text) ?? []
  const partIn = (parts: Readonly<Record<string, readonly string[]>>) =>
    Object.keys(parts).find((part) => parts[part]?.includes(words))
  const [counted, part] = [partIn(COUNTED), partIn(AROUND)]
  if (counted) return { [counted]: Number(count) }
  if (!part) throw new Error(`no world has "${text}"`)
  return { [part]: text }
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
const factsOf = (word: string): Facts | undefined => TOOLS[letterOf(word)]
export const isAgent = (word: string): boolean => factsOf(word)?.agent !== undefined
export const atEndOf = (word: string): Facts['atEnd'] => factsOf(word)?.atEnd
export const doesOf = (word: string): string => factsOf(word)?.does ?? word

/** What a wrap has added to the input is left out. */
export const baseOf = (word: string): string => word.replace(/[ab]+$/, '')

/** The strongest effect that a tool may have, and that of a call. */
export const ceilingOf = (letter: string): Effect => TOOLS[letter]?.effect ?? 'external'
export const effectOf = (word: string): Effect =>
  factsOf(word)?.reads?.test(word) ? 'read' : ceilingOf(letterOf(word))

/** Whether it makes a difference in the world if a call is executed twice. */
export const actsOnTheWorld = (word: string): boolean => !['read', 'calls'].includes(effectOf(word))

/** The keys that a call reads or writes. */
export function keysOf(word: string): readonly string[] {
  const key = factsOf(word)?.key
  return key ? [key === 'one' ? 'k' : `k${inputOf(baseOf(word))}`] : []
}

/** The call that a call makes. a1 and a2 make calls that write each other's keys. */
export function madeBy(word: string): string | undefined {
  if (letterOf(word) === 'a') return word.replace(/./, 'b').replace(/[12]/, (one) => `${3 - Number(one)}`)
  const letter = factsOf(word)?.makes ?? factsOf(word)?.agent
  return letter && letter + word
}

/** Whether another call makes this one, or an agent in it does. */
export const isInner = ({ steps }: Scenario, word: string): boolean =>
  wordsOf(steps).some((one) => madeBy(one) === baseOf(word))
