/** What holds of scripts that a server has loaded, in whatever process it is. */

import { call, respond, say } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { clock } from '../src/clock.ts'
import type { ModelServer } from '../src/serve-models.ts'
import { clients } from './clients.ts'

/** `server`: one server may serve all tests. */
export function testLoadedScripts(place: string, server: () => ModelServer): void {
  test(`in ${place}, each loaded script has its own URL, requests and log`, async () => {
    const one = await server().load({ script: [respond(say('one'))] })
    const two = await server().load({ script: [respond(say('two')), respond(say('more'))] })
    const [client] = clients
    expect(await client?.read(two)).toMatchObject({ text: 'two' })
    expect(await client?.read(one)).toMatchObject({ text: 'one' })

    await one.assertComplete()
    await expect(two.assertComplete()).rejects.toThrow('1 of 2 responses was not used: response 2 (say)')
    expect(await one.requests()).toMatchObject([{ number: 1, url: `${one.url}/v1/chat/completions` }])
    expect(await one.log()).toHaveLength(1)
    expect(await server().log()).toEqual([])
  })

  test(`in ${place}, the log has the times of this process’s clock`, async () => {
    const pace = { firstToken: 20, betweenTokens: 5 }
    const script = [respond(call('f', { a: 1 }, { id: 'call_f' }), say('end'))]
    const served = await server().load({ script, pace })
    const before = clock()
    await clients[2]?.read(served)
    const after = clock()

    const [response] = await served.log()
    const { arrived = 0, firstByte = 0, end = 0, argsDone = {} } = response ?? {}
    const moments = [before, arrived, firstByte, argsDone.call_f ?? 0, end, after]
    expect(moments).toEqual([...moments].sort((a, b) => a - b))
    expect(response).toMatchObject({ wire: 'anthropic', request: 1, status: 200, aborted: false })
    expect(response?.writes.every(({ due, sent }) => sent >= due)).toBe(true)
  })

  test(`in ${place}, a closed script is no longer served`, async () => {
    const served = await server().load({ script: [respond(say('one'))] })
    await served.close()
    const response = await fetch(`${served.url}/v1/messages`, { method: 'POST', body: '{}' })
    expect([response.status, await response.json()]).toEqual([
      404,
      { error: { message: `POST ${new URL(served.url).pathname}/v1/messages is not served` } },
    ])
  })
}
