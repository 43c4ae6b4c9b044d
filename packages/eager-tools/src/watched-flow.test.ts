import type { Flow } from '@meanwhile/core'
import { expect, test } from 'vitest'
import { watched } from './watched-flow.ts'

/** Yields 1 and 2, and records how it ends. */
async function* counting(log: string[], fails = false): Flow<number, string> {
  try {
    yield 1
    yield 2
    if (fails) throw new Error('miscounted')
    return 'counted'
  } finally {
    log.push('ended')
  }
}

/** The same, observed. */
function seen(log: string[], fails = false): Flow<number, string> {
  return watched(counting(log, fails), {
    event: (n) => void log.push(`saw ${n}`),
    result: (result) => `${result} by us`,
    out: () => void log.push('out'),
  })
}

async function read(flow: Flow<number, string>, log: string[]): Promise<string> {
  for (;;) {
    const step = await flow.next()
    if (step.done) return step.value
    log.push(`got ${step.value}`)
  }
}

test('an observed flow passes its events on unchanged, its result as the watch returns it, and calls out once', async () => {
  const log: string[] = []
  const flow = seen(log)
  expect(log).toEqual([])
  expect(await read(flow, log)).toBe('counted by us')
  expect(log).toEqual(['saw 1', 'got 1', 'saw 2', 'got 2', 'ended', 'out'])
  expect(await flow.next()).toEqual({ done: true, value: undefined })
  expect(await flow.return('again')).toEqual({ done: true, value: 'again' })
  expect(log.filter((line) => line === 'out')).toEqual(['out'])
})

test('an observed flow without a result function returns its own result', async () => {
  const flow = watched(counting([]), { event: () => undefined, out: () => undefined })
  expect(await read(flow, [])).toBe('counted')
})

test('an error of an observed flow is rethrown unchanged, after out was called', async () => {
  const log: string[] = []
  await expect(read(seen(log, true), log)).rejects.toThrow('miscounted')
  expect(log.slice(-2)).toEqual(['ended', 'out'])
  const thrown: string[] = []
  const flow = seen(thrown)
  await flow.next()
  await expect(flow.throw(new Error('enough'))).rejects.toThrow('enough')
  expect(thrown).toEqual(['saw 1', 'ended', 'out'])
})

test('an error of the watch is thrown to the reader, and the flow counts as ended', async () => {
  const log: string[] = []
  const refuse = () => {
    throw new Error('no')
  }
  const flow = watched(counting(log), { event: refuse, out: () => void log.push('out') })
  await expect(flow.next()).rejects.toThrow('no')
  expect(log).toEqual(['out'])
  await flow.return('')
  expect(log).toEqual(['out', 'ended'])
})

test('closing an observed flow closes the inner flow, and the result function is not called', async () => {
  const log: string[] = []
  const left = seen(log)
  await left.next()
  expect(await left.return('enough')).toEqual({ done: true, value: 'enough' })
  expect(log).toEqual(['saw 1', 'ended', 'out'])
  const broken: string[] = []
  for await (const n of seen(broken)) if (n === 1) break
  expect(broken).toEqual(['saw 1', 'ended', 'out'])
  const disposed: string[] = []
  {
    await using flow = seen(disposed)
    await flow.next()
  }
  expect(disposed).toEqual(['saw 1', 'ended', 'out'])
})

test('an observed flow whose inner flow fails to close counts as ended', async () => {
  const log: string[] = []
  async function* stuck(): Flow<number, string> {
    try {
      yield 1
      return ''
    } finally {
      await Promise.reject(new Error('stuck'))
    }
  }
  const flow = watched(stuck(), { event: () => undefined, out: () => void log.push('out') })
  await flow.next()
  await expect(flow.return('')).rejects.toThrow('stuck')
  expect(log).toEqual(['out'])
})
