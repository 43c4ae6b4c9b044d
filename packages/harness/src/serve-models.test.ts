import { respond, say } from '@meanwhile/assemble/testing'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { clients } from '../test/clients.ts'
import { testLoadedScripts } from '../test/loaded-scripts.ts'
import { bodyFor } from '../test/requests.ts'
import { type ModelServer, serveModels } from './serve-models.ts'

async function setup(start: () => Promise<ModelServer>): Promise<ModelServer> {
  const server = await start()
  onTestFinished(() => server.close())
  return server
}

let shared: ModelServer

beforeAll(async () => {
  shared = await serveModels()
})

afterAll(() => shared.close())

testLoadedScripts('this process', () => shared)

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
