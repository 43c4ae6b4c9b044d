import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { unlessAborted } from '../calls.ts'

test('a wait that has ended leaves nothing on the signals that could have ended it, which may live much longer', async () => {
  const signals = [new AbortController().signal, new AbortController().signal]
  await unlessAborted(Promise.resolve(), signals)
  await expect(unlessAborted(Promise.reject(new Error('no')), signals)).rejects.toThrow('no')
  await expect(unlessAborted(new Promise(() => {}), [...signals, AbortSignal.abort('enough')])).rejects.toBe('enough')
  expect(signals.map((signal) => getEventListeners(signal, 'abort'))).toEqual([[], []])
})
