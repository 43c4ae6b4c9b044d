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

/**
 * How many executions of each content the run with early tools has more than the plain one: exactly its early executions that nothing uses. Which calls
 * start early follows from the program and the warnings, and which are used from what the plain run executes.
 *
 * - The next attempt uses the early executions of a broken response for equal calls.
 * - If an approval pauses the run, later responses use what the paused one had started.
 * - A call that declines is executed again. Of its tool it is the only one that has started early.
 * - No call of a tool that was prevented starts early any more.
 */
function unusedIn(one: Program, plain: Came, { warned, asked }: Came): Counts {
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
        add(`${name} ${q}`, 1)
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

  let held: Counts = new Map()
  for (let at = 0; at < asked; at++) {
    const broken = one.responses[at]?.breaks ? startedIn(one.responses[at], at) : new Map<string, number>()
    if (one.responses[at]?.breaks && one.retries && at + 1 < asked) at++
    const response = one.responses[at]
    const last = startedIn(response, at)
    const executed = response?.breaks ? new Map<string, number>() : executedIn(at)
    const left = new Map<string, number>()
    for (const content of new Set([...held.keys(), ...broken.keys(), ...last.keys()])) {
      const all = Math.max(of(held, content), of(broken, content), of(last, content))
      const used = Math.min(all, of(executed, content))
      add(content, all - of(held, content) - used)
      left.set(content, all - used)
    }
    held = pauses(response) ? left : new Map()
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

/** If a tool fails the run, LangChain aborts the calls that are still running, and which those are depends on their times. */
const ENDS = /^\["handle(Tool|Chain)(End|Error)"/
const toldOf = ({ result, told }: Came) => ('thrown' in Object(result) ? told.filter((one) => !ENDS.test(one)) : told)

test('random options and hooks: equal results and callbacks, and exactly the executions of the plain run and the unused early ones, which are undone (W46, W47, W48)', async () => {
  const seen = { early: 0, unused: 0, undone: 0, declined: 0, prevented: 0 }
  await fc.assert(
    fc.asyncProperty(programs, async (one) => {
      const plain = await run(one, false)
      const came = await run(one, true)
      expect(vi.getTimerCount()).toBe(0)
      expect(came.result).toEqual(plain.result)
      expect(toldOf(came)).toEqual(toldOf(plain))
      const unused = unusedIn(one, plain, came)
      expect(more(contents(came), contents(plain))).toEqual(unused)
      // What can be undone is undone once, and nothing else is.
      expect(leftOf(came)).toEqual(leftOf(plain))
      expect(plain.undone).toEqual([])
      const declined = came.warned.filter(({ code }) => code === 'tool-declined')
      expect(declined.map(({ tool }) => tool)).toEqual(declined.length > 0 ? [one.reads] : [])
      seen.early += came.executions.filter(({ isEarly }) => isEarly).length
      seen.unused += unused.size
      seen.undone += came.undone.length
      seen.declined += declined.length
      seen.prevented += came.warned.filter(({ code }) => code === 'call-prevented').length
    }),
    propertyRuns({ small: 30, middle: 100, whole: 3_000 }),
  )
  expect(Object.entries(seen).filter(([, count]) => count === 0)).toEqual([])
})
