import { unhandledRejections } from '@meanwhile/tests/rejections'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { answer, breaks, call, failing, finish, type Part, said, wait, whole } from '../../test/sdk.ts'
import { OPTIONS, type OptionName } from '../../test/sdk-options.ts'
import { bothWays, HOSTS, isKnownLate, runsOf, seen, WAYS } from '../../test/sdk-trial.ts'
import type { EagerSettings } from '../host/settings.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const inputs = {
  look: (value: string) => ({ q: value }),
  put: (value: string) => ({ key: value }),
  send: (value: string) => ({ to: value }),
}

const asked = fc.record({
  name: fc.constantFrom('look', 'look', 'put', 'put', 'send'),
  value: fc.constantFrom('a', 'b'),
  pause: fc.constantFrom(0, 5, 30),
})

const accepted = [finish(), finish(), finish(), finish('stop')]
const refused = [finish('length'), breaks(), wait(0)]

const response = fc
  .record({
    calls: fc.array(asked, { maxLength: 4 }),
    /** An error in the stream, after which it may go on. */
    fails: fc.constantFrom(false, false, false, false, true),
    ends: fc.constantFrom<Part>(...accepted, ...refused),
  })
  .map(({ calls, fails, ends }) => {
    const parts: Part[] = calls.flatMap(({ name, value, pause }, index) => {
      const text = JSON.stringify(inputs[name as keyof typeof inputs](value))
      return [...whole(`${index}`, text, name), call(`${index}`, text, name), wait(pause)]
    })
    return {
      parts: [...parts, ...(fails ? [failing()] : []), ...said('x'), ends],
      isBroken: fails || refused.includes(ends),
      puts: calls.flatMap(({ name, value }) => (name === 'put' ? [`put ${JSON.stringify(inputs.put(value))}`] : [])),
    }
  })

const choice = fc.record({
  name: fc.constantFrom(...(Object.keys(OPTIONS) as OptionName[])),
  nth: fc.nat({ max: 6 }),
  way: fc.constantFrom(...WAYS),
})

const program = fc.record({
  host: fc.constantFrom(...HOSTS),
  choices: fc.uniqueArray(choice, { selector: ({ name, way }) => `${name} ${way}`, maxLength: 4 }),
  script: fc.array(response, { minLength: 1, maxLength: 3 }),
  provider: fc.constantFrom('openai.responses', 'openai.responses', 'mock.chat'),
  effect: fc.constantFrom('idempotent', 'reversible'),
  requests: fc.constantFrom(1, 1, 2),
  alwaysStream: fc.constantFrom(true, false),
  aborts: fc.option(fc.integer({ min: 1, max: 100 }), { nil: undefined, freq: 6 }),
})

/** How often each line is there. */
function counted(lines: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const line of lines.toSorted()) counts.set(line, (counts.get(line) ?? 0) + 1)
  return counts
}

/** Each execution that was not undone. */
function kept(executed: readonly string[], undone: readonly string[]): readonly string[] {
  const left = [...executed]
  for (const line of undone) {
    expect(left).toContain(line)
    left.splice(left.indexOf(line), 1)
  }
  return left
}

test('with any options in any place, the user sees the same, calls of accepted responses are executed once, and each unused one is undone once (W46, W47, W48)', async () => {
  let early = 0
  const onStep: EagerSettings['onStep'] = ({ calls }) => {
    early += calls.length
  }
  await fc.assert(
    fc.asyncProperty(program, async ({ script, effect, choices, requests, alwaysStream, ...given }) => {
      const undone: string[] = []
      const compensate = (input: object) => void undone.push(`put ${JSON.stringify(input)}`)
      const isReversible = effect === 'reversible'
      const { plain, eager } = await bothWays({
        ...given,
        requests,
        // Requests at once would share the responses of these models.
        choices: choices.filter(({ name }) => requests === 1 || (name !== 'model' && name !== 'prepareStep')),
        responses: [...script.map(({ parts }) => parts), answer],
        effects: { look: 'read', put: isReversible ? { effect: 'reversible', compensate } : 'idempotent' },
        settings: { alwaysStream, onStep },
      })
      expect(vi.getTimerCount()).toBe(0)
      const net = counted(kept(runsOf(eager, 'put'), undone))
      // A faster run may be further along when it is aborted.
      if (given.aborts !== undefined) return
      expect(seen(eager, requests)).toEqual(seen(plain, requests))
      expect(counted(runsOf(eager, 'send'))).toEqual(counted(runsOf(plain, 'send')))
      const made = counted(runsOf(plain, 'put'))
      const late = choices.some((one) => isKnownLate(given.host, one))
      const isOther = choices.some(({ name }) => name === 'toolChoice' || name === 'prepareStep')
      const broken = script.filter(({ isBroken }) => isBroken)
      if (isReversible || !(broken.length > 0 || isOther || late)) expect(net).toEqual(made)
      for (const [line, count] of made) expect(net.get(line) ?? 0).toBeGreaterThanOrEqual(count)
      // In the responses that stood, nothing is executed more often: what is more is in those that broke off.
      const unused = counted(broken.flatMap(({ puts }) => puts))
      if (!(isOther || late))
        for (const [line, count] of net)
          expect(count - (made.get(line) ?? 0)).toBeLessThanOrEqual((unused.get(line) ?? 0) * requests)
      const reads = counted(runsOf(eager, 'look'))
      for (const [line, count] of counted(runsOf(plain, 'look')))
        expect(reads.get(line) ?? 0).toBeGreaterThanOrEqual(count)
    }),
    propertyRuns({ small: 7, middle: 10, whole: 3_000 }),
  )
  // Some calls did start early.
  expect(early).toBeGreaterThan(5)
})
