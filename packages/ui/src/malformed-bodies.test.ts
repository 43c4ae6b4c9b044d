import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, interrupt, type Tool, tool } from '@meanwhile/core'
import { createThreads, memoryThreads } from '@meanwhile/threads'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { agUiHandler } from './ag-ui/index.ts'
import { chatHandler } from './ai-sdk/index.ts'

/** Two calls that ask: `choose` waits for its output, `ask` for an answer. */
async function asking() {
  const choose = tool({ name: 'choose', description: 'c', input: z.object({}) }) as Tool
  const ask = tool({
    name: 'ask',
    description: 'a',
    input: z.object({}),
    execute: (_, { answers }) => answers[0] ?? interrupt({ question: 'How many?' }),
  }) as Tool
  const calls = [call('choose', {}, { id: 'c' }), call('ask', {}, { id: 'a' })]
  const model = scriptedModel([respond(...calls), respond(say('Good.')), respond(say('Well.'))])
  const threads = createThreads({ agent: createAgent({ model, tools: [choose, ask] }), store: memoryThreads() })
  const turn = await threads.send('t', 'Go')
  await turn.result
  const { interrupts } = await threads.read('t')
  const [chosen = '', asked = ''] = interrupts.map(({ id }) => id)
  const options = { threads, open: () => undefined }
  const handlers = { chat: chatHandler(options), 'ag-ui': agUiHandler(options) }
  const post = (door: keyof typeof handlers, body: string) =>
    handlers[door](
      new Request(`http://x/api/${door}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body }),
    )
  return { threads, turn: turn.id, chosen, asked, post }
}

const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

/** What no store can keep as JSON. */
const BAD = { deep: deep(600), 'very deep': deep(60_000), huge: '1e999', 'huge inside': '{"a":[-1e999]}' }

test.for(Object.entries(BAD))(
  'a value that is %s is refused with its member, and the question stays open (W40)',
  async ([, bad]) => {
    const { threads, turn, chosen, asked, post } = await asking()
    const before = await threads.read('t')
    const card = (more: string) =>
      `{"id":"t","messages":[{"id":"${turn}","role":"assistant","parts":[{"type":"dynamic-tool","toolCallId":"c",${more}}]}]`
    const run = (more: string) => `{"threadId":"t","runId":"r","messages":[],${more}}`
    for (const [door, body, member] of [
      ['chat', `${card(`"state":"output-available","output":${bad}`)}}`, 'messages[0].parts[0].output'],
      ['chat', `${card(`"state":"output-available","output":1,"input":${bad}`)}}`, 'messages[0].parts[0].input'],
      ['chat', `${card('"state":"input-available"')},"answers":{"${asked}":${bad}}}`, 'answers'],
      [
        'ag-ui',
        run(`"resume":[{"interruptId":"${chosen}","status":"resolved","payload":${bad}}]`),
        'resume[0].payload',
      ],
      ['ag-ui', run(`"state":{"a":${bad}}`), 'state'],
      ['ag-ui', run(`"messages":[{"id":"m","role":"assistant","content":${bad}}]`), 'messages'],
    ] as const) {
      const response = await post(door, body)
      expect([member, response.status, await response.text()]).toEqual([
        member,
        400,
        expect.stringContaining(`The request is malformed: ${member} must be JSON with finite numbers`),
      ])
    }
    expect(await threads.read('t')).toEqual(before)
  },
)

test('what a page of AG-UI sends as text stays a text if it cannot be kept as JSON (W40)', async () => {
  const { threads, post } = await asking()
  const turn = (await threads.read('t')).turns.at(-1)?.id
  const message = { id: 'm', role: 'tool', toolCallId: `${turn}-c`, content: deep(600) }
  await (await post('ag-ui', JSON.stringify({ threadId: 't', runId: 'r', messages: [message] }))).text()
  expect((await threads.read('t')).settled).toMatchObject([{ callId: 'c', output: deep(600) }])
})

test.for([
  ['toolCallId', { toString: 1 }],
  ['toolCallId', ['c']],
  ['toolCallId', 7],
  ['approval', 'yes'],
  ['approval', [1]],
] as const)('a card whose %s is %j is refused (W40)', async ([name, value]) => {
  const { turn, post } = await asking()
  for (const state of ['output-available', 'approval-responded']) {
    const parts = [null, 'x', { type: 'dynamic-tool', toolCallId: 'c', state, output: 1, [name]: value }]
    const body = { id: 't', messages: [{ id: turn, role: 'assistant', parts }] }
    const response = await post('chat', JSON.stringify(body))
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining(`messages[0].parts[2].${name} must be`),
    ])
  }
})

const said = (more: object) => ({
  id: 't',
  messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'a' }], ...more }],
})

test.for([
  [[], 'the body'],
  [{ id: 7, messages: [] }, 'id'],
  [{ id: 't' }, 'messages'],
  [{ id: 't', messages: [] }, 'messages'],
  [said({ parts: 'x' }), 'messages[0].parts'],
  [said({ role: 'system' }), 'messages[0].role'],
  [said({ id: 7 }), 'messages[0].id'],
  [said({ parts: [] }), 'messages[0].parts'],
  [said({ parts: [{ type: 'text', text: '' }] }), 'messages[0].parts'],
  [
    said({
      parts: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 7 },
      ],
    }),
    'messages[0].parts[1]',
  ],
  [said({ parts: [{ type: 'file', mediaType: 7, url: 'https://x/' }] }), 'messages[0].parts[0]'],
  [{ ...said({ role: 'assistant' }), answers: [1] }, 'answers'],
] as const)('the response to %j names %s (W40)', async ([body, member]) => {
  const { post } = await asking()
  const response = await post('chat', JSON.stringify(body))
  expect([response.status, await response.text()]).toEqual([
    400,
    expect.stringContaining(`malformed: ${member} must be`),
  ])
})

const FILES = {
  'no base64': ['image/png', 'data:image/png;base64,@@@'],
  'half a byte': ['image/png', 'data:image/png;base64,aGkxx'],
  'too much padding': ['image/png', 'data:image/png;base64,aGk=='],
  empty: ['image/png', 'data:image/png;base64,'],
  'without a type': ['', 'https://example.org/a.png'],
  'of a type with a line break': ['image/png\r\nx: y', 'data:image/png;base64,aGk='],
  'at no address': ['image/png', 'https://'],
  'at an address without a host': ['image/png', 'https:///a.png'],
} as const

test.for(Object.entries(FILES))(
  'a file that is %s is refused by both doors, and nothing is stored (W41)',
  async ([, [mediaType, url]]) => {
    const { threads, post } = await asking()
    const before = await threads.read('t')
    const chat = said({ parts: [{ type: 'file', mediaType, url }] })
    const data = /^data:[^,]*;base64,(.*)$/s.exec(url)?.[1]
    const source = data === undefined ? { type: 'url', value: url } : { type: 'data', value: data }
    const content = [{ type: 'image', source: { ...source, mimeType: mediaType } }]
    const run = { threadId: 't', runId: 'r', messages: [{ id: 'm', role: 'user', content }] }
    for (const [door, body] of [
      ['chat', chat],
      ['ag-ui', run],
    ] as const) {
      const response = await post(door, JSON.stringify(body))
      expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('A file is not accepted')])
    }
    expect(await threads.read('t')).toEqual(before)
  },
)
