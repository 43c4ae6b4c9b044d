import { createAgent, type Tool, type ToolMessage, textOf } from '@meanwhile/core'
import { call, collect, respond, say, scriptedModel } from '@meanwhile/core/testing'
import { expect, test } from 'vitest'
import { journal, ours, overHttp } from '../test/servers.ts'
import { type McpOptions, mcp, mcpOf } from './index.ts'

type Calls = Parameters<typeof respond>

/** A run in which the model makes these calls in one step; `read` is what it reads. */
async function ran(options: McpOptions, ...calls: Calls) {
  await using servers = mcp(options)
  const model = scriptedModel([respond(...calls), respond(say('done'))])
  const { result, error, events } = await collect(createAgent({ model, middleware: [servers] }).stream('Go'))
  if (error) throw error
  const messages = result?.messages.filter((message): message is ToolMessage => message.role === 'tool') ?? []
  return { result, events, read: messages.map((message) => textOf(message)), tools: model.requests[0]?.tools }
}

test('the tools of a server on stdio and on HTTP are the agent’s own, with their effects by annotation only with trust (MC1, MC9)', async () => {
  using http = await overHttp()
  const servers = { a: ours(), b: { url: http.url } }
  const { read, result } = await ran({ servers, trust: 'annotations' }, call('a_lookup', { key: 'k' }), call('b_lookup', { key: 'm' }))
  expect(read).toEqual(['k=1', 'm=1'])
  expect(result?.messages[2]).toMatchObject({ output: { structuredContent: { key: 'k', value: 1 } } })
})

test('the result of a tool that failed is an error result with its text (MC21)', async () => {
  const { result, read } = await ran({ servers: { a: ours() } }, call('fail', {}))
  expect(read).toEqual(['a: the disk is full'])
  expect(result?.messages[2]).toMatchObject({ isError: true })
})

test('a request has the key of its call, and no mark of ours (MC17)', async () => {
  using log = journal()
  await ran({ servers: { a: ours({ JOURNAL: log.JOURNAL }) } }, call('write', { key: 'k' }, { id: 'c1' }))
  const [begin] = log.lines()
  expect(begin?.meta?.['dev.meanwhile/idempotencyKey']).toEqual(expect.any(String))
  expect(begin?.meta).not.toHaveProperty('dev.meanwhile/call')
})
void mcpOf
export type { Tool }
