import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { guardOf } from './guard.ts'

test('at port 80 the host of a browser has no port, at another one it must have it (DT10)', () => {
  const admits = (port: number, host: string) =>
    guardOf(port, []).admits({ headers: { host, origin: `http://${host}` } } as IncomingMessage)
  expect([admits(80, 'localhost'), admits(80, 'localhost:80'), admits(80, 'evil.example')]).toEqual([true, true, false])
  expect([admits(4318, 'localhost'), admits(4318, 'localhost:4318')]).toEqual([false, true])
})
