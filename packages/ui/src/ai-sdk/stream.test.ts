import { call, fail, respond, say, scriptedModel, think, wait } from '@meanwhile/assemble/testing'
import { agentTool, createAgent, type Model, type Tool, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { approve, retryModel, visibleText } from '@meanwhile/middleware'
import { createThreads, memoryThreads, type ThreadEvent, type Threads } from '@meanwhile/threads'
import type { UIMessage, UIMessageChunk } from 'ai'
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { chat } from '../../test/agent.ts'
import { collected, fromList } from '../../test/collected.ts'
import { compared } from '../../test/page.ts'
import { seven } from '../../test/peer.ts'
import { peers } from '../../test/peers.ts'
import {
  fromUIMessages,
  type StreamOptions,
  toUIMessageStream,
  toUIMessageStreamResponse,
  toUIMessages,
} from './index.ts'

const look = tool({
  name: 'look',
  description: 'Looks.',
  input: z.object({ at: z.string() }),
  effect: 'read',
  async *execute({ at }) {
    yield { progress: 0.5 }
    return `seen ${at}`
  },
}) as Tool

async function chunksOf(threads: Threads, text: string, options: StreamOptions = {}): Promise<UIMessageChunk[]> {
  const turn = await threads.send('t', text)
  const events: ThreadEvent[] = []
  for await (const event of turn.events()) events.push(event)
  return collected(toUIMessageStream(fromList(events), options))
}

test('a turn consists of exactly these chunks (UI1, UI3, UI5)', async () => {
  const model = scriptedModel([
    respond(think('Hm', { deltas: 1 }), say('I look.', { deltas: 1 }), call('look', { at: 'x' }, { deltas: 1 })),
    respond(say('Done.', { deltas: 1 })),
  ])
  const threads = createThreads({ agent: createAgent({ model, tools: [look] }), store: memoryThreads() })
  const toolCallId = 'call_1_1'
  const chunks = await chunksOf(threads, 'Look', { messageId: 'm' })
  const [{ id } = { id: '' }] = (await threads.read('t')).turns
  const metadata = (status: string) => ({ status, questions: [] })
  expect(chunks).toEqual([
    { type: 'start', messageId: 'm', messageMetadata: metadata('running') },
    { type: 'start-step' },
    { type: 'reasoning-start', id: `${id}-1-1` },
    { type: 'reasoning-delta', id: `${id}-1-1`, delta: 'Hm' },
    { type: 'reasoning-end', id: `${id}-1-1` },
    { type: 'text-start', id: `${id}-1-2` },
    { type: 'text-delta', id: `${id}-1-2`, delta: 'I look.' },
    { type: 'text-end', id: `${id}-1-2` },
    { type: 'tool-input-start', toolCallId, toolName: 'look', dynamic: true },
    { type: 'tool-input-delta', toolCallId, inputTextDelta: '{"at":"x"}' },
    { type: 'tool-input-available', toolCallId, toolName: 'look', input: { at: 'x' }, dynamic: true },
    { type: 'data-call', data: { toolCallId, state: 'running', isEarly: false }, transient: true },
    { type: 'tool-output-available', toolCallId, output: { progress: 0.5 }, dynamic: true, preliminary: true },
    { type: 'tool-output-available', toolCallId, output: 'seen x', dynamic: true },
    { type: 'finish-step' },
    { type: 'start-step' },
    { type: 'text-start', id: `${id}-2-1` },
    { type: 'text-delta', id: `${id}-2-1`, delta: 'Done.' },
    { type: 'text-end', id: `${id}-2-1` },
    { type: 'finish-step' },
    { type: 'message-metadata', messageMetadata: metadata('completed') },
    { type: 'finish', finishReason: 'stop' },
  ])
})

test('a call that started early keeps its card, has one result, and appears again if a retry joins it (UI3)', async () => {
  const model = scriptedModel([
    respond(call('look', { at: 'x' }), wait(50), say('Not this'), wait(50), fail({ status: 503 })),
    respond(call('look', { at: 'x' }), wait(5), say('This')),
    respond(say('Done.')),
  ])
  const agent = createAgent({ model, tools: [look], middleware: [retryModel({ baseDelay: 1 }), eagerTools()] })
  const threads = createThreads({ agent, store: memoryThreads() })
  // In real time a busy machine may let the attempt fail before its early call has begun.
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const reading = chunksOf(threads, 'Look')
  await vi.runAllTimersAsync()
  const chunks = await reading
  vi.useRealTimers()
  const ofCalls = chunks.flatMap((chunk) => {
    if (chunk.type === 'reset-step') return [chunk.type]
    if (!('toolCallId' in chunk) || chunk.type === 'tool-input-delta') return []
    return [`${chunk.type}${'preliminary' in chunk && chunk.preliminary ? ' preliminary' : ''}`]
  })
  expect(ofCalls).toEqual([
    'tool-input-start',
    'tool-input-available',
    'tool-output-available preliminary',
    'tool-output-available preliminary',
    'reset-step',
    'tool-input-start',
    'tool-input-available',
    'tool-output-available',
  ])
  const early = chunks.flatMap((chunk) => (chunk.type === 'data-call' ? [chunk.data] : []))
  expect(early[0]).toMatchObject({ state: 'running', isEarly: true })
  expect(early).toContainEqual(expect.objectContaining({ state: 'settled' }))
  const message = await seven.read(chunks)
  expect(compared(message ? [message] : [])).toEqual(compared(toUIMessages(await threads.read('t')).slice(1)))
})

const six = peers.filter(({ version }) => version === 6)

test.each(six)(
  'version 6 receives only chunks that it knows; without hold the text of a failed attempt stays (UI5)',
  async ({ read }) => {
    const { agent } = chat()
    const threads = createThreads({ agent, store: memoryThreads() })
    const message = await read(await chunksOf(threads, 'flaky', { version: 6 }))
    const texts = message?.parts.flatMap((part) => (part.type === 'text' ? [`${part.text} ${part.state}`] : []))
    expect(texts).toEqual(['Not this done', 'You said flaky. done'])
    const failing = createThreads({ agent: chat().agent, store: memoryThreads() })
    const failed = await read(await chunksOf(failing, 'fails', { version: 6 }))
    expect(failed?.parts).toMatchObject([{ type: 'step-start' }, { type: 'text', text: 'I begin', state: 'done' }])
  },
)

test('each call inside a call that needs approval has its own card, in the order of the questions, and the outermost card asks nothing (AG7, AG8, W49)', async () => {
  const mail = tool({ name: 'mail', description: 'm', input: z.object({ to: z.string() }), execute: () => 'Sent.' })
  const inner = createAgent({
    model: scriptedModel([respond(call('mail', { to: 'a' }), call('mail', { to: 'b' })), respond(say('Both sent.'))]),
    tools: [mail as Tool],
    middleware: [approve({ tools: ['mail'] })],
  })
  const agent = createAgent({
    model: scriptedModel([respond(call('secretary', { request: 'Go' })), respond(say('Done.'))]),
    tools: [agentTool(inner, { name: 'secretary', description: 's' }) as Tool],
  })
  const threads = createThreads({ agent, store: memoryThreads() })
  const message = await seven.read(await chunksOf(threads, 'Go'))
  const { interrupts } = await threads.read('t')
  const [first, second] = interrupts.map(({ id }) => id)
  const card = {
    toolName: 'mail',
    title: 'secretary › mail',
    toolMetadata: { inside: 'call_1_1' },
    state: 'approval-requested',
  }
  expect(message?.parts).toMatchObject([
    { type: 'step-start' },
    { toolCallId: 'call_1_1', toolName: 'secretary', state: 'input-available' },
    { ...card, toolCallId: 'call_1_1/call_1_1', input: { to: 'a' }, approval: { id: first } },
    { ...card, toolCallId: 'call_1_1/call_1_2', input: { to: 'b' }, approval: { id: second } },
  ])
  const question = { title: 'secretary › mail', payload: { tool: 'mail' } }
  expect(message?.metadata).toMatchObject({
    questions: [
      { id: first, toolCallId: 'call_1_1/call_1_1', ...question },
      { id: second, toolCallId: 'call_1_1/call_1_2', ...question },
    ],
  })
  expect(compared(message ? [message] : [])).toEqual(compared(toUIMessages(await threads.read('t')).slice(1)))
})

test.each(peers.flatMap(({ version, read }) => [{}, { background: true }].map((more) => ({ version, read, more }))))(
  'a page that only reads has the cards of calls inside calls as the thread has them, in version $version, $more (AG7, AG9, W49)',
  async ({ version, read, more }) => {
    const mail = tool({ name: 'mail', description: 'm', input: z.object({ to: z.string() }), execute: () => 'Sent.' })
    const choose = tool({ name: 'choose', description: 'c', input: z.object({ of: z.string() }) })
    const inner = createAgent({
      model: scriptedModel([
        respond(call('mail', { to: 'a' }), call('choose', { of: 'b' }), call('mail', { to: 'c' })),
        respond(say('All.')),
      ]),
      tools: [mail, choose] as Tool[],
      middleware: [approve({ tools: ['mail'] })],
    })
    const agent = createAgent({
      model: scriptedModel([
        respond(call('secretary', { request: 'Go' })),
        respond(say('Done.')),
        respond(say('Later.')),
      ]),
      tools: [{ ...agentTool(inner, { name: 'secretary', description: 's' }), ...more } as Tool],
    })
    const threads = createThreads({ agent, store: memoryThreads() })
    const turn = await threads.send('t', 'Go')
    let message: UIMessage | undefined
    let after: string | undefined
    for (const answer of [{ decision: 'edit', input: { to: 'd' } }, 'b', { decision: 'deny' }, undefined]) {
      const options: StreamOptions = { version, ...(after !== undefined && { after }) }
      message = await read(await collected(toUIMessageStream(turn.events(), options)), message)
      const state = await threads.read('t')
      const loaded = toUIMessages(state, { version }).slice(1)
      expect(compared(message ? [message] : [], version)).toEqual(compared(loaded, version))
      const [question] = state.interrupts
      if (question && answer) await threads.answer('t', { [question.id]: answer })
      after = state.cursor
    }
    const cards = message?.parts.filter((part) => part.type === 'dynamic-tool').slice(1)
    expect(cards).toMatchObject([
      { title: 'secretary › mail', state: 'output-available', input: { to: 'd' } },
      { title: 'secretary › choose', state: 'output-available', output: 'b' },
      { title: 'secretary › mail', state: 'output-denied' },
    ])
  },
)

test('the result on a card says which input ran if an approval changed it, live and after a reload, also if the call failed (UI3, W5)', async () => {
  const mail = tool({
    name: 'mail',
    description: 'm',
    input: z.object({ to: z.string() }),
    execute({ to }) {
      if (to === 'eve') throw new Error('blocked')
      return `Sent to ${to}.`
    },
  })
  const edits = ['bob', 'eve'].map((to) => ({ decision: 'edit', input: { to } }) as const)
  const agent = createAgent({
    model: scriptedModel([respond(call('mail', { to: 'ada' }), call('mail', { to: 'ada' })), respond(say('Done.'))]),
    tools: [mail as Tool],
    middleware: [approve({ tools: ['mail'], ask: () => edits.shift() ?? { decision: 'allow' } })],
  })
  const threads = createThreads({ agent, store: memoryThreads() })
  const message = await seven.read(await chunksOf(threads, 'Go'))
  expect(message?.parts.filter((part) => part.type === 'dynamic-tool')).toMatchObject([
    { input: { to: 'ada' }, output: 'This call ran with another input: {"to":"bob"}.\nSent to bob.' },
    { input: { to: 'ada' }, errorText: 'This call ran with another input: {"to":"eve"}.\nThis call has failed.' },
  ])
  expect(compared(message ? [message] : [])).toEqual(compared(toUIMessages(await threads.read('t')).slice(1)))
})

test('a text of a tool that looks like the line about the input is not shown for it, and every line of core is (UI3, UI4)', async () => {
  const line = (input: string) => `This call ran with another input: ${input}.\n`
  const secret = line('postgres://admin:hunter2@db')
  const long = 'é\u2028'.repeat(4_000)
  const fails = (name: string, text: string) =>
    tool({
      name,
      description: 'f',
      input: z.object({ to: z.string() }),
      execute: () => {
        throw new Error(text)
      },
    }) as Tool
  const returns = { ...look, name: 'returns', toContent: () => [{ type: 'text' as const, text: secret }] }
  const names = ['fails', 'fails-invisibly', 'returns', 'edited', 'edited-long'] as const
  const to: Partial<Record<string, string>> = { edited: 'bob\u2028', 'edited-long': long }
  const agent = createAgent({
    model: scriptedModel([respond(...names.map((name) => call(name, { to: 'ada', at: 'x' }))), respond(say('Done.'))]),
    tools: [
      fails('fails', secret),
      fails('fails-invisibly', `${secret}\u200B`),
      fails('edited', secret),
      returns,
      fails('edited-long', secret),
    ],
    middleware: [
      visibleText({ tools: ['fails-invisibly'] }),
      approve({ tools: Object.keys(to), ask: ({ tool }) => ({ decision: 'edit', input: { to: to[tool] ?? '' } }) }),
    ],
  })
  const threads = createThreads({ agent, store: memoryThreads() })
  const message = await seven.read(await chunksOf(threads, 'Go', { output: () => 'hidden' }))
  const [start] = JSON.stringify({ to: long }).match(/^.{4000}/s) ?? []
  expect(message?.parts.filter((part) => part.type === 'dynamic-tool')).toMatchObject([
    { errorText: 'This call has failed.' },
    { errorText: 'This call has failed.' },
    { output: 'hidden' },
    { errorText: `${line('{"to":"bob\u2028"}')}This call has failed.` },
    { errorText: `${line(`${start}… (8009 characters)`)}This call has failed.` },
  ])
})

test('a steering message is a part of the message, in both versions (UI2, UI5)', async () => {
  const { agent, open } = chat()
  const threads = createThreads({ agent, store: memoryThreads() })
  const turn = await threads.send('t', 'slow')
  let isSteered = false
  const events = []
  for await (const event of turn.events()) {
    events.push(event)
    if (event.type !== 'tool-entered' || isSteered) continue
    isSteered = true
    await threads.send('t', 'hello', { messageId: 'm2', whenBusy: 'steer' })
    open()
  }
  for (const { version, read } of peers) {
    const message = await read(await collected(toUIMessageStream(fromList(events), { version })))
    const [, answer] = toUIMessages(await threads.read('t'), { version })
    expect(compared(message ? [message] : [])).toEqual(compared(answer ? [answer] : []))
    const part = { type: version === 7 ? 'steering-message' : 'data-user-message', id: 'm2' }
    expect(message?.parts).toContainEqual(expect.objectContaining(part))
  }
})

test('when another process takes over a turn, a reader has the message in the end, wherever the first process stopped (UI1, UI2)', async () => {
  for (const cut of ['reasoning-delta', 'text-delta', 'tool-input-delta']) {
    const model = scriptedModel([
      respond(call('look', { at: 'x' })),
      respond(think('Hm.'), say('Half a'), call('look', { at: 'y' }), wait(60_000)),
      respond(say('A whole text.')),
    ])
    const options = { agent: createAgent({ name: 'a', model, tools: [look] }), store: memoryThreads() }
    const [first, second] = [createThreads(options), createThreads(options)]
    const { id } = await first.send('t', 'Look')
    const turn = await second.turn('t', id)
    const events: ThreadEvent[] = []
    for await (const event of turn?.events() ?? []) {
      events.push(event)
      if (event.type !== cut || !('step' in event) || event.step !== 2) continue
      await first.close()
      await second.recover()
    }
    expect(events.map(({ type }) => type)).toContain('turn-resumed')
    const [, answer] = toUIMessages(await second.read('t'))
    const chunks = await collected(toUIMessageStream(fromList(events)))
    expect(chunks.filter(({ type }) => type === 'reset-step' || type === 'start')).toHaveLength(2)
    const message = await seven.read(chunks)
    expect(compared(message ? [message] : [])).toEqual(compared(answer ? [answer] : []))
    expect(answer?.parts.at(-1)).toMatchObject({ text: 'A whole text.' })
  }
})

test('a call that the provider has run is a card with its result, and the answer has no empty step at its end (UI2, UI3, UI5)', async () => {
  const model: Model = {
    provider: 'own',
    id: 'own-1',
    async *stream() {
      const search = {
        type: 'tool-call',
        id: 'c',
        name: 'search',
        input: { q: 'x' },
        providerResult: ['found'],
      } as const
      yield { type: 'tool-input-start', id: 'c', name: 'search' }
      yield { type: 'tool-call', call: search }
      yield { type: 'text-delta', delta: 'Found.' }
      return { role: 'assistant', content: [search, { type: 'text', text: 'Found.' }], finishReason: 'stop' }
    },
  }
  const threads = createThreads({ agent: createAgent({ model }), store: memoryThreads() })
  const chunks = await chunksOf(threads, 'Search', { output: (output) => ({ shown: output }) })
  for (const { version, read } of peers) {
    const message = await read(chunks)
    const present = { version, output: (output: unknown) => ({ shown: output }) }
    expect(compared(message ? [message] : [])).toEqual(
      compared(toUIMessages(await threads.read('t'), present).slice(1)),
    )
    expect(message?.parts).toMatchObject([
      { type: 'step-start' },
      { state: 'output-available', providerExecuted: true, input: { q: 'x' }, output: { shown: ['found'] } },
      { type: 'text', text: 'Found.' },
    ])
  }
})

test('a message with a file is shown as it was sent (UI2)', async () => {
  const { agent } = chat()
  const threads = createThreads({ agent, store: memoryThreads() })
  const parts: UIMessage['parts'] = [
    { type: 'text', text: 'hello' },
    { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,AAAA', filename: 'a.png' },
    { type: 'file', mediaType: 'image/png', url: 'https://example.org/b.png' },
  ]
  const [said] = fromUIMessages([{ id: 'm1', role: 'user', parts }])
  if (said?.role !== 'user') throw new Error('it is no message of a user')
  await (await threads.send('t', said, { messageId: 'm1' })).result
  expect(toUIMessages(await threads.read('t'))[0]).toEqual({ id: 'm1', role: 'user', parts })
})

test('queued messages are at the end of the history, and their metadata say so, next to their own (UI2)', async () => {
  const { agent } = chat()
  const threads = createThreads({ agent, store: memoryThreads() })
  await threads.send('t', 'slow', { messageId: 'm1' })
  await threads.send('t', 'hello', { messageId: 'm2' })
  await threads.send('t', 'more', { messageId: 'm3', display: { metadata: { from: 'ada' } } })
  const [first, ...queued] = toUIMessages(await threads.read('t'))
  expect(first).toEqual({ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'slow' }] })
  expect(queued.slice(-2)).toEqual([
    { id: 'm2', role: 'user', metadata: { queued: true }, parts: [{ type: 'text', text: 'hello' }] },
    { id: 'm3', role: 'user', metadata: { from: 'ada', queued: true }, parts: [{ type: 'text', text: 'more' }] },
  ])
  await threads.close()
})

test('a run without threads is streamed, and the messages of the page are its input (UI2, UI5)', async () => {
  const { agent, asked } = chat()
  const first: UIMessage = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'look' }] }
  const response = toUIMessageStreamResponse(agent.stream(fromUIMessages([first])), { headers: { 'x-own': '1' } })
  expect(response.headers.get('x-vercel-ai-ui-message-stream')).toBe('v1')
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  expect(response.headers.get('x-own')).toBe('1')
  const lines = (await response.text()).split('\n\n').filter((line) => line.startsWith('data: {'))
  const message = await seven.read(lines.map((line) => JSON.parse(line.slice('data: '.length)) as UIMessageChunk))
  expect(message?.metadata).toEqual({ status: 'completed', questions: [] })
  const second: UIMessage = { id: 'm2', role: 'user', parts: [{ type: 'text', text: 'hello' }] }
  await agent.run(fromUIMessages(message ? [first, message, second] : []))
  expect(asked.at(-1)).toEqual([
    'user: look',
    'assistant: I look.',
    'tool: seen x',
    'tool: seen y',
    'assistant: So: seen y.',
    'user: hello',
  ])
})

test('a browser sees that a run has failed, and a cancelled stream is not read on (UI1, UI4)', async () => {
  const { agent } = chat()
  const failed = await collected(toUIMessageStream(agent.stream('fails')))
  expect(failed.at(-1)).toEqual({ type: 'error', errorText: 'Something went wrong.' })
  let isClosed = false
  async function* events() {
    try {
      for (let step = 1; ; step++) {
        yield { type: 'text-delta', runId: 'r', step, attempt: 1, delta: 'x' } as const
        yield { type: 'step-end', runId: 'r', step, messages: [] } as const
      }
    } finally {
      isClosed = true
    }
  }
  const reader = toUIMessageStream(events()).getReader()
  expect((await reader.read()).value).toEqual({ type: 'start-step' })
  await reader.cancel()
  expect(isClosed).toBe(true)
})
