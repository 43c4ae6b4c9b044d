import { call, respond, type ScriptStep, say, scriptedModel } from '@meanwhile/assemble/testing'
import { ConfigError, createAgent, type Middleware, type Tool } from '@meanwhile/core'
import { afterEach, expect, test, vi } from 'vitest'
import { toolResults } from '../test/tool-results.ts'
import type { FileBackend, FolderEntry } from './file-backend.ts'
import { FileError } from './file-error.ts'
import { filesystem } from './filesystem.ts'
import { memoryBackend } from './memory-backend.ts'

afterEach(() => void vi.useRealTimers())

const bytes = (text: string) => new TextEncoder().encode(text)

async function textIn(backend: FileBackend, path: string): Promise<string> {
  return new TextDecoder().decode((await backend.read(path, { maxBytes: 1_000_000 })).bytes)
}

/** What the model reads of each call; each argument is a step. */
async function read(backend: FileBackend, ...steps: readonly (readonly ScriptStep[])[]): Promise<readonly string[]> {
  return (await toolResults([filesystem({ backend })], steps)).texts
}

/** The tools that the middleware adds. */
async function toolsOf(middleware: Middleware): Promise<readonly Tool[]> {
  let tools: readonly Tool[] = []
  const look: Middleware = { name: 'look', beforeModel: (_, run) => void (tools = run.setup.tools) }
  await createAgent({ model: scriptedModel([respond(say('.'))]), middleware: [middleware, look] }).run('Go')
  return tools
}

const toRead = (path: string, rest: object = {}) => call('read_file', { path, ...rest })
const toWrite = (path: string, content: string) => call('write_file', { path, content })
const toEdit = (path: string, oldText: string, newText: string, rest: object = {}) =>
  call('edit_file', { path, oldText, newText, ...rest })

test('read_file numbers lines from 1, keeps tabs, and states where to continue (N36)', async () => {
  const lines = Array.from({ length: 2_500 }, (_, n) => `line ${n + 1}`).join('\n')
  const backend = memoryBackend({ 'a.txt': '\tone\n\n  two\ttabs\n', 'no-break': 'x', empty: '', long: lines })
  const texts = await read(backend, [
    toRead('a.txt'),
    toRead('no-break'),
    toRead('empty'),
    toRead('a.txt', { offset: 2, limit: 1 }),
    toRead('a.txt', { offset: 4 }),
    toRead('long'),
    toRead('long', { offset: 2_499 }),
  ])
  expect(texts.slice(0, 5)).toEqual([
    '     1\t\tone\n     2\t\n     3\t  two\ttabs',
    '     1\tx',
    '(the file is empty)',
    '     2\t\n(lines 2 to 2 of 3; use offset 3 to continue)',
    'error: a.txt: has only 3 lines; offset is 4',
  ])
  const rows = texts[5]?.split('\n') ?? []
  expect(rows).toHaveLength(2_001)
  expect(rows.slice(-2)).toEqual(['  2000\tline 2000', '(lines 1 to 2000 of 2500; use offset 2001 to continue)'])
  expect(texts[6]).toBe('  2499\tline 2499\n  2500\tline 2500')
})

test('read_file returns images and PDFs as files, detected by their content and not by their names (N36, M13)', async () => {
  const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 255])
  const jpeg = new Uint8Array([0xff, 0xd8, 0xff, 0xe0])
  const webp = bytes('RIFF....WEBPVP8 ')
  const backend = memoryBackend({
    'pictures/a.png': png,
    'b.txt': jpeg,
    'c.gif': bytes('GIF89a'),
    'd.webp': webp,
    'e.pdf': bytes('%PDF-1.7'),
    'fake.png': 'only text',
  })
  const paths = ['pictures/a.png', 'b.txt', 'c.gif', 'd.webp', 'e.pdf', 'fake.png']
  const { messages } = await toolResults([filesystem({ backend })], [paths.map((path) => toRead(path))])
  expect(messages[0]?.content).toEqual([
    { type: 'text', text: 'pictures/a.png (image/png, 10 bytes)' },
    { type: 'file', mediaType: 'image/png', data: Buffer.from(png).toString('base64'), filename: 'a.png' },
  ])
  expect(
    messages.map(({ content }) => content.at(-1)).map((part) => (part?.type === 'file' ? part.mediaType : part?.text)),
  ).toEqual(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'application/pdf', '     1\tonly text'])
  // The message contains the bytes once.
  expect(JSON.stringify(messages[0]?.output)).not.toContain(Buffer.from(png).toString('base64'))
})

test('a file that is too large, not text or missing, or a folder, is an error result, and the run continues (N36, N38)', async () => {
  const backend = memoryBackend({
    'large.txt': 'x'.repeat(101),
    'fits.txt': 'x'.repeat(100),
    'zero.bin': new Uint8Array([1, 0, 2]),
    'latin.txt': new Uint8Array([0x63, 0x61, 0x66, 0xe9]),
    'folder/a.txt': '',
  })
  const { texts, result } = await toolResults(
    [filesystem({ backend, maxBytes: 100 })],
    [
      [
        toRead('large.txt'),
        toRead('fits.txt'),
        toRead('zero.bin'),
        toRead('latin.txt'),
        toRead('folder'),
        toRead('gone'),
      ],
    ],
  )
  expect(texts).toEqual([
    'error: large.txt: has 101 bytes, but at most 100 are allowed',
    `     1\t${'x'.repeat(100)}`,
    'error: zero.bin: is neither UTF-8 text nor an image or PDF',
    'error: latin.txt: is neither UTF-8 text nor an image or PDF',
    'error: folder: is a folder',
    'error: gone: does not exist',
  ])
  expect(result?.text).toBe('Done.')
})

test('edit_file replaces a text that occurs once, exactly (N37)', async () => {
  const backend = memoryBackend({ 'a.txt': '\ufeffone $& two\r\nthree\r\n' })
  const texts = await read(backend, [toRead('a.txt')], [toEdit('a.txt', '$& two', "$' $1 2")])
  expect(texts[1]).toBe('Edited a.txt: 1 replacement.')
  expect((await backend.read('a.txt', { maxBytes: 100 })).bytes).toEqual(bytes("\ufeffone $' $1 2\r\nthree\r\n"))
})

test('edit_file requires a text that is not empty and occurs, once unless replaceAll is set (N37)', async () => {
  const backend = memoryBackend({ 'a.txt': 'aaa b b', 'b.bin': new Uint8Array([0xff, 0xfe]) })
  const texts = await read(
    backend,
    [toRead('a.txt')],
    [
      toEdit('a.txt', '', 'x'),
      toEdit('a.txt', 'c', 'x'),
      toEdit('a.txt', 'b', 'x'),
      toEdit('a.txt', 'aa', 'x'),
      toEdit('a.txt', 'b', 'b'),
    ],
    [toEdit('a.txt', 'b', 'x', { replaceAll: true })],
  )
  expect(texts.slice(1)).toEqual([
    'error: invalid input for edit_file: oldText: must be a text of at least 1 characters',
    'error: a.txt: does not contain oldText',
    'error: a.txt: contains oldText more than once; include more of the surrounding text, or set replaceAll',
    'error: a.txt: contains oldText more than once; include more of the surrounding text, or set replaceAll',
    'error: a.txt: oldText and newText are the same',
    'Edited a.txt: 2 replacements.',
  ])
  expect(await textIn(backend, 'a.txt')).toBe('aaa x x')
})

test('an existing file is changed only if it was read in this run, in an earlier step; a new one needs no reading (N37)', async () => {
  const backend = memoryBackend({ 'a.txt': 'one' })
  const texts = await read(
    backend,
    [toEdit('a.txt', 'one', 'two'), toWrite('a.txt', 'two'), toWrite('new/b.txt', 'new')],
    // A result in the same response cannot have been read before.
    [toRead('a.txt'), toEdit('a.txt', 'one', 'two')],
    [toEdit('a.txt', 'one', 'two')],
    // The model knows what it wrote itself.
    [toEdit('./a.txt', 'two', 'three')],
    [toEdit('new/b.txt', 'new', 'newer')],
    [toWrite('new/b.txt', 'newest')],
  )
  expect(texts).toEqual([
    'error: a.txt: was not read in this run; read it, then try again',
    'error: a.txt: was not read in this run; read it, then try again',
    'Created new/b.txt (3 bytes).',
    '     1\tone',
    'error: a.txt: was not read in this run; read it, then try again',
    'Edited a.txt: 1 replacement.',
    'Edited a.txt: 1 replacement.',
    'Edited new/b.txt: 1 replacement.',
    'Replaced new/b.txt (6 bytes).',
  ])
  expect(await textIn(backend, 'a.txt')).toBe('three')
})

test('a file that changed since it was read is not changed, until it is read again (N37)', async () => {
  const backend = memoryBackend({ 'a.txt': 'one', 'b.txt': 'one' })
  const meddle: Middleware = {
    name: 'meddle',
    async beforeModel(_, run) {
      if (run.step !== 2) return
      await backend.write('a.txt', bytes('one!'))
      await backend.write('b.txt', bytes('one'))
    },
  }
  const { texts } = await toolResults(
    [filesystem({ backend }), meddle],
    [
      [toRead('a.txt'), toRead('b.txt')],
      [toEdit('a.txt', 'one', 'two'), toWrite('b.txt', 'two')],
      [toWrite('a.txt', 'two'), toEdit('a.txt', 'gone', 'two')],
      [toRead('a.txt')],
      [toEdit('a.txt', 'one', 'two')],
    ],
  )
  expect(texts.slice(2)).toEqual([
    'error: a.txt: has changed since it was read; read it, then try again',
    // A file written again with the same content is the same.
    'Replaced b.txt (3 bytes).',
    'error: a.txt: has changed since it was read; read it, then try again',
    'error: a.txt: has changed since it was read; read it, then try again',
    '     1\tone!',
    'Edited a.txt: 1 replacement.',
  ])
})

test('files read in one run do not count in another, nor in a run with its history (N37)', async () => {
  const backend = memoryBackend({ 'a.txt': 'one' })
  const model = scriptedModel([
    respond(toRead('a.txt')),
    respond(say('Read.')),
    respond(toEdit('a.txt', 'one', 'two')),
    respond(say('Done.')),
  ])
  const agent = createAgent({ model, middleware: [filesystem({ backend })] })
  const { messages } = await agent.run('Read it.')
  await agent.run([...messages, { role: 'user', content: 'Change it.' }])
  expect(await textIn(backend, 'a.txt')).toBe('one')

  const cutOff = messages.slice(0, messages.findIndex(({ role }) => role === 'tool') + 1)
  const again = scriptedModel([respond(toEdit('a.txt', 'one', 'two')), respond(say('Done.'))])
  await createAgent({ model: again, middleware: [filesystem({ backend })] }).run(cutOff)
  expect(await textIn(backend, 'a.txt')).toBe('one')
})

test('two simultaneous edits of one version lose no change (N37)', async () => {
  const backend = memoryBackend({ 'a.txt': 'one two' })
  const texts = await read(backend, [toRead('a.txt')], [toEdit('a.txt', 'one', '1'), toEdit('a.txt', 'two', '2')])
  const done = texts.slice(1).filter((text) => text.startsWith('Edited')).length
  const text = await textIn(backend, 'a.txt')
  expect([text.includes('1'), text.includes('2')].filter(Boolean)).toHaveLength(done)
  expect(done).toBeGreaterThan(0)
})

test('a file that would become too large is not written (N36)', async () => {
  const backend = memoryBackend({ 'a.txt': 'x' })
  const { texts } = await toolResults(
    [filesystem({ backend, maxBytes: 10 })],
    [[toRead('a.txt'), toWrite('b.txt', 'é'.repeat(6))], [toEdit('a.txt', 'x', 'y'.repeat(11))]],
  )
  expect(texts.slice(1)).toEqual([
    'error: b.txt: has 12 bytes, but at most 10 are allowed',
    'error: a.txt: has 11 bytes, but at most 10 are allowed',
  ])
  expect(await backend.stat('b.txt')).toBeUndefined()
})

test('with maxBytes 0 only empty files may be written (N36)', async () => {
  const { texts } = await toolResults(
    [filesystem({ backend: memoryBackend(), maxBytes: 0 })],
    [[toWrite('a.txt', ''), toWrite('b.txt', 'x')]],
  )
  expect(texts).toEqual([expect.stringMatching(/^(Wrote|Created)/), expect.stringContaining('at most 0 are allowed')])
})

test('ls lists a folder, sorted, folders with a slash; an empty folder and a missing one differ', async () => {
  const backend = memoryBackend({ 'b.txt': '', 'a/x.txt': '', 'a/c/y.txt': '' })
  expect(await read(backend, [call('ls', {}), call('ls', { path: 'a' }), call('ls', { path: 'z' })])).toEqual([
    'a/\nb.txt',
    'c/\nx.txt',
    'error: z: does not exist',
  ])
  expect(await read(memoryBackend(), [call('ls', {})])).toEqual(['(the folder is empty)'])
})

test('glob returns the newest first, equal ages by name, below a path if given (N38)', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  vi.setSystemTime(1_000)
  const backend = memoryBackend({
    'z.ts': '',
    'src/b.ts': '',
    'src/a.ts': '',
    'src/c.md': '',
    'node_modules/x/i.ts': '',
  })
  vi.setSystemTime(2_000)
  await backend.write('src/deep/new.ts', bytes(''))
  const texts = await read(backend, [
    call('glob', { pattern: '**/*.ts' }),
    call('glob', { pattern: '*.ts' }),
    call('glob', { pattern: '*.ts', path: 'src' }),
    call('glob', { pattern: '**', path: 'node_modules/x' }),
    call('glob', { pattern: '*.py' }),
    call('glob', { pattern: '{' }),
    call('glob', { pattern: '*', path: 'gone' }),
  ])
  expect(texts).toEqual([
    'src/deep/new.ts\nsrc/a.ts\nsrc/b.ts\nz.ts',
    'z.ts',
    'src/a.ts\nsrc/b.ts',
    'node_modules/x/i.ts',
    '(no file matches)',
    'error: "{" is not a valid glob pattern',
    'error: gone: does not exist',
  ])
})

test('grep returns files, content or counts, files by default (N38)', async () => {
  const backend = memoryBackend({
    'a.ts': 'const one = 1\nconst two = 2\n',
    'src/b.ts': 'let three = 3\nCONST four = 4\r\n',
    'src/c.md': 'const in words',
    'd.bin': new Uint8Array([0, ...bytes('const')]),
  })
  const find = (rest: object) => call('grep', { pattern: 'const \\w+', ...rest })
  const texts = await read(backend, [
    find({}),
    find({ output: 'content' }),
    find({ output: 'count', ignoreCase: true }),
    find({ glob: '*.ts' }),
    find({ glob: 'src/*', ignoreCase: true }),
    find({ path: 'src' }),
    find({ path: 'a.ts', output: 'count' }),
    find({ pattern: '^$' }),
    find({ pattern: '(' }),
    find({ path: 'gone' }),
    find({ output: 'lines' }),
  ])
  expect(texts).toEqual([
    'a.ts\nsrc/c.md',
    'a.ts:1:const one = 1\na.ts:2:const two = 2\nsrc/c.md:1:const in words',
    'a.ts:2\nsrc/b.ts:1\nsrc/c.md:1',
    'a.ts',
    'src/b.ts\nsrc/c.md',
    'src/c.md',
    'a.ts:2',
    '(nothing matches)',
    'error: error parsing regexp: missing closing ): `(`',
    'error: gone: does not exist',
    'error: invalid input for grep: output: must be one of files, content, count',
  ])
})

test('a folder that cannot be listed is skipped, unless it is the start; an error of the backend is reported (N38)', async () => {
  const memory = memoryBackend({ 'open/a.txt': 'hit', 'shut/b.txt': 'hit' })
  const failing = (error: Error): FileBackend => ({
    ...memory,
    async list(path, options) {
      if (path === 'shut') throw error
      return memory.list(path, options)
    },
  })
  const shut = failing(new FileError('failed', 'shut', 'may not be read'))
  const all = [call('grep', { pattern: 'hit' }), call('glob', { pattern: '**' })]
  expect(await read(shut, [...all, call('grep', { pattern: 'hit', path: 'shut' })])).toEqual([
    'open/a.txt',
    'open/a.txt',
    'error: shut: may not be read',
  ])
  expect(await read(failing(new TypeError('no list')), all)).toEqual(['error: no list', 'error: no list'])
})

test('a search is limited: in the lines shown, in their length, in the size of a file, and in its time (N38)', async () => {
  const backend = memoryBackend({
    'long.txt': `${'a'.repeat(2_000)}!`,
    'many.txt': 'hit\n'.repeat(1_500),
    'too-large.txt': 'hit '.repeat(10_000),
  })
  const { texts } = await toolResults(
    [filesystem({ backend, maxBytes: 10_000 })],
    [
      [
        call('grep', { pattern: '(a+)+$' }),
        call('grep', { pattern: 'a!', output: 'content' }),
        call('grep', { pattern: 'hit', output: 'content' }),
        call('grep', { pattern: 'hit', path: 'too-large.txt' }),
      ],
    ],
  )
  const passedOver = '(files that are too large or cannot be read were skipped)'
  expect(texts[0]).toBe(`(nothing matches)\n${passedOver}`)
  expect(texts[1]).toBe(`long.txt:1:${'a'.repeat(500)} …\n${passedOver}`)
  const lines = texts[2]?.split('\n') ?? []
  expect(lines).toHaveLength(1_001)
  expect(lines.at(-1)).toBe('(the search or its output is incomplete; narrow the pattern or the path)')
  expect(texts[3]).toBe('error: too-large.txt: has 40000 bytes, but at most 10000 are allowed')
})

test('a walk ends at its limit and reports it (N38)', async () => {
  const endless: FileBackend = {
    ...memoryBackend(),
    list: async () => [
      { name: 'a.txt', kind: 'file' },
      ...Array.from({ length: 99 }, (_, n): FolderEntry => ({ name: `${n}`, kind: 'folder' })),
    ],
    stat: async () => ({ kind: 'folder', size: 0, modified: 0 }),
  }
  const [text] = await read(endless, [call('glob', { pattern: 'a.txt' })])
  expect(text).toBe(
    'a.txt\n(only the first 20000 entries were searched, with paths of at most 1000 characters; give a deeper path)',
  )
})

test('every error of a backend is an error result, and the run continues (N38)', async () => {
  const failing = () => Promise.reject(new Error('the disk is on fire'))
  const backend: FileBackend = { stat: failing, list: failing, read: failing, write: failing }
  const texts = await read(backend, [
    call('ls', {}),
    toRead('a'),
    toWrite('a', ''),
    call('glob', { pattern: '*' }),
    call('grep', { pattern: 'a' }),
  ])
  expect(texts).toEqual(Array.from({ length: 5 }, () => 'error: the disk is on fire'))
})

test('tools that read are read, tools that write external, and each declares the keys it reads or writes (N39)', async () => {
  const tools = await toolsOf(filesystem({ backend: memoryBackend() }))
  const keys = (name: string, input: object) => {
    const tool = tools.find((tool) => tool.name === name)
    return [tool?.effect, tool?.reads?.(input), tool?.writes?.(input)]
  }
  expect(keys('read_file', { path: './Src//A.ts' })).toEqual(['read', ['file:src/a.ts'], undefined])
  expect(keys('ls', { path: 'src' })).toEqual(['read', ['file:src', 'file:src/'], undefined])
  expect(keys('glob', { path: '' })).toEqual(['read', ['file:', 'file:'], undefined])
  expect(keys('grep', { path: 'src/a.ts' })).toEqual(['read', ['file:src/a.ts', 'file:src/a.ts/'], undefined])
  const change = ['external', undefined, ['file:src/a.ts', 'file:', 'file:src/']]
  expect(keys('write_file', { path: 'src/a.ts' })).toEqual(change)
  expect(keys('edit_file', { path: 'src/a.ts' })).toEqual(change)
  expect(keys('write_file', { path: '../a.ts' })).toEqual(['external', undefined, []])
})

test('a change conflicts with every read of its file and of the folders that contain it, and no other (N39)', async () => {
  const tools = await toolsOf(filesystem({ backend: memoryBackend() }))
  const named = (name: string) => tools.find((tool) => tool.name === name)
  const changed = named('write_file')?.writes?.({ path: 'src/lib/a.ts' }) ?? []
  const meets = (name: string, path: string) =>
    named(name)
      ?.reads?.({ path })
      .some((key) => changed.includes(key))
  expect([
    meets('read_file', 'src/lib/a.ts'),
    meets('grep', 'src/lib/a.ts'),
    meets('ls', 'src/lib'),
    meets('glob', ''),
  ]).toEqual([true, true, true, true])
  expect([
    meets('read_file', 'src/lib/b.ts'),
    meets('read_file', 'src'),
    meets('ls', 'src/lib2'),
    meets('grep', 'test'),
  ]).toEqual([false, false, false, false])
})

test('readOnly omits writing tools, tools selects, and invalid options are a ConfigError that names them', async () => {
  const backend = memoryBackend()
  const names = async (options: object) => (await toolsOf(filesystem({ backend, ...options }))).map(({ name }) => name)
  expect(await names({})).toEqual(['ls', 'read_file', 'write_file', 'edit_file', 'glob', 'grep'])
  expect(await names({ readOnly: true })).toEqual(['ls', 'read_file', 'glob', 'grep'])
  expect(await names({ tools: ['grep', 'read_file'] })).toEqual(['grep', 'read_file'])
  for (const [option, options] of Object.entries({
    backend: { backend: undefined },
    maxBytes: { maxBytes: -1 },
    protect: { protect: '.git' },
    hide: { hide: ['{'] },
    tools: { tools: ['rm'] },
  })) {
    const wrong = () => filesystem({ backend, ...options } as never)
    expect(wrong).toThrow(ConfigError)
    expect(wrong).toThrow(expect.objectContaining({ option }))
  }
  expect(() => filesystem(undefined as never)).toThrow(expect.objectContaining({ option: 'backend' }))
})

const TOO_LARGE = 'write a shorter one, with smaller repetition counts'

test('a pattern that is long, or whose program is large, is refused before it is compiled (W56)', async () => {
  const patterns = [
    '.{0,500}a.{0,400}c',
    '(.{1000}){1000}',
    '(?:[[:alpha:]]{300})',
    'x'.repeat(1_000),
    '(?i:\\pL{0,300})',
  ]
  const texts = await read(memoryBackend({ 'a.txt': 'a' }), [
    ...patterns.map((pattern) => call('grep', { pattern })),
    call('grep', { pattern: '.{0,200}a|[]{900}]|\\Q{900}\\E|\\{900}' }),
  ])
  expect(texts.slice(0, -1)).toEqual(patterns.map(() => expect.stringContaining(TOO_LARGE)))
  expect(texts.at(-1)).toBe('a.txt')
  const [long] = await read(memoryBackend(), [call('grep', { pattern: '['.repeat(5_001) })])
  expect(long).toContain('a pattern has at most 5000 characters')
})

const LETTERS = `c${'ab'.repeat(400_000)}`

test.each<[string, Readonly<Record<string, string>>]>([
  ['one long line', { 'a.txt': LETTERS }],
  ['many lines', { 'a.txt': LETTERS.replace(/.{200}/g, 'c$&\n') }],
  ['many files', Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`${n}/a.txt`, 'c']))],
])('a search lets the event loop turn, and ends soon after its signal: %s (W56)', async (_, files) => {
  const tools = await toolsOf(filesystem({ backend: memoryBackend(files) }))
  const grep = tools.find((tool) => tool.name === 'grep')
  const stopping = new AbortController()
  const input = { pattern: '.{0,100}a.{0,90}c', path: '', ignoreCase: true, output: 'files' }
  const found = Promise.resolve(grep?.execute?.(input, { signal: stopping.signal } as never))
  const settled = vi.fn()
  found.then(settled, settled)
  await new Promise((resolve) => setTimeout(resolve, 0))
  expect(settled).not.toHaveBeenCalled()
  stopping.abort(new Error('stop'))
  await expect(found).rejects.toThrow('stop')
})

test('in a long line a match is found anywhere, and anchors hold in the line, not in its pieces (W56)', async () => {
  const at = (place: number) => `${'a'.repeat(place)}needle ${'b'.repeat(40_000 - place)}`
  const places = Array.from({ length: 14 }, (_, n) => n * 2_851)
  const backend = memoryBackend({
    ...Object.fromEntries(places.map((place) => [`${place}.txt`, at(place)])),
    'none.txt': 'x'.repeat(60_000),
  })
  const all = places.map((place) => `${place}.txt`).sort()
  const [bounded, atBegin, atEnd, word, loop, miss] = await read(backend, [
    call('grep', { pattern: 'ne{2}dle b{0,99}' }),
    call('grep', { pattern: '^needle' }),
    call('grep', { pattern: 'x{3}$|ab$|needle$' }),
    call('grep', { pattern: '\\bneedle\\b' }),
    call('grep', { pattern: 'need.+b' }),
    call('grep', { pattern: '^x{3}y|x\\by' }),
  ])
  const note = '(long lines were searched in pieces; a match that spans two pieces may be missing)'
  expect(bounded?.split('\n')).toEqual(all)
  expect(atBegin).toBe('0.txt')
  expect(atEnd).toBe('none.txt')
  expect(word).toBe('0.txt')
  expect(loop?.split('\n')).toEqual([...all, note])
  expect(miss).toBe('(nothing matches)')
})

const SPELLINGS = [
  '.git',
  '.git/config',
  './.GIT//config',
  'sub/.Git/hooks/x',
  '.git./config',
  '.git /config',
  'GIT~1/config',
  '.git::$INDEX_ALLOCATION/config',
  '.g\u200cit/config',
  '.husky/pre-commit',
  '.vscode/tasks.json',
  'AGENTS.md',
  'docs/agents.md',
  'sk\u0131lls/x/SKILL.md',
  ':x/.git/HEAD',
  'a/\u200b/AGENTS.md',
]

test('what other programs or the next run obey is not written, however the path is spelled (W57)', async () => {
  const backend = memoryBackend()
  const texts = await read(backend, [
    ...SPELLINGS.map((path) => toWrite(path, 'x')),
    ...SPELLINGS.map((path) => toEdit(path, 'x', 'y')),
    toWrite('src/.gitignore', 'ok'),
    toWrite('src/skillset.md', 'ok'),
  ])
  const refused = SPELLINGS.map(() => expect.stringContaining('is protected by the option protect'))
  expect(texts.slice(0, SPELLINGS.length)).toEqual(refused)
  expect(texts.slice(SPELLINGS.length, -2)).toEqual(SPELLINGS.map(() => expect.stringMatching(/^error: /)))
  expect(texts.slice(-2)).toEqual(['Created src/.gitignore (2 bytes).', 'Created src/skillset.md (2 bytes).'])
  const { texts: free } = await toolResults([filesystem({ backend, protect: [] })], [[toWrite('.git/config', 'x')]])
  expect(free).toEqual(['Created .git/config (1 bytes).'])
})

test.each([
  ['notes:2024.txt', 'notes:2024.txt'],
  ['❤️.txt', 'a/❤️.txt'],
  ['می‌خواهم.txt', 'می‌خواهم.txt'],
  ['x.', 'x.'],
  ['stra?e.key', 'Straße.key'],
  ['.env', 'routes/:id/.env'],
  ['secrets/', 'secrets/a'],
  ['/secrets', 'secrets/a/b'],
  ['./secrets', 'SECRETS'],
  ['secrets//**', 'secrets/a'],
])('a pattern such as %s covers what it names (W57)', async (pattern, path) => {
  const backend = memoryBackend({ [path]: 'secret', 'other.txt': 'x' })
  const { texts } = await toolResults(
    [filesystem({ backend, hide: [pattern] })],
    [[toRead(path), call('glob', { pattern: '**' })]],
  )
  expect(texts).toEqual([`error: ${path}: is hidden by the option hide`, 'other.txt'])
})

test('a path of any length is refused at once, and a pattern that matches no path is a ConfigError (W57)', async () => {
  const path = 'a/'.repeat(20_000)
  const backend = memoryBackend({ a: '' })
  const calls = ['ls', 'read_file'].map((name) => call(name, { path }, { deltas: 1 }))
  const { texts } = await toolResults([filesystem({ backend, hide: ['x'] })], [calls])
  expect(texts).toEqual([1, 2].map(() => expect.stringContaining('a path has at most 4096 characters')))
  for (const pattern of ['/', '.', '../secrets', 'a/../b'])
    expect(() => filesystem({ backend, hide: [pattern] })).toThrow(expect.objectContaining({ option: 'hide' }))
})

test('a protected file that the model has read is not edited (W57)', async () => {
  const backend = memoryBackend({ 'docs/AGENTS.md': 'Be kind.' })
  expect(await read(backend, [toRead('docs/AGENTS.md')], [toEdit('docs/AGENTS.md', 'kind', 'evil')])).toEqual([
    '     1\tBe kind.',
    'error: docs/AGENTS.md: is protected by the option protect',
  ])
})

test('what is hidden is not read, listed, searched or written, and does not shorten a list (W57)', async () => {
  const backend = memoryBackend({ '.env': 'KEY=1', 'app/.ENV': 'KEY=2', 'keys/a.pem': 'KEY=3', 'src/a.ts': 'KEY' })
  const { texts } = await toolResults(
    [filesystem({ backend, hide: ['.env', 'keys'] })],
    [
      [
        call('ls', {}),
        call('ls', { path: 'app' }),
        call('ls', { path: 'keys' }),
        call('glob', { pattern: '**' }),
        call('grep', { pattern: 'KEY' }),
        call('grep', { pattern: 'KEY', path: '.env' }),
        toRead('.Env'),
        toRead('keys/a.pem'),
        toWrite('keys/b.pem', 'x'),
      ],
    ],
  )
  const hidden = (path: string) => `error: ${path}: is hidden by the option hide`
  expect(texts).toEqual([
    'app/\nsrc/',
    '(the folder is empty)',
    hidden('keys'),
    'src/a.ts',
    'src/a.ts',
    hidden('.env'),
    hidden('.Env'),
    hidden('keys/a.pem'),
    hidden('keys/b.pem'),
  ])
  const many = memoryBackend(
    Object.fromEntries(Array.from({ length: 3_000 }, (_, n) => [`${n < 2_000 ? '.h' : ''}${n}`, ''])),
  )
  const [list] = (await toolResults([filesystem({ backend: many, hide: ['.h*'] })], [[call('ls', {})]])).texts
  expect(list?.split('\n')).toHaveLength(1_000)
})

test('a list lets the event loop turn while it leaves out what is hidden, and ends soon after its signal (W56, W57)', async () => {
  const folder = 'a/'.repeat(400)
  const files = Object.fromEntries(Array.from({ length: 1_500 }, (_, n) => [`${folder}.h${n}`, '']))
  const hide = ['.h*', '*.pem', 'keys/**', '*.key', '.env']
  const tools = await toolsOf(filesystem({ backend: memoryBackend(files), hide }))
  const ls = tools.find((tool) => tool.name === 'ls')
  const stopping = new AbortController()
  const listed = Promise.resolve(ls?.execute?.({ path: folder }, { signal: stopping.signal } as never))
  const settled = vi.fn()
  listed.then(settled, settled)
  await new Promise((resolve) => setTimeout(resolve, 0))
  expect(settled).not.toHaveBeenCalled()
  stopping.abort(new Error('stop'))
  await expect(listed).rejects.toThrow('stop')
})

test('a name of a backend is compared with patterns in linear time (W57)', async () => {
  const name = `a${'.'.repeat(200_000)}b`
  const backend: FileBackend = { ...memoryBackend(), list: async () => [{ name, kind: 'file' }] }
  const { texts } = await toolResults([filesystem({ backend, hide: ['x'] })], [[call('ls', {})]])
  expect(texts).toEqual([name])
})

test('an aborted run stops a search between two files', async () => {
  const files = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`${n}.txt`, 'x']))
  const memory = memoryBackend(files)
  const reading = new AbortController()
  let reads = 0
  const backend: FileBackend = {
    ...memory,
    read(path, options) {
      if (++reads === 3) reading.abort()
      return memory.read(path, options)
    },
  }
  const model = scriptedModel([respond(call('grep', { pattern: 'x' }))])
  const agent = createAgent({ model, middleware: [filesystem({ backend })] })
  await expect(agent.run('Go', { signal: reading.signal })).rejects.toMatchObject({ name: 'AbortError' })
  expect(reads).toBe(3)
})

test('a file named __proto__ is a file like any other (N37)', async () => {
  const backend = memoryBackend({ __proto__x: '', ['__proto__']: 'one' })
  const texts = await read(
    backend,
    [toEdit('__proto__', 'one', 'two')],
    [toRead('__proto__')],
    [toEdit('__proto__', 'one', 'two')],
  )
  expect(texts.at(0)).toContain('was not read')
  expect(texts.at(-1)).toBe('Edited __proto__: 1 replacement.')
})
