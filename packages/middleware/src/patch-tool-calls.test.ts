import { call, collect, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, HistoryError, type Message, type Middleware, type ToolMessage, tool } from '@meanwhile/core'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { DEFAULT_TEXT, type PatchToolCallsOptions, patchToolCalls } from './patch-tool-calls.ts'

const user = (content: string): Message => ({ role: 'user', content })
const calls = (...ids: readonly string[]): Message => ({
  role: 'assistant',
  content: ids.map((id) => ({ type: 'tool-call', id, name: `tool_${id}`, input: {} })),
  finishReason: 'tool-calls',
})
const result = (id: string, text = `result of ${id}`): ToolMessage => ({
  role: 'tool',
  callId: id,
  name: `tool_${id}`,
  content: [{ type: 'text', text }],
})
const missing = (id: string, text = DEFAULT_TEXT): ToolMessage => ({ ...result(id, text), isError: true })

/** The model requests and the remembered history for this input. */
async function patched(input: readonly Message[], options?: PatchToolCallsOptions, inner: readonly Middleware[] = []) {
  const model = scriptedModel([respond(say('Done.'))])
  const agent = createAgent({ model, middleware: [patchToolCalls(options), ...inner] })
  const { result, error } = await collect(agent.stream(input))
  return { asked: model.requests[0]?.messages, remembered: result?.messages.slice(0, -1), error }
}

test('a call without a result gets one error result right after its message, in call order (N50)', async () => {
  for (const [input, repaired] of [
    [
      [user('Go'), calls('a'), user('And?')],
      [user('Go'), calls('a'), missing('a'), user('And?')],
    ],
    [
      [user('Go'), calls('a', 'b')],
      [user('Go'), calls('a', 'b'), missing('a'), missing('b')],
    ],
    [
      [user('Go'), calls('a', 'b', 'c'), result('b'), calls('d'), result('d'), user('And?')],
      [
        user('Go'),
        calls('a', 'b', 'c'),
        result('b'),
        missing('a'),
        missing('c'),
        calls('d'),
        result('d'),
        user('And?'),
      ],
    ],
  ] as const) {
    const { asked, remembered } = await patched(input)
    expect(asked).toEqual(repaired)
    expect(remembered).toEqual(repaired)
  }
})

test('results without a call and second results are removed (N50)', async () => {
  const input = [
    result('x'),
    user('Go'),
    calls('a'),
    result('a'),
    result('a', 'again'),
    result('y'),
    user('And?'),
    result('a'),
  ]
  expect((await patched(input)).asked).toEqual([user('Go'), calls('a'), result('a'), user('And?')])
  expect((await patched([user('Go'), result('a'), calls('a')])).asked).toEqual([user('Go'), calls('a'), missing('a')])
})

test('the text states no cause, and can be replaced (N50)', async () => {
  expect(DEFAULT_TEXT).toBe('The result of this call is not available.')
  const { asked } = await patched([user('Go'), calls('a')], { text: 'Lost.' })
  expect(asked?.at(-1)).toEqual(missing('a', 'Lost.'))
  for (const text of ['', 7]) {
    const odd = { text } as object
    expect(() => patchToolCalls(odd)).toThrow(expect.objectContaining({ name: 'ConfigError', option: 'text' }))
  }
})

test('calls that their provider ran need no result (N50, G16)', async () => {
  const ran: Message = {
    role: 'assistant',
    content: [{ type: 'tool-call', id: 'a', name: 'search', input: {}, providerResult: 'found' }],
    finishReason: 'stop',
  }
  expect((await patched([user('Go'), ran, user('And?')])).asked).toEqual([user('Go'), ran, user('And?')])
})

test('a valid history is passed on as the same object (N51)', async () => {
  const seen: (readonly Message[])[] = []
  const seer = (name: string): Middleware => ({ name, beforeModel: ({ messages }) => void seen.push(messages) })
  const model = scriptedModel([respond(say('Done.'))])
  const middleware = [seer('outer'), patchToolCalls(), seer('inner')]
  await createAgent({ model, middleware }).run([user('Go'), calls('a'), result('a'), user('And?')])
  expect(seen[1]).toBe(seen[0])
})

test('the repair is remembered and happens once (N52)', async () => {
  const model = scriptedModel([respond(call('nobody', {}, { id: 'z' })), respond(say('Done.'))])
  const agent = createAgent({ model, middleware: [patchToolCalls()] })
  const { messages } = await agent.run([user('Go'), calls('a')])
  const repaired = [user('Go'), calls('a'), missing('a')]
  expect(model.requests.map((request) => request.messages.slice(0, 3))).toEqual([repaired, repaired])
  expect(messages.filter((message) => message.role === 'tool' && message.callId === 'a')).toHaveLength(1)
})

test('what stands between a call and its result follows the result (N50, W13)', async () => {
  for (const [input, ordered] of [
    [
      [user('Go'), calls('a'), user('So?'), result('a')],
      [user('Go'), calls('a'), result('a'), user('So?')],
    ],
    [
      [user('Go'), calls('a', 'b'), result('b'), user('So?'), calls('c'), result('a'), result('c')],
      [user('Go'), calls('a', 'b'), result('b'), result('a'), user('So?'), calls('c'), result('c')],
    ],
    [
      [user('Go'), calls('a'), calls('b'), user('So?'), result('a')],
      [user('Go'), calls('a'), result('a'), calls('b'), missing('b'), user('So?')],
    ],
  ] as const) {
    expect((await patched(input)).asked).toEqual(ordered)
    expect((await patched(ordered)).asked).toEqual(ordered)
  }
})

test('ids that repeat in every turn are told apart by place (N50, W14)', async () => {
  const turn = [user('Go'), calls('a'), result('a')]
  expect((await patched([...turn, ...turn])).asked).toEqual([...turn, ...turn])
  expect((await patched([user('Go'), calls('a'), ...turn, user('So?')])).asked).toEqual([
    user('Go'),
    calls('a'),
    missing('a'),
    ...turn,
    user('So?'),
  ])
})

/** Whether the results of each message's calls, each once, stand directly after it. */
function isInOrder(messages: readonly Message[]): boolean {
  let open: string[] = []
  for (const message of messages) {
    if (message.role === 'tool') {
      if (!open.includes(message.callId)) return false
      open = open.filter((id) => id !== message.callId)
    } else if (open.length > 0) return false
    else if (message.role === 'assistant') open = message.content.flatMap((part) => ('id' in part ? [part.id] : []))
  }
  return open.length === 0
}

test('any mix of calls and results becomes valid, and valid ones are unchanged (N50, N51, W13)', async () => {
  const part = fc.oneof(
    fc.constant(user('Hm')),
    fc.subarray(['a', 'b', 'c']).map((ids) => ids),
    fc.constantFrom('a', 'b', 'c', 'd').map((id) => result(id)),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(part, { maxLength: 8 }), async (parts) => {
      const messages = parts.flatMap((part): Message[] => {
        if (!Array.isArray(part)) return [part as Message]
        return part.length > 0 ? [calls(...(part as string[]))] : []
      })
      const input = [user('Go'), ...messages]
      const { asked, error } = await patched(input)
      expect(error).toBeUndefined()
      expect(isInOrder(asked ?? [])).toBe(true)
      const again = await patched(asked ?? [])
      expect(again.asked).toEqual(asked)
      const bare = createAgent({ model: scriptedModel([respond(say('Done.'))]) })
      const untouched = await bare.run(input).catch((thrown: unknown) => thrown)
      expect(untouched instanceof HistoryError).toBe(!isInOrder(input))
      if (isInOrder(input)) expect(asked).toEqual(input)
    }),
    propertyRuns({ small: 30, middle: 45, whole: 10_000 }),
  )
})

test('each message is looked at once, however many steps there are (N50)', async () => {
  const looks = new Map<Message, number>()
  const watched = new WeakMap<Message, Message>()
  /** The same stand-in for a message in every step, which counts how often its content is read. */
  function watch(message: Message): Message {
    const content = () => {
      looks.set(message, (looks.get(message) ?? 0) + 1)
      return message.content
    }
    const made = watched.get(message) ?? Object.defineProperty({ ...message }, 'content', { get: content })
    watched.set(message, made)
    return made
  }
  const inner = patchToolCalls()
  const outer: Middleware = {
    name: 'watching',
    async beforeModel(state, run) {
      expect(await inner.beforeModel?.({ messages: state.messages.map(watch) }, run)).toBeUndefined()
    },
  }
  const look = tool({ name: 'look', description: 'Looks', input: z.object({}), execute: () => 'sunny' })
  const script = Array.from({ length: 30 }, () => respond(call('look', {})))
  const model = scriptedModel([...script, respond(say('Done.'))])
  await createAgent({ model, tools: [look], middleware: [outer], maxSteps: 50 }).run('Go')
  expect(looks.size).toBeGreaterThan(25)
  expect(Math.max(...looks.values())).toBeLessThanOrEqual(2)
})

test('a history that another middleware replaces between two steps is repaired as a whole (N50)', async () => {
  const replacing: Middleware = {
    name: 'replacing',
    beforeModel: (_, { step }) => (step === 2 ? { messages: [user('Go'), calls('a'), user('And?')] } : undefined),
  }
  const look = tool({ name: 'look', description: 'Looks', input: z.object({}), execute: () => 'sunny' })
  const model = scriptedModel([respond(call('look', {})), respond(say('Done.'))])
  await createAgent({ model, tools: [look], middleware: [replacing, patchToolCalls()] }).run('Go')
  expect(model.requests[1]?.messages).toEqual([user('Go'), calls('a'), missing('a'), user('And?')])
})
