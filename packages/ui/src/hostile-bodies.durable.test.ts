/** Bodies of a hostile page, with PostgreSQL: it cannot store every text that JSON can have. */

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type Tool, tool } from '@meanwhile/core'
import { ownDatabase } from '@meanwhile/postgres-cluster/testing'
import { createThreads, memoryThreads, type ThreadStore } from '@meanwhile/threads'
import { postgresThreads, setUpPostgresThreads } from '@meanwhile/threads/postgres'
import { Pool } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { agUiHandler } from './ag-ui/index.ts'
import { chatHandler } from './ai-sdk/index.ts'

let pool: Pool

beforeAll(async () => {
  pool = new Pool({ connectionString: await ownDatabase() })
  await setUpPostgresThreads({ pool })
})

afterAll(() => pool.end())

const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
const said = (parts: string, id = 'm2') => `{"id":"T","messages":[{"id":"${id}","role":"user","parts":${parts}}]}`
const text = (text: string) => `[{"type":"text","text":"${text}"}]`
const file = (mediaType: string, url: string, more = '') =>
  said(`[{"type":"file","mediaType":"${mediaType}","url":"${url}"${more}}]`)
const card = (more: string) =>
  `{"id":"T","messages":[{"id":"TURN","role":"assistant","parts":[{"type":"dynamic-tool","toolCallId":"c",${more}}]}]}`
const output = (json: string) => card(`"state":"output-available","output":${json}`)
const answers = (json: string) =>
  `{"id":"T","messages":[{"id":"TURN","role":"assistant","parts":[]}],"answers":${json}}`
const run = (more: string) => `{"threadId":"T","runId":"r",${more}}`
const runOf = (content: string, id = 'm2') => run(`"messages":[{"id":"${id}","role":"user","content":${content}}]`)

/** Of the chat and of AG-UI. */
const BODIES = {
  'a deep output': output(deep(700)),
  'an output that is no number': output('1e999'),
  'an output with NUL': output('"a\\u0000b"'),
  'an output with a key with NUL': output('{"a\\u0000":{"__proto__":1}}'),
  'an output with half a character': output('"\\ud800"'),
  'a card without a text as its id': card('"toolCallId":{"toString":1},"state":"output-available","output":1'),
  'deep answers': answers(`{"x":${deep(50_000)}}`),
  'answers of a prototype': answers('{"__proto__":{"a":1}}'),
  'a list of answers': answers('[1]'),
  'an answer to an id with NUL': answers('{"\\u0000":1}'),
  'a text with NUL': said(text('a\\u0000b')),
  'a text with half a character': said(text('a\\ud800b')),
  'many parts': said(`[${Array(20_000).fill('{"type":"text","text":"a"}').join()}]`),
  'data with NUL': said('[{"type":"text","text":"a"},{"type":"data-x","data":"\\u0000"}]'),
  'a file name with NUL': file('image/png', 'https://x.test/y.png', ',"filename":"a\\u0000"'),
  'a media type with a line break': file('image/png\\r\\nx: y', 'https://x.test/y.png'),
  'a file without data': file('image/png', 'data:image/png;base64,'),
  'a long id of a message': said(text('a'), 'x'.repeat(5_000)),
  'an id of a message with NUL': said(text('a'), '\\u0000'),
  'an id of a message with half a character': said(text('a'), '\\ud800'),
  'a prototype as the id of a message': said(text('a'), '__proto__'),
  'an edit of nothing': said(text('a')).replace('"id":"T",', '"id":"T","messageId":"nobody",'),
  'another answer to nothing': said(text('a')).replace('"id":"T",', '"id":"T","trigger":"regenerate-message",'),
  'an id of a thread with NUL': said(text('a')).replace('"T"', '"T\\u0000"'),
  'an id of a thread with half a character': said(text('a')).replace('"T"', '"T\\ud800"'),
  'a long id of a thread': said(text('a')).replace('"T"', `"${'x'.repeat(2_000)}"`),
  'no id of a thread': said(text('a')).replace('"T"', '""'),
} as const

const RUNS = {
  'a text with NUL': runOf('"a\\u0000b"'),
  'a text with half a character': runOf('"a\\ud800b"'),
  'an id of a run with NUL': runOf('"a"').replace('"r"', '"\\u0000"'),
  'an id of a message with NUL': runOf('"a"', '\\u0000'),
  'an id of a thread with NUL': runOf('"a"').replace('"T"', '"T\\u0000"'),
  'a result with NUL': run('"messages":[{"id":"x","role":"tool","toolCallId":"c","content":"a\\u0000"}]'),
  'a state with NUL': run('"messages":[],"state":{"\\u0000":"\\u0000"}'),
  'an answer to an id with NUL': run('"messages":[],"resume":[{"interruptId":"\\u0000","status":"resolved"}]'),
} as const

/** What the page gets, without the ids of this thread, and what the thread then has. */
async function tried(store: ThreadStore, door: 'chat' | 'ag-ui', given: string) {
  const choose = tool({ name: 'choose', description: 'c', input: z.object({}) }) as Tool
  const script = [respond(call('choose', {}, { id: 'c' })), respond(say('x')), respond(say('y'))]
  const reported: unknown[] = []
  const onError = (error: unknown) => void reported.push(error)
  const agent = createAgent({ model: scriptedModel(script), tools: [choose] })
  const threads = createThreads({ agent, store, onError })
  const thread = crypto.randomUUID()
  const turn = await threads.send(thread, 'Go', { messageId: 'm1' })
  await turn.result
  const options = { threads, open: () => undefined, onError }
  const handler = door === 'chat' ? chatHandler(options) : agUiHandler(options)
  const body = given.replace('"TURN"', `"${turn.id}"`).replace('"T', `"${thread}`)
  const headers = { 'content-type': 'application/json' }
  const response = await handler(new Request(`http://x.test/api/${door}`, { method: 'POST', headers, body }))
  const sent = await response.text()
  const { status, messages } = await threads.read(thread)
  await threads.close()
  return {
    response: response.ok ? [response.status, /"type":"(error|RUN_ERROR)"/.exec(sent)?.[1]] : [response.status, sent],
    thread: [status, messages.map(({ message }) => message)],
    reported,
  }
}

test.for([
  ...Object.entries(BODIES).map((one) => ['chat', ...one] as const),
  ...Object.entries(RUNS).map((one) => ['ag-ui', ...one] as const),
])('in %s %s has the same response with PostgreSQL as in memory, and the same thread (W40)', async ([door, , body]) => {
  const kept = await tried(postgresThreads({ pool }), door, body)
  expect(kept).toEqual(await tried(memoryThreads(), door, body))
  expect(kept.reported).toEqual([])
})
