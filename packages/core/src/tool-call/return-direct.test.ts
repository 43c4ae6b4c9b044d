import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { type ContentPart, createAgent, type Middleware, type Tool, tool } from '../index.ts'

unhandledRejections()

const text = (text: string): readonly ContentPart[] => [{ type: 'text', text }]

function direct(name: string, returnDirect?: Tool<{ n: number }, { n: number }>['returnDirect']) {
  return tool({
    name,
    description: 'Gives a number back.',
    input: z.object({ n: z.number() }),
    execute({ n }) {
      if (n < 0) throw new Error('negative')
      return { n }
    },
    toContent: ({ n }) => text(`${name} says ${n}`),
    ...(returnDirect !== undefined && { returnDirect }),
  })
}

test('the result of a direct tool is the answer, without another model call (M6)', async () => {
  const model = scriptedModel([respond(say('Let me see.'), call('get', { n: 1 }))])
  const result = await createAgent({ model, tools: [direct('get', true)] }).run('Go')
  expect(result).toMatchObject({ status: 'completed', stopReason: 'return-direct', text: 'get says 1', steps: 1 })
  expect(result.message).toEqual({
    role: 'tool',
    callId: 'call_1_1',
    name: 'get',
    content: text('get says 1'),
    output: { n: 1 },
  })
  expect(result.messages.at(-1)).toBe(result.message)
  expect(model.requests).toHaveLength(1)
})

test('returnDirect is called with the output of each call, and false never counts (M6)', async () => {
  const asked: unknown[] = []
  const get = direct('get', (output) => {
    asked.push(output)
    return output.n > 1
  })
  const model = scriptedModel([respond(call('get', { n: 1 }), call('never', { n: 9 })), respond(call('get', { n: 2 }))])
  const result = await createAgent({ model, tools: [get, direct('never', false)] }).run('Go')
  expect(asked).toEqual([{ n: 1 }, { n: 2 }])
  expect(result).toMatchObject({ stopReason: 'return-direct', text: 'get says 2', steps: 2 })
})

test('a returnDirect that beforeAgent sets or removes applies to that run (M6)', async () => {
  const model = scriptedModel([
    respond(call('get', { n: 1 })),
    respond(say('It is 1.')),
    respond(call('set', { n: 2 })),
    respond(call('get', { n: 3 })),
  ])
  const changes: Middleware['beforeAgent'][] = [
    (setup) => ({ ...setup, tools: [direct('get')] }),
    (setup) => ({ ...setup, tools: [direct('set', true)] }),
    () => undefined,
  ]
  const change: Middleware = { name: 'change', beforeAgent: (setup, run) => changes.shift()?.(setup, run) }
  const agent = createAgent({ model, tools: [direct('get', true)], middleware: [change] })
  expect(await agent.run('Go')).toMatchObject({ stopReason: 'answer', text: 'It is 1.' })
  expect(await agent.run('Go')).toMatchObject({ stopReason: 'return-direct', text: 'set says 2' })
  expect(await agent.run('Go')).toMatchObject({ stopReason: 'return-direct', text: 'get says 3' })
})

test('an error result of a direct tool goes to the model instead (M6)', async () => {
  const asked: unknown[] = []
  const get = direct('get', (output) => {
    asked.push(output)
    return true
  })
  const model = scriptedModel([respond(call('get', { n: -1 })), respond(call('get', {})), respond(say('No luck.'))])
  const result = await createAgent({ model, tools: [get] }).run('Go')
  expect(result).toMatchObject({ stopReason: 'answer', text: 'No luck.', steps: 3 })
  expect(model.requests[1]?.messages.at(-1)).toMatchObject({ content: text('negative'), isError: true })
  expect(asked).toEqual([])
})

test('a returnDirect that throws does not count, and there is a warning (M6)', async () => {
  const get = direct('get', () => {
    throw new Error('no idea')
  })
  const model = scriptedModel([respond(call('get', { n: 1 })), respond(say('It is 1.'))])
  const result = await createAgent({ model, tools: [get] }).run('Go')
  expect(result).toMatchObject({ stopReason: 'answer', text: 'It is 1.' })
  expect(result.warnings).toEqual([{ code: 'return-direct-failed', message: 'get: no idea', source: 'core' }])
})

const promises: readonly (readonly [string, () => Promise<boolean>])[] = [
  ['gives false', async () => false],
  ['rejects', () => Promise.reject(new Error('no idea'))],
]

test.for(promises)(
  'a returnDirect whose promise %s does not count, and there is a warning (M6)',
  async ([, promising]) => {
    // JavaScript code may pass this.
    const get = { ...direct('get', true), returnDirect: promising as never }
    const model = scriptedModel([respond(call('get', { n: 1 })), respond(say('It is 1.'))])
    const result = await createAgent({ model, tools: [get] }).run('Go')
    expect(result).toMatchObject({ stopReason: 'answer', text: 'It is 1.' })
    expect(result.warnings).toEqual([
      {
        code: 'return-direct-failed',
        message: 'get: its returnDirect returned a promise, not true or false',
        source: 'core',
      },
    ])
  },
)

test('if one of several calls is direct, all run and all have results (M7)', async () => {
  const model = scriptedModel([respond(call('plain', { n: 1 }), call('get', { n: 2 }), call('plain', { n: -3 }))])
  const result = await createAgent({ model, tools: [direct('plain'), direct('get', true)] }).run('Go')
  expect(result).toMatchObject({ stopReason: 'return-direct', text: 'get says 2' })
  expect(result.messages.slice(2)).toMatchObject([
    { callId: 'call_1_1', content: text('plain says 1') },
    { callId: 'call_1_2', content: text('get says 2') },
    { callId: 'call_1_3', content: text('negative'), isError: true },
  ])
})

test('if several calls are direct, the first in call order that did not fail is the answer, whichever ends first (M7)', async () => {
  const ended: number[] = []
  let open: () => void = () => undefined
  const last = new Promise<void>((resolve) => {
    open = resolve
  })
  const get = tool({
    name: 'get',
    description: 'Gives a number back; the last one first.',
    input: z.object({ n: z.number() }),
    returnDirect: true,
    async execute({ n }) {
      if (n < 3) await last
      ended.push(n)
      open()
      if (n === 1) throw new Error('negative')
      return n
    },
  })
  const model = scriptedModel([respond(call('get', { n: 1 }), call('get', { n: 2 }), call('get', { n: 3 }))])
  const result = await createAgent({ model, tools: [get] }).run('Go')
  expect(ended).toEqual([3, 1, 2])
  expect(result).toMatchObject({ stopReason: 'return-direct', text: '2', message: { callId: 'call_1_2' } })
})
