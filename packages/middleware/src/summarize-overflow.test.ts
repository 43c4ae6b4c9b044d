import { call, collect, end, fail, respond, type ScriptResponse, say, scriptedModel } from '@meanwhile/assemble/testing'
import {
  type AssistantMessage,
  createAgent,
  type Message,
  type Middleware,
  type Model,
  type ToolMessage,
  tool,
} from '@meanwhile/core'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { fallbackModel } from './fallback-model.ts'
import { type SummarizeOptions, summarize } from './summarize.ts'

const user = (content: string, origin?: string): Message => ({ role: 'user', content, ...(origin && { origin }) })
const calls = (id: string): AssistantMessage => ({
  role: 'assistant',
  content: [{ type: 'tool-call', id, name: 'look', input: {} }],
  finishReason: 'tool-calls',
})
const result = (callId: string): ToolMessage => ({
  role: 'tool',
  callId,
  name: 'look',
  content: [{ type: 'text', text: 'seen' }],
})
const step = (id: string) => [calls(id), result(id)]
const folded = user(
  'Summary of the earlier part of this conversation, which is no longer shown:\n\nIn short.',
  'summarize',
)
const history = [user('First.'), ...step('a'), ...step('b'), ...step('c'), ...step('d')]
const tooLong = respond(fail({ status: 400, code: 'context_length_exceeded', message: 'too long' }))
const keep = { keep: { userTokens: 0 } }
const look = tool({ name: 'look', description: 'Looks.', effect: 'read', input: z.object({}), execute: () => 'seen' })

/** A run of a model with these responses, and a writer of summaries. */
async function ran(
  responses: readonly ScriptResponse[],
  summaries: readonly ScriptResponse[],
  { options = keep, more = [] }: { readonly options?: SummarizeOptions; readonly more?: readonly Model[] } = {},
) {
  const model = scriptedModel(responses)
  const writer = scriptedModel(summaries)
  const middleware = [
    summarize({ model: writer, ...options }),
    ...(more.length > 0 ? [fallbackModel({ models: more })] : []),
  ]
  const collected = await collect(createAgent({ model, tools: [look], middleware }).stream(history))
  return { ...collected, requests: model.requests.map(({ messages }) => messages), asked: writer.requests.length }
}

test('after an overflow the request is made again with a summary, and the next step keeps it (W22)', async () => {
  const {
    result: outcome,
    requests,
    asked,
  } = await ran([tooLong, respond(call('look', {}, { id: 'e' })), respond(say('Done.'))], [respond(say('In short.'))])
  const short = [folded, ...step('c'), ...step('d')]
  expect(requests[0]).toEqual(history)
  expect(requests[1]).toEqual(short)
  expect(requests[2]?.slice(0, 5)).toEqual(short)
  expect(requests[2]).toHaveLength(7)
  expect(outcome?.messages.slice(0, 5)).toEqual(short)
  expect([outcome?.text, asked]).toEqual(['Done.', 1])
})

test('it acts once: a second overflow, and one without anything to summarize, fail the run (W22)', async () => {
  const twice = await ran([tooLong, tooLong], [respond(say('In short.'))])
  expect(twice.error).toMatchObject({ code: 'context_length_exceeded' })
  expect(twice.asked).toBe(1)
  const nothing = await ran([tooLong], [], { options: { keep: { steps: 9, userTokens: 1_000 } } })
  expect(nothing.error).toMatchObject({ code: 'context_length_exceeded' })
  const failed = await ran([tooLong], [tooLong])
  expect(failed.error).toMatchObject({ code: 'context_length_exceeded' })
})

test('a larger model is asked first, and other errors are left alone (W22, J14)', async () => {
  const larger = scriptedModel([respond(say('Hello.'))], { provider: 'b', id: 'b-1' })
  const moved = await ran([tooLong], [], { more: [larger] })
  expect([moved.result?.text, moved.asked]).toEqual(['Hello.', 0])
  const all = scriptedModel([tooLong], { provider: 'b', id: 'b-1' })
  const last = await ran([tooLong, respond(say('Done.'))], [respond(say('In short.'))], { more: [all] })
  expect([last.result?.text, last.asked]).toEqual(['Done.', 1])
  const faulty = await ran([respond(fail({ status: 400, message: 'bad' }))], [])
  expect(faulty.error).toMatchObject({ status: 400 })
})

test('the words of an overflow count only with the statuses of a request that is too long (W22)', async () => {
  const message = 'You have exceeded the monthly token limit of your plan.'
  const asked = async (status: number) =>
    (await ran([respond(fail({ status, message })), respond(say('Done.'))], [respond(say('In short.'))])).asked
  for (const status of [400, 413, 422]) expect([status, await asked(status)]).toEqual([status, 1])
  for (const status of [401, 402, 403, 404, 429, 500]) expect([status, await asked(status)]).toEqual([status, 0])
})

const added = user('Be kind.', 'adds')
const adds: Middleware = {
  name: 'adds',
  wrapModel: (request, next) => next({ ...request, messages: [added, ...request.messages] }),
}
const replaces: Middleware = {
  name: 'replaces',
  wrapModel: (request, next) => next({ ...request, messages: request.messages.map((message) => ({ ...message })) }),
}

test('the next step keeps the summary of an overflow also if a wrap outside has changed the request (W22)', async () => {
  for (const outside of [adds, replaces]) {
    const model = scriptedModel([tooLong, respond(call('look', {}, { id: 'e' })), respond(say('Done.'))])
    const writer = scriptedModel([respond(say('In short.'))])
    const agent = createAgent({ model, tools: [look], middleware: [outside, summarize({ model: writer, ...keep })] })
    const { result: outcome } = await collect(agent.stream(history))
    const first = outside === adds ? [added] : []
    const short = [folded, ...step('c'), ...step('d')]
    expect(model.requests[1]?.messages).toEqual([...first, ...short])
    expect(model.requests[2]?.messages.slice(0, first.length + 5)).toEqual([...first, ...short])
    expect(outcome?.messages.slice(0, 5)).toEqual(short)
  }
})

test('a summary that helped is not blamed for the results of the next step (W22)', async () => {
  const large = tool({ ...look, execute: () => 'x'.repeat(4_000) })
  const model = scriptedModel([respond(call('look', {}, { id: 'e' })), respond(say('Done.'))])
  const writer = scriptedModel([respond(say('In short.')), respond(say('In short.'))])
  const countTokens = (messages: readonly Message[]) =>
    messages.reduce((sum, { content }) => sum + JSON.stringify(content).length, 0)
  const options: SummarizeOptions = {
    model: writer,
    keep: { steps: 1, userTokens: 0 },
    at: { tokens: 300 },
    countTokens,
  }
  const { result: outcome } = await collect(
    createAgent({ model, tools: [large], middleware: [summarize(options)] }).stream(history),
  )
  expect(outcome?.warnings).toEqual([])
  expect(writer.requests).toHaveLength(2)
})

const usage = end({ usage: { inputTokens: 1_000, outputTokens: 1 } })
const looking = Array.from({ length: 12 }, (_, n) => respond(call('look', {}, { id: `n${n}` }), usage))

test('a summary that does not help is not asked for in every step, with a warning (W22)', async () => {
  const { result: outcome, asked } = await ran(
    [...looking, respond(say('Done.'), usage)],
    Array.from({ length: 12 }, () => respond(say('In short.'))),
    { options: { ...keep, at: { tokens: 100 } } },
  )
  expect(outcome?.text).toBe('Done.')
  expect(asked).toBe(1)
  expect(outcome?.warnings).toMatchObject([
    { code: 'summary-failed', message: 'the history is still too long after a summary' },
  ])
})

test('nor is one that failed for good, until the history has grown by a quarter (W22)', async () => {
  const refused = respond(fail({ status: 400, message: 'no' }))
  const many = await ran(
    [...looking, respond(say('Done.'))],
    Array.from({ length: 12 }, () => refused),
    {
      options: { ...keep, at: { messages: 8 } },
    },
  )
  // At 9 messages; then at 13, 17, 23 and 29.
  expect(many.asked).toBe(5)
  const busy = Array.from({ length: 12 }, () => respond(fail({ status: 503 })))
  const again = await ran([...looking.slice(0, 3), respond(say('Done.'))], busy, {
    options: { ...keep, at: { messages: 8 } },
  })
  expect(again.asked).toBe(4)
})
