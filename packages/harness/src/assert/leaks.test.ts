import { postedBy } from '@meanwhile/tests/own-thread'
import { expect, onTestFinished, test } from 'vitest'
import { watchLeaks } from './leaks.ts'

test('something that existed before, or that has ended, is not a leak', async () => {
  const aborter = new AbortController()
  aborter.signal.addEventListener('abort', () => {})
  const leaks = watchLeaks({ signals: [aborter.signal] })
  const listener = () => {}
  aborter.signal.addEventListener('abort', listener)
  setImmediate(() => aborter.signal.removeEventListener('abort', listener))
  await expect(leaks.assertNone()).resolves.toBeUndefined()
})

test('a timer and listeners that remain are named', async () => {
  // In its own thread: here a timer of the test runner may end during the watch, so that the one that remains would not be one more.
  expect(await postedBy(new URL('../../test/left-behind.ts', import.meta.url))).toEqual({
    message: 'left behind: 1 Timeout, 2 listeners on signal 2',
    leaks: ['1 Timeout', '2 listeners on signal 2'],
  })
})

test('ignored resources may remain', async () => {
  const leaks = watchLeaks({ ignore: ['Timeout'] })
  const timer = setTimeout(() => {}, 60_000)
  onTestFinished(() => clearTimeout(timer))
  await expect(leaks.assertNone()).resolves.toBeUndefined()
})

test('an unhandled rejection is named, and the watch ends', async () => {
  const others = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection')
  onTestFinished(() => {
    for (const listener of others) process.on('unhandledRejection', listener)
  })
  const leaks = watchLeaks()
  void Promise.reject(new Error('nobody cares'))
  await expect(leaks.assertNone()).rejects.toThrow('1 unhandled rejection: Error: nobody cares')
  expect(process.listenerCount('unhandledRejection')).toBe(0)
})
