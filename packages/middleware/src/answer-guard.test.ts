import {
  call,
  collect,
  end,
  respond,
  type ScriptResponse,
  say,
  scriptedModel,
  think,
} from '@meanwhile/assemble/testing'
import {
  type AssistantMessage,
  createAgent,
  type Message,
  type Tool,
  type ToolMessage,
  textOf,
  tool,
} from '@meanwhile/core'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { ANSWER_PLEASE, type AnswerGuardOptions, AnswerRejectedError, answerGuard, GO_ON } from './answer-guard.ts'

async function ran(
  responses: readonly ScriptResponse[],
  options: AnswerGuardOptions = {},
  tools: readonly Tool[] = [],
) {
  const model = scriptedModel(responses)
  const agent = createAgent({ model, tools, middleware: [answerGuard(options)] })
  return { ...(await collect(agent.stream('Go'))), requests: model.requests }
}

const cutOff = (text: string) => respond(say(text), end({ finishReason: 'length' }))
const good = respond(say('Good.'))
const said = (messages: readonly Message[] = []) => messages.map((message) => `${message.role}: ${textOf(message)}`)

test('a good answer is accepted at once (N19, E1)', async () => {
  const { result, requests } = await ran([good])
  expect(result).toMatchObject({ text: 'Good.', warnings: [] })
  expect(requests).toHaveLength(1)
})

test('white space only is rejected with a request for an answer (N19)', async () => {
  for (const nothing of [
    respond(say(' \n\t')),
    respond(think('Hm.')),
    respond(say(''), end({ finishReason: 'length' })),
  ]) {
    const { result, events } = await ran([nothing, good])
    expect(result?.text).toBe('Good.')
    expect(result?.messages[2]).toEqual({ role: 'user', content: ANSWER_PLEASE, origin: 'answer-guard' })
    expect(events.find(({ type }) => type === 'answer-rejected')).toMatchObject({
      middleware: 'answer-guard',
      feedback: ANSWER_PLEASE,
    })
  }
})

test('finish reason length is rejected with a request to continue; the accepted answer is the joined text (N19, E7)', async () => {
  const { result, requests } = await ran([cutOff('One, two, '), cutOff('three, '), respond(say('four.'))])
  expect(result?.text).toBe('One, two, three, four.')
  expect(result?.message).toBe(result?.messages.at(-1))
  expect(said(result?.messages)).toEqual([
    'user: Go',
    'assistant: One, two, ',
    `user: ${GO_ON}`,
    'assistant: three, ',
    `user: ${GO_ON}`,
    'assistant: One, two, three, four.',
  ])
  expect(said(requests[2]?.messages).at(-2)).toBe('assistant: three, ')
})

test('a tool step between two pieces ends the joining, and so does another middleware’s message (N19)', async () => {
  const look = tool({ name: 'look', description: 'Looks.', input: z.object({}), execute: () => 'Seen.' }) as Tool
  const { result } = await ran([cutOff('One, '), respond(call('look')), respond(say('All in all.'))], {}, [look])
  expect(result?.text).toBe('All in all.')
  const check: AnswerGuardOptions['check'] = (answer) => (textOf(answer).includes('bad') ? 'Try again.' : undefined)
  const again = await ran([cutOff('One, '), respond(say('bad.')), good], { check })
  expect(again.result?.text).toBe('Good.')
  const apart = await ran([cutOff('bad '), good], { check, length: false })
  expect(apart.result?.text).toBe('Good.')
})

test('check receives the whole answer and returns feedback, or undefined (N20)', async () => {
  const seen: string[] = []
  const check = vi.fn(async (answer: AssistantMessage | ToolMessage) => {
    seen.push(textOf(answer))
    return textOf(answer).includes('fish') ? 'No fish.' : undefined
  })
  const { result } = await ran([cutOff('We have '), respond(say('fish.')), respond(say('We have soup.'))], { check })
  expect(result?.text).toBe('We have soup.')
  expect(seen).toEqual(['We have fish.', 'We have soup.'])
  expect(check.mock.calls[0]).toEqual([expect.anything(), expect.objectContaining({ step: 3 })])
  expect(said(result?.messages)).toContain('user: No fish.')
})

test('an error of check ends the run (N20, C17)', async () => {
  const { error } = await ran([good], {
    check: () => {
      throw new Error('no dictionary')
    },
  })
  expect(error).toMatchObject({
    name: 'MiddlewareError',
    middleware: 'answer-guard',
    cause: new Error('no dictionary'),
  })
})

test('after maxRejections the answer is accepted with a warning (N21)', async () => {
  const { result, requests } = await ran([respond(say('a')), respond(say('b')), respond(say('c'))], {
    check: () => 'No.',
  })
  expect(requests).toHaveLength(3)
  expect(result?.text).toBe('c')
  expect(result?.warnings).toEqual([{ code: 'answer-accepted', message: 'No.', source: 'answer-guard' }])
  const none = await ran([cutOff('Half')], { maxRejections: 0 })
  expect(none.result).toMatchObject({ text: 'Half', finishReason: 'length', warnings: [{ message: GO_ON }] })
})

test('with then error the run fails with AnswerRejectedError (N21)', async () => {
  const { error, requests } = await ran([respond(say('a')), respond(say('b'))], {
    check: () => 'No.',
    maxRejections: 1,
    then: 'error',
  })
  expect(error).toBeInstanceOf(AnswerRejectedError)
  expect(error).toMatchObject({
    rejections: 1,
    feedback: 'No.',
    message: 'no acceptable answer after 1 rejection: No.',
  })
  expect((error as AnswerRejectedError).messages).toHaveLength(4)
  expect(requests).toHaveLength(2)
})

test('each run has its own rejections (N21, N3)', async () => {
  const agent = createAgent({
    model: scriptedModel([respond(say(' ')), good, respond(say(' ')), good]),
    middleware: [answerGuard({ maxRejections: 1, then: 'error' })],
  })
  expect((await agent.run('one')).text).toBe('Good.')
  expect((await agent.run('two')).text).toBe('Good.')
})

test('checks that are switched off reject nothing (N19)', async () => {
  expect((await ran([respond(say(' '))], { empty: false })).result?.text).toBe(' ')
  expect((await ran([cutOff('Half')], { length: false })).result?.text).toBe('Half')
})

test('a direct result is guarded, too; one that contains a file is not empty (N19)', async () => {
  const direct = (content: () => ToolMessage['content']): Tool =>
    tool({
      name: 'direct',
      description: 'Answers.',
      input: z.object({}),
      returnDirect: true,
      execute: () => undefined,
      toContent: content,
    }) as Tool
  const picture = direct(() => [{ type: 'file', mediaType: 'image/png', data: 'AAAA' }])
  expect((await ran([respond(call('direct'))], {}, [picture])).result).toMatchObject({ stopReason: 'return-direct' })
  const nothing = await ran([respond(call('direct')), good], {}, [direct(() => [{ type: 'text', text: '' }])])
  expect(nothing.result).toMatchObject({ stopReason: 'answer', text: 'Good.' })
})

test('options out of their range are a ConfigError', () => {
  const odd = { then: 'shrug' } as object
  expect(() => answerGuard({ maxRejections: -1 })).toThrow(expect.objectContaining({ option: 'maxRejections' }))
  expect(() => answerGuard(odd)).toThrow(expect.objectContaining({ option: 'then' }))
})

test('changes that a check makes to its answer have no effect (P15, N19)', async () => {
  const check: AnswerGuardOptions['check'] = (answer) => {
    expect(() => Object.assign(answer, { content: [] })).toThrow(TypeError)
    expect(() => Object.assign(answer.content, { length: 0 })).toThrow(TypeError)
    expect(() => Object.assign(answer.content[0] ?? {}, { text: 'Mine.' })).toThrow(TypeError)
  }
  expect((await ran([good], { check })).result?.text).toBe('Good.')
  expect((await ran([cutOff('Half, '), good], { check })).result?.text).toBe('Half, Good.')
})
