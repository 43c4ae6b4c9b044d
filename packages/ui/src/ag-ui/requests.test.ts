import { respond, say } from '@meanwhile/assemble/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { JSON_BODY, stage } from '../../test/ag-ui-stage.ts'

// The client warns about everything that it cannot use.
beforeEach(() => {
  vi.spyOn(console, 'warn').mockImplementation((...words) => expect.unreachable(words.join(' ')))
})

afterEach(() => void vi.restoreAllMocks())

test('a body that is not a run is refused, without repeating its content (UI4)', async () => {
  const { url, threads } = await stage([])
  const good = { threadId: 't', runId: 'r', messages: [] }
  const bodies = [
    'no',
    'null',
    '[]',
    ...[
      {},
      { ...good, threadId: 7 },
      { ...good, messages: 'x' },
      { ...good, messages: [null] },
      { ...good, messages: [{ id: 'm', role: 'user', content: 7 }] },
      {
        ...good,
        messages: [{ id: 'm', role: 'user', content: [{ type: 'image', source: { type: 'file', value: 'f' } }] }],
      },
      { ...good, messages: [{ id: '', role: 'user', content: 'x' }] },
      { ...good, resume: [{ status: 'resolved' }] },
      { ...good, resume: {} },
      { ...good, tools: [{ description: 'x' }] },
      { ...good, context: 'x' },
    ].map((body) => JSON.stringify(body)),
  ]
  for (const body of bodies) {
    const response = await fetch(`${url}/api/ag-ui`, { method: 'POST', headers: JSON_BODY, body })
    const words = expect.stringMatching(
      /^The request is malformed: (the body|threadId|(messages|resume|tools|context)(\[0\])?) must be [\w ,-]+\.$/,
    ) as string
    expect([body, response.status, await response.text()]).toEqual([body, 400, words])
  }
  for (const [method, path, status] of [
    ['GET', '/api/ag-ui', 405],
    ['POST', '/api', 404],
    ['POST', '/api/ag-ui/t', 404],
    ['POST', '/api/ag-ui/t/stop/x', 404],
    ['POST', '/api/ag-ui/%E0%A4%A/stop', 404],
  ] as const)
    expect(
      (await fetch(url + path, { method, headers: JSON_BODY, ...(method === 'POST' && { body: '{}' }) })).status,
    ).toBe(status)
  expect(await threads.list()).toEqual([])
})

test('errors of a request have fixed texts, and the client has the messages of the thread (UI2, UI4)', async () => {
  const { client, threads } = await stage([respond(say('Hello.'))])
  await client('gone').say('Hi')
  await threads.delete('gone')
  const one = client('gone')
  await one.say('Again')
  expect(one.events.at(-1)).toEqual({
    type: 'RUN_ERROR',
    message: 'The thread was deleted.',
    code: 'ThreadDeletedError',
  })
  expect(one.messages).toEqual([])
  const other = client('x'.repeat(2_000))
  await other.say('Hi')
  expect(other.events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'ThreadIdError' })
})

test('a body whose content type is not JSON is refused before anything happens (UI4)', async () => {
  const open = vi.fn(() => undefined)
  const { url, threads } = await stage([], { open })
  const body = JSON.stringify({ threadId: 't', runId: 'r', messages: [{ id: 'm', role: 'user', content: 'Hi' }] })
  const response = await fetch(`${url}/api/ag-ui`, { method: 'POST', headers: { 'content-type': 'text/plain' }, body })
  expect([response.status, open.mock.calls, await threads.list()]).toEqual([415, [], []])
})

test('a base may end with a slash (UI1)', async () => {
  const { client } = await stage([respond(say('Hello.'))], { base: '/api/ag-ui/' })
  expect((await client().say('Hi')).at(-1)).toBe('RUN_FINISHED')
})
