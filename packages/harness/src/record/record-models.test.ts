import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { call, respond, say } from '@meanwhile/assemble/testing'
import { expect, onTestFinished, test } from 'vitest'
import { clients } from '../../test/clients.ts'
import { bodyFor } from '../../test/requests.ts'
import { mockModels } from '../msw.ts'
import { rawResponse } from '../raw.ts'
import { type ServeModelsOptions, serveModels } from '../serve-models.ts'
import { type ModelRecorder, type RecordModelsOptions, recordModels } from './record-models.ts'
import { parseRecording } from './recording.ts'

const answer = respond(say('It is sunny — 東京.'), call('weather', { city: 'Zürich' }))

/**
 * Everything that must not be in a file, each in only one place, which its name states; the last letters distinguish
 * them.
 */
const canary = {
  bearer: 'sk-proj-CANARY0bearer',
  apiKey: 'CANARY1-"of/no+known=form',
  cookie: 'CANARY2cookie',
  setCookie: 'CANARY3setcookie',
  parameter: 'CANARY4parameter',
  organisation: 'CANARY7organisation',
  project: 'CANARY8project',
  member: 'CANARY9member',
  nested: 'CANARY10nested',
  inText: 'sk-ant-CANARY11intext',
  masked: 'sk-CANARY12*****masked',
  orgId: 'org-CANARY13aB4dE6fG8hJ0',
  own: 'CANARY14-customer-4711',
  header: 'CANARY15header',
}

async function upstream(options: ServeModelsOptions) {
  const server = await serveModels(options)
  onTestFinished(() => server.close())
  return server
}

const secretHeaders = {
  authorization: `Bearer ${canary.bearer}`,
  'x-api-key': canary.apiKey,
  cookie: `a=${canary.cookie}; b=2`,
  'openai-organization': canary.organisation,
  'openai-project': canary.project,
  'x-custom': canary.header,
}

const PARAMETERS = { type: 'object', properties: { password: { type: 'string' } } }

function loginCall(input: object): object {
  const call = { id: 'call_1', type: 'function', function: { name: 'login', arguments: JSON.stringify(input) } }
  return { role: 'assistant', tool_calls: [call] }
}

const secretBody = {
  model: 'gpt',
  stream: true,
  tools: [
    { type: 'mcp', authorization: canary.member, headers: { 'X-Api-Key': canary.member } },
    { type: 'function', function: { name: 'login', parameters: PARAMETERS } },
  ],
  messages: [
    { role: 'user', content: `my key:\n${canary.inText}, and I am ${canary.own}` },
    loginCall({ api_key: canary.nested }),
    { role: 'tool', tool_call_id: 'call_1', content: 'done' },
  ],
}

/** Repeats secrets in its response. */
const indiscreet = rawResponse(
  [
    { bytes: `data: {"error":{"message":"no key ${canary.masked} in organization ${canary.orgId}` },
    { bytes: `, you sent ${canary.apiKey.slice(0, 9)}` },
    { bytes: `${canary.apiKey.slice(9)} and ${canary.parameter} and ${encodeURIComponent(canary.cookie)}"}}\n\n` },
    {
      bytes: `data: ${JSON.stringify([canary.apiKey, encodeURIComponent(canary.apiKey), canary.setCookie, `\n${canary.inText}2`])}\n\n`,
    },
    { bytes: `data: {"client_secret": "${canary.member}", "text": "${canary.own} 東京"}\n\n` },
  ],
  {
    headers: {
      'set-cookie': `s=${canary.setCookie}; HttpOnly`,
      'x-custom': canary.header,
      'openai-organization': canary.organisation,
    },
  },
)

const ways: readonly {
  readonly way: string
  reach(recorder: ModelRecorder, url: string): Promise<[typeof fetch, string]>
}[] = [
  { way: 'the fetch', reach: async (recorder, url) => [recorder.fetch, url] },
  { way: 'the proxy', reach: async (recorder) => [fetch, await recorder.listen()] },
]

test.for(ways)('through $way: no byte of the file contains a secret', async ({ reach }) => {
  const server = await upstream({ script: [indiscreet] })
  const folder = await mkdtemp(join(tmpdir(), 'recorder-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'new', 'a.recording.json')
  const recorder = recordModels({ upstream: server.url, file, patterns: [/CUSTOMER-\d+/gi, /canary14-customer-\d+/i] })
  const [send, base] = await reach(recorder, server.url)
  const at = new URL(`${base}/v1/chat/completions?beta=1&api_key=${canary.parameter}`)
  const response = await send(at, { method: 'POST', headers: secretHeaders, body: JSON.stringify(secretBody) })
  expect(await response.text()).toContain(canary.apiKey)
  await recorder.close()

  const written = await readFile(file)
  const found = Object.values(canary).filter((secret) => written.includes(secret) || written.includes(btoa(secret)))
  expect(found).toEqual([])
  expect(written.toString()).not.toMatch(/CANARY/i)

  const [exchange] = parseRecording(written.toString())
  expect(exchange?.request).toEqual({
    wire: 'openai-chat',
    arrived: 0,
    path: '/v1/chat/completions?beta=1',
    headers: { 'content-type': 'text/plain;charset=UTF-8' },
    body: {
      model: 'gpt',
      stream: true,
      tools: [
        { type: 'mcp', authorization: '[redacted]', headers: { 'X-Api-Key': '[redacted]' } },
        secretBody.tools[1],
      ],
      messages: [
        { role: 'user', content: 'my key:\n[redacted], and I am [redacted]' },
        loginCall({ api_key: '[redacted]' }),
        secretBody.messages[2],
      ],
    },
  })
  expect(exchange?.response.headers).toEqual({ 'content-type': 'text/event-stream; charset=utf-8' })
  expect(Buffer.concat(exchange?.response.frames.map(({ bytes }) => bytes) ?? []).toString()).toBe(
    'data: {"error":{"message":"no key [redacted] in organization [redacted], you sent [redacted] and [redacted] and [redacted]"}}\n\n' +
      'data: ["[redacted]","[redacted]","[redacted]","\\n[redacted]"]\n\n' +
      'data: {"client_secret": "[redacted]", "text": "[redacted] 東京"}\n\n',
  )
})

test('a secret that is cut over several pieces is removed, and the cuts next to it remain', async () => {
  const secret = 'sk-CANARY-cut-anywhere'
  const body = `data: {"text":"東 ${secret} 京"}\n\n`
  for (let bytes = 1; bytes < 40; bytes += 3) {
    const recorder = recordModels({
      upstream: mockModels({ script: [rawResponse([{ bytes: body }], { slice: { bytes } })] }).fetch,
    })
    await (
      await recorder.fetch('http://models.test/v1/messages', { method: 'POST', body: bodyFor('anthropic') })
    ).text()
    const [exchange] = parseRecording(recorder.recording())
    const frames = exchange?.response.frames ?? []
    expect(Buffer.concat(frames.map((frame) => frame.bytes)).toString()).toBe('data: {"text":"東 [redacted] 京"}\n\n')
    expect(recorder.recording()).not.toContain('CANARY')
    const before = Buffer.byteLength('data: {"text":"東 ')
    expect(frames[0]?.bytes).toHaveLength(bytes <= before ? bytes : before + '[redacted]'.length)
  }
})

test.for(clients)('$wire: recording changes nothing for a client', async (client) => {
  const server = await upstream({ script: [answer, answer, answer] })
  const plain = await client.read(server)
  await using recorder = recordModels({ upstream: server.url })
  expect(await client.read({ fetch: recorder.fetch })).toEqual({
    ...plain,
    calls: [{ ...plain.calls[0], id: 'call_2_1' }],
  })
  expect(await client.read({ url: await recorder.listen() })).toEqual({
    ...plain,
    calls: [{ ...plain.calls[0], id: 'call_3_1' }],
  })
  const exchanges = parseRecording(recorder.recording())
  expect(exchanges.map(({ request, response }) => [request.wire, response.status, response.end[1]])).toEqual([
    [client.wire, 200, expect.stringMatching(/complete|left/)],
    [client.wire, 200, 'complete'],
  ])
  expect(recorder.recording()).not.toContain('sk-secret')
})

test('each request has its time after the first one', async () => {
  const server = await upstream({ script: [answer, answer], pace: { firstToken: 5, betweenTokens: 0 } })
  const recorder = recordModels({ upstream: server.url })
  for (let request = 0; request < 2; request++) {
    await (
      await recorder.fetch(`${server.url}/v1/chat/completions`, { method: 'POST', body: bodyFor('openai-chat') })
    ).text()
  }
  const [first, second] = parseRecording(recorder.recording())
  expect(first?.request.arrived).toBe(0)
  expect(second?.request.arrived).toBeGreaterThanOrEqual(first?.response.end[0] ?? Number.NaN)
})

test('the pieces are recorded as bytes, with their times, including cut characters', async () => {
  const pace = { firstToken: 20, betweenTokens: 20 }
  const bytes = Buffer.from('data: {"text":"東京"}\n\n')
  const script = [rawResponse([{ bytes: bytes.subarray(0, 16) }, { bytes: bytes.subarray(16) }])]
  const recorder = recordModels({ upstream: mockModels({ script, pace }).fetch })
  const response = await recorder.fetch('http://models.test/v1/messages', {
    method: 'POST',
    body: bodyFor('anthropic'),
  })
  expect(Buffer.from(await response.arrayBuffer())).toEqual(bytes)
  const text = recorder.recording()
  expect(text).toMatch(/\n {10}\[\d+(\.\d)?,"data: \{\\"text\\":\\"",\{"base64":"5g=="\}\],\n/)
  const frames = parseRecording(text)[0]?.response.frames ?? []
  expect(frames.map((frame) => frame.bytes)).toEqual([bytes.subarray(0, 16), bytes.subarray(16)])
  expect(frames[0]?.at).toBeGreaterThanOrEqual(19)
  expect(frames[1]?.at).toBeGreaterThanOrEqual(39)
})

test('a connection that broke and a client that disconnected are recorded as such', async () => {
  const server = await upstream({
    script: [rawResponse([{ bytes: 'data: 1\n\n' }, { after: 20, end: 'reset' }]), respond(say('one two three'))],
    pace: { firstToken: 0, betweenTokens: 20 },
  })
  const recorder = recordModels({ upstream: server.url })
  const ask = () => recorder.fetch('http://any.test/v1/messages', { method: 'POST', body: bodyFor('anthropic') })
  await expect((await ask()).text()).rejects.toThrow('terminated')
  const left = await ask()
  await left.body?.cancel()
  const exchanges = parseRecording(recorder.recording())
  expect(exchanges.map(({ response }) => response.end[1])).toEqual(['broken', 'left'])
})

test('an error response is recorded completely, even though a client that retries does not read it', async () => {
  const script = [rawResponse([{ bytes: '{"error":{"message":"slow down"}}' }], { status: 429 })]
  const recorder = recordModels({ upstream: mockModels({ script }).fetch })
  const response = await recorder.fetch('http://any.test/v1/messages', { method: 'POST', body: bodyFor('anthropic') })
  await response.body?.cancel()
  const [exchange] = parseRecording(recorder.recording())
  expect(exchange?.response).toMatchObject({ status: 429, end: [expect.any(Number), 'complete'] })
  expect(exchange?.response.frames.map(({ bytes }) => String(bytes))).toEqual(['{"error":{"message":"slow down"}}'])
})

test('requests to other origins are passed on, and not recorded', async () => {
  const recorder = recordModels({ upstream: async () => new Response('models') })
  expect(await (await recorder.fetch('http://any.test/v1/models')).text()).toBe('models')
  expect(parseRecording(recorder.recording())).toEqual([])
})

test('a proxy whose upstream does not respond returns an error with the reason', async () => {
  const server = await serveModels()
  await server.close()
  await using recorder = recordModels({ upstream: server.url })
  const response = await fetch(`${await recorder.listen()}/v1/messages`, { method: 'POST', body: '{}' })
  expect([response.status, await response.json()]).toEqual([
    502,
    { error: { message: 'the upstream did not respond: fetch failed' } },
  ])
  const options: RecordModelsOptions = { upstream: fetch }
  await expect(recordModels(options).listen()).rejects.toThrow('a proxy requires the URL of its upstream')
})
