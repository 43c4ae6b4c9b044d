/** Runs a loop of another library with every cut, and counts what a response that breaks off must not cause. */

import type { WireName } from '@meanwhile/harness/server'
import { judge, type Outcome, sumOf } from '../judge.ts'
import type { Trial } from '../trial.ts'
import {
  ANSWER,
  BROKEN_CALLS,
  BROKEN_TEXT,
  type Call,
  type Cut,
  endpointOf,
  type Next,
  nextOf,
  RESULT,
} from './cuts.ts'
import type { Came, FaultLoop } from './loop.ts'

/** The outcome of all cuts of one loop. */
export interface LoopCell {
  readonly cuts: number
  /** Runs that repeated the request, and ended with their answer. What follows the executions is counted in these. */
  readonly ended: number
  /** Runs that took the broken response for a whole one, and went on. */
  readonly taken: number
  readonly executions: Outcome
  /** Characters that the reader received again, although the text of the repeated response is the same. */
  readonly doubled: number
  /** Runs of which something else is kept than without a cut, although the text of the repeated response is the same. */
  readonly changed: number
  /** Runs in which text of the broken response came after that of the repeated one, which differs. */
  readonly mixed: number
  /** {@link Came.orphans} */
  readonly orphans: number
}

interface CutRun {
  readonly trial: Trial
  /** How many requests for the response there were. */
  readonly asked: number
  readonly came: Came | undefined
}

/** Cuts of the same kind are tried at once, because some loops wait before they repeat. */
export async function loopCell(loop: FaultLoop, cuts: readonly Cut[]): Promise<LoopCell> {
  const cells: LoopCell[] = []
  for (const alike of kindsOf(cuts)) {
    const [{ wire, next }] = alike
    const { came: whole } = await runOf(loop, wire, next)
    if (whole?.answer !== ANSWER) throw new Error(`a run on ${wire} without a cut has no answer`)
    const runs = await Promise.all(alike.map((cut) => runOf(loop, wire, next, cut)))
    cells.push(...runs.map((run) => cellOf(run, next, whole)))
  }
  const sum = (of: (cell: LoopCell) => number): number => cells.reduce((total, cell) => total + of(cell), 0)
  return {
    cuts: sum(({ cuts }) => cuts),
    ended: sum(({ ended }) => ended),
    taken: sum(({ taken }) => taken),
    executions: sumOf(cells.map(({ executions }) => executions)),
    doubled: sum(({ doubled }) => doubled),
    changed: sum(({ changed }) => changed),
    mixed: sum(({ mixed }) => mixed),
    orphans: sum(({ orphans }) => orphans),
  }
}

function kindsOf(cuts: readonly Cut[]): readonly (readonly [Cut, ...Cut[]])[] {
  const kinds = new Map<string, [Cut, ...Cut[]]>()
  for (const cut of cuts) {
    const kind = `${cut.wire} ${cut.next}`
    const alike = kinds.get(kind)
    if (alike) alike.push(cut)
    else kinds.set(kind, [cut])
  }
  return [...kinds.values()]
}

async function runOf(loop: FaultLoop, wire: WireName, next: Next, cut?: Cut): Promise<CutRun> {
  const endpoint = endpointOf(next, cut)
  const executions: Trial['executions'][number][] = []
  const made = loop({
    wire,
    fetch: endpoint.fetch,
    prompt: 'Tell Ada.',
    async work(tool, input) {
      // While the first response is the present one, it has not ended: it never does.
      const early = endpoint.asked() === 1
      executions.push({ ...executionOf({ tool, input }), early })
      return RESULT
    },
  })
  const came = await made.catch(() => undefined)
  const attempts = [BROKEN_CALLS, nextOf(next).calls].map(askedBy)
  const trial = { executions, attempts, standing: new Set<string>(), done: new Set<string>() }
  return { trial, asked: endpoint.asked(), came }
}

function cellOf({ trial, asked, came }: CutRun, next: Next, whole: Came): LoopCell {
  const hasAnswer = came?.answer === ANSWER
  const isRepeated = asked > 1
  // A response that breaks off counts for nothing: what is right are the calls of the repeated one.
  const rightly = hasAnswer && isRepeated ? nextOf(next).calls.map(executionOf) : []
  const executions = judge(trial, { ...trial, executions: rightly })
  const none = { cuts: 1, ended: 0, taken: 0, executions, doubled: 0, changed: 0, mixed: 0, orphans: 0 }
  if (!hasAnswer) return none
  if (!isRepeated) return { ...none, taken: 1 }
  const ended = { ...none, ended: 1, orphans: came.orphans }
  if (next === 'other') return { ...ended, mixed: Number(isMixed(came.shown, whole.shown)) }
  return {
    ...ended,
    doubled: Math.max(0, came.shown.length - whole.shown.length),
    changed: Number(came.kept !== whole.kept),
  }
}

/** Whether something other than a beginning of the broken text comes before the whole text of the repeated response, and nothing after it. */
function isMixed(shown: string, whole: string): boolean {
  return !shown.endsWith(whole) || !BROKEN_TEXT.startsWith(shown.slice(0, -whole.length))
}

function executionOf({ tool, input }: Call): Trial['executions'][number] {
  const effect = tool === 'look' ? 'read' : 'external'
  return { what: whatOf({ tool, input }), effect, sealed: false, early: false }
}

function askedBy(calls: readonly Call[]): Trial['attempts'][number] {
  return new Map(calls.map((call, at) => [String(at), [{ what: whatOf(call) }]]))
}

function whatOf({ tool, input }: Call): string {
  return `${tool} ${JSON.stringify(input)}`
}
