import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type Tool, tool } from '@meanwhile/core'
import { createThreads, memoryThreads } from '@meanwhile/threads'
import type { UIMessage } from 'ai'
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { Client, comparable, serve } from '../test/ag-ui.ts'
import { type Gate, gate } from '../test/gate.ts'
import { compared, history, Page, post } from '../test/page.ts'
import { agUiHandler, toAgUiMessages } from './ag-ui/index.ts'
import { chatHandler } from './ai-sdk/index.ts'

interface Given {
  readonly atEnd?: 'wait' | 'cancel' | 'detach'
  readonly fails?: boolean
  readonly isFast?: boolean
}

/** A turn whose tool works in the background: it tells its progress at the first gate, and ends at the second. */
async function building({ atEnd = 'wait', fails = false, isFast = false }: Given = {}) {
  const [half, whole]: [Gate, Gate] = [gate(), gate()]
  const build = tool({
    name: 'build',
    description: 'Builds.',
    input: z.object({}),
    background: { atEnd },
    async *execute(_, { signal }) {
      if (isFast) return 'built'
      const left = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      await Promise.race([half.opened, left])
      yield { progress: 0.5, message: 'half' }
      await Promise.race([whole.opened, left])
      if (fails) throw new Error('postgres://admin:hunter2@db')
      return 'built'
    },
  }) as Tool
  const slow = tool({
    name: 'slow',
    description: 's',
    input: z.object({}),
    execute: () => whole.opened.then(() => 1),
  }) as Tool
  const calls = [call('build', {}, { id: 'b' }), ...(isFast ? [call('slow', {}, { id: 's' })] : [])]
  const model = scriptedModel([respond(...calls), respond(say('Soon.')), respond(say('It is built.'))])
  const threads = createThreads({ agent: createAgent({ model, tools: [build, slow] }), store: memoryThreads() })
  const handler = chatHandler({ threads, open: () => undefined })
  return { threads, handler, page: new Page(handler, 't'), half, whole }
}

const cardOf = (message: UIMessage | undefined) => message?.parts.find((part) => part.type === 'dynamic-tool')

const running = { state: 'output-available', preliminary: true, output: { callId: 'b', state: 'running' } }
const built = { toolCallId: 'b', state: 'output-available', output: 'built' }

test('the card of a background call shows its progress and then its result, on a page that stays, one that joins, and in the history (W38)', async () => {
  const { handler, page, half, whole } = await building()
  const sent = page.sendMessage({ text: 'Build' })
  await vi.waitFor(() => expect(cardOf(page.messages.at(-1))).toMatchObject(running), { timeout: 60_000 })
  await vi.waitFor(async () => expect(cardOf((await history(handler, 't')).at(-1))).toMatchObject(running), {
    timeout: 60_000,
  })
  half.open()
  const progress = { state: 'output-available', preliminary: true, output: { progress: 0.5, message: 'half' } }
  await vi.waitFor(() => expect(cardOf(page.messages.at(-1))).toMatchObject(progress), { timeout: 60_000 })
  const late = new Page(handler, 't', await history(handler, 't'))
  const joined = late.resumeStream()
  whole.open()
  await Promise.all([sent, joined])
  const loaded = await history(handler, 't')
  for (const messages of [page.messages, late.messages, loaded]) {
    expect(cardOf(messages.at(-1))).toMatchObject(built)
    expect(cardOf(messages.at(-1))).not.toMatchObject({ preliminary: true })
    expect(compared(messages)).toEqual(compared(loaded))
  }
})

test.for([
  // It depends on the time whether the work was cut off or had not begun.
  ['cancel', {}, { state: 'output-error' }],
  ['detach', {}, { state: 'output-available', output: { callId: 'b', state: 'detached' } }],
  ['wait', { fails: true }, { state: 'output-error', errorText: 'This call has failed.' }],
  ['wait', { isFast: true }, built],
] as const)('the card of work with atEnd %s, %j ends with its turn (W38)', async ([atEnd, more, shown]) => {
  const { handler, page, half, whole } = await building({ atEnd, ...more })
  const sent = page.sendMessage({ text: 'Build' })
  if (atEnd === 'wait') for (const { open } of [half, whole]) open()
  await sent
  const loaded = await history(handler, 't')
  for (const messages of [page.messages, loaded]) expect(cardOf(messages.at(-1))).toMatchObject(shown)
  expect(compared(page.messages)).toEqual(compared(loaded))
})

test('the card of work that is stopped with its turn ends (W38)', async () => {
  const { handler, page } = await building()
  const sent = page.sendMessage({ text: 'Build' })
  await vi.waitFor(() => expect(page.messages.at(-1)?.parts.at(-1)).toMatchObject({ text: 'Soon.' }), {
    timeout: 60_000,
  })
  await post(handler, '/t/stop', {})
  await sent
  const loaded = await history(handler, 't')
  for (const messages of [page.messages, loaded])
    expect(cardOf(messages.at(-1))).toMatchObject({ state: 'output-error' })
  expect(compared(page.messages)).toEqual(compared(loaded))
})

test('background work is an activity of AG-UI until its call has its result, also for a client that joins (W37, W38)', async () => {
  const { threads, half, whole } = await building()
  const { url, close } = await serve(agUiHandler({ threads, open: () => undefined }))
  onTestFinished(close)
  const [one, late] = [new Client(`${url}/api/ag-ui`, 't'), new Client(`${url}/api/ag-ui`, 't')]
  const toolCallId = expect.stringMatching(/-b$/)
  const content = (progress: object) => ({ toolCallId, toolCallName: 'build', progress })
  const activityOf = ({ agent }: Client) => agent.messages.find(({ role }) => role === 'activity')?.content
  const said = one.say('Build')
  await vi.waitFor(() => expect(activityOf(one)).toEqual(content({})), { timeout: 20_000 })
  const joined = late.run()
  await vi.waitFor(() => expect(activityOf(late)).toEqual(content({})), { timeout: 20_000 })
  half.open()
  for (const client of [one, late])
    await vi.waitFor(() => expect(activityOf(client)).toEqual(content({ progress: 0.5, message: 'half' })), {
      timeout: 60_000,
    })
  whole.open()
  await Promise.all([said, joined])
  const inThread = comparable([...toAgUiMessages(await threads.read('t'))])
  for (const client of [one, late]) {
    expect(activityOf(client)).toBeUndefined()
    expect(client.messages).toEqual(inThread)
  }
  expect(inThread).toContainEqual(expect.objectContaining({ role: 'tool', toolCallId, content: 'built' }))
})
