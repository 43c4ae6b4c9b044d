import { expect, test } from 'vitest'
import { coalesced } from './coalesced.ts'

/** Work whose calls the test ends. */
function held() {
  const calls: { end(result: string): void; fail(error: Error): void }[] = []
  const work = () => new Promise<string>((end, fail) => void calls.push({ end, fail }))
  return { calls, request: coalesced(work) }
}

/** Runs all waiting promise callbacks. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

test('requests during a call make exactly one more call, after it, and all get its result', async () => {
  const { calls, request } = held()
  const first = request()
  const others = [request(), request(), request()]
  await settled()
  expect(calls).toHaveLength(1)
  calls[0]?.end('first')
  expect(await first).toBe('first')
  await settled()
  expect(calls).toHaveLength(2)
  const later = request()
  calls[1]?.end('second')
  expect(await Promise.all(others)).toEqual(['second', 'second', 'second'])
  await settled()
  expect(calls).toHaveLength(3)
  calls[2]?.end('third')
  expect(await later).toBe('third')
  await settled()
  expect(calls).toHaveLength(3)
})

test('a request that comes just when a call settles never runs at the same time as the call that was waiting', async () => {
  let most = 0
  let running = 0
  let count = 0
  const request = coalesced(async () => {
    count++
    most = Math.max(most, ++running)
    await Promise.resolve()
    running--
  })
  const requests = [request(), request()]
  for (let tick = 0; tick < 20; tick++) {
    await Promise.resolve()
    requests.push(request())
  }
  await Promise.all(requests)
  expect(most).toBe(1)
  expect(count).toBeLessThan(requests.length)
})

test('a call that fails rejects for those whose requests it serves, and for no others', async () => {
  const { calls, request } = held()
  const first = request()
  const second = request()
  calls[0]?.fail(new Error('lost'))
  await expect(first).rejects.toThrow('lost')
  await settled()
  calls[1]?.end('found')
  expect(await second).toBe('found')
})
