import { unhandledRejections } from '@meanwhile/tests/rejections'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { after, asked, Host, told } from '../../test/host.ts'
import type { HostTool } from './host-tool.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** The warnings that the process receives instead. */
function emitted(): readonly string[] {
  const messages: string[] = []
  vi.spyOn(process, 'emitWarning').mockImplementation((message) => void messages.push(String(message)))
  return messages
}

test('an `onWarning` that throws leaves no call half discarded, and the process emits the warning (R7, W46)', async () => {
  const messages = emitted()
  const host = new Host({
    onWarning() {
      throw new Error('no log')
    },
  })
  const move: HostTool = {
    name: 'move',
    early: {
      effect: 'reversible',
      compensate: () => host.note('undone'),
      start(_, { decline }) {
        decline('the answer')
        host.note('goes on')
      },
    },
  }
  const calls = host.step({ tools: [move] })
  calls.seal(told(calls, 'a', 'move', { n: 1 }))
  await after(10)
  calls.stood()
  expect(await asked(calls, 'a', 'move', { n: 1 })).toBe('by the host')
  expect(host.log).toEqual(['0 goes on', '0 undone'])
  expect(messages).toEqual([
    'onWarning threw: no log. It had received tool-declined: move does not start early any more: it reads the answer, which exists only when the response has ended, and the call is executed again',
  ])
})

test('if the promise of `onStep` or `onWarning` rejects, that is a warning (R7)', async () => {
  const messages = emitted()
  const host = new Host({
    onStep: vi.fn().mockRejectedValue(new Error('no disk')),
    onWarning: vi.fn().mockRejectedValue(new Error('no net')),
  })
  const calls = host.step()
  told(calls, 'a', 'look', { n: 1 })
  await after(10)
  calls.stood()
  await calls.release()
  await after(0)
  expect(messages).toEqual(['onWarning threw: no net. It had received observer-failed: onStep threw: no disk'])
})
