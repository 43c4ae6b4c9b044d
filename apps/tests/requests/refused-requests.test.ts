import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type Middleware, tool } from '@meanwhile/core'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { refusedRequests } from './refused-requests.ts'
import { modelsMade } from './watched-models.ts'

const weather = tool({
  name: 'weather',
  description: 'The weather.',
  input: z.object({ city: z.string() }),
  effect: 'read',
  execute: ({ city }) => `Sunny in ${city}.`,
})

test('the scripted models of all tests are known, and those of a sound run are asked nothing odd (W23)', async () => {
  const model = scriptedModel([respond(call('weather', { city: 'Rome' })), respond(say('Sunny.'))])
  await createAgent({ model, tools: [weather] }).run('How is the weather?')
  expect(modelsMade()).toEqual([model])
  expect(refusedRequests(model)).toEqual([])
})

test('a request that providers would refuse is found on each wire that refuses it (W23)', async () => {
  const model = scriptedModel([respond(say('Well.'))])
  const empty: Middleware = { name: 'empty', wrapModel: (request, next) => next({ ...request, messages: [] }) }
  await createAgent({ model, middleware: [empty] }).run('Hello')
  expect(refusedRequests(model)).toEqual([
    expect.stringMatching(/^request 1 of scripted-1, written for openai-chat: Invalid 'messages': empty array/),
    'request 1 of scripted-1, written for anthropic: messages: at least one message is required (messages/empty)',
  ])
  // Otherwise this test would fail.
  modelsMade()
})
