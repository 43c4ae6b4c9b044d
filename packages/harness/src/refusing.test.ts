import { readFileSync } from 'node:fs'
import { call, respond, say, think } from '@meanwhile/assemble/testing'
import { collectGarbage } from '@meanwhile/tests/garbage'
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { bodyFor } from '../test/requests.ts'
import { transports } from '../test/transports.ts'
import { assertAccepted } from './assert.ts'
import { HarnessError, RefusedRequestError, RequestMismatchError } from './errors.ts'
import { mockModels } from './msw.ts'
import { formatRecording } from './record/recording.ts'
import { replayRecording } from './record/replay-recording.ts'
import { type RulesChoice, type RulesLevel, refused } from './refusing.ts'
import { HOSTS, rules } from './rules.ts'
import type { WireName } from './wires/wire-name.ts'
import { WIRE_NAMES } from './wires/wire-name.ts'
import { WIRES } from './wires/wires.ts'

/** A member that no provider knows, and no wire's smallest request has. */
const ODD = { seed_of: 1 }

const hello = respond(say('Hello'))

async function ask(
  { fetch: send = fetch, url = 'http://models.test' }: { readonly fetch?: typeof fetch; readonly url?: string },
  wire: WireName,
  more: object = {},
): Promise<Response> {
  return send(url + WIRES[wire].path, { method: 'POST', body: bodyFor(wire, more) })
}

/** A request with a call whose result is missing. */
const unanswered = {
  messages: [
    { role: 'user', content: 'Hi' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
  ],
}

const UNANSWERED = {
  message:
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_1",
  type: 'invalid_request_error',
  param: 'messages[1]',
  code: null,
}

test.for(transports)(
  'over $name: a refused request gets the provider’s words, its response stays for the next request, and the test fails (W23)',
  async (transport) => {
    const stage = await transport.serve({ script: [hello] })
    const response = await ask(stage, 'openai-chat', unanswered)
    expect([response.status, response.headers.get('x-meanwhile-rule')]).toEqual([400, 'chat/call-without-result'])
    expect(await response.json()).toEqual({ error: UNANSWERED })
    expect(await (await ask(stage, 'openai-chat')).text()).toContain('"content":"Hello"')
    const complete = await stage.assertComplete().catch((error: unknown) => error)
    expect(complete).toBeInstanceOf(RefusedRequestError)
    expect(complete).toMatchObject({
      request: 1,
      wire: 'openai-chat',
      rule: 'chat/call-without-result',
      path: 'messages[1]',
    })
    const [first, second] = await stage.requests()
    expect(first?.refusals).toMatchObject([{ rule: 'chat/call-without-result', message: UNANSWERED.message }])
    expect(second).not.toHaveProperty('refusals')
  },
)

test('the error names the rule, its sources, what the request has there, and the ways out (W23)', async () => {
  const mock = mockModels({ script: [hello] })
  await ask(mock, 'anthropic', {
    messages: [{ role: 'user', content: [{ type: 'text', text: 'x'.repeat(500), name: 'n' }] }],
  })
  const complete = (): void => mock.assertComplete()
  expect(complete).toThrow(
    /^request 1 would be refused: messages\.0\.content\.0\.text\.name: Extra inputs are not permitted\n {2}rule messages\/block-member, seen in claude-code#4378/,
  )
  expect(complete).toThrow(
    "Expect it with refused('messages/block-member'), or turn the rule off with except: ['messages/block-member']",
  )
  expect(complete).toThrow(/messages\.0\.content\.0 is \{"type":"text","text":"x{150,190}…\n/)
})

test('the ways out that the error names are ways out, whatever the request breaks (W23)', async () => {
  const both = { ...unanswered, ...ODD }
  const mock = mockModels({ script: [hello] })
  await ask(mock, 'openai-chat', both)
  expect(mock.assertComplete).toThrow(
    "Expect it with { ...refused('chat/unknown-member'), except: ['chat/call-without-result'] }, or turn the rules off with except: ['chat/unknown-member', 'chat/call-without-result']",
  )
  const expecting = { ...refused('chat/unknown-member'), except: ['chat/call-without-result'] }
  const off = { ...hello, except: ['chat/unknown-member', 'chat/call-without-result'] }
  const told = mockModels({ script: [expecting, off] })
  expect((await ask(told, 'openai-chat', both)).status).toBe(400)
  expect((await ask(told, 'openai-chat', both)).status).toBe(200)
  told.assertComplete()
  // No script is involved.
  const body = JSON.parse(bodyFor('anthropic', { messages: [] }))
  expect(() => assertAccepted([{ wire: 'anthropic', body }])).toThrow(
    /\n {2}To accept it: assertAccepted\(requests, \{ except: \['messages\/empty'\] \}\)$/,
  )
})

test('a retry or a fallback of the code under test does not hide a refusal (W23)', async () => {
  const mock = mockModels({ script: [hello] })
  const client = new OpenAI({ apiKey: 'none', fetch: mock.fetch })
  const messages = [{ role: 'user' as const, content: 'Hi' }]
  const request = (model: string, stop: string[]) =>
    client.chat.completions.create({ model, messages, stream: true, ...(stop.length > 0 && { stop }) })
  const stream = await request('gpt-5.1', ['END']).catch(() => request('gpt-4.1', []))
  for await (const _ of stream);
  expect(() => mock.assertComplete()).toThrow("Unsupported parameter: 'stop' is not supported with this model.")
})

test.for(WIRE_NAMES)('on %s, one response or one mock can turn a rule off, or all of them (W23)', async (wire) => {
  const prefix = { 'openai-chat': 'chat', 'openai-responses': 'responses', anthropic: 'messages' }[wire]
  const except = [`${prefix}/unknown-member`]
  const accepted = async (script: Parameters<typeof mockModels>[0]['script'], option?: RulesLevel | RulesChoice) => {
    const mock = mockModels({ ...(script && { script }), ...(option !== undefined && { rules: option }) })
    const { status } = await ask(mock, wire, ODD)
    if (status === 200) mock.assertComplete()
    return status
  }
  expect(await accepted([hello])).toBe(400)
  expect(await accepted([{ ...hello, rules: false }])).toBe(200)
  expect(await accepted([{ ...hello, except }])).toBe(200)
  expect(await accepted([{ ...hello, except: ['every/half-surrogate'] }])).toBe(400)
  expect(await accepted(() => ({ ...hello, except }))).toBe(200)
  expect(await accepted([hello], false)).toBe(200)
  expect(await accepted([hello], { except })).toBe(200)
  expect(await accepted([hello], { apply: false })).toBe(200)
})

test('with "report" a mock accepts everything, and its journal has what providers refuse (W23)', async () => {
  const mock = mockModels({ script: [hello, hello], rules: 'report' })
  expect((await ask(mock, 'openai-chat', unanswered)).status).toBe(200)
  expect((await ask(mock, 'openai-chat')).status).toBe(200)
  mock.assertComplete()
  expect(mock.requests.map(({ refusals = [] }) => refusals.map(({ rule }) => rule))).toEqual([
    ['chat/call-without-result'],
    [],
  ])
  expect(() => assertAccepted(mock.requests)).toThrow(/^request 1 would be refused/)
})

test('likely rules apply only if they are asked for, all or by name (W23)', async () => {
  const more = {
    messages: [
      { role: 'assistant', content: 'Hi' },
      { role: 'user', content: 'Ho' },
    ],
  }
  const status = async (option?: RulesLevel | RulesChoice) =>
    (await ask(mockModels({ script: [hello], ...(option !== undefined && { rules: option }) }), 'anthropic', more))
      .status
  expect(await status()).toBe(200)
  expect(await status('all')).toBe(400)
  expect(await status({ also: ['messages/first-role'] })).toBe(400)
  expect(await status({ apply: 'all', except: ['messages/first-role'] })).toBe(200)
})

test('the host of the URL, or a named one, decides which rules apply and how the refusal is written (W23)', async () => {
  const prefill = {
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'It is' },
    ],
  }
  const named = mockModels({ script: [hello], rules: { host: 'mistral' } })
  const message = 'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant'
  const response = await ask(named, 'openai-chat', prefill)
  expect([response.status, await response.json()]).toEqual([
    400,
    { object: 'error', message, type: 'invalid_request_error', param: null, code: null },
  ])
  const byUrl = mockModels({ script: [hello] })
  expect((await ask({ fetch: byUrl.fetch, url: 'https://api.mistral.ai' }, 'openai-chat', prefill)).status).toBe(400)
  expect((await ask(byUrl, 'openai-chat', prefill)).status).toBe(200)
})

test('every host writes its refusal as JSON with the words of the rule (W23)', async () => {
  for (const host of HOSTS) {
    const wire = host === 'anthropic' || host === 'bedrock' ? 'anthropic' : 'openai-chat'
    const mock = mockModels({ script: [hello], rules: { host } })
    const response = await ask(mock, wire, { messages: [] })
    expect([response.status, response.headers.get('content-type')]).toEqual([400, 'application/json'])
    expect(JSON.stringify(await response.json())).toMatch(/empty array|at least one message/)
  }
})

test('a script can expect the refusal of one rule, and goes on after it (W23)', async () => {
  const mock = mockModels({ script: [refused('chat/call-without-result'), hello] })
  expect((await ask(mock, 'openai-chat', unanswered)).status).toBe(400)
  expect((await ask(mock, 'openai-chat')).status).toBe(200)
  mock.assertComplete()
})

test('an expected refusal of a likely rule, or where rules are off, is checked, too (W23)', async () => {
  const first = {
    messages: [
      { role: 'assistant', content: 'Hi' },
      { role: 'user', content: 'Ho' },
    ],
  }
  for (const option of ['certain', 'report', false] as const) {
    const mock = mockModels({ script: [refused('messages/first-role')], rules: option })
    expect((await ask(mock, 'anthropic', first)).status).toBe(400)
    mock.assertComplete()
  }
})

test.for([
  { title: 'that breaks nothing', more: {}, found: 'it does not break chat/call-without-result' },
  { title: 'that breaks another rule', more: ODD, found: 'it breaks chat/unknown-member' },
  { title: 'that breaks two rules', more: { ...unanswered, ...ODD }, found: 'it breaks other rules, too' },
])('a request $title fails where a refusal is expected (W23)', async ({ more, found }) => {
  const mock = mockModels({ script: [refused('chat/call-without-result')] })
  expect((await ask(mock, 'openai-chat', more)).status).toBe(500)
  expect(() => mock.assertComplete()).toThrow(RequestMismatchError)
  expect(() => mock.assertComplete()).toThrow(found)
})

test('a request that breaks another rule after the expected one fails, too (W23)', async () => {
  const mock = mockModels({ script: [refused('chat/unknown-member')] })
  expect((await ask(mock, 'openai-chat', { ...unanswered, ...ODD })).status).toBe(500)
  expect(() => mock.assertComplete()).toThrow('it breaks other rules, too; it breaks chat/call-without-result')
})

test('an expected refusal may say which other rules its request breaks (W23)', async () => {
  const mock = mockModels({ script: [{ ...refused('chat/call-without-result'), except: ['chat/unknown-member'] }] })
  expect((await ask(mock, 'openai-chat', { ...unanswered, ...ODD })).status).toBe(400)
  mock.assertComplete()
})

test('an expected refusal may say that its request breaks whatever else (W23)', async () => {
  const mock = mockModels({ script: [{ ...refused('chat/unknown-member'), rules: false }, hello] })
  expect((await ask(mock, 'openai-chat', { ...unanswered, ...ODD })).headers.get('x-meanwhile-rule')).toBe(
    'chat/unknown-member',
  )
  await (await ask(mock, 'openai-chat')).text()
  mock.assertComplete()
  const other = mockModels({ script: [{ ...refused('chat/unknown-member'), rules: false }] })
  expect((await ask(other, 'openai-chat', unanswered)).status).toBe(500)
  expect(() => other.assertComplete()).toThrow('it does not break chat/unknown-member')
})

test('a script with an expected refusal that no request caused is not complete (W23)', () => {
  const mock = mockModels({ script: [refused('messages/empty')] })
  expect(() => mock.assertComplete()).toThrow('1 of 1 responses was not used: response 1 (refused messages/empty)')
})

test('a recording that is replayed is not checked: the provider has answered its request (W23)', async () => {
  const body = JSON.parse(bodyFor('openai-chat', unanswered))
  const recording = formatRecording([
    {
      request: { wire: 'openai-chat', path: '/v1/chat/completions', headers: {}, body },
      response: {
        status: 200,
        headers: {},
        frames: [{ at: 0, bytes: Buffer.from('data: 1\n\n') }],
        end: [0, 'complete'],
      },
    },
  ])
  const mock = mockModels({ script: replayRecording(recording) })
  expect((await ask(mock, 'openai-chat', unanswered)).status).toBe(200)
  mock.assertComplete()
})

test.for([
  {
    title: 'a rule',
    make: () => refused('messages/thinking-last'),
    message: 'refused: there is no rule messages/thinking-last',
  },
  {
    title: 'a rule without its wire',
    make: () => refused('tool-name'),
    message: 'there is chat/tool-name, responses/tool-name, messages/tool-name',
  },
  {
    title: 'an exception',
    make: () => mockModels({ rules: { except: ['chat/no'] } }),
    message: 'except: there is no rule chat/no',
  },
  {
    title: 'an exception of a response',
    make: () => mockModels({ script: [{ ...hello, except: ['x'] }] }),
    message: 'except of response 1 of the script',
  },
  { title: 'an added rule', make: () => mockModels({ rules: { also: ['x'] } }), message: 'also: there is no rule x' },
  {
    title: 'a level',
    make: () => mockModels({ rules: 'strict' as never }),
    message: "rules: strict is not one of 'certain', 'all', 'report', false",
  },
  {
    title: 'a host',
    make: () => mockModels({ rules: { host: 'misral' as never } }),
    message: 'the host misral is not known',
  },
])('$title that is not known is an error at once (W23)', ({ make, message }) => {
  expect(make).toThrow(HarnessError)
  expect(make).toThrow(message)
})

test('an option of the rules that is not known is an error at once (P23)', () => {
  expect(() => mockModels({ rules: { hosts: 'mistral' } as never })).toThrow('did you mean host?')
})

test('requests of other mocks can be checked by themselves (W23)', () => {
  const body = JSON.parse(bodyFor('anthropic'))
  assertAccepted([])
  assertAccepted([{ wire: 'anthropic', body }])
  const twice = [
    { wire: 'anthropic', body },
    { wire: 'anthropic', body: { ...body, messages: [] } },
  ] as const
  expect(() => assertAccepted(twice)).toThrow(expect.objectContaining({ request: 2, rule: 'messages/empty' }))
  expect(() => assertAccepted(twice)).toThrow(
    /^request 2 would be refused: messages: at least one message is required\n/,
  )
  assertAccepted(twice, { except: ['messages/empty'] })
  const chat = [{ wire: 'openai-chat', body: { ...body, max_tokens: 1, seed: 1 } }] as const
  assertAccepted(chat)
  expect(() => assertAccepted(chat, { host: 'mistral' })).toThrow('Extra inputs are not permitted (seed)')
  expect(() => assertAccepted([{ ...chat[0], url: 'https://api.mistral.ai/v1/chat/completions' }])).toThrow('(seed)')
})

test('thinking of a mock must come back as it was sent; that of others is not known (W23)', async () => {
  const mock = mockModels({ script: () => respond(think('Two cities.'), call('f', { a: 1 })) })
  const stream = await (await ask(mock, 'anthropic')).text()
  const signature = /"signature":"(signature-[^"]+)"/.exec(stream)?.[1]
  const id = /"type":"tool_use","id":"([^"]+)"/.exec(stream)?.[1]
  const turn = (thinking: string, sign: string | undefined) =>
    ask(mock, 'anthropic', {
      messages: [
        { role: 'user', content: 'Hi' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking, signature: sign },
            { type: 'tool_use', id, name: 'f', input: { a: 1 } },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'x' }] },
      ],
    })
  expect((await turn('Two cities.', signature)).status).toBe(200)
  expect((await turn('Two cities.', 'EqQBCkgIBRABGAIiQL')).status).toBe(200)
  mock.assertComplete()
  const changed = await turn('Three cities.', signature)
  expect(changed.headers.get('x-meanwhile-rule')).toBe('messages/thinking-not-as-sent')
})

test.for(['../README.md', '../../../docs/packages/harness.md'])('the number of rules in %s is right', (page) => {
  const text = readFileSync(new URL(page, import.meta.url), 'utf8')
  expect(/\[(\d+) reasons\]/.exec(text)?.[1]).toBe(String(rules.length))
})

/** The history after a call of the mock, on each wire, with this id. */
const AFTER: Readonly<Record<WireName, (id: string) => object>> = {
  'openai-chat': (id) => ({
    messages: [
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: '{ "a": 1 }' } }],
      },
      { role: 'tool', tool_call_id: id, content: 'x' },
    ],
  }),
  'openai-responses': (id) => ({
    input: [
      { role: 'user', content: 'Hi' },
      { type: 'function_call', call_id: id, name: 'f', arguments: '{"a":1}' },
      { type: 'function_call_output', call_id: id, output: 'x' },
    ],
  }),
  anthropic: (id) => ({
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: [{ type: 'tool_use', id, name: 'f', input: { a: 1 } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'x' }] },
    ],
  }),
}

const FIRST = { input: [{ role: 'user', content: 'Hi' }] }

test.for(WIRE_NAMES)(
  'on %s, a call of the mock must come back with its id; other calls are not known (W14, W23)',
  async (wire) => {
    const first = wire === 'openai-responses' ? FIRST : {}
    const status = async (id: string, options: { id?: string; except?: string[] } = {}) => {
      const given = respond(call('f', { a: 1 }, options.id === undefined ? {} : { id: options.id }))
      const mock = mockModels({ script: [given, { ...hello, except: options.except ?? [] }] })
      await (await ask(mock, wire, first)).text()
      const response = await ask(mock, wire, AFTER[wire](id))
      return response.headers.get('x-meanwhile-rule') ?? response.status
    }
    expect(await status('call_1_1')).toBe(200)
    expect(await status('other')).toBe('every/call-id-not-as-sent')
    expect(await status('other', { except: ['every/call-id-not-as-sent'] })).toBe(200)
    // An id that the wire does not take has to change.
    expect(await status('other', { id: 'f'.repeat(65) })).toBe(200)
    const unknown = mockModels({ script: [hello] })
    expect((await ask(unknown, wire, AFTER[wire]('other'))).status).toBe(200)
  },
)

test('an id that the history has already may change (G10, W14, W23)', async () => {
  const mock = mockModels({ script: [respond(call('f', { a: 1 }, { id: 'same' })), hello] })
  const { messages: turn } = AFTER['openai-chat']('same') as { messages: object[] }
  await (await ask(mock, 'openai-chat', { messages: [...turn, { role: 'user', content: 'Again' }] })).text()
  const { messages: next } = AFTER['openai-chat']('same_1') as { messages: object[] }
  const history = [...turn, { role: 'user', content: 'Again' }, ...next.slice(1)]
  expect((await ask(mock, 'openai-chat', { messages: history })).status).toBe(200)
  mock.assertComplete()
})

test('an id that the mock has given twice may change, even if only one of the calls comes back (G10, W14, W23)', async () => {
  const twice = respond(call('f', { a: 1 }, { id: 'same' }))
  const mock = mockModels({ script: [twice, twice, hello] })
  await (await ask(mock, 'openai-chat', { messages: [{ role: 'user', content: 'Before' }] })).text()
  await (await ask(mock, 'openai-chat')).text()
  expect((await ask(mock, 'openai-chat', AFTER['openai-chat']('same_1'))).status).toBe(200)
  mock.assertComplete()
})

test('of 100 answers to the same request the ids are no longer checked: there may have been others (W14, W23)', async () => {
  const given = Array.from({ length: 120 }, (_, n) => respond(call('f', { a: 1 }, { id: `own_${n}` })))
  const mock = mockModels({ script: [...given, hello, hello, hello] })
  for (let n = 0; n < 99; n++) await (await ask(mock, 'openai-chat')).text()
  const refused = await ask(mock, 'openai-chat', AFTER['openai-chat']('other'))
  expect(refused.headers.get('x-meanwhile-rule')).toBe('every/call-id-not-as-sent')
  for (let n = 99; n < 120; n++) await (await ask(mock, 'openai-chat')).text()
  for (const id of ['own_0', 'own_119', 'other'])
    expect((await ask(mock, 'openai-chat', AFTER['openai-chat'](id))).status).toBe(200)
})

/** Calls with the ids from `own_FROM` up to the one before `own_TO`. */
function callsOf(from: number, to: number) {
  return Array.from({ length: to - from }, (_, n) => call('f', { a: 1 }, { id: `own_${from + n}` }))
}

test('an id of an answer that is forgotten counts as given once if it is given again (W14, W23)', async () => {
  const same = respond(call('f', { a: 1 }, { id: 'same' }))
  const others = Array.from({ length: 100 }, (_, n) => respond(...callsOf(10 * n, 10 * n + 10)))
  const mock = mockModels({ script: [same, ...others, same, hello] })
  const after = (content: string) => ask(mock, 'openai-chat', { messages: [{ role: 'user', content }] })
  for (let n = 0; n <= 100; n++) await (await after(`Request ${n}`)).text()
  await (await ask(mock, 'openai-chat')).text()
  const response = await ask(mock, 'openai-chat', AFTER['openai-chat']('other'))
  expect(response.headers.get('x-meanwhile-rule')).toBe('every/call-id-not-as-sent')
})

test('of the answers to the same request the newest is remembered, also if the first was long ago (W14, W23)', async () => {
  const one = (id: string) => respond(call('f', { a: 1 }, { id }))
  // 999 calls: with the first one as many as are remembered.
  const others = Array.from({ length: 100 }, (_, n) => respond(...callsOf(n === 0 ? 1 : 10 * n, 10 * n + 10)))
  const mock = mockModels({ script: [one('first'), ...others, one('last'), one('more'), hello] })
  const after = (content: string) => ask(mock, 'openai-chat', { messages: [{ role: 'user', content }] })
  await (await ask(mock, 'openai-chat')).text()
  for (let n = 1; n <= 100; n++) await (await after(`Request ${n}`)).text()
  await (await ask(mock, 'openai-chat')).text()
  await (await after('One more')).text()
  const response = await ask(mock, 'openai-chat', AFTER['openai-chat']('other'))
  expect(response.headers.get('x-meanwhile-rule')).toBe('every/call-id-not-as-sent')
})

test('what an endpoint remembers of its calls does not grow with the requests (W23)', async () => {
  const mock = mockModels({ script: () => respond(call('f', { a: 1 })) })
  const long = 'x'.repeat(1_000_000)
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  for (let n = 0; n < 4; n++)
    await (await ask(mock, 'openai-chat', { messages: [{ role: 'user', content: n + long }] })).text()
  collectGarbage()
  // The journal keeps the 4 MB.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(7_000_000)
})

test('a call whose answer could not be made is not remembered (W14, W23)', async () => {
  const mock = mockModels({ script: [respond(call('f', { a: 1 })), hello] })
  expect((await ask(mock, 'openai-chat', { stream: false })).status).toBe(500)
  expect((await ask(mock, 'openai-chat', AFTER['openai-chat']('other'))).status).toBe(200)
})

test('a script that is a function finds its request in the journal, and afterwards what it breaks (W23)', async () => {
  const seen: unknown[] = []
  const mock = mockModels({
    script: (request) => {
      seen.push(mock.requests.length, mock.requests.at(-1) === request)
      return hello
    },
  })
  await ask(mock, 'openai-chat')
  await ask(mock, 'openai-chat', unanswered)
  expect(seen).toEqual([1, true, 2, true])
  expect(mock.requests.map(({ refusals = [] }) => refusals.map(({ rule }) => rule))).toEqual([
    [],
    ['chat/call-without-result'],
  ])
})

test('of the requests of a mock that only reports, those with another id of a call are not accepted, either (W14, W23)', async () => {
  const mock = mockModels({ script: [respond(call('f', { a: 1 })), hello], rules: 'report' })
  await (await ask(mock, 'openai-chat')).text()
  expect((await ask(mock, 'openai-chat', AFTER['openai-chat']('other'))).status).toBe(200)
  expect(() => assertAccepted(mock.requests)).toThrow(
    expect.objectContaining({ request: 2, rule: 'every/call-id-not-as-sent' }),
  )
  assertAccepted(mock.requests, { except: ['every/call-id-not-as-sent'] })
})
