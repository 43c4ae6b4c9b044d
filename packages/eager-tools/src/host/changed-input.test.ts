import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { after, asked, Host, told } from '../../test/host.ts'
import type { EarlyTool, HostTool } from './host-tool.ts'
import type { EagerSettings } from './settings.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }))
afterEach(() => void vi.useRealTimers())

/** A tool whose schema does this. */
function checked(host: Host, effect: 'read' | 'idempotent' | 'reversible', more: Partial<EarlyTool>): HostTool {
  const name = effect
  const { early } = host.early(name, effect, { compensate: ({ n }) => host.note(`${name} ${n} undone`) })
  return { name, ...(early && { early: { ...early, ...more } }) }
}

const filling = (written: unknown) => ({ ...Object(written), day: 'today' })

/** Streams one sealed call, and returns what the host gets for it with the input that its own check returns. */
async function step(host: Host, tool: HostTool, hosts: (written: object) => object, written: object = { n: 1 }) {
  const calls = host.step({ tools: [tool, host.early('other', 'read')] })
  calls.seal(told(calls, 'a', tool.name, written))
  await after(10)
  calls.stood()
  const result = await asked(calls, 'a', tool.name, hosts(written))
  await calls.release()
  return result
}

test('above read, a call whose schema fills in a member is left to the host, and a read is not (W4)', async () => {
  const host = new Host()
  const results: unknown[] = []
  for (const effect of ['read', 'idempotent', 'reversible'] as const)
    results.push(await step(host, checked(host, effect, { check: filling }), filling))
  expect(results).toEqual(['read 1', 'by the host', 'by the host'])
  expect([host.log, host.warnings]).toEqual([['0 read 1'], []])
})

test('above read, a call whose arguments the schema leaves as they are starts when sealed (W4)', async () => {
  const host = new Host()
  const tool = checked(host, 'idempotent', { check: (written) => ({ day: 'today', ...Object(written) }) })
  expect(await step(host, tool, filling)).toBe('by the host')
  const whole = { n: 2, day: 'today' }
  expect(await step(host, tool, () => whole, whole)).toBe('idempotent 2')
})

test('a tool whose schema is fixed starts early, whatever its schema changes (W4)', async () => {
  const host = new Host({ schemas: { idempotent: 'fixed' } })
  expect(await step(host, checked(host, 'idempotent', { check: filling }), filling)).toBe('idempotent 1')
})

test('if a host decides by itself whether its function gets the arguments unchanged, that counts (W4)', async () => {
  const host = new Host()
  for (const keeps of [true, false]) {
    const tool = checked(host, 'idempotent', { checksItself: true, keepsInput: () => keeps })
    expect(await step(host, tool, (written) => written)).toBe(keeps ? 'idempotent 1' : 'by the host')
  }
})

test('a function that checks its input itself is joined by the arguments as the model wrote them (W4)', async () => {
  const host = new Host()
  const tool = checked(host, 'read', { checksItself: true, check: () => ({ n: 1, id: crypto.randomUUID() }) })
  expect(await step(host, tool, (written) => written)).toBe('read 1')
  expect(await step(host, tool, () => ({ n: 2 }))).toBe('by the host')
  expect(host.warnings).toEqual([])
})

test('if the host’s check returns another input for the same arguments, its input counts, and the tool starts early no more, with one warning that names the members (W4)', async () => {
  for (const effect of ['read', 'idempotent', 'reversible'] as const) {
    const said: string[] = []
    const settings: EagerSettings = { onWarning: ({ code, message }) => void said.push(`${code}: ${message}`) }
    const host = new Host(settings)
    let count = 0
    const counting = (written: object) => ({ ...written, day: count++ > 0 ? 'tomorrow' : 'today', at: count })
    const tool = checked(host, effect, { check: (written) => Object(written) })
    for (let n = 0; n < 3; n++) expect(await step(host, tool, counting)).toBe('by the host')
    const undone = effect === 'reversible' ? ['10 reversible 1 undone'] : []
    expect(host.log).toEqual([`0 ${effect} 1`, ...undone])
    expect(said).toEqual([
      `schema-differs: ${effect} does not start early any more: for the same arguments its schema has returned two different inputs (the difference is in day, at), and the call is executed with both`,
    ])
  }
})

test('steps in which a schema differs switch no other tool off (W4)', async () => {
  const host = new Host()
  for (const name of ['a', 'b', 'c', 'd']) await step(host, { ...checked(host, 'read', {}), name }, filling)
  expect(host.warnings).toEqual(['schema-differs', 'schema-differs', 'schema-differs', 'schema-differs'])
})

test('other tools still start early, and so does the same tool of another eager() (W4)', async () => {
  const host = new Host()
  const odd = checked(host, 'read', {})
  await step(host, odd, filling)
  expect(await step(host, odd, (written) => written)).toBe('by the host')
  expect(await step(host, checked(host, 'idempotent', {}), (written) => written)).toBe('idempotent 1')
  const other = new Host()
  expect(await step(other, checked(other, 'read', {}), (written) => written)).toBe('read 1')
})

test('if the arguments are different ones, the tool still starts early: the provider changed them, or an id occurs twice (W4)', async () => {
  const host = new Host()
  const tool = checked(host, 'read', {})
  const calls = host.step({ tools: [tool] })
  const label = told(calls, 'a', tool.name, { n: 1 })
  for (const n of [3, 4]) told(calls, 'b', tool.name, { n })
  await after(10)
  calls.seal(label, '{"n":2}')
  calls.stood()
  expect(await asked(calls, 'a', tool.name, { n: 2 })).toBe('by the host')
  expect(await asked(calls, 'b', tool.name, { n: 5 })).toBe('by the host')
  await calls.release()
  expect(host.warnings).toEqual(['breaker'])
})

test('a retried call whose schema differs is found, too (W4)', async () => {
  const host = new Host()
  const tool = checked(host, 'read', { check: filling })
  const calls = host.step({ tools: [tool] })
  told(calls, 'a', tool.name, { n: 1 })
  await after(10)
  calls.failed()
  calls.again()
  told(calls, 'b', tool.name, { n: 1 })
  await after(10)
  calls.stood()
  expect(await asked(calls, 'b', tool.name, { n: 1, day: 'tomorrow' })).toBe('by the host')
  await calls.release()
  expect([host.log, host.warnings]).toEqual([['0 read 1'], ['schema-differs']])
})

/** What a schema does with the arguments: nothing, always the same, or something new each time. */
const kinds = {
  nothing: (written: object) => written,
  fills: filling,
  counts: (written: object, count: number) => ({ ...written, count }),
  'counts later': (written: object, count: number) => (count > 2 ? { ...written, count } : written),
} as const

test('the host’s input counts, whatever its schema does; above read only a schema that differs later is executed twice, at most once (W4)', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...(Object.keys(kinds) as (keyof typeof kinds)[])),
      fc.constantFrom('read', 'idempotent', 'reversible'),
      fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 6 }),
      async (kind, effect, numbers) => {
        const host = new Host()
        let count = 0
        const check = (written: unknown) => kinds[kind](Object(written), ++count)
        const tool = checked(host, effect, { check })
        let byHost = 0
        for (const n of numbers) {
          const result = await step(host, tool, check, { n })
          if (result === 'by the host') byHost++
          else expect(result).toBe(`${effect} ${n}`)
        }
        const early = host.log.filter((line) => !line.endsWith('undone')).length
        const twice = early + byHost - numbers.length
        expect(twice).toBeLessThanOrEqual(kind.startsWith('counts') ? 1 : 0)
        if (effect !== 'read' && kind !== 'nothing' && kind !== 'counts later') expect(early).toBe(0)
        expect(host.warnings).toEqual(twice === 1 ? ['schema-differs'] : [])
      },
    ),
    propertyRuns({ small: 25, middle: 37, whole: 20_000 }),
  )
})
