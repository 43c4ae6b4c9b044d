import { call, respond, say, think } from '@meanwhile/assemble/testing'
import { type Tool, tool } from '@meanwhile/core'
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { AgUiClient } from '../../test/ag-ui-client.ts'
import { answerOf, JSON_BODY, stage } from '../../test/ag-ui-stage.ts'
import { versions } from '../../test/ag-ui-versions.ts'
import { gate } from '../../test/gate.ts'

const photo = tool({
  name: 'photo',
  description: 'Takes a photo.',
  input: z.object({}),
  toContent: () => [
    { type: 'text', text: 'A photo: ' },
    { type: 'file', mediaType: 'image/png', data: 'aGk=' },
  ],
  execute: () => 'taken',
}) as Tool

const shown = ({ messages }: AgUiClient) =>
  messages.map(({ role, content, error }) => [role, content, ...(error === undefined ? [] : [error])])

const FAILED = 'This call has failed.'
const DENIED = 'This call was denied.'

test.for(versions)(
  'a client of AG-UI $version reads the results of its own tools, failures, files and stops (W37)',
  async (peer) => {
    const { opened, open } = gate()
    const slow = tool({
      name: 'slow',
      description: 'Waits.',
      input: z.object({}),
      execute: (_, { signal }) => {
        open()
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      },
    }) as Tool
    const { url, threads } = await stage(
      [
        respond(call('choose', { of: ['a', 'b'] })),
        answerOf,
        respond(think('Hm.'), call('broken', {})),
        respond(say('No.')),
        respond(call('photo', {})),
        respond(say('See.')),
        respond(call('mail', { to: 'ada' })),
        answerOf,
        respond(call('mail', { to: 'bob' })),
        answerOf,
        respond(call('slow', {})),
      ],
      { tools: [photo, slow] },
    )
    const client = peer.client(`${url}/api/ag-ui`, 't')
    await client.say('Choose')
    await client.giveResult('{"chosen":"b"}')
    expect(shown(client).slice(-2)).toEqual([
      ['tool', '{"chosen":"b"}'],
      ['assistant', 'So: {"chosen":"b"}'],
    ])
    await client.say('Break')
    expect(shown(client).slice(-2)).toEqual([
      ['tool', FAILED, FAILED],
      ['assistant', 'No.'],
    ])
    await client.say('Take a photo')
    const content = peer.version < '1' ? 'A photo: [image/png]' : expect.arrayContaining([expect.anything()])
    expect(shown(client).slice(-2)).toEqual([
      ['tool', content],
      ['assistant', 'See.'],
    ])
    await client.say('Write to ada')
    await client.answer({ approved: true })
    expect(shown(client).at(-1)).toEqual(['assistant', 'So: Sent to ada.'])
    await client.say('Write to bob')
    await client.answer({ approved: false, reason: 'Not him.' })
    expect(shown(client).slice(-2)).toMatchObject([
      ['tool', DENIED, DENIED],
      ['assistant', 'So: Not run: the call was denied: Not him.'],
    ])
    const stopped = client.say('Wait')
    await opened
    await fetch(`${url}/api/ag-ui/t/stop`, { method: 'POST', headers: JSON_BODY, body: '{}' })
    await stopped
    expect((await threads.read('t')).turns.map(({ status }) => status)).toEqual([
      ...Array.from({ length: 5 }, () => 'completed'),
      'stopped',
    ])
    const late = peer.client(`${url}/api/ag-ui`, 't')
    await late.run()
    expect(shown(late)).toEqual(shown(client))
    const seenTurn = (await threads.read('t')).turns.at(-1)?.id
    expect([client.state, late.state]).toEqual([{ seenTurn }, { seenTurn }])
  },
)

const post = (url: string, body: object) =>
  fetch(`${url}/api/ag-ui`, {
    method: 'POST',
    headers: JSON_BODY,
    body: JSON.stringify({
      threadId: 't',
      runId: 'r',
      messages: [{ id: 'm', role: 'user', content: 'Choose' }],
      ...body,
    }),
  })

const outcomeIn = (text: string) => /"type":"RUN_FINISHED".*$/m.exec(text)?.[0].match(/"outcome":(\{.*\})\}/)?.[1]

test('a request without protocolVersion gets no value that a client before AG-UI 1.0 does not know (W37)', async () => {
  for (const [more, outcome] of [
    [{}, undefined],
    [
      { protocolVersion: '1.0' },
      expect.stringMatching(/^{"type":"success","pendingToolCallIds":\["[\da-f-]{36}-call_1_1"\]}$/),
    ],
  ] as const) {
    const { url } = await stage([respond(call('choose', { of: ['a'] }))])
    expect(outcomeIn(await (await post(url, more)).text())).toEqual(outcome)
  }
})

test('tools and context of a page that the server would ignore are refused with a sentence (W37)', async () => {
  const { url, threads } = await stage([respond(say('Hello.'))])
  const offered = (name: string) => ({ tools: [{ name, description: 'd', parameters: {} }] })
  for (const [more, words] of [
    [offered('beep'), 'The page offers the tool "beep"'],
    [{ context: [{ description: 'city', value: 'Bonn' }] }, 'The page sends context'],
  ] as const) {
    const response = await post(url, more)
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining(words)])
  }
  expect(await threads.list()).toEqual([])
  expect((await post(url, { ...offered('choose'), context: [] })).status).toBe(200)
})

test('a file in the form of clients before AG-UI 1.0 is read (W37)', async () => {
  const { url, threads } = await stage([respond(say('Nice.'))])
  const binary = { type: 'binary', mimeType: 'image/png', data: 'aGk=', filename: 'hi.png' }
  const linked = { type: 'binary', mimeType: 'image/png', url: 'https://example.org/a.png' }
  const message = (...content: readonly object[]) => ({ messages: [{ id: 'm', role: 'user', content }] })
  await (await post(url, message({ type: 'text', text: 'Look' }, binary, linked))).text()
  expect((await threads.read('t')).messages[0]?.message.content).toEqual([
    { type: 'text', text: 'Look' },
    { type: 'file', mediaType: 'image/png', data: 'aGk=', filename: 'hi.png' },
    { type: 'file', mediaType: 'image/png', data: { url: 'https://example.org/a.png' } },
  ])
  for (const part of [
    { ...binary, data: undefined },
    { ...binary, mimeType: 7 },
    { ...binary, data: 'no base64!' },
  ])
    expect((await post(url, { messages: [{ id: 'n', role: 'user', content: [part] }] })).status).toBe(400)
})
