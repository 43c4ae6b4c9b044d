import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire, findPackageJSON } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'

// An application and core as npm may install them: with one copy of the OpenTelemetry API, or with one each. Real trees of
// node_modules, real copies, and a new process for each.

const run = promisify(execFile)
const require = createRequire(import.meta.url)
const API = {
  '1.9.0': folderOf('otel-api-1.9'),
  '1.10.0': folderOf('@opentelemetry/api'),
} as const
type Version = keyof typeof API

const CORE = fileURLToPath(new URL('../../../packages/core', import.meta.url))
let scratch: string

/** Core as it is published. */
beforeAll(async () => {
  scratch = await realpath(await mkdtemp(join(tmpdir(), 'meanwhile-copies-')))
  await run('rolldown', ['-c', '../../rolldown.config.ts', '-d', join(scratch, 'dist')], { cwd: CORE })
  await writeFile(join(scratch, 'package.json'), '{ "type": "module", "exports": "./dist/index.js" }')
})

afterAll(() => rm(scratch, { recursive: true }))

/** The folder of an application: core as a package in it, with its own copy of the API if `cores` differs from `apps`. */
async function installed(apps: Version, cores: Version): Promise<string> {
  const folder = join(scratch, `app ${apps}, core ${cores}`)
  const modules = join(folder, 'node_modules')
  const place = join(modules, '@meanwhile/core')
  await mkdir(place, { recursive: true })
  for (const part of ['dist', 'package.json']) await cp(join(scratch, part), join(place, part), { recursive: true })
  await linkApi(modules, apps)
  if (cores !== apps) await linkApi(join(place, 'node_modules'), cores)
  await writeFile(join(folder, 'app.mjs'), APP)
  return folder
}

async function linkApi(modules: string, version: Version): Promise<void> {
  await mkdir(join(modules, '@opentelemetry'), { recursive: true })
  await symlink(API[version], join(modules, '@opentelemetry/api'))
}

/** The application of the README, with its own span in the tool. */
const APP = `
import { createAgent, tool } from '@meanwhile/core'
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from ${json(require.resolve('@opentelemetry/context-async-hooks'))}
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from ${json(require.resolve('@opentelemetry/sdk-trace'))}

const exporter = new InMemorySpanExporter()
trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }))
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())

const input = { '~standard': { version: 1, vendor: 'none', validate: (value) => ({ value }), jsonSchema: { input: () => ({ type: 'object' }) } } }
const look = tool({
  name: 'look',
  description: 'Looks.',
  input,
  execute() {
    // The context is named, because SDK 3 would look for it in its own copy, which is 1.10.
    trace.getTracer('app').startSpan('mine', {}, context.active()).end()
    return 'seen'
  },
})
const model = {
  provider: 'none',
  id: 'none',
  async *stream({ messages }) {
    const call = { type: 'tool-call', id: '1', name: 'look', input: {} }
    const asks = messages.length === 1
    if (asks) yield { type: 'tool-call', call }
    else yield { type: 'text-delta', delta: 'Done.' }
    const content = asks ? [call] : [{ type: 'text', text: 'Done.' }]
    return { role: 'assistant', content, finishReason: asks ? 'tool-calls' : 'stop', usage: {} }
  },
}
const { text, messages } = await createAgent({ name: 'a', model, tools: [look] }).run('Go.')
const spans = exporter.getFinishedSpans()
const names = new Map(spans.map((span) => [span.spanContext().spanId, span.name]))
console.log(JSON.stringify({
  text,
  result: messages.find(({ role }) => role === 'tool').content,
  spans: spans.map(({ name, parentSpanContext }) => [name, names.get(parentSpanContext?.spanId) ?? null]),
}))
`

async function ran(apps: Version, cores: Version) {
  const folder = await installed(apps, cores)
  const { stdout, stderr } = await run(process.execPath, [join(folder, 'app.mjs')])
  expect(stderr).toBe('')
  return JSON.parse(stdout) as { spans: readonly (readonly [name: string, parent: string | null])[] }
}

const done = { text: 'Done.', result: [{ type: 'text', text: 'seen' }] }
const ALL = [
  ['chat none', 'invoke_agent a'],
  ['mine', 'execute_tool look'],
  ['execute_tool look', 'invoke_agent a'],
  ['chat none', 'invoke_agent a'],
  ['invoke_agent a', null],
]

test.each([
  ['1.10.0', '1.10.0'],
  ['1.9.0', '1.9.0'],
] as const)(
  'when the application and core share one copy of the API, %s, all spans are recorded and nest',
  async (apps, cores) => {
    expect(await ran(apps, cores)).toEqual({ ...done, spans: ALL })
  },
)

test('if core’s copy of the API is older than the application’s, it works like one copy', async () => {
  expect(await ran('1.10.0', '1.9.0')).toEqual({ ...done, spans: ALL })
})

test('if core’s copy of the API is newer than the application’s, core records nothing, and the run is not affected', async () => {
  expect(await ran('1.9.0', '1.10.0')).toEqual({ ...done, spans: [['mine', null]] })
})

function folderOf(name: string): string {
  return dirname(findPackageJSON(name, import.meta.url) ?? '')
}

function json(path: string): string {
  return JSON.stringify(path)
}
