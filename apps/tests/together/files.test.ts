import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { call, collect, cut, respond, type ScriptResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { type AgentEvent, createAgent, type Message, type Middleware, type Tool, textOf, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { spanTree } from '@meanwhile/harness/otlp'
import { filesystem, memoryBackend, offloadToolResults, retryModel } from '@meanwhile/middleware'
import { directoryBackend } from '@meanwhile/middleware/directory'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'

let root: string
beforeEach(async () => void (root = await mkdtemp(join(tmpdir(), 'meanwhile-'))))
afterEach(() => rm(root, { recursive: true }))

const exporter = new InMemorySpanExporter()
const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })

const report = tool({
  name: 'report',
  description: 'Reports at length.',
  input: z.object({}),
  effect: 'read',
  execute: () => 'All is well. '.repeat(1_000),
}) as Tool

async function ran(script: readonly ScriptResponse[], middleware: readonly Middleware[]) {
  exporter.reset()
  const agent = createAgent({
    name: 'clerk',
    model: scriptedModel(script),
    tools: [report],
    middleware,
    telemetry: { tracerProvider },
  })
  return await collect(agent.stream('Go'))
}

const results = (messages: readonly Message[] = []) =>
  messages.flatMap((message) => (message.role === 'tool' ? [textOf(message)] : []))

const early = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => (event.type === 'tool-start' && event.provisional ? [event.call.name] : []))

const done = respond(say('Done.'))

test('with eager tools what reads files starts in the stream and what writes them after it, over a real directory, and the transcript is the same (N39, H16)', async () => {
  const script = [
    respond(
      call('read_file', { path: 'a.txt' }, { id: 'read' }),
      call('grep', { pattern: 'o' }, { id: 'grep' }),
      call('report', {}, { id: 'report' }),
      call('write_file', { path: 'new.txt', content: 'new' }, { id: 'write' }),
      wait(20),
      say('Reading.'),
    ),
    respond(call('edit_file', { path: 'a.txt', oldText: 'one', newText: 'two' }, { id: 'edit' }), wait(20), say('.')),
    respond(call('read_file', { path: 'a.txt' }, { id: 'again' }), wait(20), say('.')),
    done,
  ]
  const transcripts: (readonly Message[] | undefined)[] = []
  for (const eager of [[], [eagerTools()]]) {
    await rm(join(root, 'new.txt'), { force: true })
    await writeFile(join(root, 'a.txt'), 'one\n')
    const backend = directoryBackend(root)
    const offload = offloadToolResults({ backend: memoryBackend(), maxBytes: 1_000, preview: 12 })
    const { result, events } = await ran(script, [...eager, filesystem({ backend }), offload])
    expect(early(events)).toEqual(eager.length > 0 ? ['read_file', 'grep', 'report', 'read_file'] : [])
    expect(await readFile(join(root, 'a.txt'), 'utf8')).toBe('two\n')
    expect(await readFile(join(root, 'new.txt'), 'utf8')).toBe('new')
    transcripts.push(result?.messages)
  }
  expect(transcripts[1]).toEqual(transcripts[0])
  expect(results(transcripts[0])).toEqual([
    '     1\tone',
    'a.txt',
    expect.stringMatching(/^All is well\.\n\n\[This result has 13000 bytes.* tool-results\/\w+\.txt/),
    'Created new.txt (3 bytes).',
    'Edited a.txt: 1 replacement.',
    '     1\ttwo',
  ])
})

test('a file read early for a response that did not stand was not read: the model never saw it (N37, H18)', async () => {
  const backend = memoryBackend({ 'a.txt': 'one' })
  const { result, events } = await ran(
    [
      respond(call('read_file', { path: 'a.txt' }), wait(20), cut()),
      respond(call('edit_file', { path: 'a.txt', oldText: 'one', newText: 'two' })),
      respond(call('read_file', { path: 'a.txt' })),
      respond(call('edit_file', { path: 'a.txt', oldText: 'one', newText: 'two' })),
      done,
    ],
    [retryModel({ baseDelay: 1 }), eagerTools(), filesystem({ backend })],
  )
  expect(events.filter(({ type }) => type === 'tool-discarded')).toHaveLength(1)
  expect(results(result?.messages)).toEqual([
    'a.txt: was not read in this run; read it, then try again',
    '     1\tone',
    'Edited a.txt: 1 replacement.',
  ])
})

test('a file read early for an attempt that failed was read, if the next attempt asks for it: under either id (N37, O4)', async () => {
  const backend = memoryBackend({ 'a.txt': 'one' })
  const { result, events } = await ran(
    [
      respond(call('read_file', { path: 'a.txt' }, { id: 'first' }), wait(20), cut()),
      respond(call('read_file', { path: 'a.txt' }, { id: 'second' })),
      respond(call('edit_file', { path: 'a.txt', oldText: 'one', newText: 'two' })),
      done,
    ],
    [retryModel({ baseDelay: 1 }), eagerTools(), filesystem({ backend })],
  )
  expect(events.filter(({ type }) => type === 'tool-start')).toHaveLength(2)
  expect(results(result?.messages)).toEqual(['     1\tone', 'Edited a.txt: 1 replacement.'])
})

test('the spans show the hooks of filesystem, and each file tool inside the wrap that offloads', async () => {
  const backend = memoryBackend({ 'a.txt': 'one' })
  const calls = respond(call('read_file', { path: 'a.txt' }), wait(20), call('ls', { path: '../x' }))
  await ran([calls, done], [eagerTools(), filesystem({ backend }), offloadToolResults({ backend })])
  const attributes = ['meanwhile.dispatch.mode', 'meanwhile.tool.effect']
  const [run, ...others] = spanTree(exporter.getFinishedSpans(), { attributes })
  expect(others).toEqual([])
  const early = { 'meanwhile.dispatch.mode': 'early', 'meanwhile.tool.effect': 'read' }
  const chat = { name: 'middleware eager-tools wrapModel', children: [{ name: 'chat scripted-1' }] }
  const isSteps = ({ name }: { readonly name: string }) => name === 'middleware eager-tools wrapAgent'
  const inside = run?.children?.flatMap((span) => (isSteps(span) ? (span.children ?? []) : span))
  // Some start within one tick of the clock.
  expect(inside?.toSorted((a, b) => a.name.localeCompare(b.name))).toEqual([
    chat,
    chat,
    { name: 'middleware filesystem beforeAgent' },
    { name: 'middleware filesystem beforeModel' },
    { name: 'middleware filesystem beforeModel' },
    { name: 'middleware offload-tool-results beforeAgent' },
    {
      name: 'middleware offload-tool-results wrapToolCall',
      children: [{ name: 'execute_tool read_file', attributes: early }],
    },
    {
      name: 'middleware offload-tool-results wrapToolCall',
      error: '',
      children: [{ name: 'execute_tool ls', attributes: early, error: '' }],
    },
  ])
})
