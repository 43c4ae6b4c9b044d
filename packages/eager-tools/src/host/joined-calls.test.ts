import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { after, asked, Host, told } from '../../test/host.ts'
import type { HostTool } from './host-tool.ts'

beforeEach(() => void vi.useFakeTimers())

afterEach(() => void vi.useRealTimers())

test('a read starts when its arguments have closed, and the host gets its result (R2)', async () => {
  const host = new Host()
  const calls = host.step()
  await after(10)
  told(calls, 'a', 'look', { n: 1, ms: 100 })
  await after(90)
  calls.stood()
  const result = asked(calls, 'a', 'look', { n: 1, ms: 100 })
  await after(10)
  await calls.release()
  expect(await result).toBe('look 1')
  expect(host.log).toEqual(['10 look 1'])
})

test('each call is joined once, and two equal calls are two (R2)', async () => {
  const host = new Host()
  const calls = host.step()
  for (const id of ['a', 'b']) told(calls, id, 'look', { n: 1 })
  await after(10)
  calls.stood()
  const input = { n: 1 }
  expect([await asked(calls, 'a', 'look', input), await asked(calls, 'b', 'look', input)]).toEqual(['look 1', 'look 1'])
  expect(await asked(calls, 'a', 'look', input)).toBe('by the host')
  expect(host.log).toEqual(['0 look 1', '0 look 1'])
})

test('a call with an id that is not in the response joins no equal call of it: that one has its own result (R2)', async () => {
  const host = new Host()
  const calls = host.step()
  const input = { n: 1 }
  told(calls, 'a', 'look', input)
  await after(10)
  calls.stood()
  expect([await asked(calls, 'b', 'look', input), await asked(calls, 'a', 'look', input)]).toEqual([
    'by the host',
    'look 1',
  ])
})

test('if an id occurs twice in a response, each call joins the early call with its own input (R2)', async () => {
  const host = new Host()
  const calls = host.step()
  told(calls, 'a', 'look', { n: 1 })
  told(calls, 'a', 'look', { n: 2 })
  await after(10)
  calls.stood()
  expect(await asked(calls, 'a', 'look', { n: 2 })).toBe('look 2')
  expect(await asked(calls, 'a', 'look', { n: 1 })).toBe('look 1')
  expect(host.log).toEqual(['0 look 1', '0 look 2'])
})

test('a call without an id is joined by its input (R2)', async () => {
  const host = new Host()
  const calls = host.step()
  told(calls, undefined, 'look', { n: 1 })
  await after(10)
  calls.stood()
  expect(await asked(calls, undefined, 'look', { n: 1 })).toBe('look 1')
})

test('a call with changed arguments is not joined: the host makes it, and the early one is aborted (R3, H8)', async () => {
  const host = new Host()
  const calls = host.step()
  const label = told(calls, 'a', 'look', { n: 1, ms: 100 })
  await after(10)
  calls.seal(label, '{"n":2,"ms":100}')
  calls.stood()
  await after(10)
  expect(await asked(calls, 'a', 'look', { n: 2, ms: 100 })).toBe('by the host')
  expect(host.log).toEqual(['0 look 1', '20 look 1 aborted'])
})

test('arguments that the provider repeats count when the response has ended, and start nothing (R3, R5)', async () => {
  const host = new Host()
  const calls = host.step()
  const [put, look] = [told(calls, 'a', 'look', { n: 1 }), told(calls, 'b', 'put', { n: 2 })]
  await after(10)
  calls.restate(put, '{"n":3}')
  calls.restate(look, '{"n":2}')
  await after(10)
  calls.stood()
  expect(await asked(calls, 'a', 'look', { n: 3 })).toBe('by the host')
  expect([host.log, host.warnings]).toEqual([['0 look 1'], ['breaker']])
})

test('if arguments change while the response is streaming, the call starts again with the new ones (R3, H8)', async () => {
  const host = new Host()
  const calls = host.step()
  const label = told(calls, 'a', 'look', { n: 1, ms: 100 })
  await after(10)
  calls.seal(label, '{"n":2,"ms":100}')
  await after(100)
  calls.stood()
  expect(await asked(calls, 'a', 'look', { n: 2, ms: 100 })).toBe('look 2')
  expect(host.log).toEqual(['0 look 1', '10 look 1 aborted', '10 look 2'])
})

test('white space and the order of keys are not a change; a call whose function has changed its input is the same call (R2)', async () => {
  const host = new Host()
  const seen: unknown[] = []
  const changing: HostTool = {
    name: 'look',
    early: {
      effect: 'read',
      start(input) {
        seen.push(structuredClone(input))
        Object.assign(Object(input), { n: 99, list: [] })
        return 'ok'
      },
    },
  }
  const calls = host.step({ tools: [changing] })
  const label = calls.begin('a', 'look')
  calls.delta(label, '{ "ms": 5,  "list": [1, {"b": 2}], "n": 1 }')
  await after(10)
  calls.stood()
  expect(await asked(calls, 'a', 'look', { n: 1, ms: 5, list: [1, { b: 2 }] })).toBe('ok')
  expect(seen).toHaveLength(1)
})

test('a call that declines is not joined, and the host makes the call (R3)', async () => {
  const host = new Host()
  const tool: HostTool = {
    name: 'look',
    early: {
      effect: 'read',
      start: (_, { decline }) => {
        decline('the state')
        throw new Error('there is no state')
      },
    },
  }
  const calls = host.step({ tools: [tool] })
  told(calls, 'a', 'look', { n: 1 })
  await after(10)
  calls.stood()
  expect(await asked(calls, 'a', 'look', { n: 1 })).toBe('by the host')
})

test('a call may decline after it was joined: the host is notified (R3)', async () => {
  const host = new Host()
  const tool: HostTool = {
    name: 'look',
    early: {
      effect: 'read',
      async start(_, { decline }) {
        await new Promise((resolve) => setTimeout(resolve, 100))
        decline('the state')
        return 'half'
      },
    },
  }
  const calls = host.step({ tools: [tool] })
  told(calls, 'a', 'look', { n: 1 })
  await after(10)
  calls.stood()
  const taken = calls.take('a', 'look', { n: 1 })
  expect(taken?.isDeclined).toBe(false)
  await after(90)
  expect([await taken?.result, taken?.isDeclined]).toEqual(['half', true])
})
