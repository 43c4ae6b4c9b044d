import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { after, Host, told } from '../../test/host.ts'
import type { EarlyTool } from './host-tool.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A step whose calls may start only once they are in the returned set, by id. */
function gated(host: Host) {
  const allowed = new Set<string | undefined>()
  const kept: (string | undefined)[] = []
  const { early } = host.early('look', 'read')
  const mayStart: EarlyTool['mayStart'] = ({ id, isWith }) => allowed.has(id) && isWith({ n: 1 })
  const tools = early && [{ name: 'look', early: { ...early, mayStart } }]
  const calls = host.step({ ...(tools && { tools }), keptBack: (id) => void kept.push(id) })
  return { allowed, calls, kept }
}

test('a call that may not start yet starts when it may, and is the only execution (W47)', async () => {
  const host = new Host()
  const { allowed, calls, kept } = gated(host)
  told(calls, 'a', 'look', { n: 1 })
  told(calls, 'b', 'look', { n: 2 })
  await after(10)
  allowed.add('a').add('b')
  calls.proceed()
  await after(10)
  expect(host.log).toEqual(['10 look 1'])
  calls.stood()
  expect(calls.unexecuted).toEqual([{ id: 'a', tool: 'look' }])
  expect(await calls.take('a', 'look', { n: 1 })?.result).toBe('look 1')
  expect([calls.take('b', 'look', { n: 2 }), calls.unexecuted]).toEqual([undefined, []])
  expect(kept).toEqual(['b'])
})

test('a call that may not start before its response ends is reported as kept back and left to the host, and later calls start without it (W47)', async () => {
  const host = new Host()
  const { allowed, calls, kept } = gated(host)
  told(calls, 'a', 'look', { n: 1 })
  allowed.add('b')
  told(calls, 'b', 'look', { n: 1 })
  await after(10)
  expect([host.log, kept]).toEqual([['0 look 1'], []])
  calls.stood()
  allowed.add('a')
  calls.proceed()
  await after(10)
  expect([host.log, kept]).toEqual([['0 look 1'], ['a']])
  expect(await calls.take('b', 'look', { n: 1 })?.result).toBe('look 1')
  expect(calls.take('a', 'look', { n: 1 })).toBe(undefined)
  await calls.release()
})
