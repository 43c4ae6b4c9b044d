import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { after, asked, Host, told } from '../../test/host.ts'
import type { HostTool } from './host-tool.ts'

beforeEach(() => void vi.useFakeTimers())

afterEach(() => void vi.useRealTimers())

test('calls that the host does not use are aborted on release, and undone if possible (R7)', async () => {
  const host = new Host({ independent: ['move'] })
  const calls = host.step()
  told(calls, 'a', 'look', { n: 1, ms: 100 })
  for (const [n, ms] of [
    [2, 5],
    [3, 100],
  ] as const)
    calls.seal(told(calls, `${n}`, 'move', { n, ms }))
  await after(10)
  calls.stood()
  await calls.release()
  expect(host.log).toEqual([
    '0 look 1',
    '0 move 2',
    '0 move 3',
    '10 look 1 aborted',
    '10 move 3 aborted',
    '10 move 2 undone',
  ])
  expect(vi.getTimerCount()).toBe(0)
})

test('a call that has returned the text of an error is joined, and not undone (R7, R12)', async () => {
  const outcomes: unknown[] = []
  const host = new Host({ onStep: ({ calls }) => outcomes.push(...calls.map(({ outcome }) => outcome)) })
  const move: HostTool = {
    name: 'move',
    early: {
      effect: 'reversible',
      compensate: () => host.note('undone'),
      start(_, { failed }) {
        failed(new Error('no way'))
        return 'sorry'
      },
    },
  }
  for (const isAsked of [true, false]) {
    const calls = host.step({ tools: [move] })
    calls.seal(told(calls, 'a', 'move', { n: 1 }))
    await after(10)
    calls.stood()
    if (isAsked) expect(await asked(calls, 'a', 'move', { n: 1 })).toBe('sorry')
    await calls.release()
  }
  expect(host.log).toEqual([])
  expect(outcomes).toEqual(['failed', 'discarded'])
})

test('an undo that fails is a warning (R7)', async () => {
  const host = new Host()
  const compensate = () => {
    throw new Error('no way back')
  }
  const calls = host.step({ tools: [host.early('move', 'reversible', { compensate })] })
  calls.seal(told(calls, 'a', 'move', { n: 1 }))
  await after(10)
  calls.stood()
  await calls.release()
  expect(host.warnings).toEqual(['compensation-failed'])
})

test('if the host never releases a step, its calls are kept for `hold`, counted from the last event (R7)', async () => {
  for (const isStood of [false, true]) {
    const host = new Host({ hold: 1_000 })
    const calls = host.step()
    told(calls, 'a', 'look', { n: 1, ms: 60_000 })
    await after(500)
    calls.begin('b', 'send')
    if (isStood) calls.stood()
    await after(999)
    expect(host.log).toEqual(['0 look 1'])
    await after(1)
    expect(host.log).toEqual(['0 look 1', '1500 look 1 aborted'])
    expect([calls.stage, vi.getTimerCount()]).toEqual(['over', 0])
  }
})

test('three steps whose host is silent for `hold`, perhaps for an approval, switch nothing off (R10)', async () => {
  const host = new Host({ hold: 1_000 })
  for (let n = 0; n < 4; n++) {
    const calls = host.step()
    told(calls, 'a', 'look', { n })
    await after(10)
    calls.stood()
    await after(1_000)
    expect(calls.stage).toBe('over')
  }
  expect([host.log.length, host.warnings]).toEqual([4, []])
})

test('a call is undone once, in whatever order it settles and is discarded (R7)', async () => {
  const undone: number[] = []
  for (let turns = 0; turns < 40; turns++) {
    const host = new Host()
    const compensate = () => void undone.push(turns)
    const move: HostTool = { name: 'move', early: { effect: 'reversible', compensate, start: () => 'moved' } }
    const calls = host.step({ tools: [move] })
    calls.seal(told(calls, 'a', 'move', { n: 1 }))
    for (let turn = 0; turn < turns; turn++) await Promise.resolve()
    await calls.release()
  }
  expect(undone).toEqual([...new Set(undone)])
  expect(undone).toContain(39)
})
