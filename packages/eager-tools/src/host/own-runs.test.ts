import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { abortable, after, asked, Host, told, type Work } from '../../test/host.ts'
import type { DeclaredTool } from './declared.ts'
import type { EarlyTool, HostTool } from './host-tool.ts'
import type { EagerSettings } from './settings.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** `move`, whose undo takes `undoMs`. */
function moving(host: Host, undoMs = 0, more: Partial<EarlyTool> = {}): HostTool {
  const compensate: DeclaredTool<Work>['compensate'] = async ({ n }) => {
    if (undoMs > 0) await new Promise((resolve) => setTimeout(resolve, undoMs))
    host.note(`move ${n} undone`)
  }
  const { name, early } = host.early('move', 'reversible', { compensate })
  return { name, ...(early && { early: { ...early, ...more } }) }
}

/** Streams one sealed call of `move` for 10 ms; then the response is accepted. */
async function accepted(host: Host, tool: HostTool, work: Work) {
  const calls = host.step({ tools: [tool, host.early('other', 'read')] })
  calls.seal(told(calls, 'a', 'move', work))
  await after(10)
  calls.stood()
  return calls
}

/** Notes what the host gets, and when. */
function noted(host: Host, given: Promise<unknown>): Promise<void> {
  return given.then((result) => host.note(String(result)))
}

test('if the host has other arguments, its run begins when the early one has settled and been undone (W46)', async () => {
  const host = new Host()
  const calls = await accepted(host, moving(host, 30), { n: 1, ms: 40, deaf: true })
  void noted(host, asked(calls, 'a', 'move', { n: 2 }))
  await after(100)
  expect(host.log).toEqual(['0 move 1', '70 move 1 undone', '70 by the host'])
  await calls.release()
  expect(host.log).toHaveLength(3)
})

test('an idempotent early run has settled before the host’s run begins, and a read is not waited for (W46)', async () => {
  for (const effect of ['idempotent', 'read'] as const) {
    const host = new Host()
    const calls = await accepted(host, host.early('move', effect), { n: 1, ms: 40, deaf: true })
    void noted(host, asked(calls, 'a', 'move', { n: 2 }))
    await after(100)
    expect(host.log).toEqual(['0 move 1', `${effect === 'read' ? 10 : 40} by the host`])
    await calls.release()
  }
})

test('if `hold` was over, the host’s run begins when the early one has settled and been undone (W46)', async () => {
  const host = new Host({ hold: 50 })
  const calls = await accepted(host, moving(host, 20), { n: 1, ms: 80, deaf: true })
  await after(50)
  expect(calls.stage).toBe('over')
  void noted(host, asked(calls, 'a', 'move', { n: 1 }))
  await after(100)
  expect(host.log).toEqual(['0 move 1', '100 move 1 undone', '100 by the host'])
})

test('if the early run takes longer than `hold`, the host’s call fails and is not executed, and later it may be (W46)', async () => {
  const host = new Host({ hold: 100 })
  const calls = await accepted(host, moving(host), { n: 1, ms: 150, deaf: true })
  void noted(host, asked(calls, 'a', 'move', { n: 2 }))
  await after(120)
  void noted(host, asked(calls, 'a', 'move', { n: 2 }))
  await after(100)
  const failed =
    'threw Not run: move had started early, and that run had not ended and been undone after 100 ms; its effect may have happened'
  expect(host.log).toEqual(['0 move 1', `110 ${failed}`, '150 move 1 undone', '150 by the host'])
  await calls.release()
  expect(vi.getTimerCount()).toBe(0)
})

test('an abort of the host’s call ends its wait (W46)', async () => {
  const host = new Host()
  const calls = await accepted(host, moving(host), { n: 1, ms: 100, deaf: true })
  const { signal, abort } = abortable()
  void noted(host, asked(calls, 'a', 'move', { n: 2 }, signal))
  await after(10)
  abort()
  await after(10)
  expect(host.log).toEqual(['0 move 1', '20 threw stop'])
  await after(100)
  await calls.release()
})

test('a call that declines is undone before the host’s run, and the tool starts early no more, with one warning that names the member (W46)', async () => {
  const said: string[] = []
  const settings: EagerSettings = { onWarning: ({ code, message }) => void said.push(`${code}: ${message}`) }
  const host = new Host(settings)
  const tool = moving(host, 0, {
    async start(_, { decline, signal }) {
      host.note('begins')
      for (const member of ['the state', 'the writer']) decline(member)
      await new Promise((resolve) => setTimeout(resolve, 30))
      return String(signal.aborted)
    },
  })
  for (let step = 0; step < 4; step++) {
    const calls = await accepted(host, tool, { n: step })
    void noted(host, asked(calls, 'a', 'move', { n: step }))
    await after(40)
    await calls.release()
  }
  expect(host.log).toEqual([
    '0 begins',
    '30 move 0 undone',
    '30 by the host',
    '60 by the host',
    '110 by the host',
    '160 by the host',
  ])
  expect(said).toEqual([
    'tool-declined: move does not start early any more: it reads the state, which exists only when the response has ended, and the call is executed again',
  ])
})

test('a call that declines after the host has taken it is undone before the host’s run (W46)', async () => {
  const host = new Host()
  const tool = moving(host, 0, {
    async start(_, { decline }) {
      await new Promise((resolve) => setTimeout(resolve, 30))
      decline('the state')
      await new Promise((resolve) => setTimeout(resolve, 30))
      return 'half'
    },
  })
  const calls = await accepted(host, tool, { n: 1 })
  const taken = calls.take('a', 'move', { n: 1 })
  void taken?.declined.then(() => host.note('declined'))
  await after(25)
  expect(taken?.isDeclined).toBe(true)
  void noted(host, asked(calls, 'a', 'move', { n: 1 }))
  await after(100)
  expect(host.log).toEqual(['30 declined', '60 move 1 undone', '60 by the host'])
  await calls.release()
})

test('a call whose result the host has received is not undone, although its function declines afterwards (W46)', async () => {
  const host = new Host()
  const tool = moving(host, 0, {
    start(_, { decline }) {
      setTimeout(() => decline('the state'), 30)
      return 'moved'
    },
  })
  const calls = await accepted(host, tool, { n: 1 })
  expect(await asked(calls, 'a', 'move', { n: 1 })).toBe('moved')
  await after(50)
  await calls.release()
  expect([host.log, host.warnings]).toEqual([[], []])
})

test('a result that the host has taken but cannot use is undone before the host’s run (W46)', async () => {
  const host = new Host()
  const calls = await accepted(host, moving(host, 20), { n: 1 })
  const taken = calls.take('a', 'move', { n: 1 })
  await taken?.result
  taken?.giveUp()
  void noted(host, asked(calls, 'a', 'move', { n: 1 }))
  await after(50)
  expect(host.log).toEqual(['0 move 1', '30 move 1 undone', '30 by the host'])
  await calls.release()
})

test('a call of a failed attempt whose schema differs is undone before the host’s run (W46)', async () => {
  const host = new Host()
  const calls = host.step({ tools: [moving(host, 20)] })
  calls.seal(told(calls, 'a', 'move', { n: 1 }))
  await after(10)
  calls.failed()
  calls.again()
  // Not sealed before the end, so it is not joined while the response streams.
  told(calls, 'b', 'move', { n: 1 })
  await after(10)
  calls.stood()
  void noted(host, asked(calls, 'b', 'move', { n: 1, day: 'today' }))
  await after(50)
  expect(host.log).toEqual(['0 move 1', '40 move 1 undone', '40 by the host'])
  await calls.release()
})

test('a function that leaves on an abort is aborted only once the host has taken it, so that it is undone when it has ended (W46)', async () => {
  for (const isTaken of [true, false]) {
    const host = new Host()
    const { signal, abort } = abortable()
    const calls = host.step({ tools: [moving(host, 0, { leavesOnAbort: true })], signal })
    calls.seal(told(calls, 'a', 'move', { n: 1, ms: 50 }))
    await after(10)
    calls.stood()
    if (isTaken) void asked(calls, 'a', 'move', { n: 1, ms: 50 }, signal)
    abort()
    void calls.release()
    await after(50)
    expect(host.log).toEqual(['0 move 1', isTaken ? '10 move 1 aborted' : '50 move 1 undone'])
  }
})

test('while an unused call is being undone, an equal call of the same run does not start, early or by the host (W46)', async () => {
  const host = new Host()
  const first = await accepted(host, moving(host, 100), { n: 1 })
  void first.release()
  const calls = await accepted(host, moving(host), { n: 1 })
  void noted(host, asked(calls, 'a', 'move', { n: 1 }))
  await after(200)
  await calls.release()
  const later = await accepted(host, moving(host), { n: 1 })
  expect(await asked(later, 'a', 'move', { n: 1 })).toBe('move 1')
  expect(host.log).toEqual(['0 move 1', '110 move 1 undone', '110 by the host', '220 move 1'])
  await later.release()
  expect(host.run.leaving.size).toBe(0)
})
