/** The state of a run: its calls in the machine's own table, and around them what the machine does not contain yet. */

import type { CancelMode, Effect } from '../../../src/index.ts'
import type { CallState, ToolFacts, WorkState } from '../../../src/machine/call.ts'
import { type Calls, callOf, noCalls } from '../../../src/machine/calls.ts'
import { decideHalt, type Halt, reaches, runsOn } from '../../../src/machine/halt.ts'
import { isSameExecution } from '../../../src/machine/invocation.ts'
import { noSteps, type Steps } from '../../../src/machine/steps.ts'
import type { ResourceKeys } from '../../../src/vocabulary/resource-keys.ts'
import type { Invocation, SavedCallState, SavedSteps } from '../../../src/vocabulary/saved-run.ts'

/** A call as a response or a tool requests it. */
export interface Asked {
  readonly id: string
  readonly name: string
  readonly input: string
}

/** What is known of a tool before its input is checked. */
export interface Kind {
  readonly tool: ToolFacts
  /** For a tool that works in the background. */
  readonly atEnd?: WorkState['atEnd']
}

export interface Outcome {
  readonly invocation: Invocation
  readonly text: string
  readonly ok: boolean
}

/** The data of a call's handle, besides the state in the table. */
export interface About {
  /** Identifies the call in all processes. */
  readonly key: string
  readonly name: string
  readonly input: string
  readonly kind: Kind
  /** All ids that it has had. */
  ids: string[]
  /** What it may do before its model call succeeds; `null`: anything. */
  readonly ceiling: Effect | null
  /** Its wraps were entered. */
  hasBegun: boolean
  /** Its function waits until its response is accepted. */
  waits: boolean
  /** Executions of an inner call that wait for the same before they begin. */
  held: Invocation[]
  /** The executions that its wrap has left. */
  left: Invocation[]
  /** What is stored first, and the version that must be stored. */
  storing: { readonly invocation: Invocation; readonly version: number }[]
  answers: string[]
  /** The outcomes of its executions, in this process and in earlier ones. */
  outcomes: Outcome[]
  before: readonly Outcome[]
  result: { readonly text: string; readonly ok: boolean } | null
  /** An earlier process has made it: its result exists. */
  readonly isReused: boolean
  /** The version that must be stored before it is undone; 0 if none must be. */
  undoVersion: number
}

export type Turn =
  | { readonly role: 'assistant'; readonly calls: readonly Asked[]; readonly kinds: readonly Kind[] }
  | { readonly role: 'tool'; readonly id: string; readonly text: string }
  | { readonly role: 'user'; readonly text: string }
  /** The result of the work of a background call. */
  | { readonly role: 'work'; readonly key: string }

export type Ending =
  | { readonly is: 'completed' | 'aborted' | 'failed' }
  | { readonly is: 'interrupted' | 'cancelled'; readonly checkpoint: Checkpoint }

/** The checkpoint from which a resume continues. */
export interface Checkpoint {
  readonly steps: Pick<SavedSteps, 'begun' | 'current'>
  readonly calls: readonly SavedCall[]
  /** What asks: the keys of the call and, before it, of its makers; or the hook. */
  readonly interrupts: readonly (readonly string[])[]
  readonly values: Pick<State, 'hookName' | 'hookAnswers' | 'inbox' | 'keys' | 'questions' | 'history' | 'unknown'>
}

/** What the machine keeps of a call, and the values that belong to it. */
export interface SavedCall extends SavedCallState {
  readonly key: string
  readonly maker?: string
  readonly isBeingUndone: boolean
  /** The data that an undo needs is available. */
  readonly done?: true
  readonly outcomes: readonly Outcome[]
  readonly about: Pick<About, 'key' | 'name' | 'input' | 'kind' | 'ids' | 'ceiling' | 'answers' | 'result'>
}

/** A call of the accepted response; `number`: if it is made. */
export interface Wanted {
  readonly call: Asked
  readonly kind: Kind
  number: number | null
}

export interface State {
  phase: 'going' | 'over'
  steps: Steps
  readonly hasStore: boolean
  model: 'due' | 'running' | 'stopping' | 'out'
  hook: 'none' | 'running' | 'asks'
  /** The name of the hook. */
  hookName: string
  hookAnswers: string[]
  /** The hooks that judge an answer. */
  readonly gate: readonly { readonly name: string }[]
  /** The gate has received the answer of this step. */
  isJudging: boolean
  /** Sent messages that no step has read. */
  inbox: string[]
  /** Keys of the work that the caller receives when the run has its answer. */
  handles: readonly string[]
  /** A wrap around the steps calls `next` again; it has returned. */
  readonly hasWrap: boolean
  isWrapOut: boolean
  /** How many loops are running. */
  loops: number
  calls: Calls
  /** By number. */
  about: Map<number, About>
  /** How many calls were made and how many questions asked, in all processes; and what calls have requested. */
  keys: number
  questions: number
  contents: string[]
  /** The calls of the response, in order; how many of them are committed or made; the first that are not made. */
  wanted: Wanted[]
  committed: number
  most: number
  history: Turn[]
  /** The loop has an accepted answer. */
  hasAnswer: boolean
  halt: Halt
  /** The state when `cancel now` was decided: the checkpoint of the run, unless an abort replaces it. */
  aside: Checkpoint | null
  /** Ids of calls and undos that may have happened in a killed process. */
  unknown: string[]
  /** Counts what has to be stored; the newest stored version, and the one that is being stored. */
  version: number
  stored: number
  saving: number | null
  ending: Ending | null
}

/** Identifies an execution or a call. */
interface OfCall {
  readonly number: number
}

interface OfExecution extends OfCall {
  readonly invocation: Invocation
}

export type Fact =
  | { readonly is: 'attempt' }
  | { readonly is: 'attempt failed'; readonly attempt: number }
  | {
      readonly is: 'requested early'
      readonly attempt: number
      readonly call: Asked
      readonly kind: Kind
      readonly ceiling: Effect
    }
  | { readonly is: 'made'; readonly maker: number; readonly call: Asked; readonly kind: Kind }
  | { readonly is: 'shown'; readonly id: string; readonly isSame: boolean }
  | { readonly is: 'stood'; readonly calls: readonly Asked[]; readonly kinds: readonly Kind[] }
  | { readonly is: 'model threw' | 'hook done' | 'hook rejects' | 'hook asks' }
  | (OfCall & { readonly is: 'wanted' | 'works'; readonly input: string })
  | (OfExecution & { readonly is: 'judged'; readonly effect: Effect; readonly keys: ResourceKeys })
  | (OfExecution & { readonly is: 'ended'; readonly text: string; readonly ok: boolean })
  | (OfExecution & { readonly is: 'stopped'; readonly asks: boolean })
  | (OfExecution & { readonly is: 'threw' | 'left' })
  | (OfCall & { readonly is: 'waits' | 'asks' })
  | (OfCall & { readonly is: 'came'; readonly to: Came; readonly text: string; readonly ok: boolean })
  | (OfCall & { readonly is: 'grace over' | 'undone' | 'cancel call' })
  | { readonly is: 'saved' | 'save failed' }
  | { readonly is: 'cancel'; readonly at: CancelMode }
  | { readonly is: 'abort' }

/** How the wraps of a call ended. */
export type Came = 'result' | 'error' | 'stop' | 'throw'

export type Due =
  | { readonly do: 'ask model' | 'stop model' | 'hook' | 'accept' | 'save' | 'commit' | 'pause' | 'wait for work' }
  | (OfCall & { readonly do: 'abort' | 'undo' | 'turn' })
  | (OfCall & { readonly do: 'release'; readonly stood: boolean })
  | (OfExecution & { readonly do: 'check' | 'enter' | 'stop' | 'drop' | 'fail' | 'throw' })
  | { readonly do: 'end'; readonly ending: Ending }

/** Nothing stops it. */
export const RUNNING: Halt = { phase: 'running' }

export function begin(limit: number, innerLimit: number, hasStore: boolean, more: Partial<State> = {}): State {
  return {
    phase: 'going',
    steps: { ...noSteps(), limit: Number.POSITIVE_INFINITY },
    hasStore,
    model: 'due',
    hook: 'none',
    hookName: '',
    hookAnswers: [],
    gate: [],
    isJudging: false,
    inbox: [],
    handles: [],
    hasWrap: false,
    isWrapOut: true,
    loops: 0,
    calls: { ...noCalls(), limit, innerLimit },
    about: new Map(),
    keys: 0,
    questions: 0,
    contents: [],
    wanted: [],
    committed: 0,
    most: 0,
    history: [],
    hasAnswer: false,
    halt: RUNNING,
    aside: null,
    unknown: [],
    version: 0,
    stored: 0,
    saving: null,
    ending: null,
    ...more,
  }
}

/** A copy that can be changed. Both share what does not change. */
export function copyOf(s: State): State {
  return {
    ...s,
    steps: { ...s.steps },
    inbox: [...s.inbox],
    hookAnswers: [...s.hookAnswers],
    calls: copyOfCalls(s.calls),
    about: new Map([...s.about].map(([number, about]) => [number, copyOfAbout(about)])),
    contents: [...s.contents],
    wanted: s.wanted.map((one) => ({ ...one })),
    history: [...s.history],
    unknown: [...s.unknown],
  }
}

function copyOfCalls(calls: Calls): Calls {
  const { isOpen, attempts, announcedBy, unoffered } = calls.response
  return {
    ...calls,
    all: new Map(calls.all),
    response: { isOpen, attempts: new Map(attempts), announcedBy: new Map(announcedBy), unoffered: new Map(unoffered) },
    order: [...calls.order],
    inner: new Set(calls.inner),
    asked: new Map(calls.asked),
    innerSlotsTaken: new Map(calls.innerSlotsTaken),
    waiting: new Set([...calls.waiting].map((one) => ({ ...one }))),
    changedIn: new Map(calls.changedIn),
  }
}

function copyOfAbout(about: About): About {
  const { ids, held, left, storing, answers, outcomes } = about
  return {
    ...about,
    ids: [...ids],
    held: [...held],
    left: [...left],
    storing: [...storing],
    answers: [...answers],
    outcomes: [...outcomes],
  }
}

/** Everything that is known of a call. */
export interface Known {
  readonly number: number
  readonly call: CallState
  readonly about: About
}

/** In the order in which they were made. */
export function knownOf(s: State): Known[] {
  return [...s.calls.all.values()].map((call) => ({ number: call.number, call, about: aboutOf(s, call.number) }))
}

export function known(s: State, number: number): Known {
  return { number, call: callOf(s.calls, number), about: aboutOf(s, number) }
}

export function aboutOf({ about }: State, number: number): About {
  const found = about.get(number)
  if (!found) throw new Error(`nothing is known about call ${number}`)
  return found
}

/** The attempts of the current step. */
export function attemptsOf({ steps }: State): number {
  return steps.current?.attempts ?? 0
}

/** Whether what is running is stopped, and nothing starts. */
export function isStopping({ halt }: State): boolean {
  return !runsOn(halt)
}

/** Whether the run goes no further. */
export function isPaused({ halt }: State): boolean {
  return halt.stop !== undefined
}

/** A safe point of this kind: the run pauses here if it was cancelled with this mode. */
export function stopAt(s: State, point: 'after-tools' | 'after-model'): void {
  if (reaches(s.halt, point)) pause(s)
}

export function pause(s: State): void {
  s.halt = decideHalt(s.halt, { is: 'pause' })
}

/** Whether its wrap has left this execution. */
export function isLeft({ left }: About, which: Invocation): boolean {
  return left.some((one) => isSameExecution(one, which))
}
