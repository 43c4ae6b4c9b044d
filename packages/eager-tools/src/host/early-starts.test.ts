import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { after, asked, Host, told } from '../../test/host.ts'

beforeEach(() => void vi.useFakeTimers())

afterEach(() => void vi.useRealTimers())

test('a call starts when the provider has sealed it if its effect allows that; the host makes all others (R1, H2)', async () => {
  const host = new Host({ independent: ['put', 'move'] })
  const calls = host.step()
  for (const name of ['look', 'put', 'move', 'send']) {
    const label = told(calls, name, name, { n: 1, ms: 50 })
    await after(10)
    calls.seal(label, '{"n":1,"ms":50}')
    await after(10)
  }
  calls.stood()
  const results = ['look', 'put', 'move', 'send'].map((name) => asked(calls, name, name, { n: 1, ms: 50 }))
  await after(50)
  await calls.release()
  expect(host.log).toEqual(['0 look 1', '30 put 1', '50 move 1'])
  expect(await Promise.all(results)).toEqual(['look 1', 'put 1', 'move 1', 'by the host'])
})

test('an undeclared tool is a barrier, unless it is listed as independent (R1, H14)', async () => {
  for (const independent of [[], ['send']]) {
    const host = new Host({ independent })
    const calls = host.step()
    told(calls, 'a', 'send', { n: 1 })
    told(calls, 'b', 'look', { n: 2 })
    await after(10)
    calls.stood()
    expect(await asked(calls, 'b', 'look', { n: 2 })).toBe(independent.length > 0 ? 'look 2' : 'by the host')
    await calls.release()
  }
})

test('nothing starts once the response is accepted: neither calls sealed then nor calls waiting for a slot (R5)', async () => {
  const host = new Host({ toolConcurrency: 1 })
  const calls = host.step()
  told(calls, 'a', 'look', { n: 1, ms: 100 })
  told(calls, 'b', 'look', { n: 2 })
  told(calls, 'c', 'put', { n: 3 })
  await after(10)
  calls.stood()
  await after(200)
  expect(host.log).toEqual(['0 look 1'])
  expect(await asked(calls, 'b', 'look', { n: 2 })).toBe('by the host')
  expect(await asked(calls, 'c', 'put', { n: 3 })).toBe('by the host')
})

test('slots and keys let calls begin in call order, each as soon as possible (R2, H14)', async () => {
  const host = new Host({ toolConcurrency: 2 })
  const keyed = host.early('edit', 'read', { writes: ({ n }) => [`file:${n % 2}`] })
  const calls = host.step({ tools: [keyed] })
  for (const n of [1, 3, 2, 4]) calls.seal(told(calls, `${n}`, 'edit', { n, ms: 100 }))
  await after(400)
  calls.stood()
  expect(host.log).toEqual(['0 edit 1', '0 edit 2', '100 edit 3', '100 edit 4'])
})

test('input that the host’s check rejects starts nothing; an invalid effect counts as external (R6, H4)', async () => {
  const host = new Host()
  const odd = host.early('odd', () => {
    throw new Error('who knows')
  })
  const calls = host.step({ tools: [...host.tools, odd] })
  told(calls, 'a', 'look', { n: 'one' })
  told(calls, 'b', 'odd', { n: 1 })
  calls.seal(told(calls, 'c', 'put', { n: 2 }))
  await after(10)
  calls.stood()
  expect(host.log).toEqual([])
})

test('the policy holds calls back; if it throws or returns another value, there is a warning and the call is held back, too (R6, H4)', async () => {
  const words: readonly unknown[] = ['wait', 'start', 'yes', undefined]
  const heard: string[] = []
  const host = new Host({
    policy({ id, input }, { effect, evidence, model }) {
      heard.push(`${id} ${effect} ${evidence} ${model.id}`)
      const { n } = { n: 0, ...Object(input) }
      if (n === 9) throw new Error('no idea')
      return words[n] as 'wait' | undefined
    },
  })
  const calls = host.step({ model: { provider: 'mock', id: 'm' } })
  for (const n of [0, 1, 2, 3, 9]) told(calls, `${n}`, 'look', { n })
  await after(10)
  expect(host.log).toEqual(['0 look 1', '0 look 3'])
  expect(host.warnings).toEqual(['policy-failed', 'policy-failed'])
  expect(heard.slice(0, 1)).toEqual(['0 read closed m'])
})

test('no external call starts early, whatever the policy returns (R1)', async () => {
  const host = new Host({ policy: () => 'start' as 'wait' })
  const calls = host.step({ tools: [host.early('mail', ({ n }) => (n > 1 ? 'external' : 'read'))] })
  for (const n of [1, 2]) calls.seal(told(calls, `${n}`, 'mail', { n }))
  await after(10)
  expect(host.log).toEqual(['0 mail 1'])
})
