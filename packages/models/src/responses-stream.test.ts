import { type AssistantMessage, callsOf, DEFAULT_INPUT_LIMITS } from '@meanwhile/core'
import { expectLinear } from '@meanwhile/tests/growth'
import { expect, test } from 'vitest'
import { bodyOf, failureOf, read } from '../test/ask.ts'
import { resultsOf } from '../test/history.ts'
import { readParsed } from '../test/parsed.ts'
import { responses } from '../test/wires.ts'

const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f' }
const completed = { type: 'response.completed', response: { status: 'completed' } }

async function messageOf(...events: object[]): Promise<AssistantMessage> {
  return (await read(responses, events)).message
}

function added(index: number, item: object): object {
  return { type: 'response.output_item.added', output_index: index, item }
}

function done(index: number, item: object): object {
  return { type: 'response.output_item.done', output_index: index, item }
}

test('a call is sealed by its own `done`, once, before the response ends (G4, qR4)', async () => {
  const { events } = await read(responses, responses.call('{"x":1}'))
  const sealed = { type: 'tool-call', id: 'call_1', name: 'f', input: { x: 1 } }
  expect(events).toEqual([
    { type: 'tool-input-start', id: 'call_1', name: 'f' },
    { type: 'tool-input-delta', id: 'call_1', delta: '{"x":1}' },
    { type: 'tool-input-closed', call: sealed },
    { type: 'tool-call', call: sealed },
  ])
})

test('a call that comes only with its item is reported once (qR1)', async () => {
  const { content } = await messageOf(
    done(0, { ...call, arguments: '{"x":1}', status: 'completed' }),
    done(0, { ...call, arguments: '{"x":1}', status: 'completed' }),
    completed,
  )
  expect(content).toEqual([{ type: 'tool-call', id: 'call_1', name: 'f', input: { x: 1 } }])
})

const x1 = { arguments: '{"x":1}', status: 'completed' }
const x2 = { arguments: '{"x":2}', status: 'completed' }
const both = [
  { type: 'tool-call', id: 'call_1', name: 'f', input: { x: 1 } },
  { type: 'tool-call', id: 'call_1_1', name: 'f', input: { x: 2 } },
]

test.each([
  ['a different item id', 'fc_2'],
  ['no item id', undefined],
  ['the same item id', 'fc_1'],
])('a call at a new place with a used call_id and %s is another call, once the first has ended (P3)', async (_, id) => {
  const second = { ...call, id }
  const at = { output_index: 1, item_id: id }
  const { content } = await messageOf(
    added(0, { ...call, arguments: '' }),
    { type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'fc_1', delta: '{"x":1}' },
    { type: 'response.function_call_arguments.done', output_index: 0, item_id: 'fc_1', arguments: '{"x":1}' },
    added(1, { ...second, arguments: '' }),
    // Late, and of the first call.
    done(0, { ...call, ...x1 }),
    { type: 'response.function_call_arguments.delta', ...at, delta: '{"x":' },
    { type: 'response.function_call_arguments.delta', ...at, delta: '2}' },
    { type: 'response.function_call_arguments.done', ...at, arguments: '{"x":2}' },
    done(1, { ...second, ...x2 }),
    {
      type: 'response.completed',
      response: {
        status: 'completed',
        output: [
          { ...call, ...x1 },
          { ...second, ...x2 },
        ],
      },
    },
  )
  expect(content).toEqual(both)
})

test('a call that is announced twice before its end, at any place, is one (P3, qR7)', async () => {
  const { content } = await messageOf(
    added(0, { ...call, arguments: '' }),
    { type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'fc_1', delta: '{"x":' },
    added(1, { ...call, arguments: '' }),
    { type: 'response.function_call_arguments.delta', output_index: 1, item_id: 'fc_1', delta: '1}' },
    { type: 'response.function_call_arguments.done', output_index: 1, item_id: 'fc_1', arguments: '{"x":1}' },
    done(2, { ...call, id: 'fc_9', ...x1 }),
    completed,
  )
  expect(content).toEqual(both.slice(0, 1))
})

test('a call that is announced again at its place, with another name, is another call once the first has ended (P3)', async () => {
  const { content } = await messageOf(
    added(0, { ...call, arguments: '' }),
    done(0, { ...call, ...x1 }),
    added(0, { ...call, name: 'g', arguments: '' }),
    done(0, { ...call, name: 'g', ...x2 }),
    done(0, { ...call, name: 'g', ...x2 }),
    completed,
  )
  expect(content).toEqual([both[0], { ...both[1], name: 'g' }])
})

test('a call that was never announced gets its name from its item', async () => {
  const { content } = await messageOf(
    { type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'fc_1', delta: '{"x":' },
    { type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'fc_1', delta: '1}' },
    done(0, { ...call, arguments: '{"x":1}', status: 'completed' }),
    completed,
  )
  expect(content).toEqual([{ type: 'tool-call', id: 'call_1', name: 'f', input: { x: 1 } }])
})

test('if items lack an id or change it, their place in the output distinguishes them (qR3)', async () => {
  const { content } = await messageOf(
    added(0, { type: 'function_call', call_id: 'call_1', name: 'f' }),
    added(1, { type: 'function_call', id: 'fc_x', call_id: 'call_2', name: 'g' }),
    { type: 'response.function_call_arguments.delta', output_index: 1, item_id: 'fc_y', delta: '{"y":2}' },
    { type: 'response.function_call_arguments.delta', output_index: 0, delta: '{"x":1}' },
    { type: 'response.function_call_arguments.done', output_index: 0, arguments: '{"x":1}' },
    { type: 'response.function_call_arguments.done', output_index: 1, item_id: 'fc_z', arguments: '{"y":2}' },
    completed,
  )
  expect(content).toEqual([
    { type: 'tool-call', id: 'call_1', name: 'f', input: { x: 1 } },
    { type: 'tool-call', id: 'call_2', name: 'g', input: { y: 2 } },
  ])
})

test('an item that is not completed seals nothing (qR6)', async () => {
  const { events, message } = await read(responses, [
    added(0, { ...call, arguments: '', status: 'in_progress' }),
    { type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'fc_1', delta: '{"x":' },
    done(0, { ...call, arguments: '{"x":', status: 'incomplete' }),
    {
      type: 'response.incomplete',
      response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
    },
  ])
  expect(events.map((event) => event.type)).toEqual(['tool-input-start', 'tool-input-delta'])
  expect(message).toMatchObject({ finishReason: 'length', response: { finishReason: 'max_output_tokens' } })
})

test.each([
  ['max_output_tokens', 'length'],
  ['content_filter', 'content-filter'],
  ['steered', 'other'],
])('an incomplete response because of %s ends with %s', async (reason, expected) => {
  const { finishReason } = await messageOf({
    type: 'response.incomplete',
    response: { incomplete_details: { reason } },
  })
  expect(finishReason).toBe(expected)
})

test.each([
  [undefined, 'stop', undefined],
  ['queued', 'other', 'queued'],
])('a response that is done with status %s ends with %s (qR12)', async (status, reason, word) => {
  const { finishReason, response } = await messageOf({ type: 'response.done', response: { status } })
  expect([finishReason, response?.finishReason]).toEqual([reason, word])
})

test('a response that is done because it was cancelled is an error (qR12)', async () => {
  const failure = await failureOf(messageOf({ type: 'response.done', response: { status: 'cancelled', error: null } }))
  expect(failure).toMatchObject({ name: 'ModelError', code: 'unknown', retryable: false })
})

test('parts of a summary are paragraphs of one reasoning part, a phase stays with its text (G12)', async () => {
  const item = {
    id: 'rs_1',
    type: 'reasoning',
    summary: [{ type: 'summary_text', text: 'One' }],
    encrypted_content: 'g',
  }
  const summary = { output_index: 0, item_id: 'rs_1' }
  const { content } = await messageOf(
    added(0, { id: 'rs_1', type: 'reasoning', summary: [] }),
    { type: 'response.reasoning_summary_part.added', ...summary, summary_index: 0 },
    { type: 'response.reasoning_summary_text.delta', ...summary, summary_index: 0, delta: 'One' },
    { type: 'response.reasoning_summary_part.added', ...summary, summary_index: 1 },
    { type: 'response.reasoning_summary_text.delta', ...summary, summary_index: 1, delta: 'Two' },
    done(0, item),
    added(1, { id: 'msg_1', type: 'message', content: [], phase: 'commentary' }),
    { type: 'response.output_text.delta', output_index: 1, item_id: 'msg_1', delta: 'Wait' },
    { type: 'response.refusal.delta', output_index: 1, item_id: 'msg_1', delta: '.' },
    done(1, { id: 'msg_1', type: 'message', status: 'completed', phase: 'commentary' }),
    completed,
  )
  expect(content).toEqual([
    { type: 'reasoning', text: 'One\n\nTwo', providerMetadata: { openai: item } },
    { type: 'text', text: 'Wait.', providerMetadata: { openai: { phase: 'commentary' } } },
  ])
})

test('reasoning that is completely encrypted is a part without text (G12)', async () => {
  const item = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'gAAA' }
  const { content } = await messageOf(added(0, { ...item, encrypted_content: 'draft' }), done(0, item), completed)
  expect(content).toEqual([{ type: 'reasoning', text: '', providerMetadata: { openai: item } }])
})

test('reasoning whose item only the end of the response has whole is kept (G12, qR10)', async () => {
  const item = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'gAAA' }
  const { content } = await messageOf(
    added(0, { id: 'rs_1', type: 'reasoning', summary: [] }),
    { type: 'response.reasoning_text.delta', output_index: 0, item_id: 'rs_1', delta: 'Hm.' },
    done(1, { ...call, ...x1 }),
    { type: 'response.completed', response: { status: 'completed', output: [item, { ...call, ...x1 }] } },
  )
  expect(content).toMatchObject([{ text: 'Hm.', providerMetadata: { openai: item } }, { type: 'tool-call' }])
})

test('a call without any arguments is not sealed, because the response may be truncated (G4, qR8)', async () => {
  const { events } = await read(responses, [
    added(0, { ...call, arguments: '', status: 'in_progress' }),
    { type: 'response.function_call_arguments.done', output_index: 0, item_id: 'fc_1', arguments: '' },
    done(0, { ...call, arguments: '', status: 'completed' }),
    { type: 'response.incomplete', response: { incomplete_details: { reason: 'max_output_tokens' } } },
  ])
  expect(events).toEqual([{ type: 'tool-input-start', id: 'call_1', name: 'f' }])
})

test.each([
  ['undefined', undefined],
  ['null', null],
  ['in_progress', 'in_progress'],
])(
  'a finished item whose status is %s reports its arguments once, and the end of the response seals (G4, qR9)',
  async (_, status) => {
    const item = { ...call, arguments: '{"x":1}', status }
    const { events } = await read(responses, [
      added(0, { ...call, arguments: '' }),
      done(0, item),
      done(0, item),
      completed,
    ])
    const sealed = { type: 'tool-call', id: 'call_1', name: 'f', input: { x: 1 } }
    expect(events).toEqual([
      { type: 'tool-input-start', id: 'call_1', name: 'f' },
      { type: 'tool-input-delta', id: 'call_1', delta: '{"x":1}' },
      { type: 'tool-input-closed', call: sealed },
      { type: 'tool-call', call: sealed },
    ])
  },
)

test('arguments that only the end of the response contains are taken from there (qR10)', async () => {
  const output = [{ ...call, arguments: '{"x":1}', status: 'completed' }]
  const { content } = await messageOf(added(0, { ...call, arguments: '' }), {
    type: 'response.completed',
    response: { status: 'completed', output },
  })
  expect(content).toEqual([{ type: 'tool-call', id: 'call_1', name: 'f', input: { x: 1 } }])
})

test('a refusal that comes when it is done, or with its item, is one (qR10)', async () => {
  const refusal = { type: 'refusal', refusal: 'No.' }
  const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [refusal] }
  for (const event of [
    { type: 'response.refusal.done', output_index: 0, item_id: 'msg_1', refusal: 'No.' },
    done(0, item),
  ]) {
    expect(await messageOf(event, completed)).toMatchObject({
      content: [{ type: 'text', text: 'No.' }],
      finishReason: 'content-filter',
    })
  }
})

test('calls whose finished items are at another place than their pieces are distinguished by their ids (G9, qR7)', async () => {
  const other = { type: 'function_call', id: 'fc_2', call_id: 'call_2', name: 'g' }
  const { content } = await messageOf(
    added(0, { ...call, arguments: '' }),
    added(0, { ...other, arguments: '' }),
    { type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'fc_1', delta: '{"x":1}' },
    { type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'fc_2', delta: '{"y":2}' },
    done(0, { ...call, arguments: '{"x":1}', status: 'completed' }),
    done(0, { ...other, arguments: '{"y":2}', status: 'completed' }),
    completed,
  )
  expect(content).toEqual([
    { type: 'tool-call', id: 'call_1', name: 'f', input: { x: 1 } },
    { type: 'tool-call', id: 'call_2', name: 'g', input: { y: 2 } },
  ])
})

test('the namespace of a call, its caller, and items that are not interpreted are sent back unchanged (G12)', async () => {
  const own = { namespace: 'crm', caller: { type: 'program', caller_id: 'p_1' } }
  const kept = [
    { type: 'compaction', id: 'cmp_1', encrypted_content: 'g' },
    { type: 'tool_search_call', id: 'ts_1', call_id: null, execution: 'server', arguments: {}, status: 'completed' },
    { type: 'tool_search_output', id: 'to_1', call_id: null, execution: 'server', tools: [], status: 'completed' },
  ]
  const message = await messageOf(
    ...kept.map((item, i) => done(i, item)),
    done(3, { ...call, ...own, arguments: '{}', status: 'completed' }),
    completed,
  )
  const results = resultsOf(message)
  expect(await bodyOf(responses, { messages: [{ role: 'user', content: 'Go' }, message, ...results] })).toMatchObject({
    input: [{}, ...kept, { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}', ...own }, {}],
  })
})

test('a response fails if one of its calls turns out to be of another tool whose name begins with that of the first (P2, qC47)', async () => {
  const tools = ['read', 'read_file'].map((name) => ({
    name,
    description: name,
    inputSchema: { type: 'object', properties: {} },
  }))
  const end = { ...call, name: 'read_file', arguments: '{"x":1}', status: 'completed' }
  const events = (begun: string, ...between: object[]) => [
    added(0, { ...call, name: begun, arguments: '' }),
    { type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'fc_1', delta: '{"x":1}' },
    ...between,
    done(0, end),
    completed,
  ]
  const whole = {
    type: 'response.function_call_arguments.done',
    output_index: 0,
    item_id: 'fc_1',
    arguments: '{"x":1}',
  }
  for (const between of [[], [whole]]) {
    const failure = await failureOf(read(responses, events('read', ...between), { tools }))
    expect(failure).toMatchObject({ name: 'ModelError', code: 'invalid_chunk', retryable: true })
    expect(failure).toHaveProperty('message', 'the call announced as read ended as read_file')
    const { message } = await read(responses, events('read_file', ...between), { tools })
    expect(message.content).toMatchObject([{ name: 'read_file', input: { x: 1 } }])
  }
  // It is not a tool's name, so it would not have run.
  const { message } = await read(responses, events('rea'), { tools })
  expect(message.content).toMatchObject([{ name: 'rea' }])
})

test('the end of the response does not mix up one call with another call that has its id (P3, qR10, qR15)', async () => {
  const first = { ...call, arguments: '{"x":1}', status: 'completed' }
  const second = { ...first, id: 'fc_2', arguments: '{"x":2}' }
  const { content } = await messageOf(done(0, first), added(1, { ...second, arguments: '' }), {
    type: 'response.completed',
    response: { status: 'completed', output: [first, second] },
  })
  expect(content).toEqual([
    { type: 'tool-call', id: 'call_1', name: 'f', input: { x: 1 } },
    { type: 'tool-call', id: 'call_1_1', name: 'f', input: { x: 2 } },
  ])
})

const fc1 = { ...call, arguments: '' }
const fc2 = { ...call, id: 'fc_2', arguments: '' }
const argumentsAt = (index: number, kind: 'delta' | 'done', text: string) => ({
  type: `response.function_call_arguments.${kind}`,
  output_index: index,
  item_id: `fc_${index + 1}`,
  ...(kind === 'delta' ? { delta: text } : { arguments: text }),
})
const xOf = (message: AssistantMessage) => callsOf(message).map(({ id, name, input }) => [id, name, input])

test('simultaneous calls with one call_id are separate calls if their arguments differ, whichever ends first (P3, qR16)', async () => {
  const texts = ['{"x":1}', '{"x":2}', '{"x":3}', '{ "x": 2 }']
  const items = texts.map((text, i) => ({ ...call, id: `fc_${i + 1}`, arguments: text, status: 'completed' }))
  const begin = items.map((item, i) => added(i, { ...item, arguments: '' }))
  const said = texts.flatMap((text, i) => [
    argumentsAt(i, 'delta', text.slice(0, 4)),
    argumentsAt(i, 'delta', text.slice(4)),
  ])
  const ends: Readonly<Record<string, object[]>> = {
    'each by its arguments': texts.map((text, i) => argumentsAt(i, 'done', text)),
    'the last of them first': texts.map((text, i) => argumentsAt(i, 'done', text)).toReversed(),
    'each by its item': items.map((item, i) => done(i, item)),
    'each by an item without a status': items.map((item, i) => done(i, { ...item, status: null })),
    'none of them': [],
  }
  for (const [how, end] of Object.entries(ends)) {
    const message = await messageOf(...begin, ...said, ...end, completed)
    const kept = how === 'the last of them first' ? 'sorted' : 'in order'
    const seen = xOf(message).map(([, , input]) => JSON.stringify(input))
    expect({ how, calls: kept === 'sorted' ? seen.toSorted() : seen }).toEqual({ how, calls: texts.slice(0, 3) })
    expect(new Set(xOf(message).map(([id]) => id)).size).toBe(3)
  }
})

test('a call is reported while it streams; one that may be a repetition only when both have ended (P3, qR16)', async () => {
  const { events } = await read(responses, [
    added(0, fc1),
    added(1, fc2),
    argumentsAt(1, 'done', '{"x":2}'),
    argumentsAt(0, 'delta', '{"x":1}'),
    argumentsAt(0, 'done', '{"x":1}'),
    completed,
  ])
  const sealed = (id: string, x: number) => ({ type: 'tool-call', id, name: 'f', input: { x } })
  expect(events).toEqual([
    { type: 'tool-input-start', id: 'call_1', name: 'f' },
    { type: 'tool-input-delta', id: 'call_1', delta: '{"x":1}' },
    { type: 'tool-input-closed', call: sealed('call_1', 1) },
    { type: 'tool-call', call: sealed('call_1', 1) },
    { type: 'tool-input-start', id: 'call_1_1', name: 'f' },
    { type: 'tool-input-delta', id: 'call_1_1', delta: '{"x":2}' },
    { type: 'tool-input-closed', call: sealed('call_1_1', 2) },
    { type: 'tool-call', call: sealed('call_1_1', 2) },
  ])
})

test('a call that is announced at one place and arrives whole at another is one, with its arguments (P3, qR7, qR16)', async () => {
  for (const between of [[], [argumentsAt(0, 'delta', '{"x"')], [argumentsAt(0, 'delta', '{"x":1}')]]) {
    const message = await messageOf(added(0, fc1), ...between, done(1, { ...fc2, ...x1 }), completed)
    expect(xOf(message)).toEqual([['call_1', 'f', { x: 1 }]])
  }
  const other = await messageOf(added(0, fc1), argumentsAt(0, 'done', '{"x":2}'), done(1, { ...fc2, ...x1 }), completed)
  expect(xOf(other)).toEqual([
    ['call_1', 'f', { x: 2 }],
    ['call_1_1', 'f', { x: 1 }],
  ])
})

test('deltas go to the call at their place if two calls share all their ids (P3, qR15)', async () => {
  const message = await messageOf(
    added(0, fc1),
    argumentsAt(0, 'done', '{"x":1}'),
    added(1, fc1),
    done(0, { ...call, ...x1 }),
    { ...argumentsAt(1, 'delta', '{"x":2}'), item_id: 'fc_1' },
    completed,
  )
  expect(xOf(message)).toEqual([
    ['call_1', 'f', { x: 1 }],
    ['call_1_1', 'f', { x: 2 }],
  ])
})

const fAndG = ['f', 'g'].map((name) => ({ name, description: name, inputSchema: { type: 'object', properties: {} } }))

test('a finished item of another tool: with the same arguments the response fails, with others it is another call (P2, P3)', async () => {
  const events = (name: string, text: string) => [
    added(0, fc1),
    argumentsAt(0, 'done', '{"x":1}'),
    done(0, { ...call, name, arguments: text, status: 'completed' }),
    completed,
  ]
  const failure = await failureOf(read(responses, events('g', '{"x": 1}'), { tools: fAndG }))
  expect(failure).toMatchObject({ code: 'invalid_chunk', message: 'the call announced as f ended as g' })
  const { message } = await read(responses, events('g', '{"y":2}'), { tools: fAndG })
  expect(xOf(message)).toEqual([
    ['call_1', 'f', { x: 1 }],
    ['call_1_1', 'g', { y: 2 }],
  ])
  // Gateways add to names: because it is not a tool's name, it is a variant of the first.
  const form = await read(responses, events('functions.f', '{"x":1}'), { tools: fAndG })
  expect(xOf(form.message)).toEqual([['call_1', 'f', { x: 1 }]])
})

test('if the end of the response has another tool for a call, the response fails with this reason (P3, qR17)', async () => {
  const streamed = [added(0, fc1), argumentsAt(0, 'done', '{"x":1}')]
  const ending = (...output: object[]) => ({ type: 'response.completed', response: { status: 'completed', output } })
  const g = { ...call, name: 'g', ...x1 }
  const failure = await failureOf(read(responses, [...streamed, ending(g)], { tools: fAndG }))
  expect(failure).toMatchObject({
    code: 'invalid_chunk',
    retryable: true,
    message: 'the response ended with another call of g in the place of the call of f',
  })
  // The same call twice is not another call.
  const again = await messageOf(...streamed, ending({ ...call, ...x1 }, { ...fc2, ...x1 }))
  expect(xOf(again)).toEqual([['call_1', 'f', { x: 1 }]])
})

// Each `done` used to search all calls that had ended.
test('calls without references are read as fast as they arrive (qR7)', () =>
  expectLinear(1_000, async (count) => {
    const numbers = Array.from({ length: count }, (_, n) => n)
    const bare = (n: number) => ({ type: 'function_call', call_id: `c${n}`, name: 'f', arguments: '' })
    const { message } = await readParsed(responses, [
      ...numbers.map((n) => ({ type: 'response.output_item.added', item: bare(n) })),
      ...numbers.map((x) => ({ type: 'response.function_call_arguments.done', arguments: JSON.stringify({ x }) })),
      completed,
    ])
    expect(JSON.stringify(xOf(message))).toBe(JSON.stringify(numbers.map((x) => [`c${x}`, 'f', { x }])))
  }))

test('pieces without references after whole calls without arguments are read as fast as they arrive (qR25)', () =>
  expectLinear(1_000, async (count) => {
    const piece = { type: 'response.function_call_arguments.delta', delta: 'y' }
    const { message } = await readParsed(responses, [
      ...Array.from({ length: count }, (_, n) => done(n, { ...call, id: `fc_${n}`, call_id: `c${n}`, arguments: '' })),
      added(count, { ...fc1, id: 'fc_last' }),
      { ...piece, delta: '{"x":"' },
      ...Array.from({ length: 2 * count }, () => piece),
      { ...piece, delta: '"}' },
      completed,
    ])
    expect(xOf(message).at(-1)).toEqual(['call_1', 'f', { x: 'y'.repeat(2 * count) }])
  }))

test('thousands of simultaneous calls with one call_id are read as fast as they arrive (P3, qR16)', () =>
  expectLinear(500, async (count) => {
    const numbers = Array.from({ length: count }, (_, n) => n)
    const { message } = await readParsed(responses, [
      ...numbers.map((n) => added(n, { ...call, id: `fc_${n + 1}`, arguments: '' })),
      ...numbers.map((x) => argumentsAt(x, 'done', JSON.stringify({ x }))),
      completed,
    ])
    expect(JSON.stringify(xOf(message).map(([, , input]) => input))).toBe(JSON.stringify(numbers.map((x) => ({ x }))))
  }))

const invalid = { name: 'ModelError', code: 'invalid_chunk', retryable: true }
const stray = (index: number, text: string) => ({
  type: 'response.function_call_arguments.delta',
  output_index: index,
  delta: text,
})

test('arguments with the id of a known call belong to it at any place until it has ended (qR19)', async () => {
  const elsewhere = (text: string) => ({ ...argumentsAt(0, 'delta', text), output_index: 7 })
  const message = await messageOf(added(0, fc1), elsewhere('{"x":'), elsewhere('1}'), done(0, fc1), completed)
  expect(xOf(message)).toEqual([['call_1', 'f', { x: 1 }]])
  const late = [added(0, fc1), argumentsAt(0, 'done', '{"x":1}'), elsewhere('{"x":2}'), completed]
  expect(await failureOf(messageOf(...late))).toMatchObject(invalid)
})

test('arguments of a call without a name fail the response, and so do those with the item id of a text (qR19, qR20)', async () => {
  const nameless = [added(0, { ...fc1, name: '' }), argumentsAt(0, 'done', '{"x":1}'), completed]
  expect(await failureOf(messageOf(...nameless))).toMatchObject(invalid)
  const text = [added(0, { type: 'message', id: 'msg_1', content: [] }), added(1, fc2)]
  const ofText = { ...argumentsAt(1, 'delta', '{"x":1}'), item_id: 'msg_1' }
  expect(await failureOf(messageOf(...text, ofText, completed))).toMatchObject(invalid)
})

test('a response that was cut off keeps the arguments that belong to none of its calls (qR18, qR19)', async () => {
  const message = await messageOf(added(0, fc1), added(1, { ...fc2, call_id: 'call_2' }), stray(2, '{"x":1}'), {
    type: 'response.completed',
    response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
  })
  expect(message.finishReason).toBe('length')
  expect(callsOf(message).map(({ input }) => input)).toEqual([{}, {}, { x: 1 }])
})

test('an item without a status does not contradict pieces that each repeat all arguments (qR9)', async () => {
  const pieces = ['{"x"', '{"x":', '{"x":1}'].map((text) => argumentsAt(0, 'delta', text))
  const message = await messageOf(added(0, fc1), ...pieces, done(0, { ...fc1, arguments: '{"x":1}' }), completed)
  expect(xOf(message)).toEqual([['call_1', 'f', { x: 1 }]])
})

test('arguments longer than the default limit are passed on once (qR9)', async () => {
  const text = `{"x":"${'y'.repeat(DEFAULT_INPUT_LIMITS.characters)}"}`
  const pieces = [text.slice(0, -9), text.slice(-9, -3), text.slice(-3)].map((piece) => argumentsAt(0, 'delta', piece))
  const events = [added(0, fc1), ...pieces, done(0, { ...fc1, arguments: text }), completed]
  const inputLimits = { ...DEFAULT_INPUT_LIMITS, characters: 2 * DEFAULT_INPUT_LIMITS.characters }
  const asked = await readParsed(responses, events, { inputLimits })
  const deltas = asked.events.flatMap((event) => (event.type === 'tool-input-delta' ? event.delta.length : []))
  expect(deltas.reduce((sum, length) => sum + length)).toBe(text.length)
})

test('a refusal fails with no arguments that belong to none of its calls, because nothing of it runs (qR10, qR19)', async () => {
  const events = [added(0, fc1), added(1, { ...fc2, call_id: 'call_2' }), stray(2, '{"x":1}')]
  const refusal = { type: 'response.refusal.delta', output_index: 3, item_id: 'msg_1', delta: 'No.' }
  expect((await messageOf(...events, refusal, completed)).finishReason).toBe('content-filter')
})

test('an error states what is known of a call, and a failed response that it failed (qR17, qR18, qR20)', async () => {
  const nameless = { ...fc1, name: undefined }
  const other = done(1, { ...fc2, call_id: 'call_2', arguments: '{}' })
  const atOther = { ...argumentsAt(1, 'delta', '{"x":1}'), output_index: 0 }
  expect(await failureOf(messageOf(added(0, nameless), other, atOther))).toMatchObject({
    message: expect.stringMatching(/the call of an unknown tool$/),
  })
  const output = [{ ...call, id: 'fc_9', call_id: 'call_9', arguments: '{"x":2}' }]
  const instead = { type: 'response.completed', response: { status: 'completed', output } }
  expect(await failureOf(messageOf(added(0, nameless), argumentsAt(0, 'done', '{"x":1}'), instead))).toMatchObject({
    message: expect.stringMatching(/the call of an unknown tool$/),
  })
  expect(await failureOf(messageOf({ type: 'response.failed', response: {} }))).toMatchObject({
    message: 'the provider ended the response with the status failed',
  })
})

test('arguments that are held back have a limit in bytes (qR19)', async () => {
  const events = [added(0, fc1), stray(1, 'x'.repeat(DEFAULT_INPUT_LIMITS.characters + 1))]
  const failure = await failureOf(messageOf(...events))
  expect(failure).toMatchObject({ ...invalid, message: expect.stringContaining('bytes of arguments') })
})

test('pieces of thousands of places are read as fast as they arrive (qR19)', () =>
  expectLinear(500, async (count) => {
    const pieces = Array.from({ length: count }, (_, n) => stray(n + 1, n === 0 ? '{"x":"' : 'y'))
    const { message } = await readParsed(responses, [added(0, fc1), ...pieces, stray(count + 1, '"}'), completed])
    expect(xOf(message)).toEqual([['call_1', 'f', { x: 'y'.repeat(count - 1) }]])
  }))

test('a call of a response that is only its incomplete end starts nothing (qR10, qR18)', async () => {
  const output = [{ ...call, arguments: '{"x":1}', status: 'completed' }]
  const response = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, output }
  const { events, message } = await read(responses, [{ type: 'response.completed', response }])
  expect(events).toEqual([])
  expect(message).toMatchObject({ finishReason: 'length', content: [{ id: 'call_1', name: 'f', input: { x: 1 } }] })
})

test('the call_id null, as a word or a value, does not go back (qR21)', async () => {
  for (const call_id of ['null', '', null]) {
    const { content } = await messageOf(done(0, { ...call, call_id, ...x1 }), completed)
    const answer = { role: 'assistant', content, finishReason: 'tool-calls' } as const
    const body = await bodyOf(responses, { messages: [answer, ...resultsOf(answer)] })
    expect(body).toMatchObject({
      input: [{ type: 'function_call', call_id: expect.stringMatching(/^call/) }, { type: 'function_call_output' }],
    })
  }
})

test('after a response that was cut off, arguments whose call is not certain start no call (qR19, qR6)', async () => {
  const response = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
  const { events, message } = await read(responses, [
    added(0, { ...call, arguments: '' }),
    stray(1, '{"y":2}'),
    added(2, { ...fc2, call_id: 'call_2' }),
    { type: 'response.incomplete', response },
  ])
  expect(events.map(({ type }) => type)).not.toContain('tool-input-closed')
  expect(message.finishReason).toBe('length')
})
