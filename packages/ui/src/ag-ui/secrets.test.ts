import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type Tool, tool } from '@meanwhile/core'
import { redact } from '@meanwhile/middleware'
import { createThreads, memoryThreads } from '@meanwhile/threads'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { Client, comparable, serve } from '../../test/ag-ui.ts'
import { expectEqual, JSON_BODY, stage } from '../../test/ag-ui-stage.ts'
import { agUiHandler } from './index.ts'

// The client warns about everything that it cannot use.
beforeEach(() => {
  vi.spyOn(console, 'warn').mockImplementation((...words) => expect.unreachable(words.join(' ')))
})

afterEach(() => void vi.restoreAllMocks())

test('no sent byte contains a secret of a tool or a masked text (UI4)', async () => {
  const { client, threads, sent } = await stage(
    [respond(call('broken'), call('look', { at: 'x' })), respond(say('Done.'))],
    { output: () => 'hidden' },
  )
  const one = client()
  await one.say('Go')
  const results = comparable(one.agent.messages.filter(({ role }) => role === 'tool'))
  expect(results).toMatchObject([
    { toolCallId: expect.stringMatching(/-call_1_1$/), content: 'This call has failed.', metadata: { isError: true } },
    { toolCallId: expect.stringMatching(/-call_1_2$/), content: 'hidden' },
  ])
  await one.run()
  expect(sent()).not.toMatch(/hunter2|seen(?!Turn)|half/)
  expect((await threads.read('t')).status).toBe('idle')
})

test('a thread that `open` refuses reveals nothing on any route (UI4)', async () => {
  const open = vi.fn((_: Request, threadId: string) =>
    threadId === 'mine' ? { user: 'me' } : new Response('no', { status: 403 }),
  )
  const { url, threads } = await stage([respond(say('Secret.'))], { open })
  await (await threads.send('yours', 'Hi')).result
  const body = (threadId: string) =>
    JSON.stringify({
      threadId,
      runId: 'r',
      messages: [],
      tools: [],
      context: [],
      resume: [{ interruptId: 'i', status: 'cancelled' }],
    })
  for (const [path, threadId] of [
    ['', 'yours'],
    ['/yours/stop', 'mine'],
  ] as const) {
    const response = await fetch(`${url}/api/ag-ui${path}`, {
      method: 'POST',
      headers: JSON_BODY,
      body: body(threadId),
    })
    expect([response.status, await response.text()]).toEqual([403, 'no'])
  }
  expect(open.mock.calls.map(([, threadId]) => threadId)).toEqual(['yours', 'yours'])
})

test('what redact has masked stays masked, in texts and in results (UI4)', async () => {
  const key = `sk-proj-${'a1B2'.repeat(12)}`
  const read = tool({ name: 'read', description: 'Reads.', input: z.object({}), execute: () => ({ key }) }) as Tool
  const model = scriptedModel([respond(say('I read.'), call('read')), respond(say(`It is ${key}, you see.`))])
  const agent = createAgent({ model, tools: [read], middleware: [redact({ persist: true })] })
  const threads = createThreads({ agent, store: memoryThreads() })
  const { url, sent, close } = await serve(agUiHandler({ threads, open: () => undefined }))
  onTestFinished(close)
  const one = new Client(`${url}/api/ag-ui`, 't')
  await one.say('Read')
  await expectEqual(one, threads)
  expect(sent()).not.toContain(key)
  expect(sent()).toContain('you see')
})
