import { call, respond, say } from '@meanwhile/assemble/testing'
import { expect, onTestFinished, test } from 'vitest'
import { clients } from '../test/clients.ts'
import { bodyFor } from '../test/requests.ts'
import { clock } from './clock.ts'
import { type ModelServer, type ServeModelsOptions, serveModels } from './serve-models.ts'
import { spawnModelServer } from './spawn-model-server.ts'

const places = [
  { place: 'this process', start: (options?: ServeModelsOptions) => serveModels(options) },
  { place: 'a child process', start: () => spawnModelServer() },
]

async function setup(start: () => Promise<ModelServer>): Promise<ModelServer> {
  const server = await start()
  onTestFinished(() => server.close())
  return server
}

test.for(places)('in $place, each loaded script has its own URL, requests and log', async ({ start }) => {
  const server = await setup(start)
  const one = await server.load({ script: [respond(say('one'))] })
  const two = await server.load({ script: [respond(say('two')), respond(say('more'))] })
  const [client] = clients
  expect(await client?.read(two)).toMatchObject({ text: 'two' })
  expect(await client?.read(one)).toMatchObject({ text: 'one' })

  await one.assertComplete()
  await expect(two.assertComplete()).rejects.toThrow('1 of 2 responses was not used: response 2 (say)')
  expect(await one.requests()).toMatchObject([{ number: 1, url: `${one.url}/v1/chat/completions` }])
  expect(await one.log()).toHaveLength(1)
  expect(await server.log()).toEqual([])
})

test.for(places)('in $place, the log has the times of this process’s clock', async ({ start }) => {
  const server = await setup(start)
  const pace = { firstToken: 20, betweenTokens: 5 }
  const served = await server.load({ script: [respond(call('f', { a: 1 }, { id: 'call_f' }), say('end'))], pace })
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

test.for(places)('in $place, a closed script is no longer served', async ({ start }) => {
  const server = await setup(start)
  const served = await server.load({ script: [respond(say('one'))] })
  await served.close()
  const response = await fetch(`${served.url}/v1/messages`, { method: 'POST', body: '{}' })
  expect([response.status, await response.json()]).toEqual([
    404,
    { error: { message: `POST ${new URL(served.url).pathname}/v1/messages is not served` } },
  ])
})

test('a server of this process may respond with a function of the request', async () => {
  const server = await setup(() => serveModels({ script: ({ wire }) => respond(say(wire)) }))
  const texts = await Promise.all(clients.map(async (client) => (await client.read(server)).text))
  expect(texts).toEqual(['openai-chat', 'openai-responses', 'anthropic'])
})

test('without a pace a server sends a long answer in few writes', async () => {
  const long = respond(...Array.from({ length: 2_000 }, () => say('word ')))
  const server = await setup(() => serveModels({ script: [long] }))
  expect(await clients[0]?.read(server)).toMatchObject({ text: 'word '.repeat(2_000) })
  const [response] = await server.log()
  expect(response?.writes.length).toBeLessThan(100)
})

test('the process ends when the signal aborts, and pending requests to it reject with this reason', async () => {
  const aborter = new AbortController()
  const server = await spawnModelServer({ signal: aborter.signal })
  aborter.abort()
  await expect(server.log()).rejects.toThrow()
  await server.close()
})

test('a closed process responds to nothing', async () => {
  const server = await spawnModelServer()
  await server.close()
  await expect(server.load({ script: [] })).rejects.toThrow()
})

test('a server keeps at most 1,000 loaded scripts, and says so', async () => {
  const server = await setup(() => serveModels())
  const [first] = await Promise.all(Array.from({ length: 1_000 }, () => server.load({})))
  await expect(server.load({})).rejects.toThrow('1000 scripts are loaded: close those that are no longer needed')
  await first?.close()
  await server.load({})
})

test('a server has every path that hosts have for a wire, for its own script and for loaded ones (W23)', async () => {
  const script = [respond(say('one')), respond(say('two')), respond(say('three'))]
  const server = await setup(() => serveModels({ script, rules: { host: 'deepseek' } }))
  for (const { url, requests } of [server, await server.load({ script })]) {
    for (const path of ['/v1/chat/completions', '/chat/completions', '/v1beta/openai/chat/completions']) {
      const response = await fetch(url + path, { method: 'POST', body: bodyFor('openai-chat') })
      expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('data: [DONE]')])
    }
    expect((await requests()).map(({ wire }) => wire)).toEqual(Array(3).fill('openai-chat'))
  }
})
