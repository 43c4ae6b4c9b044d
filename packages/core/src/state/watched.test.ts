import { expect, test } from 'vitest'
import { watched } from './rest.ts'

test('a watched promise reports once when it is awaited, and has the same outcome (I6, H31)', async () => {
  let told = 0
  const promise = watched(Promise.resolve('whole'), () => told++)
  await Promise.resolve()
  expect(told).toBe(0)
  const both = [promise, promise]
  expect(await both[0]).toBe('whole')
  expect(await both[1]).toBe('whole')
  expect(told).toBe(1)
})

test('a watched promise that rejects without being awaited causes no unhandled rejection (I6, H32)', async () => {
  let told = 0
  const promise = watched(Promise.reject(new Error('broken')), () => told++)
  await new Promise((resolve) => setImmediate(resolve))
  await expect(promise).rejects.toThrow('broken')
  expect(told).toBe(1)
})
