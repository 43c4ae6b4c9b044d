import { respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type Message } from '@meanwhile/core'
import { createThreads, memoryThreads } from '@meanwhile/threads'
import { expect, test } from 'vitest'
import { agUiHandler, fromAgUiMessages } from './ag-ui/index.ts'
import { chatHandler, type FileRules, fromUIMessages } from './ai-sdk/index.ts'

const open = () => undefined

interface PageFile {
  readonly url: string
  readonly mediaType?: string
}

/** The last message of a page, in both protocols. */
const uiMessage = ({ url, mediaType = 'image/png' }: PageFile, id = 'm1') =>
  ({ id, role: 'user', parts: [{ type: 'file', mediaType, url }] }) as const

function agUiMessage({ url, mediaType = 'image/png' }: PageFile, id = 'm1') {
  const value = /^data:[^,]*;base64,(.*)$/s.exec(url)?.[1]
  const source = value === undefined ? { type: 'url', value: url } : { type: 'data', value }
  return { id, role: 'user', content: [{ type: 'image', source: { ...source, mimeType: mediaType } }] }
}

function setup(files?: FileRules | false) {
  const asked: Message[] = []
  const model = scriptedModel(
    Array.from({ length: 9 }, () => ({ messages }: { readonly messages: readonly Message[] }) => {
      asked.push(...messages)
      return respond(say('Seen.'))
    }),
  )
  const threads = createThreads({ agent: createAgent({ model }), store: memoryThreads() })
  const options = { threads, open, ...(files !== undefined && { files }) }
  const [chat, agUi] = [chatHandler(options), agUiHandler(options)]
  const post = (path: string, body: object) =>
    new Request(`http://chat.test${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  return {
    asked,
    threads,
    /** The statuses of both handlers, and what the response of the second says. */
    async send(file: PageFile) {
      const one = await chat(post('/api/chat', { id: 'c', messages: [uiMessage(file)] }))
      const two = await agUi(post('/api/ag-ui', { threadId: 'a', runId: 'r', messages: [agUiMessage(file)] }))
      const texts = [await one.text(), await two.text()]
      return { statuses: [one.status, two.status], says: texts[1] }
    },
  }
}

const REFUSED: readonly PageFile[] = [
  ...[
    'file:///etc/passwd',
    'javascript:alert(1)',
    'http://169.254.169.254/latest/meta-data/',
    'HTTP://example.org/a.png',
    'gopher://10.0.0.1/',
    'blob:https://example.org/1',
    '//example.org/a.png',
    '/a.png',
    'https:/example.org',
    'https://',
    'https://exa mple.org/',
    ' https://example.org/',
    'https://example.org\\@10.0.0.1/',
    'https://example.org/\n',
    'file-123',
    '',
    'data:image/png,AAAA',
    'data:image/png;base64,AA<script>',
    'data:image/png;base64,AAAA=AAAA',
  ].map((url) => ({ url })),
  ...[
    'text/html,<script>alert(document.domain)</script><!--',
    'image',
    '',
    'image/',
    '/png',
    'image/png;',
    'image/png;a="b,c"',
    'image/png\r\nx: y',
    'image /png',
    'imäge/png',
    `image/${'p'.repeat(300)}`,
  ].map((mediaType) => ({ mediaType, url: 'https://example.org/a' })),
]

test.for(REFUSED)('both handlers refuse the file %j with 400, and nothing has happened (W55, W41)', async (file) => {
  const { send, asked, threads } = setup()
  expect((await send(file)).statuses).toEqual([400, 400])
  expect([asked, await threads.list()]).toEqual([[], []])
})

const ADMITTED: readonly PageFile[] = [
  { url: 'https://example.org/a.png' },
  { url: 'HTTPS://example.org/a.png?x=1#y' },
  { url: 'data:image/png;base64,iVBORw0KGgo=' },
  { url: 'data:image/png;base64,AA', mediaType: 'application/vnd.ms-excel.sheet+xml; charset=utf-8' },
  { url: 'https://example.org/a', mediaType: 'audio/webm;codecs=opus' },
]

test.for(ADMITTED)('both handlers admit the file %j (W55)', async (file) => {
  const { send, asked } = setup()
  expect((await send(file)).statuses).toEqual([200, 200])
  const { url, mediaType = 'image/png' } = file
  const data = /base64,(.*)$/.exec(url)?.[1] ?? { url }
  const message = { role: 'user', content: [{ type: 'file', mediaType, data }] }
  expect(asked).toEqual([message, message])
})

const LIMITED: readonly (readonly [rules: FileRules | false, file: PageFile, problem: string | undefined])[] = [
  [false, { url: 'https://example.org/a' }, 'this chat has no files'],
  [{ urls: 'none' }, { url: 'https://example.org/a' }, 'it must be sent as data'],
  [{ urls: 'none' }, { url: 'data:image/png;base64,AAAA' }, undefined],
  [{ urls: 'https' }, { url: 'https://example.org/a' }, undefined],
  [{ types: ['image/*'] }, { url: 'https://example.org/a', mediaType: 'Image/PNG' }, undefined],
  [{ types: ['image/*'] }, { url: 'https://example.org/a', mediaType: 'imagery/png' }, 'its media type is imagery/png'],
  [{ types: ['application/PDF'] }, { url: 'https://example.org/a', mediaType: 'application/pdf;v=1' }, undefined],
  [{ types: ['application/pdf'] }, { url: 'https://example.org/a' }, 'its media type is image/png'],
  [{ types: [] }, { url: 'https://example.org/a' }, 'its media type is image/png'],
  [{ maxBytes: 3 }, { url: 'data:image/png;base64,AAAA' }, undefined],
  [{ maxBytes: 2 }, { url: 'data:image/png;base64,AAA=' }, undefined],
  [{ maxBytes: 2 }, { url: 'data:image/png;base64,AAAA' }, 'it has more than 2 bytes'],
  [{ maxBytes: 2 }, { url: 'https://example.org/large' }, undefined],
]

test.for(LIMITED)('with files %j the file %j has the problem %j (W55)', async ([files, file, problem]) => {
  const { send, threads } = setup(files)
  const { statuses, says } = await send(file)
  expect(statuses).toEqual(problem === undefined ? [200, 200] : [400, 400])
  if (problem === undefined) return
  expect(says).toBe(`A file is not accepted: ${problem}.`)
  expect(await threads.list()).toEqual([])
})

test('a file that the thread has already is not checked again when the client sends all its messages (W55)', async () => {
  const { threads } = setup()
  const content = [{ type: 'file', mediaType: 'image/png', data: { url: 'http://example.org/a.png' } }] as const
  await (await threads.send('a', { role: 'user', content }, { messageId: 'm1' })).result
  const old = agUiMessage({ url: 'http://example.org/a.png' })
  for (const messages of [[old], [old, { id: 'm2', role: 'user', content: 'And now?' }]]) {
    const response = await agUiHandler({ threads, open })(
      new Request('http://chat.test/api/ag-ui', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ threadId: 'a', runId: 'r', messages }),
      }),
    )
    expect([response.status, (await response.text()).includes('RUN_ERROR')]).toEqual([200, false])
  }
})

test('without threads, a message with a file that is not admitted is left out (W55)', () => {
  for (const file of REFUSED) {
    expect(fromUIMessages([uiMessage(file)] as never)).toEqual([])
    expect(fromAgUiMessages([agUiMessage(file)] as never)).toEqual([])
  }
  for (const file of ADMITTED) {
    expect(fromUIMessages([uiMessage(file)] as never)).toHaveLength(1)
    expect(fromAgUiMessages([agUiMessage(file)] as never)).toHaveLength(1)
  }
})

test('without threads, a file that is not admitted is also left out of steering messages and results (W55)', () => {
  const calling = {
    id: 'a',
    role: 'assistant',
    toolCalls: [{ id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } }],
  }
  const filesIn = (file: PageFile) => {
    const steering = { type: 'steering-message', id: 's', parts: uiMessage(file).parts }
    const said = fromUIMessages([{ id: 'a', role: 'assistant', parts: [steering] }] as never)
    const result = { id: 'r', role: 'tool', toolCallId: 'c', content: agUiMessage(file).content }
    const made = fromAgUiMessages([calling, result] as never)
    return [said, made].map((messages) => JSON.stringify(messages).includes('"type":"file"'))
  }
  for (const file of REFUSED) expect([file, filesIn(file)]).toEqual([file, [false, false]])
  for (const file of ADMITTED) expect([file, filesIn(file)]).toEqual([file, [true, true]])
})
