import { getEventListeners } from 'node:events'
import { createAgent, DEFAULT_INPUT_LIMITS, type Model, type ModelRequest, settle } from '@meanwhile/core'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { call, cut, end, fail, respond, ScriptError, say, scriptedModel, think, wait } from '../testing.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

function requestOf(model: Model, rest: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model,
    instructions: '',
    messages: [{ role: 'user', content: 'Hi' }],
    tools: [],
    toolChoice: 'auto',
    settings: {},
    inputLimits: DEFAULT_INPUT_LIMITS,
    takenIds: new Set(),
    signal: new AbortController().signal,
    ...rest,
  }
}

test('a model streams its script, one response per request', async () => {
  const model = scriptedModel([
    respond(think('Hm'), call('f', { x: 1 }), call('g'), end({ usage: { outputTokens: 7 } })),
    respond(say('Done.')),
  ])
  expect(model).toMatchObject({ provider: 'scripted', id: 'scripted-1' })
  expect(await settle(model.stream(requestOf(model)))).toEqual({
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'Hm' },
      { type: 'tool-call', id: 'call_1_1', name: 'f', input: { x: 1 } },
      { type: 'tool-call', id: 'call_1_2', name: 'g', input: {} },
    ],
    finishReason: 'tool-calls',
    usage: { outputTokens: 7 },
  })
  expect(await settle(model.stream(requestOf(model)))).toEqual({
    role: 'assistant',
    content: [{ type: 'text', text: 'Done.' }],
    finishReason: 'stop',
  })
})

test('scripted chunks come when they are due, and are events at once', async () => {
  const response = respond(say('a'), wait(1_000), call('f', '{"x":1}', { deltas: 1 }), say('b'))
  const model = scriptedModel([response], { pace: { firstToken: 100, betweenTokens: 10 } })
  const start = performance.now()
  const log: [number, string][] = []
  const reading = (async () => {
    for await (const event of model.stream(requestOf(model))) log.push([performance.now() - start, event.type])
  })()
  await vi.advanceTimersByTimeAsync(5_000)
  await reading
  expect(log).toEqual([
    [100, 'text-delta'],
    [1_110, 'tool-input-start'],
    [1_120, 'tool-input-delta'],
    [1_120, 'tool-input-closed'],
    [1_120, 'tool-call'],
    [1_130, 'text-delta'],
  ])
  expect(vi.getTimerCount()).toBe(0)
})

test('a slow reader delays none of the later chunks', async () => {
  const model = scriptedModel([respond(say('a b c'))], { pace: { firstToken: 10, betweenTokens: 10 } })
  const start = performance.now()
  const log: number[] = []
  const reading = (async () => {
    for await (const _ of model.stream(requestOf(model))) {
      log.push(performance.now() - start)
      if (log.length === 1) await new Promise((resolve) => setTimeout(resolve, 15))
    }
  })()
  await vi.advanceTimersByTimeAsync(100)
  await reading
  expect(log).toEqual([10, 25, 30])
})

test('a response is taken when its flow is first pulled, and the requests are kept', async () => {
  const model = scriptedModel([respond(say('first')), respond(say('second'))])
  const [early, late] = [requestOf(model), requestOf(model)]
  const notYet = model.stream(early)
  expect(model.requests).toEqual([])
  expect(await settle(model.stream(late))).toMatchObject({ content: [{ text: 'first' }] })
  expect(await settle(notYet)).toMatchObject({ content: [{ text: 'second' }] })
  expect(model.requests).toEqual([late, early])
  expect(model.requests[0]).toBe(late)
})

test('the requests can be written as JSON, although each contains the model that contains them', async () => {
  const model = scriptedModel([respond(say('Hi.'))])
  await createAgent({ model }).run('Hello')
  const [request] = JSON.parse(JSON.stringify(model.requests))
  expect(request).toMatchObject({
    model: { provider: 'scripted', id: 'scripted-1' },
    messages: [{ role: 'user', content: 'Hello' }],
  })
})

test('a response may be made from the request', async () => {
  const model = scriptedModel([(request) => respond(say(`${request.messages.length}`))])
  expect(await settle(model.stream(requestOf(model)))).toMatchObject({ content: [{ text: '1' }] })
})

test('a request beyond the script and an unused response are named errors', async () => {
  const model = scriptedModel([respond(say('only'))], { id: 'm' })
  expect(() => model.assertComplete()).toThrow(
    new ScriptError('the script of m has 1 response, but only 0 were asked for'),
  )
  await settle(model.stream(requestOf(model)))
  model.assertComplete()
  await expect(settle(model.stream(requestOf(model)))).rejects.toThrow(
    new ScriptError('request 2 of m, but the script has 1 response'),
  )
})

test.each([
  [400, false],
  [404, false],
  [408, true],
  [409, true],
  [429, true],
  [500, true],
  [529, true],
])('a scripted failure with status %i is a model error, retryable: %s', async (status, retryable) => {
  const model = scriptedModel([respond(say('so'), fail({ status, code: 'c', message: 'm', retryAfter: 40 }))])
  await expect(settle(model.stream(requestOf(model)))).rejects.toMatchObject({
    name: 'ModelError',
    message: 'm',
    code: 'c',
    status,
    retryable,
    retryAfter: 40,
    partial: { content: [{ type: 'text', text: 'so' }] },
  })
})

test('a cut response is a truncated one', async () => {
  const model = scriptedModel([respond(say('so'), cut())])
  await expect(settle(model.stream(requestOf(model)))).rejects.toMatchObject({
    name: 'ModelError',
    code: 'stream_truncated',
    partial: { content: [{ type: 'text', text: 'so' }] },
  })
})

test('an abort ends a wait with its reason and leaves no timer and no listener', async () => {
  const model = scriptedModel([respond(say('a'), wait(1_000), say('b'))], {
    pace: { firstToken: 10, betweenTokens: 10 },
  })
  const controller = new AbortController()
  const reason = new Error('enough')
  const outcome = settle(model.stream(requestOf(model, { signal: controller.signal }))).catch(
    (thrown: unknown) => thrown,
  )
  await vi.advanceTimersByTimeAsync(500)
  expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1)
  controller.abort(reason)
  expect(await outcome).toBe(reason)
  expect(vi.getTimerCount()).toBe(0)
  expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
})

test('an abort also ends a script that does not wait', async () => {
  const model = scriptedModel([respond(say('a b c'))])
  const controller = new AbortController()
  const seen: string[] = []
  const reading = (async () => {
    for await (const event of model.stream(requestOf(model, { signal: controller.signal }))) {
      seen.push(event.type)
      controller.abort(new Error('enough'))
    }
  })()
  await expect(reading).rejects.toThrow('enough')
  expect(seen).toEqual(['text-delta'])
})

test.for<readonly [what: string, script: unknown, message: RegExp]>([
  ['a text', 'Hello', /^a script is a list of responses/],
  ['what mockModels takes', { script: [] }, /^a script is a list of responses/],
  ['a step for a response', [respond(say('a')), say('b')], /^response 2 of the script was not made by respond/],
])('%s is not a script, which a named error reports at once', ([, script, message]) => {
  const make = () => scriptedModel(script as [])
  expect(make).toThrow(expect.objectContaining({ name: 'ScriptError', message: expect.stringMatching(message) }))
})
