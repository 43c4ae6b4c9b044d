import { call, fail, respond, type ScriptedResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { createAgent, type Middleware, type Tool, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { approve, retryModel } from '@meanwhile/middleware'
import { createThreads, memoryThreads } from '@meanwhile/threads'
import type { UIMessage, UIMessageChunk } from 'ai'
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { collected, fromList } from '../../test/collected.ts'
import { gate } from '../../test/gate.ts'
import { compared, history, Page, settled } from '../../test/page.ts'
import { seven } from '../../test/peer.ts'
import type { ReadEvent } from '../turn/turn-reader.ts'
import { chatHandler } from './chat-handler.ts'
import { type StreamOptions, toUIMessageStream, toUIMessages } from './index.ts'

const reading = (name: string, execute: (input: { at: string }) => unknown) =>
  tool({ name, description: name, input: z.object({ at: z.string() }), effect: 'read', execute }) as Tool

const look = reading('look', ({ at }) => `seen ${at}`)
const broken = reading('broken', () => {
  throw new Error('no')
})
const mail = reading('mail', ({ at }) => `sent to ${at}`)
const choose = tool({ name: 'choose', description: 'The user chooses.', input: z.object({}) }) as Tool

/** A state lasts until the test goes on, however slow the machine is. */
const PATIENT = { timeout: 20_000 }

/** Removes calls that look at `drop`. */
const dropping: Middleware = {
  name: 'dropping',
  afterModel(state) {
    const last = state.messages.at(-1)
    if (last?.role !== 'assistant') return state
    const content = last.content.filter((part) => !JSON.stringify(part).includes('drop'))
    return { ...state, messages: [...state.messages.slice(0, -1), { ...last, content }] }
  },
}

function threadsOf(script: readonly ScriptedResponse[]) {
  const agent = createAgent({
    model: scriptedModel(script),
    tools: [look, broken, mail, choose],
    middleware: [dropping, approve({ tools: ['mail'] }), retryModel({ maxRetries: 1, baseDelay: 1 }), eagerTools()],
  })
  return createThreads({ agent, store: memoryThreads() })
}

/** A turn in fake time: each chunk, with the milliseconds since its beginning. */
async function played(script: readonly ScriptedResponse[], options: StreamOptions = {}) {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const threads = threadsOf(script)
  const turn = await threads.send('t', 'Go')
  const from = Date.now()
  const chunks: UIMessageChunk[] = []
  const times: [at: number, chunk: string][] = []
  const stream = (async () => {
    for await (const chunk of toUIMessageStream(turn.events(), options)) {
      chunks.push(chunk)
      const { type, toolCallId = '', preliminary, data } = chunk as { type: string; [member: string]: unknown }
      if (/^tool-input-(start|delta)|^(tool|data-call|reset)/.test(type))
        times.push([
          Date.now() - from,
          [type, data ? Object(data).state : toolCallId, preliminary && 'preliminary'].filter(Boolean).join(' '),
        ])
    }
  })()
  await vi.runAllTimersAsync()
  await stream
  const state = await threads.read('t')
  vi.useRealTimers()
  const [, answer] = toUIMessages(state, options)
  return { chunks, times, answer: answer as UIMessage }
}

const named = (name: string, at: string, id: string) => call(name, { at }, { id, deltas: 1 })

test('a card shows that its call runs and what it has returned when that happens, each state once, and other cards wait for the end of the response (W39)', async () => {
  const { times, chunks, answer } = await played([
    respond(named('look', 'x', 'a'), wait(20), call('choose', {}, { id: 'c', deltas: 1 }), wait(30), say('Well')),
  ])
  expect(times).toEqual([
    [0, 'tool-input-start a'],
    [0, 'tool-input-delta a'],
    [0, 'tool-input-available a'],
    [0, 'data-call running'],
    [0, 'data-call settled'],
    [0, 'tool-output-available a preliminary'],
    [20, 'tool-input-start c'],
    [20, 'tool-input-delta c'],
    [50, 'tool-input-available c'],
    [50, 'tool-output-available a'],
  ])
  const message = await seven.read(chunks)
  expect(compared(message ? [message] : [])).toEqual(compared([answer]))
})

test('the error of an early call is shown when it has failed, with no text of it (W39, UI4)', async () => {
  const { times, chunks, answer } = await played([
    respond(named('broken', 'x', 'a'), wait(50), say('Well')),
    respond(say('So')),
  ])
  expect(times.slice(-3)).toEqual([
    [0, 'data-call settled'],
    [0, 'tool-output-error a'],
    [50, 'tool-output-error a'],
  ])
  expect(JSON.stringify(chunks)).not.toContain('"no"')
  const message = await seven.read(chunks)
  expect(compared(message ? [message] : [])).toEqual(compared([answer]))
})

test('in version 6, and with hold, cards change at the end of the response (W39, UI5)', async () => {
  for (const options of [{ version: 6 }, { hold: true }] as const) {
    const { times } = await played(
      [respond(named('look', 'x', 'a'), wait(50), say('Well')), respond(say('So'))],
      options,
    )
    expect(times.filter(([at, type]) => at < 50 && /available/.test(type))).toEqual([])
    expect(times.slice(-2)).toEqual([
      [50, 'tool-input-available a'],
      [50, 'tool-output-available a'],
    ])
  }
})

test.each([
  ['a hook removes it', [respond(named('look', 'drop', 'a'), named('look', 'y', 'b'), wait(50), say('Well'))]],
  [
    'its attempt fails and the next one does not request it',
    [
      respond(named('look', 'x', 'a'), wait(50), fail({ status: 503 })),
      respond(say('Hm'), named('look', 'y', 'b'), wait(50)),
    ],
  ],
] as const)('what was shown of an early call is removed if %s, and the rest is sent again (W39)', async (_, script) => {
  const { times, chunks, answer } = await played([...script, respond(say('So'))])
  const types = times.map(([, type]) => type)
  expect(types.indexOf('tool-output-available a preliminary')).toBeLessThan(types.indexOf('reset-step'))
  expect(types.slice(types.indexOf('reset-step') + 1).join()).not.toMatch(/ a\b/)
  expect(types.at(-1)).toBe('tool-output-available b')
  const message = await seven.read(chunks)
  expect(compared(message ? [message] : [])).toEqual(compared([answer]))
})

test('a call that is discarded while the model is writing loses what was shown of it, and all else is sent again (W39)', async () => {
  const ofCall = { runId: 'r', step: 1, toolName: 'look', provisional: true } as const
  const written = (id: string, at: string) => ({ type: 'tool-call', id, name: 'look', input: { at } }) as const
  const result = (callId: string) =>
    ({ role: 'tool', name: 'look', callId, content: [{ type: 'text', text: `seen ${callId}` }] }) as const
  const early = (id: string): ReadEvent[] => [
    { type: 'tool-input-start', id, name: 'look', runId: 'r', step: 1, attempt: 1 },
    { type: 'tool-input-delta', id, delta: '{"at":"x"}', runId: 'r', step: 1, attempt: 1 },
    { type: 'tool-input-closed', call: written(id, 'x'), runId: 'r', step: 1, attempt: 1 },
    { type: 'tool-entered', callId: id, attempt: 1, ...ofCall },
    { type: 'tool-settled', callId: id, message: result(id), ...ofCall },
  ]
  const events: ReadEvent[] = [
    { type: 'run-start', runId: 'r' },
    { type: 'text-delta', delta: 'I look.', runId: 'r', step: 1, attempt: 1 },
    ...early('a'),
    ...early('b'),
    { type: 'tool-discarded', callId: 'a', toolName: 'look', cause: 'arguments_changed', runId: 'r', step: 1 },
  ]
  const chunks = await collected(toUIMessageStream(fromList(events)))
  expect(chunks.slice(chunks.findIndex(({ type }) => type === 'reset-step')).map(({ type }) => type)).toEqual([
    'reset-step',
    'text-start',
    'text-delta',
    'text-end',
    'tool-input-start',
    'tool-input-delta',
    'tool-input-start',
    'tool-input-delta',
    'tool-input-available',
    'tool-output-available',
  ])
  const message = await seven.read(chunks)
  expect(message?.parts).toMatchObject([
    { type: 'step-start' },
    { type: 'text', text: 'I look.' },
    { toolCallId: 'a', state: 'input-streaming', input: { at: 'x' } },
    { toolCallId: 'b', state: 'output-available', preliminary: true, output: 'seen b' },
  ])
})

test("a page's own tool runs once, after a first attempt that had requested it has failed, and an approval is asked once (W39)", async () => {
  const requested = [named('look', 'x', 'a'), call('choose', {}, { id: 'c' }), named('mail', 'ada', 'm')]
  const threads = threadsOf([
    respond(...requested, fail({ status: 503 })),
    respond(...requested),
    respond(say('Done.')),
  ])
  const handler = chatHandler({ threads, open: () => undefined })
  const run: string[] = []
  const page = new Page(handler, 't', [], {
    onToolCall({ toolCall: { toolName, toolCallId } }) {
      if (toolName !== 'choose') return
      run.push(toolCallId)
      // The client handles one chunk after the other, and this one waits for it.
      void page.addToolOutput({ tool: 'choose', toolCallId, output: 'red' })
    },
  })
  await page.sendMessage({ text: 'Go' })
  await vi.waitFor(() => expect(page.status).toBe('ready'), PATIENT)
  const { approval } = Object(page.messages[1]?.parts.find((part) => Object(part).state === 'approval-requested'))
  await page.addToolApprovalResponse({ id: approval.id, approved: true })
  await settled(page)
  expect(run).toHaveLength(1)
  expect(page.got.join('').match(/tool-approval-request/g)).toHaveLength(2)
  expect(compared(page.messages)).toEqual(compared(await history(handler, 't')))
})

test('a page that is loaded while its turn goes on does not run again what another page has run before (W39)', async () => {
  const { opened, open } = gate()
  const slow = reading('slow', () => opened.then(() => 'done'))
  const model = scriptedModel([
    respond(call('choose', {}, { id: 'c' })),
    respond(named('slow', 'x', 's')),
    respond(say('Done.')),
  ])
  const threads = createThreads({ agent: createAgent({ model, tools: [choose, slow] }), store: memoryThreads() })
  const handler = chatHandler({ threads, open: () => undefined })
  await (await threads.send('t', 'Go')).result
  const [{ id } = { id: '' }] = (await threads.read('t')).interrupts
  await threads.answer('t', { [id]: 'red' })
  await vi.waitFor(async () => expect(JSON.stringify((await threads.read('t')).messages)).toContain('"slow"'), PATIENT)
  const run: string[] = []
  const page = new Page(handler, 't', await history(handler, 't'), {
    onToolCall: ({ toolCall }) => void run.push(toolCall.toolName),
  })
  const resumed = page.resumeStream()
  await vi.waitFor(() => expect(JSON.stringify(page.messages)).toContain('"slow"'), PATIENT)
  open()
  await resumed
  expect(run).toEqual(['slow'])
  expect(compared(page.messages)).toEqual(compared(await history(handler, 't')))
})
