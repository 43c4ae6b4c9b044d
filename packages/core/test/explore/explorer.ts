/** Explores every order in which things can happen in one small world, and checks the rules in each state. */

import { executionOf, type Stage } from '../../src/machine/call.ts'
import { ALWAYS, AT_END, ON_ABORT, ON_ACCEPT, ON_ASK, ON_CHANGE, ON_START } from './invariants.ts'
import { keyOf } from './key.ts'
import { type Known, known, knownOf, type State } from './model/state.ts'
import { copyOfWorld, type Move, movesOf, type Scenario, start, type World } from './world.ts'

/** A rule is broken. `path`: what had happened, in order. */
export class RuleBroken extends Error {
  override readonly name = 'RuleBroken'
  readonly rule: string
  readonly scenario: Scenario
  readonly path: readonly string[]

  constructor(rule: string, problem: string, scenario: Scenario, path: readonly string[]) {
    super(`${rule}: ${problem}\n  ${JSON.stringify(scenario)}\n  ${path.join(' · ')}`)
    this.rule = rule
    this.scenario = scenario
    this.path = path
  }
}

export interface Explored {
  /** Distinct states. */
  readonly states: number
  /** Ends of runs, by kind. */
  readonly ends: Readonly<Record<string, number>>
  /** Cells of the machine's tables that were reached: a call's course, its fate, and the effect or fact. */
  readonly cells: ReadonlySet<string>
}

interface Open {
  readonly world: World
  readonly path: Path
}

/** No run of a small world is longer. */
const LONGEST = 1000

/** A linked list from the back, so that a path costs one link per state. */
interface Path {
  readonly length: number
  readonly name: string
  readonly before: Path | undefined
}

/** @throws {RuleBroken} At the first state in which a rule is broken. */
export function explore(scenario: Scenario): Explored {
  const expected = historyOf(plain(scenario))
  const seen = new Set<string>()
  const ends: Record<string, number> = {}
  const cells = new Set<string>()
  const open: Open[] = [{ world: start(scenario), path: { length: 1, name: 'start', before: undefined } }]
  for (let at = open.pop(); at; at = open.pop()) {
    const { world, path } = at
    const moves = movesOf(scenario, world)
    if (moves.length === 0 || path.length > LONGEST) mustBeOver(scenario, world, path)
    for (const move of moves) {
      const to = copyOfWorld(world)
      const taken: Path = { length: path.length + 1, name: move.name, before: path }
      try {
        move.do(to)
      } catch (error) {
        throw new RuleBroken('no fact makes the machine throw', String(error), scenario, listed(taken))
      }
      for (const { course, fate } of world.s.calls.all.values())
        cells.add(`${course} ${fate} × ${move.name.split(' ')[0]}`)
      const is = isOf(scenario, taken)
      // Also on the second way to a state.
      checkMove({ world, move, to }, is)
      const key = keyOf(to)
      if (seen.has(key)) continue
      seen.add(key)
      for (const [rule, holds] of Object.entries(ALWAYS)) is(rule, holds(to, scenario))
      if (to.s.phase === 'over') checkEnd(scenario, to, expected, is)
      if (to.s.phase === 'over' && world.s.phase !== 'over')
        ends[String(to.s.ending?.is)] = (ends[String(to.s.ending?.is)] ?? 0) + 1
      open.push({ world: to, path: taken })
    }
  }
  return { states: seen.size, ends, cells }
}

/** The end of a run that starts nothing early, makes one call at a time, and to which nothing happens. */
function plain({ steps, wrap }: Scenario): State {
  const scenario: Scenario = { steps, eager: false, limit: 1, ...(wrap && { wrap }) }
  let world = start(scenario)
  // One call at a time asks.
  world.left.resumes = 20
  let path: Path = { length: 1, name: 'start', before: undefined }
  for (let [move] = movesOf(scenario, world); move; [move] = movesOf(scenario, world)) {
    world = copyOfWorld(world)
    move.do(world)
    path = { length: path.length + 1, name: move.name, before: path }
    if (path.length > LONGEST) mustBeOver(scenario, world, path)
  }
  return world.s
}

interface Change {
  readonly world: World
  readonly move: Move
  readonly to: World
}

type Is = (rule: string, problem: string | undefined) => void

function isOf(scenario: Scenario, path: Path): Is {
  return (rule, problem) => {
    if (problem !== undefined) throw new RuleBroken(rule, problem, scenario, listed(path))
  }
}

function checkMove({ world, move, to }: Change, is: Is): void {
  if (move.name === 'ask model') for (const [rule, holds] of Object.entries(ON_ASK)) is(rule, holds(world.s, to.s))
  if (move.name === 'accept') for (const [rule, holds] of Object.entries(ON_ACCEPT)) is(rule, holds(to.s))
  if (move.name.startsWith('abort ') && move.number !== undefined) {
    const told = known(world.s, move.number)
    for (const [rule, holds] of Object.entries(ON_ABORT)) is(rule, holds(world.s, told))
  }
  const isSameProcess = to.process === world.process
  for (const one of knownOf(to.s)) {
    const before = isSameProcess && world.s.calls.all.has(one.number) ? known(world.s, one.number) : undefined
    if (before) for (const [rule, holds] of Object.entries(ON_CHANGE)) is(rule, holds(before.call, one.call))
    for (const stage of startedIn(before, one))
      for (const [rule, holds] of Object.entries(ON_START)) is(rule, holds(to.s, one, stage))
  }
}

function checkEnd(scenario: Scenario, to: World, expected: string, is: Is): void {
  for (const [rule, holds] of Object.entries(AT_END)) is(rule, holds(to, scenario))
  // The effect of a question inside one execution on the other depends on which was first.
  const isRaced = scenario.wrap === 'both' && /"[qn]/.test(JSON.stringify(scenario.steps))
  const isCut =
    isRaced ||
    to.s.unknown.length > 0 ||
    /cancelled|abandoned|circle|cut off|may have happened/.test(JSON.stringify(to.s.history) + expected)
  const history = historyOf(to.s)
  if (to.s.ending?.is === 'completed' && !isCut && history !== expected)
    is('an eager run, interrupted or not, has the same outcome as a waiting one', `${history}, expected ${expected}`)
}

/** The stages that executions of a call have reached, for executions that pass a gate. */
function startedIn(before: Known | undefined, { call }: Known): Stage[] {
  return call.executions.flatMap(({ stage, invocation }) => {
    const isStart = stage === 'checking' || stage === 'storing' || stage === 'entered'
    return isStart && (!before || executionOf(before.call, invocation)?.stage !== stage) ? [stage] : []
  })
}

function mustBeOver(scenario: Scenario, { s, left }: World, path: Path): void {
  const goesOn = knownOf(s).some(({ call: { work, course } }) => work?.isHandedOver && course === 'begun')
  const isOver = s.phase === 'over' && !goesOn && (!(s.ending && 'checkpoint' in s.ending) || left.resumes === 0)
  if (isOver) return
  const calls = knownOf(s).map(({ call: { course, fate, executions }, about: { key, name } }) => [
    key,
    name,
    course,
    fate,
    ...executions.map(({ stage }) => stage),
  ])
  const problem = `${s.steps.current?.phase}, model ${s.model}, hook ${s.hook}, halt ${JSON.stringify(s.halt)}, ${JSON.stringify(calls)}`
  throw new RuleBroken('every run ends', problem, scenario, listed(path))
}

function listed(path: Path | undefined): readonly string[] {
  const names: string[] = []
  for (let at = path; at; at = at.before) names.push(at.name)
  return names.reverse()
}

/** Without ids, which a retry changes. */
function historyOf({ history }: State): string {
  const names = new Map<string, string>()
  const named = (id: string) => {
    const name = names.get(id) ?? `#${names.size}`
    names.set(id, name)
    return name
  }
  return JSON.stringify(
    history.flatMap((turn) => {
      if (turn.role === 'tool') return [JSON.stringify([named(turn.id), turn.text])]
      // A sent message or a rejection is followed by one more answer.
      const calls = turn.role === 'assistant' ? turn.calls : []
      return calls.length > 0 ? [JSON.stringify(calls.map((one) => [named(one.id), one.name, one.input]))] : []
    }),
  )
}
