import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { StoppedError, stoppedBySignals } from './signals.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test.each([
  ['SIGHUP', 129],
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s stops the check, which has time to clean up', (name, exitCode) => {
  const [from, leave] = [new EventEmitter(), vi.fn()]
  const signal = stoppedBySignals(from as NodeJS.Process, leave)
  expect(signal.aborted).toBe(false)
  from.emit(name)
  expect(signal.reason).toBeInstanceOf(StoppedError)
  expect(signal.reason).toMatchObject({ exitCode })
  expect(leave).not.toHaveBeenCalled()
})

test('the same signal within a second counts as the same Ctrl-C, and a later one exits at once', () => {
  const [from, leave] = [new EventEmitter(), vi.fn()]
  stoppedBySignals(from as NodeJS.Process, leave)
  from.emit('SIGINT')
  vi.advanceTimersByTime(999)
  from.emit('SIGINT')
  expect(leave).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  from.emit('SIGINT')
  expect(leave.mock.calls).toEqual([[130]])
})
