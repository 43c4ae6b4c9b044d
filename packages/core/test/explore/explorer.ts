/** Every order in which things can happen in one small world. What must hold is checked in each state. */

import { ALWAYS, AT_END, ON_ABORT, ON_ASK, ON_START } from './invariants.ts'
import { callOf, type State } from './model/state.ts'
import { type Move, movesOf, type Scenario, start, type World } from './world.ts'

/** A rule does not hold. `path`: what had happened, in order. */
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
  /** Cells of the machine's tables that were reached: a call's course, its fate, and the effect or fact that met it. */
  readonly cells: ReadonlySet<string>
}

interface Open {
  readonly world: World
  readonly path: Path
}

/** Shared from the back, so that a path costs one link a state. */
interface Path {
  readonly name: string
  readonly before: Path | undefined
}

/**
 * @throws {RuleBroken} At the first state in which a rule does not hold.
 */
export function explore(scenario: Scenario): Explored {
  const expected = historyOf(plain(scenario))
  const seen = new Set<string>()
  const ends: Record<string, number> = {}
  const cells = new Set<string>()
  const open: Open[] = [{ world: start(scenario), path: { name: 'start', before: undefined } }]
  for (let at = open.pop(); at; at = open.pop()) {
    const { world, path } = at
    const moves = movesOf(scenario, world)
    if (moves.length === 0) mustBeOver(scenario, world, path)
    for (const move of moves) {
      const to = structuredClone(world)
      const taken: Path = { name: move.name, before: path }
      try {
        move.do(to)
      } catch (error) {
        throw new RuleBroken('the machine throws at nothing that can happen', String(error), scenario, listed(taken))
      }
      const key = keyOf(to)
      if (seen.has(key)) continue
      seen.add(key)
      for (const { course, fate } of world.s.calls) cells.add(`${course} ${fate} × ${move.name.split(' ')[0]}`)
      check(scenario, { world, move, to }, taken, expected)
      if (to.s.phase === 'over' && world.s.phase !== 'over')
        ends[String(to.s.ending?.is)] = (ends[String(to.s.ending?.is)] ?? 0) + 1
      open.push({ world: to, path: taken })
    }
  }
  return { states: seen.size, ends, cells }
}

/** What a run comes to that starts nothing early, one call at a time, and to which nothing happens. */
function plain({ steps, wrap }: Scenario): State {
  const scenario: Scenario = { steps, eager: false, limit: 1, ...(wrap && { wrap }) }
  let world = start(scenario)
  for (let [move] = movesOf(scenario, world); move; [move] = movesOf(scenario, world)) {
    world = structuredClone(world)
    move.do(world)
  }
  return world.s
}

interface Change {
  readonly world: World
  readonly move: Move
  readonly to: World
}

function check(scenario: Scenario, { world, move, to }: Change, path: Path, expected: string): void {
  const broken = (rule: string, problem: string): never => {
    throw new RuleBroken(rule, problem, scenario, listed(path))
  }
  for (const [rule, holds] of Object.entries(ALWAYS)) {
    const problem = holds(to, scenario)
    if (problem !== undefined) broken(rule, problem)
  }
  const [what, key] = move.name.split(' ')
  if (move.name === 'ask model') {
    for (const [rule, holds] of Object.entries(ON_ASK)) {
      const problem = holds(world.s)
      if (problem !== undefined) broken(rule, problem)
    }
  }
  const rules = what === 'begin' || what === 'enter' ? ON_START : what === 'abort' ? ON_ABORT : {}
  if (key) {
    for (const [rule, holds] of Object.entries(rules)) {
      const problem = holds(world.s, callOf(world.s, key))
      if (problem !== undefined) broken(rule, problem)
    }
  }
  if (to.s.phase !== 'over' || world.s.phase === 'over') return
  for (const [rule, holds] of Object.entries(AT_END)) {
    const problem = holds(to, scenario)
    if (problem !== undefined) broken(rule, problem)
  }
  // What a question inside of one execution does to the other depends on which was first.
  const isRaced = scenario.wrap === 'both' && /"[qn]/.test(JSON.stringify(scenario.steps))
  const isCut =
    isRaced ||
    to.s.unknown.length > 0 ||
    /cancelled|abandoned|cut off|may have happened/.test(JSON.stringify(to.s.history))
  if (to.s.ending?.is === 'completed' && !isCut && historyOf(to.s) !== expected)
    broken(
      'an eager run, interrupted or not, comes to what a waiting one does',
      `${historyOf(to.s)}, expected ${expected}`,
    )
}

function mustBeOver(scenario: Scenario, { s, left }: World, path: Path): void {
  const isOver = s.phase === 'over' && (!(s.ending && 'checkpoint' in s.ending) || left.resumes === 0)
  if (isOver) return
  const calls = s.calls.map(({ key, name, course, fate, executions }) => [
    key,
    name,
    course,
    fate,
    ...executions.map(({ stage }) => stage),
  ])
  const problem = `${s.phase}, model ${s.model}, hook ${s.hook}, halt ${JSON.stringify(s.halt)}, ${JSON.stringify(calls)}`
  throw new RuleBroken('every run comes to its end', problem, scenario, listed(path))
}

function listed(path: Path | undefined): readonly string[] {
  const names: string[] = []
  for (let at = path; at; at = at.before) names.push(at.name)
  return names.reverse()
}

/** Counts of changes only say how many there were. What matters is which are stored. */
function keyOf(world: World): string {
  return JSON.stringify(world, (name, value: unknown) => {
    if (name !== 's' && name !== 'stored' && name !== 'saving' && name !== 'aside' && name !== 'checkpoint')
      return value
    return typeof value === 'object' && value !== null ? ranked(value as State) : value
  })
}

function ranked(s: State): unknown {
  const versions = s.calls.flatMap(({ executions, undoVersion }) => [
    undoVersion,
    ...executions.map(({ version }) => version),
  ])
  const order = [...new Set([...versions, s.stored, s.saving ?? -1])].sort((a, b) => a - b)
  const rank = (version: number) => order.indexOf(version)
  return {
    ...s,
    version: 0,
    stored: rank(s.stored),
    saving: s.saving === null ? null : rank(s.saving),
    calls: s.calls.map((call) => ({
      ...call,
      undoVersion: rank(call.undoVersion),
      executions: call.executions.map((one) => ({ ...one, version: rank(one.version) })),
    })),
  }
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
    history.map((turn) =>
      turn.role === 'tool'
        ? [named(turn.id), turn.text]
        : turn.calls.map((one) => [named(one.id), one.name, one.input]),
    ),
  )
}
