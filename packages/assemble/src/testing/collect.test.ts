import { expect, test } from 'vitest'
import { collect } from '../testing.ts'

async function* events(...list: readonly string[]): AsyncGenerator<string> {
  for (const event of list) {
    if (event === 'fail') throw new Error('failed')
    yield event
  }
}

test('a run is read to its end', async () => {
  const run = Object.assign(events('a', 'b'), { result: Promise.resolve(3) })
  expect(await collect(run)).toEqual({ events: ['a', 'b'], result: 3 })
})

test('collect returns a failure with the events before it', async () => {
  const failed = Promise.reject(new Error('failed'))
  failed.catch(() => {})
  expect(await collect(Object.assign(events('a', 'fail'), { result: failed }))).toEqual({
    events: ['a'],
    error: new Error('failed'),
  })
  expect(await collect(Object.assign(events('a'), { result: failed }))).toEqual({
    events: ['a'],
    error: new Error('failed'),
  })
})
