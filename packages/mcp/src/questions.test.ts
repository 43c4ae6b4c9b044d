import { call, respond, type ScriptStep, say, scriptedModel } from '@meanwhile/assemble/testing'
import { type AgentOptions, AnswerError, type Checkpoint, createAgent, type Json } from '@meanwhile/core'
import { inputRequired, McpServer } from '@modelcontextprotocol/server'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { bodyOf, event, listed, raw, served, streamed, trial } from '../test/in-process.ts'
import { ran, readIn } from '../test/runs.ts'
import { type HttpServer, type McpOptions, mcp } from './index.ts'

/** An agent with these servers, as another process would have it. */
async function resumed(
  options: McpOptions,
  checkpoint: Checkpoint,
  answers: Record<string, Json>,
  more: Partial<AgentOptions> = {},
) {
  await using servers = mcp(options)
  const model = scriptedModel([respond(say('done'))])
  const saved = JSON.parse(JSON.stringify(checkpoint)) as Checkpoint
  return await createAgent({ model, ...more, middleware: [servers] }).resume(saved, answers).result
}

async function asked(options: McpOptions, ...calls: readonly ScriptStep[]) {
  const { result, error } = await ran(options, calls)
  if (result?.status !== 'interrupted') throw error ?? new Error(`the run is ${result?.status}`)
  return { checkpoint: result.checkpoint, interrupts: result.interrupts, id: result.interrupts[0]?.id ?? '' }
}

const accept = { confirm: { action: 'accept', content: { confirm: true } } }

test('a question of a 2026 server interrupts the run, and the answer is acted on once, by another agent (MC13, MC14)', async () => {
  const { server, did } = trial()
  const options = { servers: { bank: server } }
  const { checkpoint, interrupts, id } = await asked(options, call('pay', { amount: 7 }, { id: 'c1' }))
  expect(interrupts[0]?.payload).toMatchObject({
    mcp: 'bank',
    tool: 'pay',
    callId: 'c1',
    requests: { confirm: { method: 'elicitation/create', params: { message: 'Pay 7?' } } },
  })
  expect(JSON.stringify(interrupts)).not.toContain('quote-7')
  const result = await resumed(options, checkpoint, { [id]: accept })
  expect(readIn(result)).toEqual(['paid 7'])
  expect(did.map(({ what, state }) => [what, state])).toEqual([
    ['enter', undefined],
    ['enter', 'quote-7'],
    ['paid', 'quote-7'],
  ])
})

test('a declined question acts not at all (MC14)', async () => {
  const { server, did } = trial()
  const options = { servers: { bank: server } }
  const { checkpoint, id } = await asked(options, call('pay', { amount: 7 }))
  const result = await resumed(options, checkpoint, { [id]: { confirm: { action: 'decline' } } })
  expect(readIn(result)).toEqual(['bank: not paid: decline'])
  expect(did.filter(({ what }) => what === 'paid')).toEqual([])
})

test('an answer that does not fit the form is refused before anything runs, and the question stays open (MC13)', async () => {
  const { server, did } = trial()
  const options = { servers: { bank: server } }
  const { checkpoint, id } = await asked(options, call('pay', { amount: 7 }))
  for (const wrong of [
    'yes',
    {},
    { confirm: { action: 'maybe' } },
    { confirm: { action: 'accept', content: { confirm: 'yes' } } },
  ])
    await expect(resumed(options, checkpoint, { [id]: wrong })).rejects.toThrow(AnswerError)
  expect(did).toHaveLength(1)
})

test('a call that fails after its answer leaves nothing of the server in the checkpoint (MC14)', async () => {
  const { server } = trial()
  const { checkpoint, id } = await asked({ servers: { bank: server } }, call('pay', { amount: 7 }))
  expect(JSON.stringify(checkpoint)).toContain('quote-7')
  const gone: HttpServer = {
    ...server,
    fetch: async (url, init) =>
      bodyOf(init).includes('quote-7')
        ? new Response('secret', { status: 403 })
        : ((await server.fetch?.(url, init)) ?? new Response()),
  }
  const model = scriptedModel([respond(call('pay', { amount: 8 }))])
  const result = await resumed({ servers: { bank: gone } }, checkpoint, { [id]: accept }, { model })
  expect(readIn(result)).toEqual(['bank: the request was refused (HTTP 403)'])
  const saved = result.status === 'interrupted' && JSON.stringify(result.checkpoint)
  expect(saved).toContain('quote-8')
  expect(saved).not.toContain('quote-7')
})

test('questions: decline and a function answer without an interrupt (MC13, MC16)', async () => {
  const { server } = trial()
  const declined = await ran({ servers: { bank: server }, questions: 'decline' }, [call('pay', { amount: 7 })])
  expect(declined.read).toEqual([expect.stringMatching(/^bank: /)])
  expect(declined.result?.status).toBe('completed')
  const asked: unknown[] = []
  const live = await ran(
    {
      servers: { bank: server },
      questions: async ({ server, tool, request }) => {
        asked.push([server, tool, request.params.message])
        return { action: 'accept', content: { confirm: true } }
      },
    },
    [call('pay', { amount: 7 })],
  )
  expect(live.read).toEqual(['paid 7'])
  expect(asked).toEqual([['bank', 'pay', 'Pay 7?']])
})

test('a server that asks too much at once asks nobody (MC16)', async () => {
  const confirm = inputRequired.elicit({ message: 'Sure?', requestedSchema: z.object({ sure: z.boolean() }) })
  const server = served(() => {
    const server = new McpServer({ name: 'curious', version: '1.0.0' })
    server.registerTool('pay', { inputSchema: z.object({}) }, () =>
      inputRequired({ inputRequests: Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`q${n}`, confirm])) }),
    )
    return server
  })
  const questions = () => Promise.reject(new Error('nobody is asked'))
  expect((await ran({ servers: { a: server }, questions }, [call('pay', {})])).read).toEqual([
    'a: it asks more than 10 questions',
  ])
})

test('a server that asks for a model or for folders gets no, in both protocols (MC24)', async () => {
  const modern = served(() => {
    const server = new McpServer({ name: 'nosy', version: '1.0.0' })
    server.registerTool('think', { inputSchema: z.object({}) }, () =>
      inputRequired({ inputRequests: { folders: inputRequired.listRoots() } }),
    )
    return server
  })
  expect((await ran({ servers: { a: modern } }, [call('think', {})])).read).toEqual([
    expect.stringMatching(/^a: .*roots/),
  ])
  const refused: (number | undefined)[] = []
  let done = () => {}
  const both = new Promise<void>((resolve) => {
    done = resolve
  })
  const legacy = raw(
    ({ id, method }) => {
      if (method === 'tools/list') return { tools: [listed('think')] }
      if (method !== 'tools/call') return undefined
      async function* stream() {
        const messages = [{ role: 'user', content: { type: 'text', text: 'Think!' } }]
        yield event({ id: 'a', method: 'sampling/createMessage', params: { messages, maxTokens: 9 } })
        yield event({ id: 'b', method: 'roots/list' })
        await both
        yield event({ id, result: { content: [{ type: 'text', text: 'thought' }] } })
      }
      return streamed(stream())
    },
    ({ error }) => {
      if (error && refused.push(error.code) === 2) done()
    },
  )
  expect((await ran({ servers: { a: legacy } }, [call('think', {})])).read).toEqual(['thought'])
  expect(refused).toEqual([-32601, -32601])
})
