import { unhandledRejections } from '@meanwhile/tests/rejections'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Came, type Program, programs, type Response, run } from '../../test/langchain-programs.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

type Counts = ReadonlyMap<string, number>

function counted(lines: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>()
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1)
  return counts
}

const of = (counts: Counts, content: string) => counts.get(content) ?? 0

/** Hooks that keep every tool from starting early, unless `approval` names the tools. */
const GUARDS: ReadonlySet<string> = new Set(['approves send', 'approves put', 'limits hold'])

interface Timing {
  readonly waits: boolean
  readonly isCut: boolean
}

/**
 * How many executions of each content the run with early tools has more than the plain one: exactly its early
 * executions that nothing uses. Which calls start early follows from the program and the warnings, and which are used
 * from what the plain run executes.
 *
 * - The next attempt uses the early executions of a broken response for equal calls.
 * - A call that declines is executed again, and no other call of its tool has started early.
 * - After a call was prevented, no call of its tool starts early any more.
 *
 * Two things depend on how long tools run. `waits`: after a response that was paused and rejected, an equal call waits
 * until the early one is over, and so does not start early. `isCut`: another tool fails the run before the call that has
 * declined is executed again.
 */
function unusedIn(one: Program, plain: Came, { warned, asked }: Came, { waits, isCut }: Timing): Counts {
  const isGuarded = one.hooks.some((hook) => GUARDS.has(hook))
  const isOpen = (name: string) => name !== 'send' && (one.approval ? !one.approval.includes(name) : !isGuarded)
  const unused = new Map<string, number>()
  const add = (content: string, count: number) => void unused.set(content, of(unused, content) + count)
  let hasDeclined = false

  /** The early executions of a response that can be used. */
  const startedIn = (response: Response | undefined, at: number): Counts => {
    const started: string[] = []
    for (const { name, q } of response?.calls ?? []) {
      const warning = warned.find(({ tool }) => tool === name)
      if (!isOpen(name) || (warning?.code === 'call-prevented' && warning.asked <= at)) continue
      if (warning?.code !== 'tool-declined') started.push(`${name} ${q}`)
      else if (!hasDeclined) {
        hasDeclined = true
        if (!isCut) add(`${name} ${q}`, 1)
      }
    }
    return counted(started)
  }
  const executedIn = (at: number): Counts => {
    const executed = plain.executions.filter(({ callId }) => callId.startsWith(`${at}-`))
    return counted(new Map(executed.map(({ callId, content }) => [callId, content])).values())
  }
  const pauses = (response: Response | undefined) =>
    response?.calls.some(({ name }) => one.hooks.includes(`approves ${name}`)) === true

  let running: ReadonlySet<string> = new Set()
  for (let at = 0; at < asked; at++) {
    const broken = one.responses[at]?.breaks ? startedIn(one.responses[at], at) : new Map<string, number>()
    if (one.responses[at]?.breaks && one.retries && at + 1 < asked) at++
    const response = one.responses[at]
    const last = startedIn(response, at)
    const executed = response?.breaks ? new Map<string, number>() : executedIn(at)
    const left = new Set<string>()
    for (const content of new Set([...broken.keys(), ...last.keys()])) {
      const all = waits && running.has(content) ? 0 : Math.max(of(broken, content), of(last, content))
      const count = all - Math.min(all, of(executed, content))
      add(content, count)
      if (count > 0 && !content.startsWith('read ')) left.add(content)
    }
    running = pauses(response) ? left : new Set()
  }
  return new Map([...unused].filter(([, count]) => count !== 0))
}

/** The executions of each content that one list has more than another. */
function more(came: readonly string[], than: readonly string[]): Counts {
  const counts = counted(came)
  for (const line of than) counts.set(line, of(counts, line) - 1)
  return new Map([...counts].filter(([, count]) => count !== 0))
}

const contents = ({ executions }: Came) => executions.map(({ content }) => content)

/** What the reversible calls have left behind. */
const leftOf = ({ succeeded, undone }: Came) => {
  const left = succeeded.filter((line) => line.startsWith('hold '))
  for (const one of undone) {
    const at = left.indexOf(one)
    if (at < 0) throw new Error(`${one} was undone, but not executed`)
    left.splice(at, 1)
  }
  return left.sort()
}

/**
 * What the caller gets. If several calls of a step fail, LangGraph throws the first error, or, if more have failed by
 * then, an `AggregateError`.
 */
const resultOf = ({ result }: Came): unknown =>
  JSON.stringify(result).startsWith('{"thrown":"AggregateError: Multiple errors') ? { thrown: 'Error: broken' } : result

const hasThrown = ({ result }: Came) => 'thrown' in Object(result)

/**
 * What the callbacks have received. If a tool fails the run, LangChain aborts the calls that are still running, and those
 * that have not begun: which those are depends on their times. A call that has `declined` begins again later than the
 * others.
 */
function toldOf(came: Came, declined: readonly string[]): readonly string[] {
  if (!hasThrown(came)) return came.told
  const isOpen = (line: string) =>
    /^\["handle(Tool|Chain)(End|Error)"/.test(line) ||
    (line.startsWith('["handleToolStart"') && declined.some((tool) => line.includes(`},"${tool}","`)))
  return came.told.filter((line) => !isOpen(line))
}

test('random options and hooks: equal results and callbacks, and exactly the executions of the plain run and the unused early ones, which are undone (W46, W47, W48)', async () => {
  const seen = { early: 0, unused: 0, undone: 0, declined: 0, prevented: 0 }
  await fc.assert(
    fc.asyncProperty(programs, async (one) => {
      const plain = await run(one, false)
      const came = await run(one, true)
      expect(vi.getTimerCount()).toBe(0)
      expect(resultOf(came)).toEqual(resultOf(plain))
      const declined = came.warned.flatMap(({ code, tool }) => (code === 'tool-declined' ? [tool] : []))
      expect(declined).toEqual(declined.length > 0 ? [one.reads] : [])
      expect(toldOf(came, declined)).toEqual(toldOf(plain, declined))
      const timings = [false, true].flatMap((waits) =>
        (hasThrown(came) ? [false, true] : [false]).map((isCut) => ({ waits, isCut })),
      )
      const unused = more(contents(came), contents(plain))
      expect(timings.map((timing) => unusedIn(one, plain, came, timing))).toContainEqual(unused)
      // What can be undone is undone once, and nothing else is.
      expect(leftOf(came)).toEqual(leftOf(plain))
      expect(plain.undone).toEqual([])
      seen.early += came.executions.filter(({ isEarly }) => isEarly).length
      seen.unused += unused.size
      seen.undone += came.undone.length
      seen.declined += declined.length
      seen.prevented += came.warned.filter(({ code }) => code === 'call-prevented').length
    }),
    propertyRuns({ small: 20, middle: 25, whole: 3_000 }),
  )
  expect(Object.entries(seen).filter(([, count]) => count === 0)).toEqual([])
})
