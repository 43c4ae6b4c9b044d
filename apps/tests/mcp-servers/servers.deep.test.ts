/** The tools of the reference servers, which speak the protocol of 2025. */

import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import { call, collect, cut, respond, type ScriptStep, say, scriptedModel } from '@meanwhile/assemble/testing'
import {
  type Checkpoint,
  createAgent,
  type JsonSchema,
  type Middleware,
  type Model,
  type Tool,
  type ToolMessage,
  textOf,
} from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { mockModels, WIRE_NAMES, type WireName } from '@meanwhile/harness'
import { type McpOptions, mcp } from '@meanwhile/mcp'
import { retryModel } from '@meanwhile/middleware'
import { anthropic } from '@meanwhile/models/anthropic'
import { openai } from '@meanwhile/models/openai'
import OpenAI from 'openai'
import { expect, test } from 'vitest'

const program = (name: string) =>
  join(import.meta.dirname, `node_modules/@modelcontextprotocol/server-${name}/dist/index.js`)
const everything = { command: process.execPath, args: [program('everything'), 'stdio'] }

async function ran(options: McpOptions, calls: readonly ScriptStep[], middleware: readonly Middleware[] = []) {
  await using servers = mcp(options)
  const model = scriptedModel([respond(...calls), respond(say('done'))])
  const effects: Record<string, unknown> = {}
  const look: Middleware = {
    name: 'look',
    beforeAgent(setup) {
      for (const { name, effect } of setup.tools) effects[name] = effect
    },
  }
  const { result, error, events } = await collect(
    createAgent({ model, middleware: [servers, look, ...middleware] }).stream('Go'),
  )
  if (error) throw error
  const messages = result?.messages.filter((message): message is ToolMessage => message.role === 'tool') ?? []
  return { result, events, effects, read: messages.map((message) => textOf(message)) }
}

test('tools of server-filesystem are reads by their hints, and write_file is none although it has idempotentHint (MC9)', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'meanwhile-mcp-'))
  try {
    const file = join(folder, 'a.txt')
    writeFileSync(file, 'hello')
    const options: McpOptions = {
      servers: { files: { command: process.execPath, args: [program('filesystem'), folder] } },
      trust: 'annotations',
    }
    const { read, effects } = await ran(options, [call('read_text_file', { path: file })])
    expect(read).toEqual(['hello'])
    expect(effects).toMatchObject({
      read_text_file: 'read',
      list_directory: 'read',
      write_file: 'external',
      edit_file: 'external',
    })
    await using servers = mcp(options)
    const written = join(folder, 'b.txt')
    const asking = respond(call('write_file', { path: written, content: 'x' }), say('and more'), cut())
    const model = scriptedModel([asking, respond(say('done'))], { pace: { firstToken: 0, betweenTokens: 50 } })
    await createAgent({ model, middleware: [servers, retryModel({ baseDelay: 1 }), eagerTools()] }).run('Go')
    expect(existsSync(written)).toBe(false)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('server-everything: results, files, progress; tools that are tasks are left out (MC18, MC21, MC22)', async () => {
  const calls = [
    call('echo', { message: 'hi' }),
    call('get-tiny-image', {}),
    call('trigger-long-running-operation', { duration: 1, steps: 4 }),
  ]
  const { read, result, events } = await ran({ servers: { everything }, trust: 'annotations' }, calls)
  expect(read[0]).toBe('Echo: hi')
  const image = result?.messages.find((message) => message.role === 'tool' && message.name === 'get-tiny-image')
  expect(image).toMatchObject({
    content: expect.arrayContaining([expect.objectContaining({ type: 'file', mediaType: 'image/png' })]),
  })
  // The server sends its last progress after its answer.
  const reported = events.flatMap((event) => (event.type === 'tool-progress' ? [event.progress] : []))
  expect(reported).toContain(0.75)
  expect(result?.warnings.map(({ message }) => message)).toEqual([
    'everything: its tool "simulate-research-query" is left out: it can only be called as a task',
  ])
})

/** The models of an application. */
function modelOf(wire: WireName, fetch: typeof globalThis.fetch): Model {
  const options = { apiKey: 'none', maxRetries: 0, fetch }
  if (wire === 'anthropic') return anthropic({ client: new Anthropic(options), model: 'mock-1' })
  const api = wire === 'openai-chat' ? 'chat' : 'responses'
  return openai({ client: new OpenAI(options), model: 'mock-1', api })
}

interface SentTool {
  readonly strict?: boolean
  readonly parameters?: JsonSchema
  readonly input_schema?: JsonSchema
  readonly function?: SentTool
}

/** As OpenAI's strict mode wants it: a closed object without optional members. */
function isStrict({ additionalProperties, properties, required }: Readonly<Record<string, unknown>>): boolean {
  const names = Object.keys(Object(properties))
  return additionalProperties === false && Array.isArray(required) && required.length === names.length
}

test.each(WIRE_NAMES)(
  'every tool of the reference servers reaches a model with its schema, as it is and without strict: none would fit (MC12, %s)',
  async (wire) => {
    const files = { command: process.execPath, args: [program('filesystem'), tmpdir()] }
    await using servers = mcp({ servers: { everything, files } })
    const { fetch, requests } = mockModels({ script: [respond(say('done'))], wires: [wire] })
    const listed: Tool[] = []
    const look: Middleware = {
      name: 'look',
      beforeAgent: ({ tools }) => void listed.push(...tools),
    }
    await createAgent({ model: modelOf(wire, fetch), middleware: [servers, look] }).run('Go')
    const [body] = requests.map((request) => request.body as { readonly tools: readonly SentTool[] })
    const sent = body?.tools.map((tool) => tool.function ?? tool) ?? []
    expect(sent.length).toBeGreaterThan(24)
    const schemas = listed.map(({ input }) => {
      const { $schema: _, ...schema } = { ...input?.['~standard'].jsonSchema?.input({ target: 'draft-2020-12' }) }
      return schema
    })
    expect(sent.map(({ parameters, input_schema }) => parameters ?? input_schema)).toMatchObject(schemas)
    expect(sent.filter(({ strict }) => strict)).toEqual([])
    expect(schemas.filter((schema) => isStrict(schema))).toEqual([])
  },
)

const ASKS = 'trigger-elicitation-request'

test('a question of a 2025 server interrupts the run if its call may be made again, and another process answers (MC15)', async () => {
  const options: McpOptions = { servers: { everything }, askAgain: true }
  const { result } = await ran(options, [call(ASKS, {})])
  if (result?.status !== 'interrupted') throw new Error('no question')
  const [{ id, payload } = { id: '', payload: null }] = result.interrupts
  expect(payload).toMatchObject({
    mcp: 'everything',
    tool: ASKS,
    requests: { question: { method: 'elicitation/create' } },
  })
  await using servers = mcp(options)
  const agent = createAgent({ model: scriptedModel([respond(say('done'))]), middleware: [servers] })
  const saved = JSON.parse(JSON.stringify(result.checkpoint)) as Checkpoint
  const answer = { question: { action: 'accept', content: { name: 'Ada', check: true } } }
  const { messages } = await agent.resume(saved, { [id]: answer }).result
  expect(messages.map((message) => textOf(message)).join('\n')).toContain('Ada')
})

test('otherwise it is declined with a warning; a function answers it at once (MC15)', async () => {
  const declined = await ran({ servers: { everything } }, [call(ASKS, {})])
  expect(declined.read.join()).toContain('declined')
  expect(declined.result?.warnings).toContainEqual(expect.objectContaining({ code: 'mcp-question' }))
  const questions = async () => ({ action: 'accept' as const, content: { name: 'Ada', check: true } })
  expect((await ran({ servers: { everything }, questions }, [call(ASKS, {})])).read.join()).toContain('Ada')
})

test('a server over HTTP that was started again does not know the session: the request is sent on a new one (MC5)', async () => {
  const port = await freePort()
  const start = async () => {
    const env = { ...process.env, PORT: String(port) }
    const child = spawn(process.execPath, [program('everything'), 'streamableHttp'], {
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    await new Promise<void>((resolve) =>
      child.stderr.on('data', (line) => /listening/i.test(String(line)) && resolve()),
    )
    return child
  }
  let child = await start()
  try {
    await using servers = mcp({ servers: { everything: { url: `http://127.0.0.1:${port}/mcp` } } })
    let restarts = 0
    const restart: Middleware = {
      name: 'restart',
      async afterModel() {
        if (restarts++ > 0) return
        const gone = new Promise((resolve) => child.once('exit', resolve))
        child.kill('SIGKILL')
        await gone
        child = await start()
      },
    }
    const model = scriptedModel([respond(call('echo', { message: 'hi' })), respond(say('done'))])
    const { messages } = await createAgent({ model, middleware: [servers, restart] }).run('Go')
    expect(messages.map((message) => textOf(message))).toContain('Echo: hi')
  } finally {
    child.kill('SIGKILL')
  }
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address ? address.port : 0
}
