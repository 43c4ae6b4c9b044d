import { call, collect, end, respond, type ScriptedResponse, say, scriptedModel } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import {
  type AgentOptions,
  ConfigError,
  createAgent,
  MaxStepsError,
  type Middleware,
  OutputError,
  type ToolSchema,
  tool,
} from '../index.ts'

const verdict = z.object({ city: z.string(), days: z.coerce.number().min(1) })
const native = { structuredOutput: true }
const paris = '{"city":"Paris","days":"3"}'
const wrong = '{"city":"Paris","days":0}'

function agentOf(responses: readonly ScriptedResponse[], options: Partial<AgentOptions> = {}, model = {}) {
  const asked = scriptedModel(responses, model)
  return { model: asked, agent: createAgent({ ...options, output: verdict, model: asked }) }
}

async function ran(...of: Parameters<typeof agentOf>) {
  const { model, agent } = agentOf(...of)
  const { events, result, error } = await collect(agent.stream('Where to?'))
  return { model, events, result, error }
}

const look = (made: unknown[]) =>
  tool({
    name: 'look',
    description: 'Looks.',
    input: z.object({ n: z.number() }),
    execute: async ({ n }) => {
      await Promise.resolve()
      made.push(n)
      return n
    },
  })

test('a model with structured output receives the format, and the output is its answer as the schema returns it (M14)', async () => {
  const { model, result } = await ran([respond(say(paris))], {}, native)
  expect(model.requests[0]).toMatchObject({
    output: { name: 'final_answer', schema: { type: 'object', required: ['city', 'days'] } },
    tools: [],
    toolChoice: 'auto',
  })
  expect(result).toMatchObject({ stopReason: 'answer', text: paris, output: { city: 'Paris', days: 3 } })
})

test('any other model gets a tool for the output, whose input is the answer (M14)', async () => {
  const { model, result, events } = await ran([respond(call('final_answer', paris, { id: 'last' }))])
  const [request] = model.requests
  expect(request).not.toHaveProperty('output')
  expect(request?.tools).toEqual([
    {
      name: 'final_answer',
      description: 'Gives the final answer: the input of this call. Call it once, when everything else is done.',
      inputSchema: expect.objectContaining({ type: 'object', required: ['city', 'days'] }),
    },
  ])
  expect(request?.toolChoice).toBe('auto')
  const message = {
    role: 'tool',
    callId: 'last',
    name: 'final_answer',
    content: [{ type: 'text', text: paris }],
    output: { city: 'Paris', days: '3' },
  }
  expect(result).toMatchObject({ stopReason: 'answer', text: paris, output: { city: 'Paris', days: 3 }, steps: 1 })
  expect(result?.message).toEqual(message)
  expect(result?.messages.at(-1)).toBe(result?.message)
  expect(events.filter((event) => 'callId' in event)).toEqual([
    { runId: expect.any(String), step: 1, type: 'tool-end', callId: 'last', toolName: 'final_answer', message },
  ])
})

test('the other calls of the step run before the answer, at any place among them (M14)', async () => {
  const made: unknown[] = []
  const order: string[] = []
  const responses = [respond(call('look', { n: 1 }), call('final_answer', paris), call('look', { n: 2 }))]
  const { agent, model } = agentOf(responses, { tools: [look(made)] })
  const run = agent.stream('Go')
  for await (const event of run) if (event.type === 'tool-end') order.push(event.callId)
  const result = await run.result
  expect(made).toEqual([1, 2])
  expect(order).toEqual(['call_1_1', 'call_1_3', 'call_1_2'])
  expect(result.messages.slice(2)).toMatchObject([
    { callId: 'call_1_1' },
    { callId: 'call_1_2', name: 'final_answer' },
    { callId: 'call_1_3' },
  ])
  expect(result.output).toEqual({ city: 'Paris', days: 3 })
  expect(model.requests).toHaveLength(1)
})

const misfit = 'the answer does not match the output schema'
const issue = 'days: Too small: expected number to be >=1'
const misfits: readonly (readonly [what: string, answer: ScriptedResponse, problem: string, model?: object])[] = [
  ['JSON that does not fit', respond(say(wrong)), issue, native],
  ['text that is no JSON', respond(say('Paris, three days.')), 'it is not JSON', native],
  ['JSON that is cut off', respond(say('{"city":'), end({ finishReason: 'length' })), 'it is not JSON', native],
  ['no text at all', respond(say('')), 'it is not JSON', native],
  ['a call that does not fit', respond(call('final_answer', wrong)), issue],
  ['plain text where a call is due', respond(say('Paris, three days.')), 'it is not JSON'],
]

test.for(misfits)(
  '%s is rejected with the problem as feedback, and counts as a step (M14, E4)',
  async ([, answer, problem, model]) => {
    const right = model ? respond(say(paris)) : respond(call('final_answer', paris))
    const { model: asked, result, events } = await ran([answer, right], {}, model)
    const how = model ? 'Answer only with JSON that matches the schema.' : 'Answer by calling final_answer.'
    const feedback = `Not accepted: ${misfit}: ${problem}. ${how}`
    expect(asked.requests[1]?.messages.at(-1)).toEqual({ role: 'user', content: feedback, origin: 'output' })
    expect(events.filter((event) => event.type === 'answer-rejected')).toEqual([
      { runId: expect.any(String), step: 1, type: 'answer-rejected', middleware: 'output', feedback },
    ])
    expect(result).toMatchObject({ steps: 2, output: { city: 'Paris', days: 3 } })

    const limited = await ran([answer], { maxSteps: 1 }, model)
    expect(limited.error).toBeInstanceOf(MaxStepsError)
    expect(limited.error).toMatchObject({ maxSteps: 1, feedback, cause: { name: 'OutputError' } })
  },
)

test('a limit that is reached by calls, after an answer that did not fit, does not mention the output (M14, E4)', async () => {
  const { error } = await ran([respond(say('Paris.')), respond(call('look', { n: 1 }))], {
    maxSteps: 2,
    tools: [look([])],
  })
  expect(error).toMatchObject({ name: 'MaxStepsError', maxSteps: 2 })
  expect(error).not.toHaveProperty('feedback')
  expect(error).not.toHaveProperty('cause')
})

test('arguments of the answer that are not JSON are an error result, and rejected (M14, A13)', async () => {
  const { model, result } = await ran([respond(call('final_answer', '{"city')), respond(call('final_answer', paris))])
  expect(model.requests[1]?.messages.slice(-2)).toMatchObject([
    { role: 'tool', name: 'final_answer', isError: true },
    { role: 'user', origin: 'output', content: expect.stringContaining('arguments are not valid JSON') },
  ])
  expect(result?.output).toEqual({ city: 'Paris', days: 3 })
})

test('an answer whose members came as JSON text is taken out of its strings, and JSON in a separate part counts (M14)', async () => {
  const output = z.object({ at: z.object({ n: z.number() }) })
  const model = scriptedModel([respond(call('final_answer', { at: '{"n":1}' }))])
  expect((await createAgent({ model, output }).run('Go')).output).toEqual({ at: { n: 1 } })

  const talks = {
    provider: 'own',
    id: 'own-1',
    structuredOutput: () => true,
    async *stream() {
      const content = ['Let me see. ', '{"at":{"n":2}}'].map((text) => ({ type: 'text', text }) as const)
      return { role: 'assistant', content, finishReason: 'stop' } as const
    },
  }
  expect((await createAgent({ model: talks, output }).run('Go')).output).toEqual({ at: { n: 2 } })
})

test('the hooks only see answers that fit, and may reject them (M14, E6)', async () => {
  const asked: unknown[] = []
  const gate: Middleware = {
    name: 'gate',
    beforeFinalAnswer(state) {
      asked.push(state.messages.at(-1)?.content)
      return asked.length === 1 ? { accept: false, feedback: 'Elsewhere.' } : undefined
    },
  }
  const rome = '{"city":"Rome","days":1}'
  const { result, model } = await ran(
    [wrong, paris, rome].map((text) => respond(say(text))),
    { middleware: [gate] },
    native,
  )
  expect(asked).toEqual([[{ type: 'text', text: paris }], [{ type: 'text', text: rome }]])
  expect(model.requests[2]?.messages.at(-1)).toMatchObject({ content: 'Elsewhere.', origin: 'gate' })
  expect(result?.output).toEqual({ city: 'Rome', days: 1 })
})

test('an answer with which a hook replaced it is the output, or a MiddlewareError if it does not fit (M14, E7)', async () => {
  const instead = (text: string): Middleware => ({
    name: 'instead',
    beforeFinalAnswer: () => ({
      accept: true,
      message: { role: 'assistant', content: [{ type: 'text', text }], finishReason: 'stop' },
    }),
  })
  const rome = await ran([respond(say(paris))], { middleware: [instead('{"city":"Rome","days":1}')] }, native)
  expect(rome.result).toMatchObject({ output: { city: 'Rome', days: 1 }, text: '{"city":"Rome","days":1}' })
  const { error } = await ran([respond(say(paris))], { middleware: [instead('Rome')] }, native)
  expect(error).toMatchObject({ name: 'MiddlewareError', middleware: 'instead', cause: { name: 'OutputError' } })
})

test('the result of a direct tool is the output if it fits, otherwise the model answers (M14, M6)', async () => {
  const get = tool({
    name: 'get',
    description: 'Gets.',
    input: z.object({ days: z.number() }),
    returnDirect: true,
    execute: ({ days }) => ({ city: 'Oslo', days }),
  })
  const responses = [respond(call('get', { days: 0 })), respond(call('get', { days: 2 }))]
  const { result } = await ran(responses, { tools: [get] })
  expect(result).toMatchObject({ stopReason: 'return-direct', steps: 2, output: { city: 'Oslo', days: 2 } })
})

test('a wrap that calls another model uses the way that this model supports (M14, J13)', async () => {
  const plain = scriptedModel([respond(call('final_answer', paris))])
  const other: Middleware = {
    name: 'other',
    async *wrapModel(request, next) {
      return yield* next({ ...request, model: plain })
    },
  }
  const { result, model } = await ran([], { middleware: [other] }, native)
  expect(model.requests).toEqual([])
  expect(plain.requests[0]?.tools.map(({ name }) => name)).toEqual(['final_answer'])
  expect(result?.output).toEqual({ city: 'Paris', days: 3 })
})

test('a request that forbids calls allows only the call for the output (F4, F7)', async () => {
  const { model } = await ran([respond(call('final_answer', paris))], { toolChoice: 'none', tools: [look([])] })
  expect(model.requests[0]).toMatchObject({
    toolChoice: { tool: 'final_answer' },
    tools: [{ name: 'look' }, { name: 'final_answer' }],
  })
})

test('an answer in the last permitted step is accepted, and its other calls are made (M14, A10)', async () => {
  const made: unknown[] = []
  const { result } = await ran([respond(call('look', { n: 1 }), call('final_answer', paris))], {
    tools: [look(made)],
    maxSteps: 1,
  })
  expect(made).toEqual([1])
  expect(result?.output).toEqual({ city: 'Paris', days: 3 })
})

test('a schema that throws is a misfit, not the end of the run (M14)', async () => {
  let asked = 0
  const moody: ToolSchema<{ ok: boolean }> = {
    '~standard': {
      ...z.object({ ok: z.boolean() })['~standard'],
      validate(value) {
        if (asked++ === 0) throw new Error('not today')
        return { value: value as { ok: boolean } }
      },
    },
  }
  const model = scriptedModel([respond(say('{"ok":true}')), respond(say('{"ok":false}'))], native)
  const { output, steps } = await createAgent({ model, output: moody }).run('Go')
  expect({ output, steps }).toEqual({ output: { ok: false }, steps: 2 })
  expect(model.requests[1]?.messages.at(-1)).toMatchObject({ content: expect.stringContaining('not today') })
})

test('the tool for the output may be the one that must be called (M14, A2)', async () => {
  const { model, result } = await ran([respond(call('final_answer', paris))], { toolChoice: { tool: 'final_answer' } })
  expect(model.requests[0]?.toolChoice).toEqual({ tool: 'final_answer' })
  expect(result?.output).toEqual({ city: 'Paris', days: 3 })
})

test('without an output schema there is no output, and final_answer is a name like any other (M14)', async () => {
  const own = { ...look([]), name: 'final_answer' }
  const model = scriptedModel([respond(call('final_answer', { n: 1 })), respond(say('{"n":1}'))])
  const result = await createAgent({ model, tools: [own] }).run('Go')
  expect(result).not.toHaveProperty('output')
  expect(result.steps).toBe(2)
})

test('an output that no wire accepts, and a tool with its name, are a ConfigError (M14, M11)', () => {
  const model = scriptedModel([])
  const named = look([])
  const refused: readonly [string, AgentOptions][] = [
    ['output', { model, output: z.array(z.string()) }],
    ['output', { model, output: z.object({ at: z.date() }) }],
    ['tools', { model, output: verdict, tools: [{ ...named, name: 'final_answer' }] }],
    ['tools', { model, output: verdict, tools: [{ ...named, aliases: { names: ['final_answer'] } }] }],
  ]
  for (const [option, options] of refused) {
    expect(() => createAgent(options)).toThrow(ConfigError)
    expect(() => createAgent(options)).toThrow(expect.objectContaining({ option }))
  }
  expect(() => createAgent(refused[3]?.[1] as AgentOptions)).toThrow(/look.*final_answer/)
})

test('an OutputError names the problem and its place, and is JSON in an event (M14, B2)', () => {
  const error = new OutputError([{ path: 'a.b', message: 'too long' }])
  expect(error.message).toBe('the answer does not match the output schema: a.b: too long')
  expect(JSON.parse(JSON.stringify(error))).toMatchObject({ name: 'OutputError', issues: [{ path: 'a.b' }] })
})
