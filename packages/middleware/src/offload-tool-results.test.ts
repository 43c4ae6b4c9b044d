import { call, respond, type ScriptStep, say, scriptedModel } from '@meanwhile/assemble/testing'
import { ConfigError, createAgent, type Tool, textOf, tool } from '@meanwhile/core'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { toolResults } from '../test/tool-results.ts'
import type { FileBackend } from './file-backend.ts'
import { filesystem } from './filesystem.ts'
import { memoryBackend } from './memory-backend.ts'
import { type OffloadToolResultsOptions, offloadToolResults } from './offload-tool-results.ts'

/** A tool that returns its input, or fails with it. */
function saying(text: string, options: Partial<Tool<object, string>> = {}): Tool {
  return tool({
    name: 'talk',
    description: 'Talks.',
    input: z.object({ fail: z.boolean().optional() }),
    execute: ({ fail }) => {
      if (fail) throw new Error(text)
      return text
    },
    ...(options as object),
  }) as Tool
}

async function ran(
  tools: readonly Tool[],
  calls: readonly ScriptStep[],
  options: Partial<OffloadToolResultsOptions> = {},
) {
  const backend = options.backend ?? memoryBackend()
  const done = await toolResults([offloadToolResults({ ...options, backend })], [calls], tools)
  const files = await backend.list('tool-results', { limit: 100 }).catch(() => [])
  const stored = await Promise.all(
    files.map(async ({ name }) => {
      const { bytes } = await backend.read(`tool-results/${name}`, { maxBytes: 10_000_000 })
      return { name, text: new TextDecoder().decode(bytes) }
    }),
  )
  return { ...done, stored }
}

const long = `${'0123456789'.repeat(10_000)}the end`

test('a large result: the model reads the beginning, the size and the path, the file contains all, the caller has the output (N33)', async () => {
  const { texts, messages, stored } = await ran([saying(long)], [call('talk', {})])
  const [file] = stored
  expect(stored).toHaveLength(1)
  expect(file?.text).toBe(long)
  expect(texts).toEqual([
    `${long.slice(0, 2_000)}\n\n[This result has 100007 bytes; at most 2000 are shown. The full result is in tool-results/${file?.name}; read it with read_file.]`,
  ])
  expect(messages[0]?.output).toBe(long)
  expect(messages[0]?.isError).toBeUndefined()
})

test('for a result over the agent’s limit the file contains all, and the caller has no output (N33, P10)', async () => {
  const text = 'x'.repeat(5_000_000)
  const { texts, messages, stored } = await ran([saying(text)], [call('talk', {})])
  expect(stored.map((file) => file.text.length)).toEqual([5_000_000])
  expect(texts[0]).toContain('This result has 5000000 bytes; at most 2000 are shown.')
  expect(messages[0]).not.toHaveProperty('output')
  expect(messages[0]?.isError).toBeUndefined()
})

test('an error result is handled in the same way and stays one (N33)', async () => {
  const { texts, messages, stored } = await ran([saying(long)], [call('talk', { fail: true })])
  expect(stored.map(({ text }) => text)).toEqual([long])
  expect(messages[0]?.isError).toBe(true)
  expect(texts[0]).toContain('This result has 100007 bytes')
})

test('a result that is not larger than maxBytes, counted in bytes, is unchanged (N33)', async () => {
  const options = { maxBytes: 10, preview: 4 }
  expect((await ran([saying('0123456789')], [call('talk', {})], options)).texts).toEqual(['0123456789'])
  expect((await ran([saying('0123456789')], [call('talk', { fail: true })], options)).texts).toEqual([
    'error: 0123456789',
  ])
  const { texts, stored } = await ran([saying('éééééé')], [call('talk', {})], options)
  expect(stored.map(({ text }) => text)).toEqual(['éééééé'])
  expect(texts[0]?.split('\n')[0]).toBe('éé')
})

/** Any but a lone surrogate. That of fast-check takes seconds to create. */
const codePoint = fc
  .oneof(fc.integer({ max: 0xd7ff, min: 0 }), fc.integer({ max: 0x10ffff, min: 0xe000 }))
  .map((code) => String.fromCodePoint(code))

test('the cut is between characters as readers see them, and within the bytes allowed (N33)', async () => {
  const family = '👨‍👩‍👧'
  for (const [text, preview, start] of [
    [`ab${family}cd`, 5, 'ab'],
    [`ab${family}cd`, 20, `ab${family}`],
    ['e\u0301e\u0301', 4, 'e\u0301'],
    ['e\u0301e\u0301', 1, ''],
    ['e\u0301e\u0301', 0, ''],
    ['日本語', 7, '日本'],
  ] as const) {
    const { texts } = await ran([saying(text)], [call('talk', {})], { maxBytes: preview, preview })
    expect(texts[0]?.split('\n\n[')[0]).toBe(start)
  }
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: codePoint, minLength: 1, maxLength: 40 }), fc.nat(30), async (text, preview) => {
      fc.pre(Buffer.byteLength(text) > 30 && !text.includes('\n\n['))
      const { texts, stored } = await ran([saying(text)], [call('talk', {})], { maxBytes: 30, preview })
      const start = texts[0]?.slice(0, texts[0].indexOf('\n\n[This result')) ?? ''
      expect(Buffer.byteLength(start)).toBeLessThanOrEqual(preview)
      expect(text.startsWith(start)).toBe(true)
      expect(start).not.toMatch(/[\ud800-\udbff]$/)
      expect(stored[0]?.text).toBe(text)
    }),
    propertyRuns({ small: 12, middle: 18, whole: 30 }),
  )
})

test('files in a result stay in it, after the beginning of its text (N33)', async () => {
  const png = { type: 'file', mediaType: 'image/png', data: 'AAAA' } as const
  const toContent = () => [
    { type: 'text', text: 'one ' } as const,
    png,
    { type: 'text', text: 'two'.repeat(9) } as const,
  ]
  const { messages, stored } = await ran([saying('', { toContent })], [call('talk', {})], { maxBytes: 10, preview: 6 })
  expect(stored.map(({ text }) => text)).toEqual([`one ${'two'.repeat(9)}`])
  expect(messages[0]?.content).toEqual([{ type: 'text', text: expect.stringMatching(/^one tw\n\n\[/) }, png])
})

test('the file is named by its content: no call id, however hostile, appears in a path (N34, N40)', async () => {
  const ids = ['../../etc/passwd', '/abs', 'a\0b', 'x'.repeat(5_000)]
  const { stored } = await ran(
    [saying(long)],
    ids.map((id) => call('talk', {}, { id })),
  )
  // Four calls, one text: one file.
  expect(stored).toHaveLength(1)
  expect(stored[0]?.name).toMatch(/^[0-9a-f]{32}\.txt$/)
})

test('read_file is added if it is missing, and its results are not stored again (N34)', async () => {
  const backend = memoryBackend()
  const model = scriptedModel([
    respond(call('talk', {})),
    ({ messages }) => {
      const last = messages.at(-1)
      const path = /tool-results\/\w+\.txt/.exec(last ? textOf(last) : '')?.[0]
      return respond(call('read_file', { path }))
    },
    respond(say('Done.')),
  ])
  const agent = createAgent({ model, tools: [saying(long)], middleware: [offloadToolResults({ backend })] })
  const { messages } = await agent.run('Go')
  const results = messages.filter((message) => message.role === 'tool')
  expect(results[1] && textOf(results[1])).toBe(`     1\t${long}`)
  expect(await backend.list('tool-results', { limit: 9 })).toHaveLength(1)
  expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(['talk', 'read_file'])
})

test('with filesystem the agent keeps its read_file (N34)', async () => {
  const backend = memoryBackend()
  const model = scriptedModel([respond(say('Done.'))])
  await createAgent({
    model,
    middleware: [filesystem({ backend, tools: ['read_file'] }), offloadToolResults({ backend })],
  }).run('Go')
  expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(['read_file'])
})

test('if storing fails the model reads the beginning and a note, and the run continues (N35)', async () => {
  const backend: FileBackend = {
    ...memoryBackend(),
    write: () => Promise.reject(new Error('the disk is full')),
  }
  const { texts, result } = await ran([saying(long)], [call('talk', {}), call('talk', { fail: true })], { backend })
  const note =
    '[This result has 100007 bytes; at most 2000 are shown. The rest is lost, because storing it failed: the disk is full]'
  expect(texts).toEqual([`${long.slice(0, 2_000)}\n\n${note}`, `error: ${long.slice(0, 2_000)}\n\n${note}`])
  expect(result?.text).toBe('Done.')
  const warning = { code: 'tool-result-not-stored', message: 'the disk is full', source: 'offload-tool-results' }
  expect(result?.warnings).toEqual([warning, warning])
})

test('a result that is the answer of the run is complete; one that the model reads is not (O14)', async () => {
  for (const [returnDirect, isDirect] of [
    [true, true],
    [(output: string) => output.endsWith('the end'), true],
    [false, false],
    [() => false, false],
    [() => JSON.parse('no') as boolean, false],
  ] as const) {
    const { result, stored } = await ran([saying(long, { returnDirect })], [call('talk', {})])
    expect(result?.stopReason).toBe(isDirect ? 'return-direct' : 'answer')
    expect(result?.text).toBe(isDirect ? long : 'Done.')
    expect(stored).toHaveLength(isDirect ? 0 : 1)
  }
  // An error of such a tool is sent to the model.
  const failed = await ran([saying(long, { returnDirect: true })], [call('talk', { fail: true })])
  expect(failed.stored).toHaveLength(1)
  expect(failed.result?.text).toBe('Done.')
})

test('results of excluded tools, and errors that end the run, are unchanged (N33)', async () => {
  const { texts } = await ran([saying(long)], [call('talk', {})], { exclude: ['talk'] })
  expect(texts).toEqual([long])
  const fatal = new ConfigError('x', long)
  const failing = saying('', {
    execute: () => {
      throw fatal
    },
  })
  await expect(ran([failing], [call('talk', {})])).rejects.toBe(fatal)
})

test('invalid options are a ConfigError that names them', () => {
  const backend = memoryBackend()
  expect(() => offloadToolResults(undefined as never)).toThrow(expect.objectContaining({ option: 'backend' }))
  for (const [option, options] of [
    ['backend', { backend: undefined }],
    ['maxBytes', { maxBytes: 1.5 }],
    ['preview', { preview: -1 }],
    ['folder', { folder: '../out' }],
    ['folder', { folder: '.' }],
  ] as const) {
    expect(() => offloadToolResults({ backend, ...options } as never)).toThrow(
      expect.objectContaining({ name: 'ConfigError', option }),
    )
  }
})
