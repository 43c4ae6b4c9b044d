import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { send } from '../../test/started.ts'
import { answering } from './answering.ts'

test('an internal error is the status 500 and one line without the text of a span, and the next request is answered (DT10)', async () => {
  const error = vi.spyOn(console, 'error').mockReturnValue(undefined)
  onTestFinished(() => error.mockRestore())
  const server = createServer(
    answering(async (request, response) => {
      if (request.url === '/well') return void response.end('well')
      if (request.url === '/begun') response.write('begun')
      throw new RangeError('a secret of a span\n at evil')
    }),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const reply = await send(`${url}/api/runs?q=secret`)
  expect([reply.status, String(reply.body)]).toEqual([500, 'an internal error\n'])
  await expect(send(`${url}/begun`)).rejects.toThrow('aborted')
  expect(String((await send(`${url}/well`)).body)).toBe('well')
  const line = (path: string) =>
    expect.stringMatching(
      new RegExp(
        `^Internal error of the devtools: RangeError at .*answering\\.test\\.ts.*, when asked for GET ${path}$`,
      ),
    )
  expect(error.mock.calls).toEqual([[line('/api/runs')], [line('/begun')]])
})
