import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { AnswerError, type Checkpoint, createAgent, runTool } from '@meanwhile/core'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect, test } from 'vitest'
import { asking, bodyOf, event, listed, raw, streamed } from '../test/in-process.ts'
import { ran, readIn } from '../test/runs.ts'
import { type HttpServer, type McpOptions, mcp, mcpTools } from './index.ts'

const form = { message: 'Sure?', requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } } } }
const look = listed('look', { annotations: { readOnlyHint: true } })
const yes = { action: 'accept', content: { ok: true } }

/** A run that such a question interrupts, and its resume by an agent with its own connection. */
async function askedAgain(options: McpOptions, tool: string) {
  const { result, error } = await ran(options, [call(tool, {}, { id: 'c1' })])
  if (result?.status !== 'interrupted') throw error ?? new Error(`the run is ${result?.status}`)
  const [{ id, payload } = { id: '', payload: null }] = result.interrupts
  const saved = JSON.parse(JSON.stringify(result.checkpoint)) as Checkpoint
  const resume = async (answer: object) => {
    await using servers = mcp(options)
    const agent = createAgent({ model: scriptedModel([respond(say('done'))]), middleware: [servers] })
    return await agent.resume(saved, { [id]: { question: answer } as never }).result
  }
  return { payload, resume, resumed: async (answer: object) => readIn(await resume(answer)) }
}

test('a question of a 2025 server interrupts the run of a read: the call is given up, and made again with the answer (MC15)', async () => {
  const { server, begun, answers } = asking([look], [form])
  const { payload, resumed } = await askedAgain({ servers: { a: server }, trust: 'annotations' }, 'look')
  expect(payload).toEqual({
    mcp: 'a',
    tool: 'look',
    callId: 'c1',
    requests: { question: { method: 'elicitation/create', params: form } },
  })
  expect(answers).toEqual([{ action: 'cancel' }])
  await expect(resumed({ action: 'accept', content: { ok: 'yes' } })).rejects.toThrow(AnswerError)
  expect(begun).toHaveLength(1)
  expect(await resumed(yes)).toEqual([JSON.stringify([yes])])
  expect(begun).toHaveLength(2)
})

test('a second question of the same call is asked after the first, and both answers go back in order (MC15)', async () => {
  const { server, begun } = asking([look], [form, { ...form, message: 'Really?' }])
  const options = { servers: { a: server }, trust: 'annotations' } as const
  const { result } = await ran(options, [call('look', {})])
  if (result?.status !== 'interrupted') throw new Error('no question')
  expect(result.interrupts[0]?.payload).toMatchObject({ requests: { question: { params: form } } })
  await using servers = mcp(options)
  const agent = createAgent({ model: scriptedModel([respond(say('done'))]), middleware: [servers] })
  const second = await agent.resume(result.checkpoint, { [result.interrupts[0]?.id ?? '']: { question: yes } }).result
  if (second.status !== 'interrupted') throw new Error('no second question')
  expect(second.interrupts[0]?.payload).toMatchObject({ requests: { question: { params: { message: 'Really?' } } } })
  const no = { action: 'decline' }
  const { messages } = await agent.resume(second.checkpoint, { [second.interrupts[0]?.id ?? '']: { question: no } })
    .result
  expect(readIn({ ...result, messages })).toEqual([JSON.stringify([yes, no])])
  expect(begun).toHaveLength(3)
})

/** A server whose call asks these questions the first time, and others when it is made again. */
function askingOtherwise(first: readonly object[], next: readonly object[]) {
  const one = asking([look], first)
  const other = asking([look], next)
  let calls = 0
  const server: HttpServer = {
    ...one.server,
    async fetch(url, init) {
      if (bodyOf(init).includes('"tools/call"')) calls++
      return (await (calls > 1 ? other : one).server.fetch?.(url, init)) ?? new Response()
    },
  }
  return { server, answers: other.answers }
}

test('an answer goes only to the question that the user has seen: another one is asked (MC15)', async () => {
  const really = { ...form, message: 'Really?' }
  const { server, answers } = askingOtherwise([form], [really, form])
  const { payload, resume } = await askedAgain({ servers: { a: server }, trust: 'annotations' }, 'look')
  expect(payload).toMatchObject({ requests: { question: { params: form } } })
  const again = await resume(yes)
  expect(answers).toEqual([{ action: 'cancel' }, { action: 'cancel' }])
  expect(again.interrupts).toMatchObject([{ payload: { requests: { question: { params: really } } } }])
})

test('a call that loses its result after its answer is made once more, and gets the answer again (MC15, MC20)', async () => {
  const answers: unknown[] = []
  let heard = () => {}
  async function* asks(id: number, call: number) {
    const answered = new Promise<void>((resolve) => {
      heard = resolve
    })
    yield event({ id: `question ${call}`, method: 'elicitation/create', params: form })
    await answered
    // The first call is given up, and the second is lost.
    if (call === 3) yield event({ id, result: { content: [{ type: 'text', text: 'seen' }] } })
  }
  let calls = 0
  const server = raw(
    ({ id, method }) => {
      if (method === 'tools/list') return { tools: [look] }
      return method === 'tools/call' ? streamed(asks(id, ++calls)) : undefined
    },
    ({ result }) => {
      if (result === undefined) return
      answers.push(result)
      heard()
    },
  )
  const { resumed } = await askedAgain({ servers: { a: server }, trust: 'annotations' }, 'look')
  expect(await resumed(yes)).toEqual(['seen'])
  expect(answers).toEqual([{ action: 'cancel' }, yes, yes])
})

test('of two equal questions each gets its own answer (MC15)', async () => {
  const { server } = asking([look], [form, form])
  const options = { servers: { a: server }, trust: 'annotations' } as const
  const first = await ran(options, [call('look', {})])
  await using servers = mcp(options)
  const agent = createAgent({ model: scriptedModel([respond(say('done'))]), middleware: [servers] })
  let { result } = first
  for (const question of [yes, { action: 'decline' }]) {
    if (result?.status !== 'interrupted') throw new Error('no question')
    result = await agent.resume(result.checkpoint, { [result.interrupts[0]?.id ?? '']: { question } }).result
  }
  expect(readIn(result)).toEqual([JSON.stringify([yes, { action: 'decline' }])])
})

test('the question of a call that may act is declined with a warning, and interrupts only if askAgain allows it (MC15)', async () => {
  const declined = asking([listed('book')], [form])
  const { read, result } = await ran({ servers: { a: declined.server } }, [call('book', {})])
  expect(read).toEqual(['[{"action":"decline"}]'])
  expect(result?.warnings).toMatchObject([
    {
      code: 'mcp-question',
      message:
        'a: a question of book was declined: its call may act before it asks: the option askAgain allows to make it again',
    },
  ])
  const { server, begun } = asking([listed('book')], [form])
  const names: string[] = []
  const askAgain = (name: string) => names.push(name) > 0
  const { resumed } = await askedAgain({ servers: { a: server }, askAgain }, 'book')
  expect([await resumed(yes), begun.length, names]).toEqual([[JSON.stringify([yes])], 2, ['book']])
})

test('a question while several calls of the connection are open is declined, and each of their runs has a warning (MC15)', async () => {
  let open = 0
  let both = () => {}
  const bothOpen = new Promise<void>((resolve) => {
    both = resolve
  })
  const { server } = asking([look], [form], async () => {
    if (++open === 2) both()
    await bothOpen
  })
  const options = { servers: { a: server }, trust: 'annotations' } as const
  const { read, result } = await ran(options, [call('look', { n: 1 }), call('look', { n: 2 })])
  expect(read).toEqual(['[{"action":"decline"}]', '[{"action":"decline"}]'])
  expect(result?.warnings[0]).toMatchObject({
    code: 'mcp-question',
    message: 'a: a question of look was declined: it does not say which of its open calls it is about',
  })
})

test('a function answers a question of a 2025 server at once, in the same call (MC15)', async () => {
  const { server, begun } = asking([listed('book')], [form])
  const questions = async () => ({ action: 'accept' as const, content: { ok: true } })
  expect((await ran({ servers: { a: server }, questions }, [call('book', {})])).read).toEqual([JSON.stringify([yes])])
  expect(begun).toHaveLength(1)
})

test('a function that throws says why to us and not to the server (MC16)', async () => {
  const { server, answers } = asking([listed('book')], [form])
  const questions = () => Promise.reject(new Error('no table of users in db.internal'))
  const { result } = await ran({ servers: { a: server }, questions }, [call('book', {})])
  expect(answers).toEqual([{ action: 'decline' }])
  expect(result?.warnings.map(({ message }) => message)).toEqual([
    'a: a question of book was declined: questions threw: no table of users in db.internal',
  ])
})

test('a call asks at most ten times in both protocols, and what is declined has one warning for each reason (MC16)', async () => {
  const thirty = Array.from({ length: 30 }, () => form)
  const { server, answers } = asking([listed('book')], thirty)
  const { result } = await ran({ servers: { a: server } }, [call('book', {})])
  expect(answers).toHaveLength(30)
  expect(result?.warnings.map(({ message }) => message.replace(/.*declined: /, ''))).toEqual([
    'its call may act before it asks: the option askAgain allows to make it again',
    'it asks more than 10 questions',
  ])
  let asked = 0
  const often = asking([listed('book')], thirty)
  const questions = async () => {
    asked++
    return { action: 'accept' as const, content: { ok: true } }
  }
  await ran({ servers: { a: often.server }, questions }, [call('book', {})])
  expect([asked, often.answers.length]).toEqual([10, 30])
})

test('a question with an address is shown with it, and nobody opens it; the answer needs no form (MC16)', async () => {
  const link = { mode: 'url', message: 'Sign in.', url: 'https://sign-in.test/', elicitationId: 'e1' }
  const { server } = asking([look], [link])
  const opened: string[] = []
  const watched = {
    ...server,
    async fetch(url: string | URL, init?: RequestInit) {
      opened.push(String(url))
      return (await server.fetch?.(url, init)) ?? new Response()
    },
  }
  const { payload, resumed } = await askedAgain({ servers: { a: watched }, trust: 'annotations' }, 'look')
  expect(payload).toMatchObject({ requests: { question: { params: link } } })
  expect(await resumed({ action: 'accept' })).toEqual(['[{"action":"accept"}]'])
  expect(new Set(opened)).toEqual(new Set(['http://server.test/mcp']))
})

test('outside a run nobody can be asked: a question is declined (MC16)', async () => {
  const { server } = asking([look], [form])
  const client = new Client({ name: 'us', version: '1.0.0' }, { capabilities: { elicitation: { form: {} } } })
  const { fetch } = server
  await client.connect(
    new StreamableHTTPClientTransport(new URL('http://server.test/mcp'), { ...(fetch && { fetch }) }),
  )
  const [tool] = await mcpTools(client, { server: 'a', trust: 'annotations' })
  if (!tool) throw new Error('no tool')
  expect(await runTool(tool, {}).result).toMatchObject({ content: [{ text: '[{"action":"decline"}]' }] })
  await client.close()
})
